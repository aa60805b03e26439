"""Verifies a claim offline: signature, digests, completeness, agreement with itself and with the stored run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from conformance import __version__
from conformance.claim.comparison import differences
from conformance.claim.completeness import contradictions, missing_requirements
from conformance.claim.digests import build_digest
from conformance.claim.envelope import PAYLOAD_TYPE, check_signature, opened
from conformance.claim.keys import key_id, read_public_key
from conformance.claim.parts import refusals, whole_runs
from conformance.claim.refused import ClaimRefused, few
from conformance.claim.statement import (
    LOGS,
    Attestation,
    decoded,
    environment_of,
    extension_of,
    part_of,
    statement_of,
)
from conformance.claim.stored import DecidedAgain, Ground, decide_again, libraries_of
from conformance.claim.whole_run import missing_cases
from conformance.errors import ConformanceError

_JUDGE: Final = "conformance.rejudging"
_UNSIGNED: Final = (
    "The signature was not checked, so anybody can have written this claim: give the public key of the party that you "
    "trust with --key."
)


@dataclass(frozen=True)
class Known:
    """What the verifier knows besides the claim.

    ``key`` is a public key file that he has from the signer; ``folder`` the stored run; ``version`` (``NAME@VERSION``)
    and ``digest`` (``ALGORITHM:HEX``) say which build he has. All may be missing; what then was not looked at is told.
    """

    key: Path | None = None
    folder: Path | None = None
    version: str = ""
    digest: str = ""


@dataclass
class Verification:
    """What came of verifying: sentences why the claim is refused, and sentences about what was not looked at.

    ``statement`` is ``None`` where the claim has no readable one; nothing in it can be trusted in a refused claim.
    """

    refusals: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    statement: Mapping[str, Any] | None = None
    key_id: str = ""

    @property
    def is_verified(self) -> bool:
        """Whether nothing speaks against the claim, its signature included."""
        return not self.refusals


def verify(text: bytes, ground: Ground, known: Known) -> Verification:
    """Verify a claim as far as ``known`` reaches; without a key it is always refused.

    Raises:
        UsageProblem: the key or the folder cannot be read, or the library of the extra ``claims`` is missing.
    """
    found = Verification()
    key = read_public_key(known.key) if known.key is not None else None
    try:
        envelope = opened(text)
        found.key_id = envelope.key_id if key is None else key_id(key)
        if key is None:
            found.refusals.append(_UNSIGNED)
        else:
            # A claim with a wrong signature is read on, so that what was changed can be named.
            wrong = list(_refusal(lambda: check_signature(envelope, key)))
            found.refusals += wrong
            if wrong:
                found.key_id = envelope.key_id
        if envelope.payload_type != PAYLOAD_TYPE:
            found.refusals.append(f"The envelope has the payload type {envelope.payload_type!r}, not {PAYLOAD_TYPE!r}.")
            return found
        found.statement = statement = decoded(envelope.payload)
    except ClaimRefused as refused:
        found.refusals.append(refused.sentence)
        return found
    found.refusals += _about_another_build(statement, known)
    found.refusals += _of_another_suite(statement, ground)
    for sentence in _other_lock(statement, ground):
        (found.notes if known.folder is None else found.refusals).append(sentence)
    if not _names_another_set(statement, ground):
        found.refusals += _not_whole(statement, ground)
    if known.folder is None:
        found.notes.append("The stored run was not looked at, since its folder was not given.")
    else:
        found.refusals += _unlike_the_run(statement, ground, known.folder)
    return found


def judged_again(folder: Path, contract_dir: Path) -> tuple[str, ...]:
    """Return sentences about what is different when the stored exchanges are judged again by that contract."""
    try:
        judge_again = cast("Callable[[Path, Path], Sequence[str]]", importlib.import_module(_JUDGE).judge_again)
    except (ImportError, AttributeError):
        return ("The stored exchanges cannot be judged again: this installation of the suite lacks that part.",)
    try:
        return tuple(judge_again(folder, contract_dir))
    except ConformanceError as problem:
        return (f"The stored exchanges cannot be judged again: {problem}",)


def _refusal(check: Callable[[], None]) -> Iterator[str]:
    try:
        check()
    except ClaimRefused as refused:
        yield refused.sentence


def _about_another_build(statement: Mapping[str, Any], known: Known) -> Iterator[str]:
    target, subject = extension_of(statement)["target"], statement["subject"][0]
    if known.version and known.version != f"{target['name']}@{target['version']}":
        yield (
            f"The claim is about {target['name'] or '(no name)'}@{target['version'] or '(no version)'}, not about "
            f"{known.version}."
        )
    if known.digest:
        try:
            wanted = build_digest(known.digest)
        except ClaimRefused as refused:
            yield refused.sentence
            return
        if not target["build_digest"]:
            yield f"The claim names no digest of the tested build, so it says nothing about {known.digest}."
        elif wanted != subject["digest"]:
            yield f"The claim is about the build {target['build_digest']}, not about {known.digest}."


def _names_another_set(statement: Mapping[str, Any], ground: Ground) -> bool:
    claim, contract = extension_of(statement), ground.contract
    named = claim["contract"], claim["contract_version"], claim["requirement_set"]
    return named != (contract.name, contract.version, ground.frozen.version)


def _of_another_suite(statement: Mapping[str, Any], ground: Ground) -> Iterator[str]:
    """Yield what of suite, contract and requirement set is not what is installed here."""
    claim, contract, frozen = extension_of(statement), ground.contract, ground.frozen
    if claim["suite_version"] != __version__:
        yield (
            f"The claim was made with version {claim['suite_version']} of the suite, and this is {__version__}: verify "
            "it with that one."
        )
    if (claim["contract"], claim["contract_version"]) != (contract.name, contract.version):
        yield (
            f"The claim is about the contract {claim['contract']} {claim['contract_version']}, and this is "
            f"{contract.name} {contract.version}."
        )
    if claim["requirement_set"] != frozen.version:
        yield f"The claim is about requirement set {claim['requirement_set']}, and this is {frozen.version}."
    for part in environment_of(contract, frozen):
        if part["name"] != "lock" and part_of(statement, part["name"]) != part:
            yield f"The {part['name']} of the claim is not the one that is installed here: their digests differ."


def _other_lock(statement: Mapping[str, Any], ground: Ground) -> Iterator[str]:
    """Yield libraries that draw cases or judge, in other versions than here; of Python the minor version counts."""
    installed = environment_of(ground.contract, ground.frozen)[-1]["annotations"]
    claimed = part_of(statement, "lock").get("annotations", {})
    for name in sorted({*installed, *claimed}):
        here, there = installed.get(name, "none"), str(claimed.get(name, "none"))
        if name == "python":
            here, there = (".".join(each.split(".")[:2]) for each in (here, there))
        if here != there:
            yield f"The run was made with {name} {there}, and {here} is installed here: other cases may be drawn."


def _not_whole(statement: Mapping[str, Any], ground: Ground) -> list[str]:
    from conformance.checks.declare import checked_requirements  # noqa: PLC0415 - imports every check

    missing = list(missing_requirements(statement, ground.frozen))
    if missing:
        return missing
    checked = checked_requirements(ground.contract)
    return list(contradictions(statement, ground.registry, ground.frozen, checked))


def _unlike_the_run(statement: Mapping[str, Any], ground: Ground, folder: Path) -> Iterator[str]:
    """Yield what the claim says otherwise than the stored run, and what is wrong with that."""
    attested = extension_of(statement)
    attestation = Attestation(attested["attested_at"], attested["attested_by"]["name"])
    for name in LOGS:
        if not (folder / name).is_file():
            yield f"The folder has no {name}."
            return
    try:
        again = decide_again(folder, ground)
        expected = statement_of(folder, ground.contract, ground.frozen, again.run, attestation)
    except ConformanceError as problem:
        yield f"The stored run cannot be read: {problem}"
        return
    yield from differences(statement, expected)
    try:
        runs = whole_runs(again, ground)
    except ClaimRefused as refused:
        yield refused.sentence
        return
    broken = tuple(refusals(again, runs, ground))
    yield from broken
    if broken:
        # What a case made of a log with gaps says nothing.
        yield "The stored exchanges were not judged again, since the stored run is not whole."
        return
    for each in runs:
        yield from each.told(_unlike_its_exchanges(statement, ground, each.again))


def _unlike_its_exchanges(statement: Mapping[str, Any], ground: Ground, again: DecidedAgain) -> Iterator[str]:
    """Yield what of a single run does not follow from its exchanges, or is left out."""
    folder = again.stored.folder
    if libraries_of(folder) != part_of(statement, "lock").get("annotations", {}):
        yield "The lock of the claim is not what the log says of the libraries with which the run was made."
    if again.run.verdict.overall == "conforms":
        yield from few(missing_cases(again.stored, ground.contract.folder))
    yield from judged_again(folder, ground.contract.folder)
