"""The verdict as a pure function: a truth table."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from made_runs import FACTS, case, requirement, run_of

from conformance.errors import ExitStatus
from conformance.ledger import CaseRecord, Ledger
from conformance.requirements import Requirement
from conformance.target import Tier, Waiver
from conformance.verdict import Overall, RequirementResult, Verdict, exit_status

ONE = requirement("READ-ONE")
OTHER = requirement("READ-OTHER")
SHOULD = requirement("READ-SHOULD", level="SHOULD")
SCHEMA = requirement("INPUT-TYPE", family="input", basis="schema")
MCP_ONLY = Requirement("MCP-ONE", "protocol", "MUST", "derived", "A statement.", (), (), ("mcp-http",))


def verdict(
    records: Collection[CaseRecord],
    *requirements: Requirement,
    checked: Collection[str] | None = None,
    tier: Tier = "control",
    waived: Collection[str] = (),
    unexecuted: int = 0,
) -> tuple[Verdict, Ledger]:
    """Decide over these requirements."""
    waivers = tuple(Waiver(each, "r", "o", datetime.date(2999, 1, 1)) for each in waived)
    facts = replace(FACTS, tier=tier, waivers=waivers, unexecuted=unexecuted)
    return run_of(records, *requirements, facts=facts, checked=checked)


def single(*records: CaseRecord, of: Requirement = ONE, **more: Any) -> RequirementResult:
    """Return what became of one requirement."""
    return verdict(records, of, **more)[0].results[0]


PASSED = case("passed", ONE.id)
FAILED = case("failed", ONE.id, broken=[ONE.id])
SKIPPED = case("not assessed", ONE.id, reason="no clock")
BLOCKED = case("could not run", ONE.id, reason="it is gone")
ERROR = case("error", ONE.id, reason="KeyError: 'x'")


@pytest.mark.parametrize(
    ("records", "overall", "status"),
    [
        ([], "not run", ExitStatus.NOTHING_EXECUTED),
        ([SKIPPED], "not run", ExitStatus.NOTHING_EXECUTED),
        ([BLOCKED], "not run", ExitStatus.COULD_NOT_RUN),
        ([ERROR], "not run", ExitStatus.SUITE_FAULT),
        ([PASSED], "conforms", ExitStatus.CONFORMS),
        ([PASSED, SKIPPED], "conforms", ExitStatus.CONFORMS),
        ([FAILED], "does not conform", ExitStatus.DOES_NOT_CONFORM),
        ([PASSED, FAILED], "does not conform", ExitStatus.DOES_NOT_CONFORM),
        ([PASSED, BLOCKED], "incomplete", ExitStatus.COULD_NOT_RUN),
        ([FAILED, BLOCKED], "does not conform", ExitStatus.DOES_NOT_CONFORM),
        ([PASSED, ERROR], "incomplete", ExitStatus.SUITE_FAULT),
        ([FAILED, ERROR], "does not conform", ExitStatus.SUITE_FAULT),
        ([BLOCKED, ERROR], "not run", ExitStatus.SUITE_FAULT),
    ],
)
def test_one_requirement(records: list[CaseRecord], overall: Overall, status: ExitStatus) -> None:
    """What the cases of a single requirement come to; a run in which nothing was executed is never green."""
    found, ledger = verdict(records, ONE)
    assert (overall, status) == (found.overall, exit_status(found, ledger, FACTS))


@pytest.mark.parametrize(
    ("records", "overall"),
    [
        ([PASSED], "incomplete"),
        ([PASSED, case("passed", OTHER.id)], "conforms"),
        ([PASSED, case("not assessed", OTHER.id, reason="no clock")], "conforms"),
        ([PASSED, case("not assessed", OTHER.id), case("error", OTHER.id)], "incomplete"),
        ([case("failed", ONE.id, OTHER.id, broken=[ONE.id])], "does not conform"),
    ],
)
def test_a_required_check_that_was_not_selected_leaves_the_run_incomplete(
    records: list[CaseRecord], overall: Overall
) -> None:
    """What the target cannot show is told apart from what was left out."""
    assert overall == verdict(records, ONE, OTHER)[0].overall


def test_cases_that_were_left_out_leave_the_run_incomplete() -> None:
    """Also when other cases of every requirement have passed: the failing ones may be those that were left out."""
    assert "incomplete" == verdict([PASSED], ONE, unexecuted=1)[0].overall
    assert "does not conform" == verdict([FAILED], ONE, unexecuted=1)[0].overall


def test_a_should_that_fails_is_a_warning() -> None:
    """It does not keep a target from conforming."""
    broken = case("failed", SHOULD.id, broken=[SHOULD.id])
    found, ledger = verdict([PASSED, broken], ONE, SHOULD)
    assert ["pass", "warning"] == [result.outcome for result in found.results]
    assert ("conforms", ExitStatus.CONFORMS) == (found.overall, exit_status(found, ledger, FACTS))


def test_a_waiver_excuses_a_derived_requirement_alone() -> None:
    """What stands in the contract cannot be waived."""
    assert "waived" == single(FAILED, waived=[ONE.id]).outcome
    assert "fail" == single(case("failed", broken=[SCHEMA.id]), of=SCHEMA, waived=[SCHEMA.id]).outcome
    assert "conforms" == verdict([FAILED, case("passed", OTHER.id)], ONE, OTHER, waived=[ONE.id])[0].overall
    assert "pass" == single(PASSED, waived=[ONE.id]).outcome


def test_a_waiver_alone_is_no_pass() -> None:
    """Where everything that was judged is waived, nothing holds."""
    assert "incomplete" == verdict([FAILED], ONE, waived=[ONE.id])[0].overall


def test_a_requirement_without_a_check_is_told_apart() -> None:
    """The verdict is silent on it."""
    found = verdict([PASSED], ONE, OTHER, checked=[ONE.id])[0]
    assert ["pass", "no check yet"] == [result.outcome for result in found.results]
    assert "conforms" == found.overall


def test_a_requirement_of_another_transport_is_not_applicable() -> None:
    """And does not keep a run from conforming."""
    found = verdict([PASSED], ONE, MCP_ONLY)[0]
    assert ["pass", "not applicable"] == [result.outcome for result in found.results]
    assert "conforms" == found.overall


def test_counts_and_reasons_are_kept() -> None:
    """How many cases passed and failed, and why a requirement was not assessed, each reason once."""
    result = single(PASSED, FAILED, case("failed", ONE.id, broken=[ONE.id, ONE.id], number=2))
    assert ("fail", 1, 2) == (result.outcome, result.passed, result.failed)
    skipped = single(
        SKIPPED, case("not assessed", ONE.id, reason="no clock", number=2), case("not assessed", ONE.id, reason="a")
    )
    assert ("not assessed", "a; no clock", True) == (skipped.outcome, skipped.reason, skipped.missing)
    blocked = single(SKIPPED, BLOCKED)
    assert ("not assessed", "it is gone", False) == (blocked.outcome, blocked.reason, blocked.missing)
    unselected = single(case("passed", OTHER.id))
    assert ("not assessed", False) == (unselected.outcome, unselected.missing)
    assert "not selected" in unselected.reason


def test_a_bare_target_shows_nothing_of_what_takes_more() -> None:
    """A case that passes there says nothing of a requirement that needs a seeded conversation."""
    seeded = dataclasses.replace(ONE, needs=("seed",))
    assert "pass" == single(PASSED, of=seeded).outcome
    bare = single(PASSED, of=seeded, tier="bare")
    assert ("not assessed", 0, "needs test control (seed)", True) == (
        bare.outcome,
        bare.passed,
        bare.reason,
        bare.missing,
    )
    assert "pass" == single(PASSED, of=dataclasses.replace(ONE, needs=("token",)), tier="bare").outcome
    assert "fail" == single(FAILED, of=seeded, tier="bare").outcome


def test_a_finding_counts_whatever_the_case_was_declared_for() -> None:
    """A case may find what it was not looking for."""
    found = verdict([case("failed", ONE.id, broken=[OTHER.id])], ONE, OTHER)[0]
    assert ["not assessed", "fail"] == [result.outcome for result in found.results]


def test_a_finding_without_a_registered_requirement_counts() -> None:
    """A bundle without a registry has findings all the same, and they are never green."""
    found, ledger = verdict([PASSED, case("failed", broken=["MADE-UP"])], ONE)
    assert ExitStatus.DOES_NOT_CONFORM == exit_status(found, ledger, FACTS)


def test_families_are_counted() -> None:
    """Requirements by family and outcome."""
    counts = verdict([PASSED], ONE, OTHER, SCHEMA)[0].family_counts()
    assert {"read": {"pass": 1, "not assessed": 1}, "input": {"not assessed": 1}} == counts


@pytest.mark.parametrize(
    ("records", "tier", "level"),
    [
        ([PASSED, case("passed", SCHEMA.id)], "control", "behaviour"),
        ([PASSED, case("passed", SCHEMA.id)], "bare", "schema"),
        ([case("passed", SCHEMA.id), SKIPPED], "control", "schema"),
        ([PASSED], "control", "none"),
    ],
)
def test_the_level_says_how_much_was_assessed(records: list[CaseRecord], tier: Tier, level: str) -> None:
    """Behaviour takes test control and all of it; schema takes every input check."""
    assert level == verdict(records, ONE, SCHEMA, tier=tier)[0].level
