"""What an archive does: the text goes, active runs are cancelled, the rest stays, and so does everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from conformance.cases.conversations import (
    DAY,
    KINDS,
    MINUTE,
    STATUSES,
    WITH_QUESTION,
    Document,
    Plan,
    RunPlan,
    compose,
    markers,
)
from conformance.checks.archiving import (
    NOT_FOUND,
    archive,
    archived,
    can_archive,
    each,
    note_archive,
    note_unknown,
    refused_without_effect,
    sibling,
    view_without_text,
    without_text,
)
from conformance.checks.declare import cases, needs, requirement
from conformance.checks.views import View, read_all, still
from conformance.contract import Contract
from conformance.judge.comparison import differences
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered, refused_as
from conformance.judge.privacy import shows_nothing
from conformance.judge.result import Judged
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid

_ACTIVE = ("queued", "processing")
_AFTER = "an archive"


def _run(status: str, kind: str = "sentiment") -> RunPlan:
    return RunPlan(status, kind, question=status in WITH_QUESTION)


PLANS: Mapping[str, Plan] = {
    "every-status": Plan(runs=tuple(map(_run, STATUSES))),
    "every-status-backwards": Plan(runs=tuple(map(_run, reversed(STATUSES)))),
    "every-kind": Plan(runs=tuple(_run(status, kind) for kind in KINDS for status in ("completed", "queued"))),
    **{f"one-{status}": Plan(runs=(_run(status),)) for status in STATUSES},
    "no-runs": Plan(evidence=1),
    "no-title": Plan(runs=(_run("completed"), _run("processing")), title=False),
    "about-to-expire": Plan(runs=(_run("completed"), _run("queued")), expires_in=10 * MINUTE),
}
"""What is archived: all statuses at once in both orders, every kind of run, each status alone, and less usual ones."""


def _scene(session: Session, plan: str = "every-status") -> Scene:
    return session.stage.seeded(session.rng, compose(session.rng, session.stage.now(), PLANS[plan]))


def _is_archived(judged: Judged) -> Iterator[Finding]:
    """Yield findings where a result does not show its conversation as archived."""
    conversation = judged.value["conversation"]
    for identifier, member, expected in (
        ("ARCHIVE-FLAG", "archived", True),
        ("ARCHIVE-AVAILABILITY", "availability", "archived"),
    ):
        if conversation[member] != expected:
            yield Finding(
                identifier,
                judged.answer.call.operation.name,
                "An archived conversation is not shown as archived",
                f"/conversation/{member}",
                str(expected),
                str(conversation[member]),
                (judged.answer.exchange,),
            )


def _runs_after(document: Document | None, judged: Judged) -> Iterator[Finding]:
    """Yield findings where an active run was not cancelled, or a finished one has another status than before."""
    shown = {run["id"].lower(): run["status"] for run in judged.value["runs"]}
    for run in document.runs if document else ():
        is_active = run["status"] in _ACTIVE
        expected = "cancelled" if is_active else run["status"]
        found = shown.get(run["id"].lower(), "no such run")
        if found != expected:
            yield Finding(
                "ARCHIVE-ACTIVE-CANCELLED" if is_active else "ARCHIVE-FINISHED-KEPT",
                judged.answer.call.operation.name,
                f"A run that was {run['status']} has not become or stayed what it should with an archive",
                "/runs",
                expected,
                found,
                (judged.answer.exchange,),
            )


_ANSWER = (
    "ARCHIVE-FLAG",
    "ARCHIVE-AVAILABILITY",
    "ARCHIVE-ANSWER-WITHOUT-TEXT",
    "ARCHIVE-ACTIVE-CANCELLED",
    "ARCHIVE-FINISHED-KEPT",
)


@needs("seed")
@cases("plan", each("ARCHIVE-ACCEPTED", PLANS, *_ANSWER))
def test_an_archive_answers_with_what_it_did(plan: str, session: Session, record: Recorder) -> None:
    """The answer shows the conversation archived, without text, active runs cancelled and finished ones as before."""
    scene = _scene(session, plan)
    judged, _ = archived(session, scene)
    note_archive(record, scene, scene.revision, judged)
    must_hold(
        _is_archived(judged),
        without_text(judged.answer, scene, "ARCHIVE-ANSWER-WITHOUT-TEXT", "an archive's answer", judged),
        _runs_after(scene.document, judged),
    )


_READ = (
    "ARCHIVE-FLAG",
    "ARCHIVE-AVAILABILITY",
    "ARCHIVE-GET-WITHOUT-TEXT",
    "ARCHIVE-STATUS-WITHOUT-TEXT",
    "ARCHIVE-ACTIVE-CANCELLED",
    "ARCHIVE-FINISHED-KEPT",
)


@needs("seed")
@cases("plan", each("ARCHIVE-READ-BACK", PLANS, *_READ))
def test_reads_show_what_an_archive_did(plan: str, session: Session, record: Recorder) -> None:
    """*get* and every *status* after an archive show no text, and the conversation and runs of the archive's answer."""
    scene = _scene(session, plan)
    judged, _ = archived(session, scene)
    view = read_all(session, scene, "ARCHIVE-READ-BACK", "a read after an archive")
    for status in view.statuses.values():
        if status.value["message"] is not None or _had_answer(scene, status.value["run"]["id"]):
            form = "null message" if status.value["message"] is None else "null fields"
            record.freedom("OPEN-WITHHELD-STATUS-FORM", form)
    must_hold(
        _is_archived(view.shown),
        view_without_text(view, scene, "ARCHIVE-GET-WITHOUT-TEXT", "ARCHIVE-STATUS-WITHOUT-TEXT", _AFTER),
        _runs_after(scene.document, view.shown),
        _as_answered(judged, view),
    )


def _had_answer(scene: Scene, run_id: str) -> bool:
    messages = scene.document.messages if scene.document else ()
    return any(each["role"] == "assistant" and each["run_id"] == run_id.lower() for each in messages)


def _as_answered(judged: Judged, view: View) -> Iterator[Finding]:
    """Yield findings where reads show another conversation or other runs than the archive's answer."""
    answer = judged.value
    pairs = [(name, answer[name], view.shown.value[name], view.shown) for name in ("conversation", "runs")]
    for run in answer["runs"]:
        status = view.statuses.get(run["id"].lower())
        if status is not None:
            pairs.append(("run", run, status.value["run"], status))
    for name, expected, found, read in pairs:
        for difference in differences(expected, found):
            yield Finding(
                "ARCHIVE-READ-BACK",
                read.answer.call.operation.name,
                "A read after an archive does not show what the archive's answer did",
                f"/{name}{difference.pointer}",
                ascii(difference.expected)[:200],
                ascii(difference.found)[:200],
                (judged.answer.exchange, read.answer.exchange),
            )
            break


_LATER = {
    "reads": (),
    "stale-archive": (),
    "second-archive": (),
    "replay": (),
    "archive-of-another": (),
    "an-hour": ("own clock",),
    "late-result": ("worker",),
}
"""What may be called after an archive, and what it takes of test control."""


def _later(contract: Contract) -> list[Any]:
    return [
        pytest.param(name, id=f"ARCHIVE-LASTS-{name}", marks=(requirement("ARCHIVE-LASTS"), needs("seed", *wanted)))
        for name, wanted in (_LATER if can_archive(contract) else {}).items()
    ]


@cases("event", _later)
def test_an_archive_lasts(event: str, session: Session) -> None:
    """Whatever is called, delivered or waited for afterwards: the conversation is archived and its text is gone."""
    scene = _scene(session)
    _, arguments = archived(session, scene)
    late = _happen(session, scene, event, arguments)
    after = f"an archive and {event.replace('-', ' ')}"
    view = read_all(session, scene, "ARCHIVE-LASTS", f"a read after {after}")
    shown = [view.shown, *view.statuses.values()]
    must_hold(
        *(shows_nothing(each.answer.exchange, late, "ARCHIVE-LASTS", f"a read after {after}") for each in shown),
        view_without_text(view, scene, "ARCHIVE-LASTS", "ARCHIVE-LASTS", after),
        (_under_lasts(finding) for finding in _is_archived(view.shown)),
    )


def _under_lasts(finding: Finding) -> Finding:
    summary = "A conversation that was archived is not shown as archived any more"
    return Finding("ARCHIVE-LASTS", finding.operation, summary, finding.place, finding.expected, finding.found,
                   finding.exchanges)  # fmt: skip


def _happen(session: Session, scene: Scene, event: str, arguments: dict[str, Any]) -> frozenset[str]:
    """Let the event happen after the archive; return the markers of private text that it brought along."""
    stage = session.stage
    assert scene.document is not None
    if event == "stale-archive":
        must_hold(answered(archive(session, scene)[0]))
    elif event == "second-archive":
        current = read_all(session, scene, "ARCHIVE-READ-BACK", "a read after an archive").revision
        must_hold(answered(archive(session, scene, expected_revision=current)[0]))
    elif event == "replay":
        must_hold(answered(archive(session, scene, **arguments)[0]))
    elif event == "archive-of-another":
        other = stage.seeded(session.rng, sibling(scene.document, session.rng), scene.principal)
        archived(session, other)
    elif event == "an-hour":
        stage.set_clock(scene.workspace_id, stage.now() + DAY // 24)
    elif event == "late-result":
        source = sibling(scene.document, session.rng)
        answer = next(message["answer"] for message in source.messages if message["answer"])
        for run in scene.document.runs:
            if run["status"] in _ACTIVE:
                stage.control.deliver_result(run["id"], answer, "model", "1")
        return markers(source)
    else:
        read_all(session, scene, "ARCHIVE-READ-BACK", "a read after an archive")
    return frozenset()


@needs("seed", "restart")
@cases("plan", each("ARCHIVE-SURVIVES-RESTART", ("every-status", "no-runs")))
def test_an_archive_survives_a_restart(plan: str, session: Session) -> None:
    """After a restart every read shows the archived conversation as before it."""
    scene = _scene(session, plan)
    judged, _ = archived(session, scene)
    view = read_all(session, scene, "ARCHIVE-READ-BACK", "a read after an archive")
    session.stage.control.restart()
    must_hold(still(session, [(scene, view)], "ARCHIVE-SURVIVES-RESTART", "a restart", judged.answer.exchange))


_NEIGHBOURS = ("same-evidence", "same-person", "same-person-other-workspace", "other-person", "archived-before")


@needs("seed", "second principal")
@cases("neighbour", each("ARCHIVE-OTHERS-UNTOUCHED", _NEIGHBOURS))
def test_an_archive_touches_nothing_else(neighbour: str, session: Session) -> None:
    """A neighbour in the workspace, of the same person, with the same evidence, or archived before stays as it is."""
    rng, stage = session.rng, session.stage
    workspaces = stage.workspaces(rng, 2)
    owner = stage.principal(rng, workspace_ids=workspaces)
    here, now = workspaces[0], stage.now()
    document = compose(rng, now, PLANS["every-status"], workspace_id=here)
    scene = stage.seeded(rng, document, owner)
    if neighbour == "same-evidence":
        other = stage.seeded(rng, sibling(document, rng), owner)
    elif neighbour == "other-person":
        person = stage.principal(rng, workspace_ids=(here,), label="other user")
        other = stage.seeded(rng, sibling(document, rng), person)
    else:
        there = workspaces[1] if neighbour == "same-person-other-workspace" else here
        other = stage.seeded(rng, compose(rng, now, PLANS["every-kind"], workspace_id=there), owner)
    if neighbour == "archived-before":
        archived(session, other)
    seen = [(other, read_all(session, other))]
    judged, _ = archived(session, scene)
    what = "an archive of another conversation"
    must_hold(still(session, seen, "ARCHIVE-OTHERS-UNTOUCHED", what, judged.answer.exchange))


def _with_archive(contract: Contract) -> bool:
    return any(operation.effect == "write" and operation.result == "conversation" for operation in contract.operations)


@needs("token")
@cases("form", each("ARCHIVE-UNKNOWN-CONVERSATION", ("random", "nil", "max"), when=_with_archive))
def test_an_unknown_conversation_cannot_be_archived(form: str, session: Session, record: Recorder) -> None:
    """An archive of a conversation that nobody has is answered as not found."""
    scene = session.shared_scene("archive")
    digit = {"nil": "0", "max": "f"}.get(form)
    unknown = f"{digit * 8}-{digit * 4}-{digit * 4}-{digit * 4}-{digit * 12}" if digit else fresh_uuid(session.rng)
    answer, _ = archive(session, scene, conversation_id=unknown)
    note_unknown(record, answer)
    identifier = "ARCHIVE-UNKNOWN-CONVERSATION"
    must_hold(refused_as(answer, NOT_FOUND, identifier, identifier, "an archive of an unknown conversation"))


@needs("seed")
@cases("workspace", each("ARCHIVE-WORKSPACE-MISMATCH", ("own", "unknown")))
def test_an_archive_under_another_workspace_is_refused(workspace: str, session: Session, record: Recorder) -> None:
    """Under one's other workspace, or an unknown one, the conversation is not found, and stays as it is."""
    rng, stage = session.rng, session.stage
    here, there = stage.workspaces(rng, 2) if workspace == "own" else (*stage.workspaces(rng, 1), fresh_uuid(rng))
    owner = stage.principal(rng, workspace_ids=(here, there) if workspace == "own" else (here,))
    scene = stage.seeded(rng, compose(rng, stage.now(), PLANS["every-status"], workspace_id=here), owner)
    seen = [(scene, read_all(session, scene))]
    answer, _ = archive(session, scene, workspace_id=there)
    note_unknown(record, answer)
    identifier = "ARCHIVE-WORKSPACE-MISMATCH"
    expected = (NOT_FOUND, identifier, identifier, identifier)
    must_hold(refused_without_effect(session, answer, seen, expected, "an archive under another workspace"))


@needs("seed", "second principal")
@cases("place", each("ARCHIVE-OTHER-USER", ("same-workspace", "other-workspace")))
def test_another_user_cannot_archive(place: str, session: Session, record: Recorder) -> None:
    """Another person, a member of the workspace or not, is refused, and the conversation stays as it is."""
    scene = _scene(session)
    workspace_id = scene.workspace_id if place == "same-workspace" else session.stage.elsewhere(session.rng)
    other = session.stage.principal(session.rng, workspace_ids=(workspace_id,), label="other user")
    seen = [(scene, read_all(session, scene))]
    answer, _ = archive(session, scene, credential=other.credential)
    note_unknown(record, answer)
    expected = (NOT_FOUND, "ARCHIVE-OTHER-USER", "ARCHIVE-OTHER-USER", "ARCHIVE-OTHER-USER")
    must_hold(refused_without_effect(session, answer, seen, expected, "an archive of another person's conversation"))
