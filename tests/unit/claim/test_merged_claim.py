"""What a claim about merged runs says of itself: its level, its transports and its times, without the folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claim_material import claim_of, noted, published
from made_runs import FACTS, case, ledger_of, requirement

from conformance.claim.completeness import contradictions
from conformance.claim.digests import value_digest
from conformance.claim.statement import LOGS, Attestation, part_of, statement_of
from conformance.errors import ExitStatus
from conformance.gate import Staleness
from conformance.report.json_report import Decided
from conformance.requirements import Registry, RequirementSet
from conformance.run import RunFacts
from conformance.target import Implementation
from conformance.verdict import decide

READ = requirement("READ")
REGISTRY, FROZEN = Registry({}, (READ,), (), ()), RequirementSet("c", "1", frozenset({"READ"}))
MERGED = replace(
    FACTS, implementation=Implementation("Acme", "1.4"), profile="certify", offered=("rest", "mcp-http"),
    merged=("rest", "mcp-http"), at_most="behaviour", started_at="2026-01-01T10:00:00Z", duration=120.0,
)  # fmt: skip


def statement(folder: Path, facts: RunFacts = MERGED) -> dict[str, Any]:
    """Return the statement about merged runs in which everything that there is has passed."""
    for name in LOGS:
        (folder / name).touch()
    ledger = ledger_of([case("passed", "READ")])
    verdict = decide(REGISTRY, FROZEN, {"READ"}, ledger, facts)
    run = Decided(facts, ledger, verdict, Staleness((), ()), (), ExitStatus.CONFORMS, complete=True)
    return statement_of(folder, published().contract, FROZEN, run, Attestation("2026-01-01T10:01:30Z"))


def set_to(claim: dict[str, Any], **values: Any) -> None:
    """Give the settings other values, with the digest that fits them."""
    noted(claim, "settings").update(values)
    part_of(claim, "settings")["digest"]["sha256"] = value_digest(noted(claim, "settings"))


def told(claim: Mapping[str, Any]) -> list[str]:
    """Return what contradicts itself."""
    return list(contradictions(claim, REGISTRY, FROZEN, {"READ"}))


def test_the_level_is_no_higher_than_that_of_the_parts(tmp_path: Path) -> None:
    """Though all that is assessed over all transports would come to more; only the parts themselves can show more."""
    claim = statement(tmp_path)
    assert ("behaviour", []) == (claim_of(claim)["level"], told(claim))
    claim_of(claim)["level"] = "full"
    assert ["The claim says level 'full'; its own outcomes come to 'behaviour'."] == told(claim)
    set_to(claim, at_most="full")
    assert [] == told(claim)


def test_every_transport_that_is_offered_belongs_to_the_highest_level(tmp_path: Path) -> None:
    """A claim that leaves one out contradicts itself."""
    claim = statement(tmp_path, replace(MERGED, at_most="full", duration=60.0))
    assert ("full", []) == (claim_of(claim)["level"], told(claim))
    set_to(claim, transports_merged=["rest"])
    assert ["The claim says level 'full'; its own outcomes come to 'behaviour'."] == told(claim)


def test_runs_may_have_gone_on_at_the_same_time(tmp_path: Path) -> None:
    """So only a claim that was attested before any of them can have ended is refused."""
    assert [] == told(statement(tmp_path))
    found = told(statement(tmp_path, replace(MERGED, duration=300.0)))
    assert ["The claim says that it was attested at 2026-01-01T10:01:30Z, before its run had ended."] == found


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"transports_merged": ["mcp-http", "mcp-stdio"]}, "about rest, and that is none of the transports that it"),
        ({"transports_merged": []}, "says that a part came to 'behaviour' at most, and it is about a single run."),
    ],
    ids=["others", "none"],
)
def test_settings_that_do_not_fit(values: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    """The transport is that of the first of several, and a single run has no parts."""
    claim = statement(tmp_path)
    set_to(claim, **values)
    assert [] != [each for each in told(claim) if sentence in each], told(claim)
