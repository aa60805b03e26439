"""Results of the analysis worker that come too late: they bring no text back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from conformance.cases.conversations import DAY, MINUTE, RunPlan, markers
from conformance.cases.texts import MARKER
from conformance.checks.archiving import archive
from conformance.checks.declare import case, cases, needs
from conformance.checks.steps import call
from conformance.checks.withholding import (
    ASKED,
    body_shows,
    each_once,
    expiring,
    fresh_answer,
    messages_in,
    needed,
    operations,
    seeded,
)
from conformance.contract import Contract
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered, succeeded
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene

_CANCELLED: Final = (RunPlan(kind="sentiment", question=True), RunPlan("cancelled", "sentiment"))


def _named(identifier: str, *names: str, wanted: tuple[str, ...] = ()) -> Any:
    def factory(contract: Contract) -> Iterator[Any]:
        for name in names if operations(contract) else ():
            made = case(name, identifier, name)
            yield pytest.param(*made.values, id=made.id, marks=(*made.marks, needs("seed", "worker", *wanted)))

    return factory


def _deliver(session: Session, scene: Scene, runs: tuple[str, ...]) -> frozenset[str]:
    """Let the worker deliver a result for each of these runs; return the markers of what it delivered."""
    delivered: set[str] = set()
    for run_id in runs:
        answer = fresh_answer(session.rng, seeded(scene))
        session.stage.control.deliver_result(run_id, answer, "model", "1")
        delivered.update(MARKER.findall(repr(answer)))
    return frozenset(delivered)


def _not_back(
    session: Session, scene: Scene, private: frozenset[str], requirement: str, after: str
) -> Iterator[Finding]:
    """Read the conversation and the status of each run, and yield where they show any of the private texts."""
    for operation in (needed(session).get, needed(session).status):
        for run_id in scene.run_ids if operation.result == "run" else (None,):
            answer, arguments = call(session, scene, operation, run_id)
            yield from answered(answer)
            yield from body_shows(answer, private, requirement, f"a read after {after}")
            if answer.result is None:
                continue
            judged = session.results.judge(answer, arguments)
            yield from judged.findings


def _nothing_shown(session: Session, scene: Scene, requirement: str, after: str) -> Iterator[Finding]:
    """Read the conversation and yield where it is available or any message has a text."""
    answer, arguments = call(session, scene, needed(session).get)
    yield from answered(answer)
    judged = session.results.judge(answer, arguments) if answer.result is not None else None
    if judged is None or judged.value is None:
        return
    found = judged.value["conversation"]["availability"]
    has_text = any(each["question"] is not None or each["answer"] is not None for each in messages_in(judged))
    if found == "available" or has_text:
        yield Finding(
            requirement,
            answer.call.operation.name,
            f"The conversation is available, or shows a text, after {after}",
            "conversation",
            "no text, and another availability",
            f"{found}, {'with' if has_text else 'without'} text",
            (answer.exchange,),
        )


def _unfinished(scene: Scene) -> tuple[str, ...]:
    return tuple(run["id"] for run in seeded(scene).runs if run["status"] in ("queued", "processing"))


def _seed(session: Session, runs: tuple[RunPlan, ...] = ASKED, subject: str = "conversation") -> tuple[Scene, int]:
    """Store a conversation; return it and the instant at which it, or what ``subject`` says, expires."""
    stage, rng = session.stage, session.rng
    now = stage.now()
    deadline = now + 10 * MINUTE
    return stage.seeded(rng, expiring(rng, now, deadline, runs=runs, subject=subject)), deadline


@cases("name", _named("LATE-AFTER-ARCHIVE", "unread", "twice"))
def test_a_result_after_an_archive_brings_nothing_back(name: str, session: Session) -> None:
    """The worker delivers for the runs that the archive cancelled: nothing is shown, neither old text nor new."""
    scene, _ = _seed(session)
    must_hold(succeeded(archive(session, scene)[0], "ARCHIVE-ACCEPTED", "an archive of an available conversation"))
    private = markers(seeded(scene)) | _deliver(session, scene, _unfinished(scene))
    if name == "twice":
        private |= _deliver(session, scene, _unfinished(scene))
    after = "a result that came after an archive"
    identifier = "LATE-AFTER-ARCHIVE"
    must_hold(
        each_once(
            (
                *_not_back(session, scene, private, identifier, after),
                *_nothing_shown(session, scene, identifier, after),
            )
        )
    )


@cases("name", _named("LATE-AFTER-CANCEL", "cancelled"))
def test_a_result_for_a_cancelled_run_is_not_shown(name: str, session: Session) -> None:
    """The worker delivers for a cancelled run of an available conversation: its text is not shown."""
    scene, _ = _seed(session, _CANCELLED)
    cancelled = tuple(run["id"] for run in seeded(scene).runs if run["status"] == name)
    private = _deliver(session, scene, cancelled)
    after = "a result that came for a cancelled run"
    must_hold(each_once(_not_back(session, scene, private, "LATE-AFTER-CANCEL", after)))


_EXPIRED: Final = ("conversation", "run", "conversation-read-before", "at-the-deadline")


@cases("name", _named("LATE-AFTER-EXPIRY", *_EXPIRED, wanted=("clock",)))
def test_a_result_after_the_deadline_brings_nothing_back(name: str, session: Session) -> None:
    """The worker delivers when the conversation, or the run alone, has expired: nothing of it is shown."""
    subject = "run" if name == "run" else "conversation"
    scene, deadline = _seed(session, subject=subject)
    session.stage.set_clock(scene.workspace_id, deadline + (0 if name == "at-the-deadline" else MINUTE))
    if name == "conversation-read-before":
        must_hold(answered(call(session, scene, needed(session).get)[0]))
    private = _deliver(session, scene, _unfinished(scene))
    after = "a result that came after the deadline"
    identifier = "LATE-AFTER-EXPIRY"

    def story() -> Iterator[Finding]:
        if subject == "conversation":
            yield from _not_back(session, scene, private | markers(seeded(scene)), identifier, after)
            yield from _nothing_shown(session, scene, identifier, after)
            session.stage.set_clock(scene.workspace_id, deadline + DAY)
        yield from _not_back(session, scene, private, identifier, after)

    must_hold(each_once(story()))


@cases("name", _named("LATE-AFTER-EXPIRY", "in-time", wanted=("clock",)))
def test_a_result_in_time_expires_with_the_rest(name: str, session: Session, record: Recorder) -> None:
    """A result that came in time is gone at the deadline like all other text."""
    scene, deadline = _seed(session)
    delivered = _deliver(session, scene, _unfinished(scene))
    private = markers(seeded(scene)) | delivered
    answer, arguments = call(session, scene, needed(session).get)
    must_hold(answered(answer))
    if any(body_shows(answer, delivered, "LATE-AFTER-EXPIRY", "")):
        judged = session.results.judge(answer, arguments)
        must_hold(judged.findings)
        grown = judged.value["conversation"]["revision"] > scene.revision
        record.freedom("OPEN-RESULT-REVISION", "grows" if grown else "stays")
    session.stage.set_clock(scene.workspace_id, deadline)
    after = f"the deadline, with a result that came {name.replace('-', ' ')}"
    must_hold(each_once(_not_back(session, scene, private, "LATE-AFTER-EXPIRY", after)))


@cases("state", _named("LATE-WHILE-WITHHELD", "access_changed", "source_unavailable", wanted=("access",)))
def test_a_result_while_text_is_withheld_is_not_shown(state: Any, session: Session, record: Recorder) -> None:
    """The worker delivers while access is withdrawn: nothing is shown meanwhile; later, it is left open."""
    scene, _ = _seed(session)
    control = session.stage.control
    control.set_access(scene.conversation_id, state)
    delivered = _deliver(session, scene, _unfinished(scene))
    after = "a result that came while text was withheld"
    identifier = "LATE-WHILE-WITHHELD"
    private = markers(seeded(scene)) | delivered
    must_hold(
        each_once(
            (
                *_not_back(session, scene, private, identifier, after),
                *_nothing_shown(session, scene, identifier, after),
            )
        )
    )
    control.set_access(scene.conversation_id, "granted")
    answer, _ = call(session, scene, needed(session).get)
    must_hold(answered(answer))
    if any(body_shows(answer, markers(seeded(scene)), identifier, after)):
        # Where the text stays gone, nothing tells whether the result was kept.
        is_kept = any(body_shows(answer, delivered, identifier, after))
        record.freedom("OPEN-RESULT-WHILE-WITHHELD", "kept" if is_kept else "dropped")
