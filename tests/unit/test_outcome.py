"""How a call came out, as findings."""

from __future__ import annotations

import pytest
from made_answers import GET, answer, exchange, silence

from conformance.errors import CouldNotRun
from conformance.judge.finding import Finding
from conformance.judge.outcome import answered, not_refused_as, refused, refused_as, succeeded
from conformance.transport.exchange import Answer, ErrorKind

SUCCESS = answer("success")
INVALID = answer("refused", frozenset({"invalid_input"}))
CONFLICT = answer("refused", frozenset({"conflict", "in_progress"}), shown=exchange(409, reason="Conflict"))
NO_KIND = answer("refused", frozenset(), shown=exchange(418))
UNTOLD = answer("refused", None)
LIMITED = answer("refused", frozenset({"rate_limited", "in_progress"}), shown=exchange(429))
FAILED = answer("server-error", shown=exchange(500, reason="Oops"))
SILENT = answer("no-answer", shown=silence())
REDIRECT = answer("unexpected", shown=exchange(302))
KINDS: frozenset[ErrorKind] = frozenset({"invalid_input"})


def ids(findings: object) -> list[str]:
    """Return the requirements of some findings."""
    return [finding.requirement for finding in findings]  # type: ignore[attr-defined]  # findings


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (SUCCESS, []),
        (INVALID, []),
        (FAILED, ["HTTP-NO-SERVER-ERROR"]),
        (SILENT, ["HTTP-NO-SERVER-ERROR"]),
        (REDIRECT, ["HTTP-SUCCESS-STATUS"]),
    ],
)
def test_every_call_must_be_answered(given: Answer, found: list[str]) -> None:
    """A 5xx, silence and a status that means nothing are findings, whatever was asked."""
    assert found == ids(answered(given)) == ids(not_refused_as(given, "conflict", "A-B", "a call"))


def test_only_a_refusal_is_refused_as_something() -> None:
    """A server that fails is not said to refuse besides, whatever kind its answer names."""
    failed = answer("server-error", frozenset({"conflict"}), shown=exchange(503))
    assert ["HTTP-NO-SERVER-ERROR"] == ids(not_refused_as(failed, "conflict", "A-B", "a call"))


@pytest.mark.parametrize(
    ("given", "any_kind", "as_invalid"),
    [
        (SUCCESS, ["A-B"], ["A-B"]),
        (INVALID, [], []),
        (CONFLICT, [], ["C-D"]),
        (NO_KIND, [], ["C-D"]),
        (UNTOLD, [], []),
        (FAILED, ["HTTP-NO-SERVER-ERROR"], ["HTTP-NO-SERVER-ERROR"]),
        (SILENT, ["HTTP-NO-SERVER-ERROR"], ["HTTP-NO-SERVER-ERROR"]),
    ],
)
def test_a_call_that_must_be_refused(given: Answer, any_kind: list[str], as_invalid: list[str]) -> None:
    """Acceptance breaks one requirement, the wrong kind another; a target that tells no kind is judged on the first."""
    assert any_kind == ids(refused(given, "A-B", "a wrong call"))
    assert as_invalid == ids(refused_as(given, KINDS, "A-B", "C-D", "a wrong call"))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (SUCCESS, []),
        (INVALID, ["A-B"]),
        (CONFLICT, []),
        (NO_KIND, []),
        (UNTOLD, []),
        (FAILED, ["HTTP-NO-SERVER-ERROR"]),
    ],
)
def test_a_call_that_must_not_be_refused_as_a_kind(given: Answer, found: list[str]) -> None:
    """Another refusal is fine."""
    assert found == ids(not_refused_as(given, "invalid_input", "A-B", "a right call"))


@pytest.mark.parametrize(
    ("given", "found"), [(SUCCESS, []), (INVALID, ["A-B"]), (UNTOLD, ["A-B"]), (FAILED, ["HTTP-NO-SERVER-ERROR"])]
)
def test_a_call_that_must_succeed(given: Answer, found: list[str]) -> None:
    """Any refusal is a finding."""
    assert found == ids(succeeded(given, "A-B", "a right call"))


def test_a_finding_says_what_was_expected_and_shows_the_exchange() -> None:
    """A sentence without values, so that many cases of one fault read alike; the values beside it."""
    assert [
        Finding(
            "C-D", GET.name, "Refused a wrong call as another kind of failure", "status", "invalid_input",
            "409 Conflict", (CONFLICT.exchange,),
        )
    ] == list(refused_as(CONFLICT, KINDS, "A-B", "C-D", "a wrong call"))  # fmt: skip


def test_a_rate_limit_is_nobodys_fault() -> None:
    """What a target refuses only because it was called too often says nothing about the call."""
    for findings in (
        refused(LIMITED, "A-B", "a wrong call"),
        not_refused_as(LIMITED, "invalid_input", "A-B", "a right call"),
        refused_as(LIMITED, KINDS, "A-B", "C-D", "a wrong call"),
        succeeded(LIMITED, "A-B", "a right call"),
    ):
        with pytest.raises(CouldNotRun, match=r"429.*Raise the limit"):
            list(findings)
    assert [] == ids(refused_as(LIMITED, frozenset({"in_progress"}), "A-B", "C-D", "a concurrent copy"))
