"""The requirement registry: every rule that the suite judges by, and every point that the contract leaves open.

One TOML file per family lies in the bundle's ``requirements`` folder, one file per frozen set in ``requirement-sets``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast, get_args

from conformance.contract import Contract
from conformance.errors import UsageProblem, nearest

Level = Literal["MUST", "SHOULD"]
Basis = Literal["schema", "documented", "derived"]
# Where a piece of evidence is found: on one of the published tool pages or on each of them, in the published target
# interface, or in the specification of MCP.
Page = Literal["archive", "get", "sentiment status", "all", "interface", "mcp"]
# The least that a target has to offer before anything can be said about the requirement at all.
Need = Literal[
    "seed", "second principal", "second transport", "tokens", "clock", "access", "worker", "restart", "token"
]
Transport = Literal["rest", "mcp-http", "mcp-stdio"]

LEVELS: tuple[Level, ...] = get_args(Level)
BASES: tuple[Basis, ...] = get_args(Basis)
PAGES: tuple[Page, ...] = get_args(Page)
NEEDS: tuple[Need, ...] = get_args(Need)
TRANSPORTS: tuple[Transport, ...] = get_args(Transport)


@dataclass(frozen=True)
class Evidence:
    """Where a rule is stated; ``quote`` is a few words in the original language, or empty."""

    page: Page
    place: str
    quote: str


@dataclass(frozen=True)
class Requirement:
    """One thing that a server must (or should) do and that a vendor can break and repair on its own."""

    id: str
    family: str
    level: Level
    basis: Basis
    statement: str
    evidence: tuple[Evidence, ...]
    needs: tuple[Need, ...]
    transports: tuple[Transport, ...]


@dataclass(frozen=True)
class Freedom:
    """One point that the contract leaves open: a run records which of ``choices`` it saw and judges nothing."""

    id: str
    family: str
    statement: str
    evidence: tuple[Evidence, ...]
    choices: tuple[str, ...]


@dataclass(frozen=True)
class RequirementSet:
    """A frozen, named choice of requirement ids of one contract."""

    contract: str
    version: str
    requirements: frozenset[str]


@dataclass(frozen=True)
class Registry:
    """All requirements and freedoms of a contract, in the order of their files, and its requirement sets.

    ``families`` gives each family's title by its name.
    """

    families: Mapping[str, str]
    requirements: tuple[Requirement, ...]
    freedoms: tuple[Freedom, ...]
    requirement_sets: tuple[RequirementSet, ...]

    @cached_property
    def by_id(self) -> Mapping[str, Requirement]:
        """Requirements by id."""
        return {requirement.id: requirement for requirement in self.requirements}

    @cached_property
    def freedoms_by_id(self) -> Mapping[str, Freedom]:
        """Freedoms by id."""
        return {freedom.id: freedom for freedom in self.freedoms}

    def requirement_set(self, version: str) -> RequirementSet:
        """Return the frozen set of that version.

        Raises:
            UsageProblem: there is no such set.
        """
        known = {each.version: each for each in self.requirement_sets}
        if version not in known:
            advice = nearest(version, known) if known else "The contract has no requirement set."
            raise UsageProblem(f"unknown requirement set {version!r}", "requirement-sets", advice)
        return known[version]


def load_registry(contract: Contract) -> Registry:
    """Read the registry of ``contract``; a bundle without a ``requirements`` folder has an empty one.

    Raises:
        UsageProblem: a file is not what it should be; the message names file, entry and the nearest right word.
    """
    files = sorted((contract.folder / "requirements").glob("*.toml"))
    families: dict[str, str] = {}
    requirements: list[Requirement] = []
    freedoms: list[Freedom] = []
    for path in files:
        document = _read_toml(path)
        _check_keys(document, {"title"}, {"requirement", "freedom"}, str(path))
        families[path.stem] = _text(document, "title", str(path))
        for number, values in enumerate(_tables(document, "requirement", path), start=1):
            requirements.append(_requirement(values, path.stem, _entry(path, "requirement", number, values)))
        for number, values in enumerate(_tables(document, "freedom", path), start=1):
            freedoms.append(_freedom(values, path.stem, _entry(path, "freedom", number, values)))
    _refuse_duplicates(
        [*(each.id for each in requirements), *(each.id for each in freedoms)], contract.folder / "requirements"
    )
    known = {each.id for each in requirements}
    sets = [_requirement_set(path, contract, known) for path in _set_files(contract.folder)]
    return Registry(families, tuple(requirements), tuple(freedoms), tuple(sets))


def _requirement(values: Mapping[str, Any], family: str, where: str) -> Requirement:
    _check_keys(values, {"id", "level", "basis", "statement", "evidence", "needs", "transports"}, frozenset(), where)
    transports = _texts(values, "transports", where)
    if not transports:
        raise UsageProblem("transports is empty", where, f"Name at least one of: {', '.join(TRANSPORTS)}.")
    return Requirement(
        id=_id(values, where),
        family=family,
        level=cast("Level", _one_of(values["level"], LEVELS, "level", where)),
        basis=cast("Basis", _one_of(values["basis"], BASES, "basis", where)),
        statement=_text(values, "statement", where),
        evidence=_evidence(values, where),
        needs=tuple(cast("Need", _one_of(each, NEEDS, "need", where)) for each in _texts(values, "needs", where)),
        transports=tuple(cast("Transport", _one_of(each, TRANSPORTS, "transport", where)) for each in transports),
    )


def _freedom(values: Mapping[str, Any], family: str, where: str) -> Freedom:
    _check_keys(values, {"id", "statement", "evidence", "choices"}, frozenset(), where)
    choices = _texts(values, "choices", where)
    if len(set(choices)) < max(2, len(choices)):
        raise UsageProblem("choices are fewer than two or repeated", where, "Name at least two different ones.")
    return Freedom(
        id=_id(values, where),
        family=family,
        statement=_text(values, "statement", where),
        evidence=_evidence(values, where),
        choices=choices,
    )


def _evidence(values: Mapping[str, Any], where: str) -> tuple[Evidence, ...]:
    items = values["evidence"]
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        raise UsageProblem("evidence is not a list of tables", where, "Write [{ page = .., place = .. }].")
    found = []
    for item in items:
        _check_keys(item, {"page", "place"}, {"quote"}, where)
        page = cast("Page", _one_of(item["page"], PAGES, "page", where))
        quote = _text(item, "quote", where) if "quote" in item else ""
        found.append(Evidence(page=page, place=_text(item, "place", where), quote=quote))
    return tuple(found)


def _requirement_set(path: Path, contract: Contract, known: Collection[str]) -> RequirementSet:
    where = str(path)
    values = _read_toml(path)
    _check_keys(values, {"contract", "version", "requirements"}, frozenset(), where)
    version = _text(values, "version", where)
    if version != path.stem:
        raise UsageProblem(f"version is {version!r}", where, "The file is named after its version.")
    if values["contract"] != contract.name:
        raise UsageProblem(f"contract is {values['contract']!r}", where, f"Write {contract.name!r}.")
    ids = _texts(values, "requirements", where)
    for each in ids:
        if each not in known:
            raise UsageProblem(f"unknown requirement {each!r}", where, nearest(each, known))
    if list(ids) != sorted(set(ids)):
        raise UsageProblem("requirements are not sorted, or one is repeated", where, "Sort them, each once.")
    return RequirementSet(contract=contract.name, version=version, requirements=frozenset(ids))


def _set_files(folder: Path) -> list[Path]:
    return sorted((folder / "requirement-sets").glob("*.toml"))


def _tables(document: Mapping[str, Any], key: str, path: Path) -> list[dict[str, Any]]:
    tables = document.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageProblem(f"{key} is not a list of tables", str(path), f"Begin each entry with [[{key}]].")
    return tables


def _entry(path: Path, kind: str, number: int, values: Mapping[str, Any]) -> str:
    identifier = values.get("id")
    return f"{path}, {identifier if isinstance(identifier, str) else f'{kind} {number}'}"


def _id(values: Mapping[str, Any], where: str) -> str:
    identifier = _text(values, "id", where)
    if not re.fullmatch(r"[A-Z0-9]+(?:-[A-Z0-9]+)+", identifier):
        raise UsageProblem(f"id is {identifier!r}", where, "Write upper-case words joined by hyphens.")
    return identifier


def _refuse_duplicates(ids: Iterable[str], folder: Path) -> None:
    seen: set[str] = set()
    for each in ids:
        if each in seen:
            raise UsageProblem(f"the id {each!r} is given twice", str(folder), "Give each entry an id of its own.")
        seen.add(each)


def _one_of(value: Any, known: Collection[str], name: str, where: str) -> str:
    if value not in known:
        raise UsageProblem(f"unknown {name} {value!r}", where, nearest(str(value), known))
    return cast("str", value)


def _text(values: Mapping[str, Any], key: str, where: str) -> str:
    value = values[key]
    if not isinstance(value, str) or not value.strip():
        raise UsageProblem(f"{key} is not a text", where, "Write a text between quotation marks.")
    return value


def _texts(values: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = values[key]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise UsageProblem(f"{key} is not a list of texts", where, "Write a list, empty if there is nothing.")
    return tuple(value)


def _check_keys(values: Mapping[str, Any], required: Collection[str], optional: Collection[str], where: str) -> None:
    known = {*required, *optional}
    for key in values:
        if key not in known:
            raise UsageProblem(f"unknown key {key!r}", where, nearest(key, known))
    for key in sorted(required):
        if key not in values:
            raise UsageProblem(f"the key {key!r} is missing", where, "Add it.")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageProblem(f"not valid TOML ({error})", str(path), "Correct it.") from None
