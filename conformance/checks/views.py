"""What a reader sees of a whole conversation, *get* and every *status* together, and whether it is still the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from conformance.cases.json_text import encode
from conformance.checks.documents import agreement
from conformance.contract import Contract, Operation
from conformance.errors import SuiteFault
from conformance.judge.comparison import differences
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import succeeded
from conformance.judge.result import Judged
from conformance.session import Session
from conformance.stage import Scene
from conformance.transport.exchange import Answer, Credential, Exchange

AVAILABLE = "a read of an available conversation by its owner"
_SHOWN_DIFFERENCES = 3
_ANY_STATUS_SHOWS = "sentiment"


def operation_that(contract: Contract, effect: str, result: str) -> Operation | None:
    """Return the operation with that effect (``read``, ``write``) and kind of result, or ``None``."""
    found = (each for each in contract.operations if each.effect == effect and each.result == result)
    return next(found, None)


def needed_operation(session: Session, effect: str, result: str) -> Operation:
    """Return the operation with that effect and kind of result.

    Raises:
        SuiteFault: the contract has none, and so the check should not have been collected.
    """
    operation = operation_that(session.contract, effect, result)
    if operation is None:
        raise SuiteFault(f"a check ran that needs an operation to {effect} a {result}")
    return operation


def can_read(contract: Contract) -> bool:
    """Tell whether the contract shows conversations."""
    return operation_that(contract, "read", "conversation") is not None


@dataclass(frozen=True)
class View:
    """What a reader sees of one conversation: *get*, and by run id (lower case) the *status* of each run.

    A run of another kind than ``sentiment`` whose status is refused is left out: *status* may insist on that kind.
    """

    shown: Judged
    statuses: Mapping[str, Judged]

    @property
    def revision(self) -> int:
        """The conversation's revision as *get* shows it."""
        return int(self.shown.value["conversation"]["revision"])

    @property
    def exchange(self) -> Exchange:
        """The exchange of the *get*."""
        return self.shown.answer.exchange


def look(
    session: Session,
    scene: Scene,
    requirement: str = "READ-AVAILABLE",
    what: str = AVAILABLE,
    credential: Credential | None = None,
) -> tuple[View | None, tuple[Finding, ...]]:
    """Read the conversation and the status of each run, as the owner or with another credential.

    Returns:
        What was seen, or ``None`` where a read that must succeed did not, and the findings: ``requirement`` for a
        refused read (``what`` says of what), and those of the schemas and invariants.
    """
    get = needed_operation(session, "read", "conversation")
    who = credential or scene.principal.credential
    shown, findings = read_as(session, get, scene.arguments(get), who, requirement, what)
    if shown is None:
        return None, findings
    status = operation_that(session.contract, "read", "run")
    statuses = {}
    for run in shown.value["runs"] if status else ():
        assert status is not None
        arguments = scene.arguments(status, run["id"])
        answer = session.call(status, encode(arguments), who)
        if answer.outcome == "refused" and run["request_kind"] != _ANY_STATUS_SHOWS:
            continue
        judged, failures = judged_success(session, answer, arguments, requirement, what)
        findings += failures
        if judged is None:
            return None, findings
        statuses[run["id"].lower()] = judged
    return View(shown, statuses), findings


def read_all(
    session: Session,
    scene: Scene,
    requirement: str = "READ-AVAILABLE",
    what: str = AVAILABLE,
    credential: Credential | None = None,
) -> View:
    """Read as ``look`` does; where something is wrong with what is shown, the check ends with that.

    Raises:
        NonConformance: a read is refused, or breaks a schema or an invariant.
    """
    view, findings = look(session, scene, requirement, what, credential)
    must_hold(findings)
    assert view is not None
    return view


def read_as(
    session: Session, operation: Operation, arguments: Mapping[str, Any], who: Credential, requirement: str, what: str
) -> tuple[Judged | None, tuple[Finding, ...]]:
    """Call a read that must succeed; return the judged result, or ``None``, and all findings about it."""
    return judged_success(session, session.call(operation, encode(arguments), who), arguments, requirement, what)


def judged_success(
    session: Session, answer: Answer, arguments: Mapping[str, Any], requirement: str, what: str
) -> tuple[Judged | None, tuple[Finding, ...]]:
    """Judge an answer that must be a success; return the judged result, or ``None``, and all findings about it."""
    failures = tuple(succeeded(answer, requirement, what))
    if failures:
        return None, failures
    judged = session.results.judge(answer, arguments)
    return (judged if judged.value is not None else None), judged.findings


def status_equals_get(view: View) -> Iterator[Finding]:
    """Yield findings where the status of a run of an available conversation is not what *get* shows of it."""
    for run in view.shown.value["runs"]:
        status = view.statuses.get(run["id"].lower())
        if status is not None:
            yield from agreement(status, run, view.shown)


def still(
    session: Session, seen: Iterable[tuple[Scene, View]], requirement: str, after: str, *causes: Exchange
) -> Iterator[Finding]:
    """Look again and yield findings where a conversation or a run is not as it was; ``after`` says after what.

    A read that succeeded before and is refused now is a change like any other.
    """
    for scene, before in seen:
        now, failures = look(session, scene, requirement, f"a read after {after}")
        yield from (finding.shown_by(*causes, *finding.exchanges) for finding in failures)
        if now is not None:
            yield from changes(before, now, requirement, after, *causes)


def changes(
    before: View, now: View, requirement: str, after: str, *causes: Exchange, ignoring: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Yield findings where two views of one conversation differ, but in members named in ``ignoring``."""
    yield from _differing(before.shown, now.shown, requirement, f"The conversation has changed after {after}",
                          causes, ignoring)  # fmt: skip
    for run_id, status in before.statuses.items():
        again = now.statuses.get(run_id)
        if again is not None:
            yield from _differing(status, again, requirement, f"The status of a run has changed after {after}",
                                  causes, ignoring)  # fmt: skip
    for run_id in sorted(before.statuses.keys() ^ now.statuses.keys()):
        yield Finding(
            requirement,
            now.shown.answer.call.operation.name,
            f"A run's status is shown no longer, or only now, after {after}",
            "status",
            "as before",
            f"run {run_id}",
            (before.exchange, *causes, now.exchange),
        )


def _differing(
    before: Judged, now: Judged, requirement: str, summary: str, causes: tuple[Exchange, ...], ignoring: frozenset[str]
) -> Iterator[Finding]:
    different = (
        each for each in differences(before.value, now.value) if each.pointer.rsplit("/", 1)[-1] not in ignoring
    )
    for difference in islice(different, _SHOWN_DIFFERENCES):
        yield Finding(
            requirement,
            causes[-1].operation if causes else now.answer.call.operation.name,
            summary,
            difference.pointer,
            ascii(difference.expected)[:200],
            ascii(difference.found)[:200],
            (before.answer.exchange, *causes, now.answer.exchange),
        )


def same_result(first: Judged, again: Judged, requirement: str, what: str) -> Iterator[Finding]:
    """Yield findings where a second result is not the first one as JSON values; ``what`` describes the second call."""
    causes = (again.answer.exchange,)
    for difference in islice(differences(first.value, again.value), _SHOWN_DIFFERENCES):
        yield Finding(
            requirement,
            again.answer.call.operation.name,
            f"The result of {what} is not the first result",
            difference.pointer,
            ascii(difference.expected)[:200],
            ascii(difference.found)[:200],
            (first.answer.exchange, *causes),
        )
