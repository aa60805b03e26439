"""The second engine against real servers: silent on conforming ones, whatever they chose, and not on faulty ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.checks.test_second_engine import test_a_second_engine_finds_nothing as check
from conformance.contract import load_contract
from conformance.embedded import start_reference_server
from conformance.judge.finding import Finding, NonConformance
from conformance.requirements import load_registry
from conformance.session import RunSettings, Session, open_control
from conformance.target import Target

pytest.importorskip("schemathesis")

CONTRACT = load_contract(None)


def _findings(profile: str, *arguments: str, effects: tuple[str, ...] = ("read", "write")) -> Iterator[Finding]:
    """Put each operation of a reference server to the test and yield all findings."""
    server = start_reference_server(*arguments)
    target = Target("rest", url=server.url, control_url=server.control_url)
    session = Session(CONTRACT, load_registry(CONTRACT), target, RunSettings(1, profile), open_control(target))
    try:
        for operation in CONTRACT.operations:
            if operation.effect in effects:
                session.begin_case(operation.name)
                try:
                    check(operation, session)
                except NonConformance as problem:
                    yield from problem.findings
    finally:
        session.close()
        server.stop()


@pytest.mark.parametrize(
    "variant",
    [
        "conflict-412",
        "invalid-422",
        "unknown-403",
        "float-integers-refused",
        "upper-case-uuids-refused",
        "published-uuids-only",
        "input-judged-before-caller",
    ],
)
def test_choices_of_a_conforming_server_are_no_findings(variant: str) -> None:
    """What stock settings of Schemathesis take for faults is no finding."""
    assert [] == list(_findings("quick", "--variant", variant))


@pytest.mark.parametrize(
    ("fault", "requirement"),
    [
        ("input-malformed-json-500", "HTTP-NO-SERVER-ERROR"),
        ("output-retention-23", "OUTPUT-CONST"),
        ("output-extra-key-in-status", "OUTPUT-UNKNOWN-FIELD"),
        ("authentication-missing-token-reads", "AUTH-TOKEN-MISSING"),
        ("http-archive-answered-201", "HTTP-SUCCESS-STATUS"),
    ],
)
def test_faults_are_found_for_what_they_are(fault: str, requirement: str) -> None:
    """Each fault is found as a breach of one requirement, with the exchange that shows it."""
    findings = list(_findings("standard", "--fault", fault))
    assert {requirement} == {finding.requirement for finding in findings}
    assert all(finding.exchanges for finding in findings)


def test_an_ignored_unknown_field_is_found() -> None:
    """Rare kinds of wrong input are among the cases once there are enough of them to choose from."""
    findings = list(_findings("certify", "--fault", "input-unknown-field-ignored", effects=("write",)))
    assert {"INPUT-UNKNOWN-FIELD"} == {finding.requirement for finding in findings}
