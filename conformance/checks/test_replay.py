"""The same attempt sent again: it succeeds with the first result and is applied once, whatever happened in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from conformance.cases.conversations import DAY, WITH_QUESTION, Document, Plan, RunPlan, compose, title_markers
from conformance.cases.json_text import encode
from conformance.checks.archiving import (
    CONFLICT,
    NOT_FOUND,
    archive,
    archived,
    archived_result,
    each,
    note_conflict,
    private_text,
    refused_without_effect,
    sibling,
    without_text,
)
from conformance.checks.declare import cases, needs, over
from conformance.checks.lost_answers import DROPS, send_and_drop, sent_until_answered
from conformance.checks.views import View, changes, look, needed_operation, read_all, same_result, still
from conformance.control.interface import AccessState
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered, refused_as
from conformance.judge.privacy import shows_nothing
from conformance.judge.result import Judged
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Call, Credential, ErrorKind, Exchange

_HOUR = DAY // 24
_READ_BACK = ("ARCHIVE-READ-BACK", "a read after an archive")
_ALSO = ("REPLAY-APPLIED-ONCE",)
_FORBIDDEN: frozenset[ErrorKind] = frozenset({"forbidden"})
_STATUSES = ("completed", "processing", "queued", "failed")


@dataclass(frozen=True)
class First:
    """An attempt that was applied: the scene, the arguments, the judged first result."""

    scene: Scene
    arguments: dict[str, Any]
    result: Judged


def _document(session: Session, workspace_id: str | None = None) -> Document:
    runs = tuple(RunPlan(status, "sentiment", question=status in WITH_QUESTION) for status in _STATUSES)
    return compose(session.rng, session.stage.now(), Plan(runs=runs), workspace_id=workspace_id)


def _applied(session: Session, scene: Scene | None = None) -> First:
    """Archive a conversation and return the attempt."""
    scene = scene or session.stage.seeded(session.rng, _document(session))
    result, arguments = archived(session, scene)
    return First(scene, arguments, result)


def _replayed(
    session: Session,
    first: First,
    requirement: str,
    what: str,
    send: Callable[[], Answer] | None = None,
) -> None:
    """Send the attempt again and judge that it succeeds with the first result and changes nothing that reads show."""
    seen = [(first.scene, read_all(session, first.scene, *_READ_BACK))]
    answer = send() if send else archive(session, first.scene, **first.arguments)[0]
    again = archived_result(session, answer, first.arguments, requirement, what)
    must_hold(
        same_result(first.result, again, requirement, what),
        still(session, seen, "REPLAY-APPLIED-ONCE", what, answer.exchange),
    )


@needs("seed")
@cases("between", each("REPLAY-SAME-RESULT", ("nothing", "reads", "refused-archive", "another-archive"), *_ALSO))
def test_a_replay_gets_the_first_result(between: str, session: Session) -> None:
    """At once, after reads, after a different archive was refused or applied elsewhere: the first result."""
    first = _applied(session)
    scene = first.scene
    if between == "reads":
        for _ in range(3):
            read_all(session, scene, *_READ_BACK)
    elif between == "refused-archive":
        # Still the revision of before the archive, so it conflicts.
        must_hold(answered(archive(session, scene)[0]))
    elif between == "another-archive":
        assert scene.document is not None
        _applied(session, session.stage.seeded(session.rng, sibling(scene.document, session.rng), scene.principal))
    after = "" if between == "nothing" else f" after {between.replace('-', ' ')}"
    _replayed(session, first, "REPLAY-SAME-RESULT", f"a replay{after}")


@needs("seed")
@cases("count", each("REPLAY-APPLIED-ONCE", ("five-times",)))
def test_an_attempt_is_applied_once(count: str, session: Session) -> None:
    """Sent five times, an attempt has the effects of the first time: one revision, one set of cancelled runs."""
    del count
    scene = session.stage.seeded(session.rng, _document(session))
    answer, arguments = archive(session, scene)
    first = read_all(session, scene, *_READ_BACK)
    for _ in range(4):
        answer, _ = archive(session, scene, **arguments)
    must_hold(
        still(session, [(scene, first)], "REPLAY-APPLIED-ONCE", "the same attempt four more times", answer.exchange)
    )


@needs("seed")
@cases("by", each("REPLAY-AFTER-REVISION-MOVED", ("the-attempt-itself", "a-second-archive"), *_ALSO))
def test_a_replay_is_recognised_before_its_revision_is_compared(by: str, session: Session) -> None:
    """The revision that the attempt expects is an old one by now, and it succeeds all the same."""
    first = _applied(session)
    if by == "a-second-archive":
        current = first.result.value["conversation"]["revision"]
        must_hold(answered(archive(session, first.scene, expected_revision=current)[0]))
    _replayed(session, first, "REPLAY-AFTER-REVISION-MOVED", "a replay whose revision is no longer the current one")


@needs("seed", "own clock")
@cases("hours", each("REPLAY-AFTER-TIME", ("1", "23"), *_ALSO))
def test_a_replay_is_recognised_later(hours: str, session: Session) -> None:
    """An hour and 23 hours later the attempt still gets its first result."""
    first = _applied(session)
    session.stage.set_clock(first.scene.workspace_id, session.stage.now() + int(hours) * _HOUR)
    _replayed(session, first, "REPLAY-AFTER-TIME", f"a replay {hours} hours later")


@needs("seed", "restart")
@cases("event", each("REPLAY-AFTER-RESTART", ("restart",), *_ALSO))
def test_a_replay_is_recognised_after_a_restart(event: str, session: Session) -> None:
    """A server that restarts still knows what it has applied."""
    del event
    first = _applied(session)
    session.stage.control.restart()
    _replayed(session, first, "REPLAY-AFTER-RESTART", "a replay after a restart")


def _escaped(arguments: dict[str, Any]) -> bytes:
    return json.dumps(arguments).replace('"workspace_id"', '"\\u0077orkspace_id"').encode()


_FORMS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "names-reversed": lambda arguments: encode(dict(reversed(arguments.items()))),
    "white-space": lambda arguments: json.dumps(arguments, indent=2).replace("\n", "\r\n\t").encode() + b"\n",
    "escapes": _escaped,
}


@needs("seed")
@cases("form", each("REPLAY-OTHER-FORM", _FORMS, *_ALSO))
def test_another_spelling_is_the_same_attempt(form: str, session: Session) -> None:
    """Another order of names, other white space and escapes do not make it a different attempt."""
    first = _applied(session)

    def send() -> Answer:
        return archive(session, first.scene, spelling=_FORMS[form], **first.arguments)[0]

    _replayed(session, first, "REPLAY-OTHER-FORM", f"a replay in another form ({form.replace('-', ' ')})", send)


@over("rest")
@needs("seed")
@cases("form", each("REPLAY-OTHER-FORM", ("headers-reversed",), *_ALSO))
def test_another_order_of_headers_is_the_same_attempt(form: str, session: Session) -> None:
    """The order in which the headers come does not make it a different attempt."""
    del form
    first = _applied(session)
    call = _call(session, first)

    def send() -> Answer:
        transport = session.rest
        headers = tuple(reversed(transport.headers(call.credential, call.arguments)))
        path, name = transport.path(call.operation), call.operation.name
        exchange = transport.send_patiently(
            transport.binding.method, path, headers, call.arguments, name, call.credential.label
        )
        return _answer_to(call, exchange)

    _replayed(session, first, "REPLAY-OTHER-FORM", "a replay with its headers in another order", send)


def _call(session: Session, first: First) -> Call:
    operation = needed_operation(session, "write", "conversation")
    return Call(operation, encode(first.arguments), first.scene.principal.credential)


def _answer_to(call: Call, exchange: Exchange) -> Answer:
    """Return a request's answer in the terms of a call, as far as it takes to tell a success."""
    response = exchange.response
    if response is None:
        return Answer(call, exchange, "no-answer", None, None)
    if response.status == 200:
        return Answer(call, exchange, "success", frozenset(), response.body)
    kinds: frozenset[ErrorKind] | None = frozenset({"rate_limited"}) if response.status == 429 else None
    return Answer(call, exchange, "server-error" if response.status >= 500 else "refused", kinds, None)


@needs("seed", "tokens")
@cases("scopes", each("REPLAY-OTHER-TOKEN", ("same-scope", "more-scopes"), *_ALSO))
def test_another_token_of_the_person_replays(scopes: str, session: Session) -> None:
    """Keys belong to the person: with another of their tokens the attempt gets the same result."""
    first = _applied(session)
    more = ("agent:publish",) if scopes == "more-scopes" else ()
    credential = _other_token(session, first.scene, (session.stage.scope, *more))

    def send() -> Answer:
        return archive(session, first.scene, credential=credential, **first.arguments)[0]

    _replayed(session, first, "REPLAY-OTHER-TOKEN", "a replay with another token of the same person", send)


def _other_token(session: Session, scene: Scene, scopes: tuple[str, ...]) -> Credential:
    return session.stage.token(scene.principal, scopes, "owner with another token").credential


@needs("seed", "tokens")
@cases("scopes", each("REPLAY-SCOPE-CHECKED", ("none", "another"), *_ALSO))
def test_a_replay_is_authorised_again(scopes: str, session: Session) -> None:
    """With a token of the same person that lacks the scope, the replay is forbidden and shows nothing."""
    first = _applied(session)
    scene = first.scene
    credential = _other_token(session, scene, ("agent:publish",) if scopes == "another" else ())
    seen = [(scene, read_all(session, scene, *_READ_BACK))]
    answer, _ = archive(session, scene, credential=credential, **first.arguments)
    identifier, what = "REPLAY-SCOPE-CHECKED", "a replay without the scope"
    must_hold(
        refused_without_effect(
            session, answer, seen, (_FORBIDDEN, identifier, identifier, "REPLAY-APPLIED-ONCE"), what
        ),
        shows_nothing(answer.exchange, _all_text(scene), identifier, f"the answer to {what}"),
    )


def _all_text(scene: Scene) -> frozenset[str]:
    """Return the markers of all that is private towards others, the title among them."""
    return private_text(scene) | (title_markers(scene.document) if scene.document else frozenset())


@needs("seed", "second principal")
@cases("place", each("REPLAY-OTHER-USER-UNANSWERED", ("same-workspace", "other-workspace"), *_ALSO))
def test_another_user_does_not_get_the_result(place: str, session: Session) -> None:
    """Somebody else who sends my attempt, key and all, is refused as for any conversation that is not theirs."""
    first = _applied(session)
    scene = first.scene
    workspace_id = scene.workspace_id if place == "same-workspace" else session.stage.elsewhere(session.rng)
    other = session.stage.principal(session.rng, workspace_ids=(workspace_id,), label="other user")
    seen = [(scene, read_all(session, scene, *_READ_BACK))]
    answer, _ = archive(session, scene, credential=other.credential, **first.arguments)
    identifier, what = "REPLAY-OTHER-USER-UNANSWERED", "another user's copy of an attempt"
    must_hold(
        refused_without_effect(session, answer, seen, (NOT_FOUND, identifier, identifier, "REPLAY-APPLIED-ONCE"), what),
        shows_nothing(answer.exchange, _all_text(scene), identifier, f"the answer to {what}"),
    )


@needs("seed", "second principal")
@cases("order", each("REPLAY-OTHER-USER-UNBLOCKED", ("used", "tried-in-vain"), *_ALSO))
def test_another_users_key_does_not_block(order: str, session: Session) -> None:
    """A key that somebody else used, or tried on a conversation of mine, works for an archive of my own."""
    rng, stage = session.rng, session.stage
    mine, key = stage.seeded(rng, _document(session)), fresh_uuid(rng)
    theirs = stage.seeded(rng, _document(session, mine.workspace_id))
    if order == "used":
        archived(session, theirs, mutation_id=key)
    else:
        must_hold(answered(archive(session, mine, credential=theirs.principal.credential, mutation_id=key)[0]))
    answer, arguments = archive(session, mine, mutation_id=key)
    what = "an archive under a mutation id of another user"
    result = archived_result(session, answer, arguments, "REPLAY-OTHER-USER-UNBLOCKED", what)
    _replayed(session, First(mine, arguments, result), "REPLAY-OTHER-USER-UNBLOCKED", "its replay")


_OTHER_ARGUMENTS = (
    "current-revision",
    "next-revision",
    "other-conversation",
    "other-conversation-and-workspace",
    "other-workspace",
)


@needs("seed")
@cases(
    "other",
    each("REPLAY-OTHER-ARGUMENTS-REFUSED", _OTHER_ARGUMENTS, "REPLAY-CONFLICT-KIND", "REPLAY-REFUSED-UNCHANGED"),
)
def test_a_used_key_with_other_arguments_conflicts(other: str, session: Session, record: Recorder) -> None:
    """The key of an applied attempt, with one argument changed, is a conflict that changes nothing here or there."""
    rng, stage = session.rng, session.stage
    workspaces = stage.workspaces(rng, 2)
    owner = stage.principal(rng, workspace_ids=workspaces)
    document = _document(session, workspaces[0])
    first = _applied(session, stage.seeded(rng, document, owner))
    place = {"workspace_id": workspaces[1]} if other == "other-conversation-and-workspace" else {}
    # The copy is at the revision that the attempt expects, so that only the named arguments differ.
    there = stage.seeded(rng, sibling(document, rng, **place), owner)
    seen = [(first.scene, read_all(session, first.scene, *_READ_BACK)), (there, read_all(session, there))]
    # Where the revision has not grown, which is judged elsewhere, the current one would be no other argument.
    current = max(seen[0][1].revision, first.arguments["expected_revision"] + 1)
    changed: dict[str, dict[str, Any]] = {
        "current-revision": {"expected_revision": current},
        "next-revision": {"expected_revision": current + 1},
        "other-conversation": {"conversation_id": there.conversation_id},
        "other-conversation-and-workspace": {
            "conversation_id": there.conversation_id,
            "workspace_id": there.workspace_id,
        },
        "other-workspace": {"workspace_id": workspaces[1]},
    }
    answer, _ = archive(session, first.scene, **{**first.arguments, **changed[other]})
    note_conflict(record, answer)
    # Under the other workspace alone the conversation is not found either, and the order of checks is open.
    kinds = CONFLICT | NOT_FOUND if other == "other-workspace" else CONFLICT
    expected = (kinds, "REPLAY-OTHER-ARGUMENTS-REFUSED", "REPLAY-CONFLICT-KIND", "REPLAY-REFUSED-UNCHANGED")
    must_hold(refused_without_effect(session, answer, seen, expected, "a used mutation id with other arguments"))
    _replayed(session, first, "REPLAY-SAME-RESULT", "a replay after its mutation id was tried with other arguments")


@needs("seed")
@cases("first", each("REPLAY-REFUSED-UNCHANGED", ("refused-attempt",), "REPLAY-CONFLICT-KIND", "ARCHIVE-ACCEPTED"))
def test_a_key_whose_attempt_was_refused_is_free_or_bound(first: str, session: Session, record: Recorder) -> None:
    """With the right revision now, it archives, or it conflicts as any used key would, and nothing has changed."""
    scene = session.stage.seeded(session.rng, _document(session))
    view = read_all(session, scene)
    refused, arguments = archive(session, scene, expected_revision=view.revision + 1)
    must_hold(
        refused_as(refused, CONFLICT, "REVISION-AHEAD-REFUSED", "REVISION-CONFLICT-KIND", "a revision that is ahead")
    )
    arguments = {**arguments, "expected_revision": view.revision}
    answer, _ = archive(session, scene, **arguments)
    is_free = answer.outcome == "success"
    if is_free:
        archived_result(session, answer, arguments)
    else:
        expected = (CONFLICT, "REPLAY-REFUSED-UNCHANGED", "REPLAY-CONFLICT-KIND", "REPLAY-REFUSED-UNCHANGED")
        what = f"a mutation id of a {first.replace('-', ' ')}"
        must_hold(refused_without_effect(session, answer, [(scene, view)], expected, what))
    record.freedom("OPEN-REFUSED-KEY", "free" if is_free else "bound")


@needs("seed")
@cases("point", each("REPLAY-LOST-ANSWER", DROPS, *_ALSO))
def test_an_attempt_whose_answer_was_lost_is_applied_once(point: str, session: Session) -> None:
    """The connection is dropped; the attempt is sent again until it answers, and all effects are those of one time."""
    scene = session.stage.seeded(session.rng, _document(session))
    before = read_all(session, scene)
    operation = needed_operation(session, "write", "conversation")
    arguments = scene.arguments(operation)
    call = Call(operation, encode(arguments), scene.principal.credential)
    what = f"an attempt sent again whose connection was dropped {DROPS[point].what}"
    lost = send_and_drop(session, call, DROPS[point])
    between = read_all(session, scene, *_READ_BACK)
    answer = sent_until_answered(session, call)
    result = archived_result(session, answer, arguments, "REPLAY-LOST-ANSWER", what)
    after = read_all(session, scene, *_READ_BACK)
    must_hold(_applied_in_full(before, result, after, lost))
    if between.shown.value["conversation"]["archived"]:
        must_hold(changes(between, after, "REPLAY-APPLIED-ONCE", what, lost, answer.exchange))
    _replayed(session, First(scene, arguments, result), "REPLAY-LOST-ANSWER", "its replay")


def _applied_in_full(before: View, result: Judged, after: View, lost: Exchange) -> Iterator[Finding]:
    """Yield a finding where an attempt that succeeded in the end has not had all the effects of an archive."""
    active = {run["id"] for run in before.shown.value["runs"] if run["status"] in ("queued", "processing")}
    for value, exchange in ((result.value, result.answer.exchange), (after.shown.value, after.exchange)):
        conversation = value["conversation"]
        cancelled = {run["id"] for run in value["runs"] if run["status"] == "cancelled"}
        effects = (
            ("/conversation/archived", conversation["archived"], "true"),
            ("/conversation/revision", conversation["revision"] > before.revision, f"more than {before.revision}"),
            ("/conversation/revision", conversation["revision"] == after.revision, str(after.revision)),
            ("/runs", active <= cancelled, "active runs cancelled"),
        )
        for place, holds, expected in effects:
            if not holds:
                summary = "An attempt whose answer was lost has not had the effects of an archive in the end"
                yield Finding(
                    "REPLAY-LOST-ANSWER", result.answer.call.operation.name, summary, place, expected, "something else",
                    (lost, exchange),
                )  # fmt: skip


@needs("seed", "own clock")
@cases("late", each("REPLAY-EXPIRED-PRIVATE", ("at-expiry", "a-day-later")))
def test_a_replay_after_expiry_shows_no_text(late: str, session: Session, record: Recorder) -> None:
    """Once the conversation has expired, a replay succeeds or not, but it brings no text and changes nothing."""
    first = _applied(session)
    assert first.scene.document is not None
    plan = Plan()
    expiry = session.stage.now() + plan.expires_in + 1000
    session.stage.set_clock(first.scene.workspace_id, expiry + (DAY if late == "a-day-later" else 0))
    _withheld_replay(session, record, first, "EXPIRED", "a replay after expiry")


_ACCESS: dict[str, AccessState] = {"withdrawn": "access_changed", "source-gone": "source_unavailable"}


@needs("seed", "access")
@cases("access", each("REPLAY-WITHHELD-PRIVATE", _ACCESS))
def test_a_replay_while_withheld_shows_no_text(access: str, session: Session, record: Recorder) -> None:
    """With access withdrawn or the source gone, a replay succeeds or not, but brings no text and changes nothing."""
    first = _applied(session)
    session.stage.control.set_access(first.scene.conversation_id, _ACCESS[access])
    _withheld_replay(session, record, first, "WITHHELD", "a replay while access is withdrawn or the source gone")


def _withheld_replay(session: Session, record: Recorder, first: First, name: str, what: str) -> None:
    """Send the attempt twice, judge that no text is shown, and that reads show the same around it.

    The first copy may be what notices the expiry, which may raise the revision once.
    """
    identifier, scene = f"REPLAY-{name}-PRIVATE", first.scene
    before, _ = look(session, scene)
    ignoring = frozenset({"revision", "conversation_revision"}) if name == "EXPIRED" else frozenset()
    for _ in range(2):
        answer, _ = archive(session, scene, **first.arguments)
        choice = "success without text" if answer.outcome == "success" else "error"
        record.freedom(f"OPEN-REPLAY-{name}", choice)
        must_hold(answered(answer))
        judged = session.results.judge(answer, first.arguments) if answer.result is not None else None
        must_hold(judged.findings if judged else (), without_text(answer, scene, identifier, what, judged))
        now, _ = look(session, scene)
        if before is not None and now is not None:
            must_hold(changes(before, now, identifier, what, answer.exchange, ignoring=ignoring))
        before, ignoring = now, frozenset()
