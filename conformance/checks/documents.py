"""Seeds a conversation, reads it in every way, and judges that it is what was seeded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.cases.conversations import Document
from conformance.checks.steps import call
from conformance.contract import Operation
from conformance.judge.comparison import differences
from conformance.judge.finding import Finding, must_hold
from conformance.judge.formats import parse_instant
from conformance.judge.outcome import succeeded
from conformance.judge.result import INVARIANT_REQUIREMENTS, OUTPUT_REQUIREMENTS, Judged, content_findings
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene

SHAPE_REQUIREMENTS = tuple(
    dict.fromkeys((*OUTPUT_REQUIREMENTS, *INVARIANT_REQUIREMENTS["conversation"], *INVARIANT_REQUIREMENTS["run"]))
)
"""What every result that is shown puts to the test."""

AGREEMENT_REQUIREMENTS = ("IDENTITY-STATUS-RUN", "IDENTITY-STATUS-MESSAGE", "IDENTITY-STATUS-REVISION")
CONTENT_REQUIREMENTS = (
    "READ-AVAILABLE",
    "HTTP-SUCCESS-STATUS",
    *SHAPE_REQUIREMENTS,
    *AGREEMENT_REQUIREMENTS,
    "IDENTITY-SEEDED-INSTANT",
)
"""What reading a seeded conversation in every way puts to the test, beside ``IDENTITY-SEEDED-CONTENT``."""

_WITHHELD_STATUSES = ("expired", "unavailable")
_TIMES = ("created_at", "expires_at")


def read_everything(session: Session, record: Recorder, scene: Scene) -> Judged | None:
    """Read the conversation and the status of each of its runs, judge each result and compare them.

    Returns:
        The conversation as it is shown, or ``None`` where the contract has no read of one.
    """
    shown = None
    for operation in session.contract.operations:
        if operation.effect != "read":
            continue
        if operation.result == "conversation":
            shown = _read_conversation(session, record, scene, operation)
        elif operation.result == "run" and shown is not None:
            for run in shown.value["runs"]:
                _read_status(session, record, scene, operation, run, shown)
    return shown


def note_form(record: Recorder, value: Any) -> None:
    """Record how a valid result of a conversation or of a run writes its times, and what its availability says."""
    timed = value["conversation"] if "conversation" in value else value["run"]
    for form in sorted({"Z" if timed[name].endswith("Z") else "numeric offset" for name in _TIMES}):
        record.freedom("OPEN-TIME-FORM", form)
    availability = value["availability"]
    configured = "configured" if availability["configured"] else "not configured"
    record.freedom("OPEN-AVAILABILITY-REASON", f"{configured}, {'a' if availability['reason'] else 'no'} reason")


def cover(session: Session, record: Recorder, operation: Operation, value: Any) -> None:
    """Note which points of the output schema a valid result exercises for the first time in this process."""
    coverage = session.coverage(operation)
    before = set(coverage.reached)
    coverage.record(value)
    record.covered(operation.name, coverage.reached - before)


def _read_conversation(session: Session, record: Recorder, scene: Scene, operation: Operation) -> Judged:
    answer, arguments = call(session, scene, operation)
    must_hold(succeeded(answer, "READ-AVAILABLE", "a read of an available conversation by its owner"))
    judged = session.results.judge(answer, arguments)
    must_hold(judged.findings, _not_as_stored(session, scene, judged))
    cover(session, record, operation, judged.value)
    return judged


def _not_as_stored(session: Session, scene: Scene, judged: Judged) -> Iterator[Finding]:
    """Yield a finding for each place where the result is not what was seeded."""
    if scene.document is None or judged.value is None:
        return
    shown = {name: judged.value[name] for name in ("conversation", "messages", "runs")}
    yield from content_findings(
        judged.answer,
        _expected(scene.document, shown, session.stage.clock_of(scene)),
        shown,
        "IDENTITY-SEEDED-CONTENT",
        "IDENTITY-SEEDED-INSTANT",
        "The conversation is not shown as it was stored",
    )


def _expected(document: Document, shown: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return what must be shown of a seeded document at ``now``.

    What is past its own expiry has some choice: a finished run shows its own status, ``expired`` or
    ``unavailable``, and the revision may have grown on the way.
    """
    runs = [
        _own_or_withheld(run, other, now) for run, other in zip(document.runs, shown["runs"], strict=False)
    ] + document.runs[len(shown["runs"]) :]
    conversation = document.conversation
    entries = (*document.runs, *document.messages)
    if any(_is_past(entry, now) for entry in entries) and shown["conversation"]["revision"] > conversation["revision"]:
        conversation = {**conversation, "revision": shown["conversation"]["revision"]}
    return {"conversation": conversation, "messages": document.messages, "runs": runs}


def _own_or_withheld(run: dict[str, Any], shown: Mapping[str, Any], now: int) -> dict[str, Any]:
    if _is_past(run, now) and shown["status"] in _WITHHELD_STATUSES:
        return {**run, "status": shown["status"], "failure_code": shown["failure_code"]}
    return run


def _is_past(entry: Mapping[str, Any], now: int) -> bool:
    return parse_instant(entry["expires_at"]) * 1000 <= now


def _read_status(
    session: Session, record: Recorder, scene: Scene, operation: Operation, run: Mapping[str, Any], shown: Judged
) -> None:
    answer, arguments = call(session, scene, operation, run["id"])
    if run["request_kind"] != "sentiment" and answer.outcome == "refused":
        record.freedom("OPEN-STATUS-RUN-KIND", "sentiment only")
        return
    must_hold(succeeded(answer, "READ-AVAILABLE", "a read of a run's status by its owner"))
    judged = session.results.judge(answer, arguments)
    must_hold(judged.findings)
    cover(session, record, operation, judged.value)
    must_hold(agreement(judged, run, shown))
    _note_status(record, judged.value, shown.value["messages"])


def _note_status(record: Recorder, value: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> None:
    """Record that the status of a run of another kind is shown, and what stands beside one that has only a question."""
    run = value["run"]
    if run["request_kind"] != "sentiment":
        record.freedom("OPEN-STATUS-RUN-KIND", "any kind")
    own = [each for each in messages if each["run_id"].lower() == run["id"].lower()]
    if own and all(each["question"] is not None for each in own):
        record.freedom("OPEN-QUESTION-ONLY-MESSAGE", "the question" if value["message"] else "null")


def agreement(status: Judged, run: Mapping[str, Any], shown: Judged) -> Iterator[Finding]:
    """Yield findings where the status of a run does not agree with the conversation that holds it."""
    messages = [each for each in shown.value["messages"] if each["run_id"].lower() == run["id"].lower()]
    answers = [each for each in messages if each["role"] == "assistant"]
    allowed = answers or [None, *messages]
    found = status.value
    pairs = (
        ("IDENTITY-STATUS-RUN", "run", "The status shows another run object than the conversation", run),
        (
            "IDENTITY-STATUS-REVISION",
            "conversation_revision",
            "The status shows another revision than the conversation",
            shown.value["conversation"]["revision"],
        ),
    )
    for requirement, member, summary, expected in pairs:
        for difference in differences(expected, found[member]):
            yield Finding(
                requirement,
                status.answer.call.operation.name,
                summary,
                f"/{member}{difference.pointer}",
                ascii(difference.expected)[:200],
                ascii(difference.found)[:200],
                (shown.answer.exchange, status.answer.exchange),
            )
    if not any(not list(differences(message, found["message"])) for message in allowed):
        expected = allowed[-1]
        place = next(iter(differences(expected, found["message"])))
        yield Finding(
            "IDENTITY-STATUS-MESSAGE",
            status.answer.call.operation.name,
            "The status shows another message than the conversation has for this run",
            f"/message{place.pointer}",
            ascii(place.expected)[:200],
            ascii(place.found)[:200],
            (shown.answer.exchange, status.answer.exchange),
        )
