"""What a claim says otherwise than the statement that the stored run comes to, a sentence for each thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.claim.refused import few
from conformance.claim.statement import EXTENSION, LOGS, extension_of, part_of


def differences(statement: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is different; suite, contract and lock, of which the run has no own, are not compared."""
    if statement["subject"] != expected["subject"]:
        yield "The subject of the claim is not the target of the stored run."
    for name in LOGS:
        if part_of(statement, name)["digest"] != part_of(expected, name)["digest"]:
            yield f"{name} is not the file that was attested: its digest is another one."
    yield from _other_members(*(part_of(each, "settings")["annotations"] for each in (statement, expected)))
    claimed, found = statement["predicate"], expected["predicate"]
    for name in found:
        if name not in ("configuration", EXTENSION) and claimed[name] != found[name]:
            yield f"What the claim says as {name!r} is not what the stored run comes to."
    claim, run = extension_of(statement), extension_of(expected)
    yield from few(_other_outcomes(claim["requirements"], run["requirements"]))
    yield from _other_members(*({**each, "requirements": ()} for each in (claim, run)))


def _other_outcomes(claimed: list[dict[str, Any]], found: list[dict[str, Any]]) -> Iterator[str]:
    outcomes = {each["id"]: each for each in claimed}
    for each in found:
        said = outcomes.get(each["id"], each)
        if said != each:
            yield f"The claim says of {each['id']}: {_told(said)}; the stored run comes to: {_told(each)}."


def _told(requirement: Mapping[str, Any]) -> str:
    reason = f" ({requirement['reason']})" if requirement["reason"] else ""
    return f"{requirement['outcome']}, {requirement['passed']} passed, {requirement['failed']} failed{reason}"


def _other_members(claimed: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        if claimed[name] != value:
            yield f"The claim says {name.replace('_', ' ')} {claimed[name]!r:.120}, and the stored run {value!r:.120}."
