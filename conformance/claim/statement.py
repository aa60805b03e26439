"""The statement of a claim: in-toto's test result v0.1, and in an extension member what that has no place for.

https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md; the shape is ``statement.schema.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from conformance.claim.digests import (
    build_digest,
    contract_digest,
    file_digest,
    requirement_set_digest,
    suite_digest,
    value_digest,
)
from conformance.claim.envelope import strict_json
from conformance.claim.refused import ClaimRefused
from conformance.contract import Contract
from conformance.libraries import versions
from conformance.report import case_log, exchange_log, json_report
from conformance.report.json_report import Decided
from conformance.requirements import RequirementSet
from conformance.run import RunFacts
from conformance.verdict import Outcome, RequirementResult

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://in-toto.io/attestation/test-result/v0.1"
EXTENSION: Final = "urn:sosoapi-conformance:claim:1"
ENVIRONMENT: Final = ("suite", "contract", "requirement set", "lock")
"""Parts of the configuration that a verifier has too, without the folder of the run."""
LOGS: Final = (exchange_log.NAME, case_log.NAME, json_report.NAME)
"""Files of the run that a claim holds on to."""
PARTS: Final = (*ENVIRONMENT, "settings", *LOGS)

_PASSED: Final[tuple[Outcome, ...]] = ("pass",)
_WARNED: Final[tuple[Outcome, ...]] = ("warning", "waived")
_FAILED: Final[tuple[Outcome, ...]] = ("fail", "known")
_NO_DIGEST: Final = "nameAndVersion"
_SCHEMA: Final = Path(__file__).with_name("statement.schema.json")


@dataclass(frozen=True)
class Attestation:
    """Who attests, and when (UTC as RFC 3339); ``independent`` names who has run the suite again, or is empty."""

    at: str
    independent: str = ""


def statement_of(
    folder: Path, contract: Contract, frozen: RequirementSet, run: Decided, attestation: Attestation
) -> dict[str, Any]:
    """Return the statement about a stored run.

    Raises:
        ClaimRefused: nothing says what was tested, or against which set.
        OSError: a file of the run cannot be read.
    """
    facts, ledger, verdict = run.facts, run.ledger, run.verdict
    environment = environment_of(contract, frozen)
    stored = [{"name": name, "digest": {"sha256": file_digest(folder / name)}} for name in LOGS]
    return {
        "_type": STATEMENT_TYPE,
        "subject": [subject(facts, environment[0]["digest"])],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            **summary(verdict.overall, ((each.requirement.id, each.outcome) for each in verdict.results)),
            "configuration": [*environment, _part("settings", settings(facts)), *stored],
            EXTENSION: {
                "verdict": verdict.overall,
                "level": verdict.level,
                "exit_status": int(run.status),
                "problems": list(run.problems),
                "gate": json.loads(json.dumps(asdict(facts.gate))),
                "waivers": facts.to_json()["waivers"],
                "requirements": [_requirement(result) for result in verdict.results],
                "cases": {
                    "passed": ledger.count("passed"),
                    "failed": ledger.count("failed"),
                    "not_assessed": ledger.count("not assessed"),
                    "could_not_run": ledger.count("could not run"),
                    "error": ledger.count("error"),
                },
                "unexecuted": facts.unexecuted,
                "exchanges": ledger.exchanges,
                "target": {"address": facts.address, **asdict(facts.implementation), "embedded": facts.embedded},
                "suite_version": facts.suite_version,
                "contract": facts.contract,
                "contract_version": facts.contract_version,
                "requirement_set": frozen.version,
                "started_at": facts.started_at,
                "duration_s": round(facts.duration, 3),
                "attested_at": attestation.at,
                "attested_by": {"independent": bool(attestation.independent), "name": attestation.independent},
            },
        },
    }


def summary(verdict: str, outcomes: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return what in-toto's predicate itself says; a waived breach is a warning, since it is there."""
    of = list(outcomes)
    warned = [identifier for identifier, outcome in of if outcome in _WARNED]
    return {
        "result": "FAILED" if verdict != "conforms" else "WARNED" if warned else "PASSED",
        "passedTests": [identifier for identifier, outcome in of if outcome in _PASSED],
        "warnedTests": warned,
        "failedTests": [identifier for identifier, outcome in of if outcome in _FAILED],
    }


def subject(facts: RunFacts, suite: Mapping[str, str]) -> dict[str, Any]:
    """Return the artifact that was tested; the embedded reference server is a part of the suite.

    Where the target file has no build digest, the digest set has ``nameAndVersion`` alone: the SHA-256 of that text,
    which other tools do not take for the digest of a build.

    Raises:
        ClaimRefused: the target file says too little, or the digest is of no known form.
    """
    tested = facts.implementation
    if facts.embedded:
        return {"name": f"sosoapi-conformance reference server@{facts.suite_version}", "digest": dict(suite)}
    name = f"{tested.name}@{tested.version}" if tested.name and tested.version else ""
    if tested.build_digest:
        return {"name": name or tested.name or "_", "digest": build_digest(tested.build_digest)}
    if not name:
        raise ClaimRefused(
            "The run does not say which build was tested: write 'build_digest', or 'name' and 'version', into "
            "[implementation] of the target file, and run again."
        )
    return {"name": name, "digest": {_NO_DIGEST: value_digest({"name": tested.name, "version": tested.version})}}


def environment_of(contract: Contract, frozen: RequirementSet) -> list[dict[str, Any]]:
    """Return the parts of the configuration that are installed here.

    Raises:
        ClaimRefused: the contract has no frozen requirement set.
    """
    from conformance import __version__  # noqa: PLC0415 - read when it is asked for, as tests of other versions need

    bundle = {"name": contract.name, "version": contract.version}
    return [
        {"name": "suite", "digest": {"dirHash": suite_digest()}, "annotations": {"version": __version__}},
        {"name": "contract", "digest": {"dirHash": contract_digest(contract)}, "annotations": bundle},
        {
            "name": "requirement set",
            "digest": {"sha256": requirement_set_digest(contract, frozen)},
            "annotations": {"version": frozen.version},
        },
        _part("lock", versions()),
    ]


def settings(facts: RunFacts) -> dict[str, Any]:
    """Return how the suite was set for the run, and what was put together; ``at_most`` is the least level of that."""
    return {
        "seed": facts.seed,
        "profile": facts.profile,
        "tier": facts.tier,
        "capabilities": sorted(facts.capabilities),
        "transport": facts.transport,
        "transports_offered": list(facts.offered),
        "transports_merged": list(facts.merged),
        "mcp_revision": facts.mcp_revision,
        "at_most": facts.at_most,
    }


def encoded(statement: Mapping[str, Any]) -> bytes:
    """Return the statement as the bytes that are signed."""
    return json.dumps(statement, separators=(",", ":")).encode()


def decoded(payload: bytes) -> dict[str, Any]:
    """Return a statement that has the right shape; what it says is not checked.

    Raises:
        ClaimRefused: it is no such statement; the sentence says where it differs.
    """
    value = strict_json(payload, "statement")
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    _see_shape(value, schema, "")
    names = [part["name"] for part in value["predicate"]["configuration"]]
    for name in PARTS:
        if names.count(name) != 1:
            found = "is missing" if name not in names else "stands twice"
            raise ClaimRefused(f"The configuration of the claim is not whole: {name!r} {found}.")
    settings_schema = {"$ref": "#/$defs/settings", "$defs": schema["$defs"]}
    _see_shape(part_of(value, "settings").get("annotations"), settings_schema, "settings")
    return dict(value)


def part_of(statement: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the part of the configuration that has this name."""
    found: Mapping[str, Any] = next(part for part in statement["predicate"]["configuration"] if part["name"] == name)
    return found


def extension_of(statement: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the suite itself says beyond in-toto's predicate."""
    found: Mapping[str, Any] = statement["predicate"][EXTENSION]
    return found


def _see_shape(value: Any, schema: Mapping[str, Any], where: str) -> None:
    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is not None:
        place = "/".join([where, *map(str, error.absolute_path)]).strip("/") or "its top"
        raise ClaimRefused(f"The statement is not of the form of a claim, at {place}: {error.message[:200]}.")


def _part(name: str, annotations: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": value_digest(annotations)}, "annotations": dict(annotations)}


def _requirement(result: RequirementResult) -> dict[str, Any]:
    return {
        "id": result.requirement.id,
        "outcome": result.outcome,
        "passed": result.passed,
        "failed": result.failed,
        "reason": result.reason,
        "missing": result.missing,
    }
