"""The gate: what fails a run beside its findings, what it lets pass, and which exit status that makes."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from made_runs import FACTS, case, requirement, run_of

from conformance.errors import ExitStatus, UsageProblem
from conformance.gate import read_baseline, staleness
from conformance.ledger import CaseRecord
from conformance.requirements import Requirement
from conformance.run import Gate, RunFacts
from conformance.target import Waiver
from conformance.verdict import exit_status

DERIVED = requirement("READ-ONE")
DOCUMENTED = requirement("READ-TWO", basis="documented")
SCHEMA = requirement("INPUT-TYPE", family="input", basis="schema")
KEY = (DERIVED.id, "o", "s")
WAIVER = Waiver(DERIVED.id, "r", "o", datetime.date(2999, 1, 1))


def failed(*broken: Requirement) -> CaseRecord:
    """Return a case that found these broken."""
    return case("failed", *(each.id for each in broken), broken=[each.id for each in broken])


def passed(*tested: Requirement) -> CaseRecord:
    """Return a case that passed."""
    return case("passed", *(each.id for each in tested), number=2)


def status(records: list[CaseRecord], facts: RunFacts, *requirements: Requirement) -> tuple[ExitStatus, list[str]]:
    """Return the exit status of a run and its problems."""
    verdict, ledger = run_of(records, *requirements, facts=facts)
    problems = [*staleness(verdict, ledger, facts).problems()]
    return exit_status(verdict, ledger, facts, problems), problems


@pytest.mark.parametrize(
    ("broken", "fail_on", "expected"),
    [
        (DERIVED, "derived", ExitStatus.DOES_NOT_CONFORM),
        (DERIVED, "documented", ExitStatus.CONFORMS),
        (DERIVED, "schema", ExitStatus.CONFORMS),
        (DOCUMENTED, "documented", ExitStatus.DOES_NOT_CONFORM),
        (DOCUMENTED, "schema", ExitStatus.CONFORMS),
        (SCHEMA, "schema", ExitStatus.DOES_NOT_CONFORM),
    ],
)
def test_only_breaches_of_a_basis_that_counts_fail_the_run(
    broken: Requirement, fail_on: Literal["derived", "documented", "schema"], expected: ExitStatus
) -> None:
    """The verdict stays what it is: a server that breaks something does not conform."""
    facts = replace(FACTS, gate=Gate(fail_on=fail_on))
    verdict, ledger = run_of([failed(broken)], broken, facts=facts)
    assert ("does not conform", expected) == (verdict.overall, exit_status(verdict, ledger, facts))


def test_a_finding_under_no_requirement_always_counts() -> None:
    """Nobody can say on which basis it stands."""
    facts = replace(FACTS, gate=Gate(fail_on="schema"))
    assert ExitStatus.DOES_NOT_CONFORM == status([case("failed", broken=["MADE-UP"])], facts, DERIVED)[0]


def test_known_faults_pass_and_new_ones_do_not() -> None:
    """The baseline knows faults by requirement, operation and sentence."""
    facts = replace(FACTS, gate=Gate(baseline=(KEY,)))
    verdict, ledger = run_of([failed(DERIVED)], DERIVED, facts=facts)
    assert ("does not conform", "known") == (verdict.overall, verdict.results[0].outcome)
    assert ExitStatus.CONFORMS == exit_status(verdict, ledger, facts)
    assert ExitStatus.DOES_NOT_CONFORM == status([failed(DERIVED, SCHEMA)], facts, DERIVED, SCHEMA)[0]
    other = replace(FACTS, gate=Gate(baseline=((DERIVED.id, "o", "another sentence"),)))
    assert ExitStatus.DOES_NOT_CONFORM == status([failed(DERIVED)], other, DERIVED)[0]


def test_a_known_fault_that_is_gone_fails_the_run() -> None:
    """It could come back unseen; but only a whole run can tell that it is gone."""
    facts = replace(FACTS, gate=Gate(baseline=(KEY,)))
    ended, problems = status([passed(DERIVED)], facts, DERIVED)
    assert ExitStatus.DOES_NOT_CONFORM == ended
    assert len(problems) == 1
    assert DERIVED.id in problems[0]
    assert (ExitStatus.CONFORMS, []) == status([passed(DERIVED)], replace(facts, unexecuted=1), DERIVED)
    skipped = case("not assessed", DERIVED.id, reason="no clock")
    assert (ExitStatus.CONFORMS, []) == status([skipped, passed(SCHEMA)], facts, DERIVED, SCHEMA)


def test_a_waiver_that_is_not_needed_fails_the_run() -> None:
    """One that is needed passes."""
    facts = replace(FACTS, waivers=(WAIVER,))
    ended, problems = status([passed(DERIVED)], facts, DERIVED)
    assert (ExitStatus.DOES_NOT_CONFORM, 1) == (ended, len(problems))
    assert "stale" in problems[0]
    assert (ExitStatus.CONFORMS, []) == status([failed(DERIVED), passed(SCHEMA)], facts, DERIVED, SCHEMA)


@pytest.mark.parametrize(
    ("profile", "offered", "level"),
    [
        ("certify", ("rest",), "full"),
        ("standard", ("rest",), "behaviour"),
        ("certify", ("rest", "mcp-http"), "behaviour"),
    ],
)
@pytest.mark.parametrize("required", ["schema", "behaviour", "full"])
def test_less_than_the_required_level_is_a_status_of_its_own(
    profile: str, offered: tuple[str, ...], level: str, required: Literal["schema", "behaviour", "full"]
) -> None:
    """The full level takes the profile certify and every transport that the target offers."""
    facts = replace(FACTS, profile=profile, offered=offered, gate=Gate(required=required))
    verdict, ledger = run_of([passed(SCHEMA), passed(DERIVED)], SCHEMA, DERIVED, facts=facts)
    assert level == verdict.level
    enough = {"schema": True, "behaviour": True, "full": level == "full"}[required]
    expected = ExitStatus.CONFORMS if enough else ExitStatus.BELOW_REQUIRED_LEVEL
    assert expected == exit_status(verdict, ledger, facts)


def test_a_part_of_a_run_claims_nothing() -> None:
    """So it never reaches a level that is required."""
    facts = replace(FACTS, unexecuted=1, gate=Gate(required="schema"))
    assert ExitStatus.BELOW_REQUIRED_LEVEL == status([passed(SCHEMA)], facts, SCHEMA)[0]


def test_a_baseline_is_read_from_a_report(tmp_path: Path) -> None:
    """From the file, or from the folder that has it; each fault once."""
    finding = {"requirement": "A", "operation": "", "summary": "s", "cases": []}
    (tmp_path / "report.json").write_text(json.dumps({"findings": [finding, finding]}), encoding="utf-8")
    assert (("A", "", "s"),) == read_baseline(tmp_path / "report.json") == read_baseline(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read"), ("{", "is not JSON"), ("[]", "no report"), ("{}", "no report")]
)
def test_a_wrong_baseline_is_named(content: str | None, said: str, tmp_path: Path) -> None:
    """With what is wrong, and what to do."""
    path = tmp_path / "baseline.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageProblem, match=said) as problem:
        read_baseline(path)
    assert str(path) in str(problem.value)
    assert "--baseline" in str(problem.value)


def test_facts_travel_as_json() -> None:
    """With waivers, gate and shard."""
    facts = replace(FACTS, waivers=(WAIVER,), gate=Gate("full", "schema", (KEY,)), offered=("rest", "mcp-http"))
    values: Any = json.loads(json.dumps(facts.to_json()))
    assert facts == RunFacts.from_json(values)
