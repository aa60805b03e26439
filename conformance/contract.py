"""The contract bundle: what is promised, read from one folder per operation.

A new operation is a new folder; nothing here knows an operation by name.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from conformance.errors import UsageProblem, nearest
from conformance.resources import data_folder

Effect = Literal["read", "write"]


@dataclass(frozen=True)
class Operation:
    """One operation of the contract, as its folder states it.

    ``bindings`` says where each input field comes from when a case needs a call that the server can answer:
    ``conversation.<field>``, ``run.<field>`` or ``fresh uuid``. ``result`` names the kind of document that a
    success carries (``conversation``, ``run``), or is empty when the schema is all that is known of it.
    """

    name: str
    title: str
    tool: str
    path: str
    effect: Effect
    scope: str
    profiles: tuple[str, ...]
    transports: tuple[str, ...]
    result: str
    bindings: Mapping[str, str]
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    annotations: Mapping[str, Any]
    example_call: Mapping[str, Any]
    example_result: Mapping[str, Any]


@dataclass(frozen=True)
class Contract:
    """A named, versioned set of operations."""

    name: str
    version: str
    title: str
    folder: Path
    operations: tuple[Operation, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Operation]:
        """Operations by folder name."""
        return {operation.name: operation for operation in self.operations}

    def operation(self, name: str) -> Operation:
        """Return the operation with that folder name.

        Raises:
            KeyError: the contract has no such operation.
        """
        return self.by_name[name]


_TOML_KEYS = {"title", "tool", "path", "effect", "scope", "profiles", "transports", "result", "bindings"}
_OPTIONAL_KEYS = {"result", "bindings"}


def load_contract(folder: Path | None = None) -> Contract:
    """Read the bundle in ``folder`` (the published research contract by default).

    Raises:
        UsageProblem: a file is missing or not what it should be.
    """
    folder = folder or data_folder("contracts") / "research"
    head = _read_toml(folder / "contract.toml")
    _check_keys(head, {"name", "version", "title"}, set(), folder / "contract.toml")
    found = sorted(path.parent for path in folder.glob("*/operation.toml"))
    if not found:
        raise UsageProblem("no operation found", str(folder), "Add a folder with an operation.toml.")
    return Contract(
        name=head["name"],
        version=head["version"],
        title=head["title"],
        folder=folder,
        operations=tuple(_load_operation(path) for path in found),
    )


def _load_operation(folder: Path) -> Operation:
    path = folder / "operation.toml"
    values = _read_toml(path)
    _check_keys(values, _TOML_KEYS, _OPTIONAL_KEYS, path)
    if values["effect"] not in ("read", "write"):
        raise UsageProblem(f"effect is {values['effect']!r}", str(path), 'Write "read" or "write".')
    input_schema = _read_json(folder / "input.schema.json")
    bindings = values.get("bindings", {})
    for field in bindings:
        if field not in input_schema.get("properties", {}):
            raise UsageProblem(
                f"bindings name an unknown input field {field!r}",
                str(path),
                nearest(field, input_schema.get("properties", {})),
            )
    return Operation(
        name=folder.name,
        title=values["title"],
        tool=values["tool"],
        path=values["path"],
        effect=values["effect"],
        scope=values["scope"],
        profiles=tuple(values["profiles"]),
        transports=tuple(values["transports"]),
        result=values.get("result", ""),
        bindings=bindings,
        input_schema=input_schema,
        output_schema=_read_json(folder / "output.schema.json"),
        annotations=_read_json(folder / "annotations.json"),
        example_call=_read_json(folder / "examples" / "call.json"),
        example_result=_read_json(folder / "examples" / "result.json"),
    )


def _check_keys(values: Mapping[str, Any], known: set[str], optional: set[str], path: Path) -> None:
    for key in values:
        if key not in known:
            raise UsageProblem(f"unknown key {key!r}", str(path), nearest(key, known))
    for key in sorted(known - optional):
        if key not in values:
            raise UsageProblem(f"the key {key!r} is missing", str(path), "Add it.")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageProblem("the file is missing", str(path), "Add it.") from None
    except OSError as error:
        raise UsageProblem(f"the file cannot be read ({error.strerror})", str(path), "Correct it.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageProblem(f"not valid TOML ({error})", str(path), "Correct it.") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageProblem("the file is missing", str(path), "Add it.") from None
    except OSError as error:
        raise UsageProblem(f"the file cannot be read ({error.strerror})", str(path), "Correct it.") from None
    except ValueError as error:
        raise UsageProblem(f"not valid JSON ({error})", str(path), "Correct it.") from None
    if not isinstance(value, dict):
        raise UsageProblem("not a JSON object", str(path), "Correct it.")
    return value
