"""What conversations that the vendor prepared by hand can show of behaviour, where there is no test control."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance.cases.json_text import encode
from conformance.checks.archiving import NOT_FOUND, archived, archived_result, without_text
from conformance.checks.declare import case, cases, needs
from conformance.checks.steps import call, take_snapshot
from conformance.checks.views import operation_that, same_result
from conformance.contract import Contract, Operation
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered, refused_as, succeeded
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer

_EXPIRED = ("EXPIRY-AVAILABILITY", "EXPIRY-STATUS-WITHOUT-TEXT")
_FOREIGN = ("PRIVACY-OTHER-USER", "PRIVACY-FOREIGN-LIKE-UNKNOWN")
_ARCHIVED = (
    "ARCHIVE-FLAG",
    "ARCHIVE-ANSWER-WITHOUT-TEXT",
    "ARCHIVE-GET-WITHOUT-TEXT",
    "ARCHIVE-READ-BACK",
    "REVISION-GROWS",
    "REPLAY-SAME-RESULT",
    "REPLAY-AFTER-REVISION-MOVED",
    "REPLAY-APPLIED-ONCE",
)


def _one(identifier: str, *also: str) -> Any:
    def factory(contract: Contract) -> list[Any]:
        shown = operation_that(contract, "read", "conversation") is not None
        return [case("prepared", identifier, "prepared", *also)] if shown else []

    return factory


def _reads(session: Session, scene: Scene) -> Iterator[tuple[Operation, str | None]]:
    """Yield every read of the scene: of the conversation, and of each of its runs."""
    for operation in session.contract.operations:
        if operation.effect == "read":
            yield from ((operation, run_id) for run_id in (scene.run_ids if operation.result == "run" else (None,)))


@needs("expired")
@cases("kind", _one("EXPIRY-GET-WITHOUT-TEXT", *_EXPIRED))
def test_a_prepared_expired_conversation_shows_no_text(kind: str, session: Session) -> None:
    """Reading it shows that it is expired, or what else applies, and no text; nor does the status of its runs."""
    del kind
    for scene in session.stage.prepared_scenes(session.rng, "expired"):
        for operation, run_id in _reads(session, scene):
            answer, arguments = call(session, scene, operation, run_id)
            must_hold(answered(answer))
            whole = operation.result == "conversation"
            if whole:
                must_hold(succeeded(answer, "EXPIRY-AVAILABILITY", "a read of an expired conversation by its owner"))
            if answer.result is None:
                continue
            judged = session.results.judge(answer, arguments)
            identifier = "EXPIRY-GET-WITHOUT-TEXT" if whole else "EXPIRY-STATUS-WITHOUT-TEXT"
            must_hold(judged.findings, without_text(answer, scene, identifier, "an expired conversation", judged))
            if whole and judged.value["conversation"]["availability"] == "available":
                found = Finding(
                    "EXPIRY-AVAILABILITY", operation.name, "An expired conversation is shown as available",
                    "/conversation/availability", "expired", "available", (answer.exchange,),
                )  # fmt: skip
                must_hold([found])


@needs("foreign")
@cases("kind", _one("READ-UNKNOWN-ID", *_FOREIGN))
def test_a_prepared_foreign_conversation_looks_unknown(kind: str, session: Session) -> None:
    """Another person's id is refused as not found, with the same status as an id that nobody has."""
    del kind
    for scene in session.stage.prepared_scenes(session.rng, "foreign"):
        for operation in session.contract.operations:
            if operation.effect != "read":
                continue
            foreign, arguments = call(session, scene, operation)
            unknown_arguments = {**arguments, "conversation_id": fresh_uuid(session.rng)}
            unknown = session.call(operation, encode(unknown_arguments), scene.principal.credential)
            must_hold(
                refused_as(foreign, NOT_FOUND, "PRIVACY-OTHER-USER", "PRIVACY-OTHER-USER", "another person's id"),
                refused_as(unknown, NOT_FOUND, "READ-UNKNOWN-ID", "READ-UNKNOWN-ID", "an id that nobody has"),
                _told_apart(foreign, unknown),
            )


def _told_apart(foreign: Answer, unknown: Answer) -> Iterator[Finding]:
    if foreign.status != unknown.status:
        yield Finding(
            "PRIVACY-FOREIGN-LIKE-UNKNOWN", foreign.call.operation.name,
            "Another person's id is answered with another status than an unknown one",
            "status", unknown.status, foreign.status, (unknown.exchange, foreign.exchange),
        )  # fmt: skip


@needs("disposable")
@cases("kind", _one("ARCHIVE-ACCEPTED", *_ARCHIVED))
def test_a_prepared_disposable_conversation_is_archived_once(kind: str, session: Session) -> None:
    """Its archive succeeds, takes the text away, raises the revision, and is recognised when it is sent again."""
    del kind
    scene = next(
        (each for each in session.stage.prepared_scenes(session.rng, "disposable") if _is_fresh(session, each)), None
    )
    if scene is None:
        pytest.skip("every disposable conversation of the target file is archived or gone; prepare new ones")
    before = scene.revision
    judged, arguments = archived(session, scene)
    conversation = judged.value["conversation"]
    read, read_arguments = call(session, scene, next(_reads(session, scene))[0])
    must_hold(
        without_text(judged.answer, scene, "ARCHIVE-ANSWER-WITHOUT-TEXT", "the answer of an archive", judged),
        _unlike(judged.answer, "ARCHIVE-FLAG", "/conversation/archived", expected=True, found=conversation["archived"]),
        _unlike(
            judged.answer,
            "REVISION-GROWS",
            "/conversation/revision",
            expected=True,
            found=conversation["revision"] > before,
        ),
        succeeded(read, "ARCHIVE-READ-BACK", "a read of an archived conversation by its owner"),
    )
    shown = session.results.judge(read, read_arguments)
    must_hold(
        shown.findings,
        without_text(read, scene, "ARCHIVE-GET-WITHOUT-TEXT", "an archived conversation", shown),
        _unlike(
            read, "ARCHIVE-READ-BACK", "/conversation/revision",
            expected=conversation["revision"], found=shown.value["conversation"]["revision"] if shown.value else None,
        ),
    )  # fmt: skip
    operation = judged.answer.call.operation
    again = session.call(operation, encode(arguments), scene.principal.credential)
    what = "a replay of an applied archive"
    replayed = archived_result(session, again, arguments, "REPLAY-AFTER-REVISION-MOVED", what)
    after, after_arguments = call(session, scene, next(_reads(session, scene))[0])
    must_hold(
        same_result(judged, replayed, "REPLAY-SAME-RESULT", what),
        succeeded(after, "REPLAY-APPLIED-ONCE", "a read after a replay by the owner"),
    )
    must_hold(
        same_result(
            shown, session.results.judge(after, after_arguments), "REPLAY-APPLIED-ONCE", "a read after a replay"
        )
    )


def _is_fresh(session: Session, scene: Scene) -> bool:
    """Tell whether the conversation can still be archived; learn its revision on the way."""
    take_snapshot(session, scene)
    return scene.snapshot is not None and scene.snapshot["conversation"]["availability"] == "available"


def _unlike(answer: Answer, identifier: str, place: str, *, expected: Any, found: Any) -> Iterator[Finding]:
    if expected != found:
        yield Finding(
            identifier, answer.call.operation.name, "What is shown after an archive is not what it should be",
            place, str(expected), str(found), (answer.exchange,),
        )  # fmt: skip
