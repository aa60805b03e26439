"""Writes JSON text, with fragments that no encoder would write."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RawJson:
    """A piece of JSON text that is put where a value would stand: ``1e400``, ``NaN``, ``01``."""

    text: str


def encode(value: Any) -> bytes:
    """Return the JSON text of ``value`` in UTF-8, members in their order, ``RawJson`` as it is."""
    return _text(value).encode("utf-8")


def _text(value: Any) -> str:
    if isinstance(value, RawJson):
        return value.text
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_text(item)}" for name, item in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def path_parts(instance_path: str) -> tuple[str | int, ...]:
    """Return the steps of an instance path; ``*``, which stands for any item, becomes the first item."""
    steps = instance_path.split("/")[1:]
    return tuple(0 if step == "*" else step.replace("~1", "/").replace("~0", "~") for step in steps)


def value_at(document: Any, parts: tuple[str | int, ...]) -> Any:
    """Return the value at ``parts`` of ``document``."""
    for part in parts:
        document = document[part]
    return document


def replaced(document: Any, parts: tuple[str | int, ...], value: Any) -> Any:
    """Return a copy of ``document`` with ``value`` at ``parts``."""
    if not parts:
        return value
    changed = copy.deepcopy(document)
    value_at(changed, parts[:-1])[parts[-1]] = value
    return changed


def removed(document: Any, parts: tuple[str | int, ...]) -> Any:
    """Return a copy of ``document`` without the member or item at ``parts``."""
    changed = copy.deepcopy(document)
    del value_at(changed, parts[:-1])[parts[-1]]
    return changed
