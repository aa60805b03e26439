"""Judges how a call came out: refused or not, and as what."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.errors import CouldNotRun
from conformance.judge.finding import Finding
from conformance.transport.exchange import Answer, ErrorKind


def answered(answer: Answer) -> Iterator[Finding]:
    """Yield a finding when the server failed: a 5xx, no answer, or a status that means nothing here."""
    operation = answer.call.operation.name
    if answer.outcome == "server-error":
        yield Finding(
            answer.breach,
            operation,
            "The server failed on a request instead of answering it",
            "status",
            "a status below 500",
            answer.status,
        ).shown_by(answer.exchange)
    elif answer.outcome == "no-answer":
        yield Finding(
            answer.breach,
            operation,
            "The server gave no usable answer",
            "connection",
            "an answer",
            answer.status,
        ).shown_by(answer.exchange)
    elif answer.outcome == "unexpected":
        yield Finding(
            answer.breach,
            operation,
            "The answer is neither a success nor a failure of the binding",
            "status",
            "a success or a failure as the binding has them",
            answer.status,
        ).shown_by(answer.exchange)


def _not_limited(answer: Answer) -> None:
    """Make sure that it is not a rate limit which keeps the target from answering as it would.

    Raises:
        CouldNotRun: it is; that says nothing about the call.
    """
    if answer.kinds and "rate_limited" in answer.kinds:
        raise CouldNotRun(
            f"the target's rate limit stands in the way ({answer.status}, also after waiting)",
            "Raise the limit for the deployment under test.",
        )


def refused(answer: Answer, requirement: str, what: str) -> Iterator[Finding]:
    """Yield a finding when a call that must be refused, for whatever kind, was not; ``what`` describes the call.

    Raises:
        CouldNotRun: a rate limit refused it, which says nothing about the call.
    """
    _not_limited(answer)
    yield from _not_accepted(answer, requirement, what)


def _not_accepted(answer: Answer, requirement: str, what: str) -> Iterator[Finding]:
    yield from answered(answer)
    if answer.outcome == "success":
        yield Finding(
            requirement, answer.call.operation.name, f"Accepted {what}", "status", "a refusal", answer.status
        ).shown_by(answer.exchange)


def refused_as(
    answer: Answer, kinds: frozenset[ErrorKind], requirement: str, kind_requirement: str, what: str
) -> Iterator[Finding]:
    """Yield findings when a call was not refused (``requirement``), or as another kind (``kind_requirement``).

    A target that gives no way to tell the kind is judged on the refusal alone.
    """
    yield from _not_accepted(answer, requirement, what)
    if answer.outcome == "refused" and answer.kinds is not None and not answer.kinds & kinds:
        _not_limited(answer)
        yield Finding(
            kind_requirement,
            answer.call.operation.name,
            f"Refused {what} as another kind of failure",
            "status",
            " or ".join(sorted(kinds)),
            answer.status,
        ).shown_by(answer.exchange)


def not_refused_as(answer: Answer, kind: ErrorKind, requirement: str, what: str) -> Iterator[Finding]:
    """Yield a finding when a call was refused as ``kind`` although nothing about it is of that kind.

    Raises:
        CouldNotRun: a rate limit refused it, which says nothing about the call.
    """
    _not_limited(answer)
    yield from answered(answer)
    if answer.outcome == "refused" and answer.kinds is not None and kind in answer.kinds:
        yield Finding(
            requirement,
            answer.call.operation.name,
            f"Refused {what} as {kind.replace('_', ' ')}",
            "status",
            f"anything but {kind.replace('_', ' ')}",
            answer.status,
        ).shown_by(answer.exchange)


def succeeded(answer: Answer, requirement: str, what: str) -> Iterator[Finding]:
    """Yield a finding when a call that must succeed did not."""
    yield from answered(answer)
    if answer.outcome == "refused":
        _not_limited(answer)
        yield Finding(
            requirement, answer.call.operation.name, f"Refused {what}", "status", "success", answer.status
        ).shown_by(answer.exchange)
