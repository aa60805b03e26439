"""``sosoapi-conformance requirements``: lists the registry, filters it, explains one entry."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import textwrap
from collections.abc import Collection, Iterable
from typing import Any

from conformance.contract import load_contract
from conformance.errors import ExitStatus, UsageProblem, nearest
from conformance.requirements import (
    BASES,
    LEVELS,
    TRANSPORTS,
    Evidence,
    Freedom,
    Registry,
    Requirement,
    load_registry,
)

WIDTH = 80
_FILTERS = ("family", "basis", "level", "transport")
_PAGE_NAMES = {
    "all": "each tool page",
    "interface": "target interface",
    "mcp": "MCP specification",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to ``parser``; their values are checked by :func:`run`."""
    parser.add_argument("id", nargs="?", metavar="ID", help="explain this requirement or open point")
    parser.add_argument("--family", help="only this family, for example replay")
    parser.add_argument("--basis", help=f"only what stands on this basis: {', '.join(BASES)}")
    parser.add_argument("--level", help=f"only this level: {', '.join(LEVELS)}")
    parser.add_argument("--transport", help=f"only what applies to this transport: {', '.join(TRANSPORTS)}")
    parser.add_argument("--freedoms", action="store_true", help="list what the contract leaves open instead")
    parser.add_argument("--format", default="text", help="text (the default) or json")


def run(namespace: argparse.Namespace, checked: frozenset[str] = frozenset()) -> int:
    """Write what was asked for to stdout and return the exit status.

    ``checked`` holds the ids of the requirements for which a check exists. An unknown id or value is explained on
    stderr, with the nearest right one, and gives ``ExitStatus.USAGE``.
    """
    try:
        answer = _answer(load_registry(load_contract()), namespace, checked)
    except UsageProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return ExitStatus.USAGE
    sys.stdout.write(answer)
    return ExitStatus.CONFORMS


def _answer(registry: Registry, namespace: argparse.Namespace, checked: frozenset[str]) -> str:
    as_json = _value(namespace.format, ("text", "json"), "--format") == "json"
    if namespace.id is not None:
        _refuse_with(namespace, "an ID", (*_FILTERS, "freedoms"))
        entry = _find(registry, namespace.id.upper())
        if as_json:
            return _dump(freedom_value(entry) if isinstance(entry, Freedom) else requirement_value(entry, checked))
        return explain_freedom(entry) if isinstance(entry, Freedom) else explain_requirement(entry, checked)
    if namespace.freedoms:
        _refuse_with(namespace, "--freedoms", ("basis", "level", "transport"))
        family = _chosen(namespace.family, {each.family for each in registry.freedoms}, "--family")
        freedoms = [each for each in registry.freedoms if each.family in family]
        if as_json:
            return _dump({"freedoms": [freedom_value(each) for each in freedoms]})
        return list_freedoms(freedoms)
    requirements = _selected(registry, namespace)
    if as_json:
        return _dump({"requirements": [requirement_value(each, checked) for each in requirements]})
    return list_requirements(registry, requirements, checked)


def _selected(registry: Registry, namespace: argparse.Namespace) -> list[Requirement]:
    families = _chosen(namespace.family, {each.family for each in registry.requirements}, "--family")
    bases = _chosen(namespace.basis, BASES, "--basis")
    levels = _chosen(namespace.level, LEVELS, "--level")
    transports = _chosen(namespace.transport, TRANSPORTS, "--transport")
    return [
        each
        for each in registry.requirements
        if each.family in families
        and each.basis in bases
        and each.level in levels
        and not transports.isdisjoint(each.transports)
    ]


def list_requirements(registry: Registry, requirements: Iterable[Requirement], checked: frozenset[str]) -> str:
    """Return the requirements as text, family by family, each with its statement."""
    lines: list[str] = []
    family = ""
    count = unchecked = 0
    for each in requirements:
        if each.family != family:
            family = each.family
            lines += ["", *_wrapped(f"{family}: {registry.families[family]}")]
        count += 1
        unchecked += each.id not in checked
        note = "" if each.id in checked else "no check yet"
        lines += ["", f"  {each.id:<39} {each.level:<6} {each.basis:<10} {note}".rstrip()]
        lines += _wrapped(each.statement, "      ")
    lines += ["", f"{count} requirements, {unchecked} of them without a check."]
    return "\n".join(lines).lstrip("\n") + "\n"


def list_freedoms(freedoms: Iterable[Freedom]) -> str:
    """Return the open points as text, each with its statement and choices."""
    lines = _wrapped("These points never fail a server; a run records what the server did with each.")
    for each in freedoms:
        lines += ["", f"  {each.id}", *_wrapped(each.statement, "      ")]
        lines += _wrapped(f"Choices: {', '.join(each.choices)}.", "      ")
    return "\n".join(lines) + "\n"


def explain_requirement(requirement: Requirement, checked: frozenset[str]) -> str:
    """Return everything that the registry knows about one requirement, as text."""
    lines = [requirement.id, "", *_wrapped(requirement.statement), ""]
    lines += [
        f"family      {requirement.family}",
        f"level       {requirement.level}",
        f"basis       {requirement.basis}",
        f"needs       {', '.join(requirement.needs) or 'nothing but the target'}",
        f"transports  {', '.join(requirement.transports)}",
        f"check       {'yes' if requirement.id in checked else 'no check yet'}",
        "",
    ]
    return "\n".join([*lines, *_evidence_lines(requirement.evidence)]) + "\n"


def explain_freedom(freedom: Freedom) -> str:
    """Return everything that the registry knows about one open point, as text."""
    lines = [freedom.id, "", *_wrapped(freedom.statement), ""]
    lines += _wrapped("Left open by the contract: recorded, never judged.")
    lines += [*_wrapped(f"Choices: {', '.join(freedom.choices)}."), ""]
    return "\n".join([*lines, *_evidence_lines(freedom.evidence)]) + "\n"


def requirement_value(requirement: Requirement, checked: frozenset[str]) -> dict[str, Any]:
    """Return one requirement as a JSON value."""
    return {
        "id": requirement.id,
        "family": requirement.family,
        "level": requirement.level,
        "basis": requirement.basis,
        "statement": requirement.statement,
        "evidence": _evidence_value(requirement.evidence),
        "needs": list(requirement.needs),
        "transports": list(requirement.transports),
        "checked": requirement.id in checked,
    }


def freedom_value(freedom: Freedom) -> dict[str, Any]:
    """Return one open point as a JSON value."""
    return {
        "id": freedom.id,
        "family": freedom.family,
        "statement": freedom.statement,
        "evidence": _evidence_value(freedom.evidence),
        "choices": list(freedom.choices),
    }


def _evidence_value(evidence: Iterable[Evidence]) -> list[dict[str, str]]:
    return [
        {"page": each.page, "place": each.place, **({"quote": each.quote} if each.quote else {})} for each in evidence
    ]


def _evidence_lines(evidence: Iterable[Evidence]) -> list[str]:
    lines = ["Evidence:"]
    for each in evidence:
        page = _PAGE_NAMES.get(each.page, f"page {each.page}")
        lines += textwrap.wrap(f"{page}: {each.place}", WIDTH, initial_indent="  - ", subsequent_indent="    ")
        if each.quote:
            lines += textwrap.wrap(each.quote, WIDTH, initial_indent="    > ", subsequent_indent="    > ")
    return lines


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _find(registry: Registry, identifier: str) -> Requirement | Freedom:
    entry = registry.by_id.get(identifier) or registry.freedoms_by_id.get(identifier)
    if entry is None:
        known = sorted({*registry.by_id, *registry.freedoms_by_id})
        # Cutoff 0: however wrong the word is, one nearest id helps more than a list of all.
        closest = difflib.get_close_matches(identifier, known, n=1, cutoff=0.0)[0]
        raise UsageProblem(f"unknown requirement {identifier!r}", "requirements", f"Did you mean {closest!r}?")
    return entry


def _chosen(value: str | None, known: Collection[str], option: str) -> frozenset[str]:
    return frozenset(known if value is None else {_value(value, known, option)})


def _value(value: str, known: Collection[str], option: str) -> str:
    if value not in known:
        raise UsageProblem(f"unknown value {value!r}", option, nearest(value, known))
    return value


def _refuse_with(namespace: argparse.Namespace, chosen: str, options: Iterable[str]) -> None:
    for option in options:
        if getattr(namespace, option):
            raise UsageProblem(f"does not go with {chosen}", f"--{option}", "Leave one of them out.")


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
