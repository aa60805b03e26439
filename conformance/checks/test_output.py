"""What is shown: every result obeys its schema and the invariants, and is what was stored."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.cases.conversations import DAY, MINUTE, Document, Plan, RunPlan, archivable, compose
from conformance.cases.directed import PLANS
from conformance.cases.examples import run_examples
from conformance.cases.json_text import encode
from conformance.cases.random_conversations import documents
from conformance.cases.texts import EARLIEST, LATEST
from conformance.cases.timestamps import Timestamp, load_timestamps
from conformance.checks.declare import case, cases, each_operation, needs, requirement
from conformance.checks.documents import (
    AGREEMENT_REQUIREMENTS,
    CONTENT_REQUIREMENTS,
    SHAPE_REQUIREMENTS,
    cover,
    note_form,
    read_everything,
)
from conformance.checks.steps import call, lent_arguments
from conformance.contract import Contract, Operation
from conformance.errors import SuiteFault
from conformance.judge.finding import must_hold
from conformance.judge.formats import parse_instant
from conformance.judge.outcome import answered
from conformance.judge.result import OUTPUT_REQUIREMENTS, Judged
from conformance.recorder import Recorder
from conformance.session import Session


def _shows_conversations(contract: Contract) -> bool:
    return any(operation.effect == "read" and operation.result == "conversation" for operation in contract.operations)


def _directed(contract: Contract) -> list[Any]:
    names = PLANS if _shows_conversations(contract) else ()
    return [case(name, "IDENTITY-SEEDED-CONTENT", name, *CONTENT_REQUIREMENTS) for name in names]


@needs("seed")
@cases("plan", _directed)
def test_a_stored_conversation_is_shown_as_it_is(plan: str, session: Session, record: Recorder) -> None:
    """A conversation at a bound of the schema comes back as it was stored, and its runs' status agrees with it."""
    document = compose(session.rng, session.stage.now(), PLANS[plan])
    _note(record, read_everything(session, record, session.stage.seeded(session.rng, document)))


def _note(record: Recorder, shown: Judged | None) -> None:
    if shown is not None:
        note_form(record, shown.value)


def _random(contract: Contract) -> list[Any]:
    shown = _shows_conversations(contract)
    return [case("random", "IDENTITY-SEEDED-CONTENT", "random", *CONTENT_REQUIREMENTS)] if shown else []


@needs("seed")
@cases("kind", _random)
def test_random_conversations_are_shown_as_they_are(kind: str, session: Session, record: Recorder) -> None:
    """Random legal conversations come back as they were stored."""

    def judge(document: Document) -> None:
        read_everything(session, record, session.stage.seeded(session.rng, document))

    run_examples(
        documents(session.stage.now(), session.rng),
        judge,
        seed=session.random("documents", kind).getrandbits(64),
        count=session.settings.examples("documents"),
    )


@needs("conversation")
@requirement("READ-AVAILABLE", *SHAPE_REQUIREMENTS, *AGREEMENT_REQUIREMENTS)
def test_a_readable_conversation_obeys_the_contract(session: Session, record: Recorder) -> None:
    """Whatever the owner may read, seeded or prepared by the vendor, obeys the schemas and the invariants."""
    for scene in session.stage.readable_scenes(session.rng):
        _note(record, read_everything(session, record, scene))


_FIELDS = ("created_at", "expires_at")


@needs("token")
@cases("operation", each_operation("OUTPUT-TYPE", *OUTPUT_REQUIREMENTS))
def test_a_result_obeys_the_output_schema(operation: Operation, session: Session, record: Recorder) -> None:
    """What an operation answers to an ordinary call obeys its output schema, whatever the operation is."""
    scene = session.stage.scene(session.rng)
    tried = (lent_arguments(session, scene, operation), dict(operation.example_call["arguments"]))
    for arguments in tried:
        answer = session.call(operation, encode(arguments), scene.principal.credential)
        must_hold(answered(answer))
        if answer.result is not None:
            judged = session.results.judge(answer, arguments)
            must_hold(judged.findings)
            cover(session, record, operation, judged.value)
            return
    pytest.skip("no ordinary call of the operation was answered with a result")


def _timestamps(contract: Contract) -> list[Any]:
    seedable = [each for each in load_timestamps() if each.seedable] if _shows_conversations(contract) else []
    # The quick profile has each time in one of the fields, the next time in the next field.
    return [
        case(
            (each, field),
            "IDENTITY-SEEDED-INSTANT",
            f"{field}-{each.text}",
            *CONTENT_REQUIREMENTS,
            thorough=_FIELDS.index(field) != number % len(_FIELDS),
        )
        for number, each in enumerate(seedable)
        for field in _FIELDS
        if _has_room(each, field)
    ]


@needs("seed", "own clock")
@cases("stamp", _timestamps)
def test_a_stored_time_is_shown_as_the_same_instant(
    stamp: tuple[Timestamp, str], session: Session, record: Recorder
) -> None:
    """A time of any legal spelling comes back as the same instant, every kind of leap day among them."""
    timestamp, field = stamp
    now = _clock_for(timestamp, field)
    document = _respelt(compose(session.rng, now, _plan_for(field)), timestamp)
    session.stage.set_clock(document.workspace_id, now)
    _note(record, read_everything(session, record, session.stage.seeded(session.rng, document)))


def _plan_for(field: str) -> Plan:
    """Return a plan whose conversation was created, or expires, ten minutes away from now."""
    runs = (RunPlan(question=True), RunPlan("queued", question=True))
    return Plan(runs=runs, expires_in=DAY - 10 * MINUTE if field == "created_at" else 10 * MINUTE)


def _clock_for(timestamp: Timestamp, field: str) -> int:
    milliseconds = int(parse_instant(timestamp.text) * 1000)
    return milliseconds + (10 if field == "created_at" else -10) * MINUTE


def _has_room(timestamp: Timestamp, field: str) -> bool:
    """Tell whether the conversation that the time needs lies in the years that may be seeded."""
    start = int(parse_instant(timestamp.text) * 1000) - (0 if field == "created_at" else DAY)
    return EARLIEST <= start and start + DAY <= LATEST


def _respelt(document: Document, timestamp: Timestamp) -> Document:
    """Return the document with the timestamp's own spelling wherever its instant occurs."""
    instant = parse_instant(timestamp.text)
    respelt = 0

    def entry(values: dict[str, Any]) -> dict[str, Any]:
        nonlocal respelt
        changed = dict(values)
        for field in _FIELDS:
            if parse_instant(changed[field]) == instant:
                changed[field] = timestamp.text
                respelt += 1
        return changed

    changed = Document(
        entry(document.conversation),
        [entry(message) for message in document.messages],
        [entry(run) for run in document.runs],
    )
    if not respelt:
        raise SuiteFault(f"no time of the conversation is {timestamp.text}")
    return changed


_STATES = {
    "archived": (),
    "expired": ("own clock",),
    "access_changed": ("access",),
    "source_unavailable": ("access",),
}
"""How a conversation may come to withhold its text, and what it takes of test control."""


def _states(contract: Contract) -> list[Any]:
    names = _STATES if _shows_conversations(contract) else {}
    marks = requirement("OUTPUT-TYPE", *SHAPE_REQUIREMENTS)
    return [
        pytest.param(name, id=f"OUTPUT-TYPE-{name}", marks=(marks, needs("seed", *wanted)))
        for name, wanted in names.items()
    ]


@cases("state", _states)
def test_results_obey_the_contract_in_every_state(state: str, session: Session, record: Recorder) -> None:
    """Whatever is still shown of a conversation whose text is gone obeys the schemas and the invariants."""
    stage = session.stage
    scene = stage.seeded(session.rng, archivable(session.rng, stage.now()))
    if state == "expired":
        stage.set_clock(scene.workspace_id, stage.now() + DAY)
    elif state != "archived":
        stage.control.set_access(
            scene.conversation_id, "access_changed" if state == "access_changed" else "source_unavailable"
        )
    writes = [each for each in session.contract.operations if each.effect == "write"]
    reads = [each for each in session.contract.operations if each.effect == "read"]
    for operation in (*(writes if state == "archived" else ()), *reads):
        for run_id in scene.run_ids if operation.result == "run" else (None,):
            answer, arguments = call(session, scene, operation, run_id)
            must_hold(answered(answer))
            if answer.result is not None:
                judged = session.results.judge(answer, arguments)
                must_hold(judged.findings)
                cover(session, record, operation, judged.value)
                note_form(record, judged.value)
