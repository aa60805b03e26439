"""Input strictness: every wrong input is refused as invalid and changes nothing; its valid twin is not refused."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.cases.examples import run_examples
from conformance.cases.inputs import Spelling, valid_spellings
from conformance.cases.json_text import encode
from conformance.cases.left_open import duplicate_names, open_spellings
from conformance.cases.negatives import Negative, confirm, near_misses, negatives
from conformance.cases.random_inputs import random_negatives, random_spellings
from conformance.checks.declare import case, cases, each_operation, needs
from conformance.checks.steps import lent_arguments, take_snapshot, unchanged
from conformance.contract import Contract, Operation
from conformance.errors import SuiteFault
from conformance.judge.decode import decode
from conformance.judge.finding import NonConformance, must_hold
from conformance.judge.outcome import answered, not_refused_as, refused_as
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene
from conformance.transport.exchange import Answer, ErrorKind

_UNKNOWN: frozenset[ErrorKind] = frozenset({"not_found", "forbidden"})
_INVALID: frozenset[ErrorKind] = frozenset({"invalid_input"})
_ALSO = ("INPUT-ERROR-KIND", "INPUT-REFUSED-UNCHANGED", "INPUT-VALID-ACCEPTED", "HTTP-NO-SERVER-ERROR")


def _fixed_negatives(contract: Contract) -> list[Any]:
    return [
        case(negative, negative.requirement, f"{operation.name}-{negative.name}", *_ALSO)
        for operation in contract.operations
        for negative in negatives(operation)
    ]


@needs("token")
@cases("negative", _fixed_negatives)
def test_invalid_input_is_refused(negative: Negative, session: Session, record: Recorder) -> None:
    """A wrong input is refused as invalid and changes nothing; the same input without the fault is not refused."""
    if not judge_negative(session, record, negative):
        pytest.skip("no message can carry it, or the ids are unknown here and the server says so before anything else")


_RENAMINGS = ("camel-case", "misspelled")


@needs("seed")
@cases("operation", each_operation("INPUT-REQUIRED-FIELD", *_ALSO[:2], "HTTP-NO-SERVER-ERROR"))
def test_a_near_miss_does_not_stand_for_a_required_field(operation: Operation, session: Session) -> None:
    """A required field under a wrong name is refused, and never taken for an input that leaves the field to choice."""
    for member in operation.input_schema["required"]:
        misses = near_misses(member)
        for wrong in (misses[kind] for kind in _RENAMINGS if kind in misses):
            scene = acting_scene(session, operation)
            take_snapshot(session, scene)
            arguments = scene.arguments(operation)
            what = f"{wrong!r} in the place of {member}"
            # Both faults, the missing name and the unknown one, are invalid input, so their order makes no difference.
            renamed = {wrong if name == member else name: value for name, value in arguments.items()}
            answer = session.call(operation, encode(renamed), scene.principal.credential)
            must_hold(
                refused_as(answer, _INVALID, "INPUT-REQUIRED-FIELD", "INPUT-ERROR-KIND", what),
                unchanged(session, scene, "INPUT-REFUSED-UNCHANGED", f"a call with {what}", answer.exchange),
            )


@needs("token")
@cases("operation", each_operation("INPUT-VALID-ACCEPTED", *_ALSO[:2], "HTTP-NO-SERVER-ERROR"))
def test_random_invalid_input_is_refused(operation: Operation, session: Session, record: Recorder) -> None:
    """Random inputs with one random fault are refused as invalid and change nothing."""
    run_examples(
        random_negatives(operation),
        lambda negative: _judge_random(session, record, negative),
        seed=session.random("random invalid input", operation.name).getrandbits(64),
        count=session.settings.examples("inputs"),
    )


def _judge_random(session: Session, record: Recorder, negative: Negative) -> None:
    judge_negative(session, record, negative)


def judge_negative(session: Session, record: Recorder, negative: Negative) -> bool:
    """Send a wrong input and its valid twin, and judge both answers and what the conversation looks like between.

    Return whether anything was judged. An unknown id is a fault of its own, and the order of checks is left open: where
    the scene's conversation does not exist, a server may say so before it looks at the rest of the input. Over MCP
    what is no JSON value cannot be sent as arguments.
    """
    operation = negative.operation
    scene = acting_scene(session, operation)
    arguments = scene.arguments(operation)
    text = confirm(negative, arguments, session.input_judge(operation))
    if not session.transport.can_carry(text):
        return False
    take_snapshot(session, scene)
    credential = scene.principal.credential
    answer = session.call(operation, text, credential)
    after = f"a call with {negative.what}"
    acts_on_stored = scene.known and (operation.effect == "read" or session.stage.tier == "control")
    if not acts_on_stored and answer.kinds is not None and answer.kinds & _UNKNOWN and not answer.kinds & _INVALID:
        return False
    _note_status(session, record, answer)
    try:
        accepted = answer.outcome == "success"
        must_hold(
            refused_as(answer, _INVALID, negative.requirement, "INPUT-ERROR-KIND", negative.what),
            () if accepted else unchanged(session, scene, "INPUT-REFUSED-UNCHANGED", after, answer.exchange),
        )
        twin = session.call(operation, encode(lent_arguments(session, scene, operation)), credential)
        must_hold(not_refused_as(twin, "invalid_input", "INPUT-VALID-ACCEPTED", "valid input"))
    except NonConformance:
        session.drop_scene(scene)
        raise
    return True


def _note_status(session: Session, record: Recorder, answer: Answer) -> None:
    """Record with which status invalid input was refused; only plain HTTP has one for it."""
    response = answer.exchange.response
    if session.transport.name == "rest" and response is not None and response.status in (400, 422):
        record.freedom("OPEN-INVALID-INPUT-STATUS", str(response.status))


def acting_scene(session: Session, operation: Operation) -> Scene:
    """Return a scene to call the operation in: a shared one for reads, one of its own for each write."""
    if operation.effect == "read" or session.stage.tier != "control":
        return session.shared_scene("input")
    return session.stage.scene(session.rng)


@needs("token")
@cases("operation", each_operation("INPUT-VALID-ACCEPTED", "HTTP-NO-SERVER-ERROR"))
def test_every_spelling_of_valid_input_is_accepted(operation: Operation, session: Session) -> None:
    """White space, member order, escapes, every UUID version and the largest integers do not make an input invalid."""
    for spelling in valid_spellings(operation):
        _judge_valid(session, operation, spelling)


@needs("token")
@cases("operation", each_operation("INPUT-VALID-ACCEPTED", "HTTP-NO-SERVER-ERROR"))
def test_random_valid_input_is_accepted(operation: Operation, session: Session) -> None:
    """Random inputs that the schema allows are not refused as invalid."""
    run_examples(
        random_spellings(operation),
        lambda spelling: _judge_valid(session, operation, spelling),
        seed=session.random("random valid input", operation.name).getrandbits(64),
        count=session.settings.examples("inputs"),
    )


def _judge_valid(session: Session, operation: Operation, spelling: Spelling) -> None:
    """Send a valid input and see that it is not refused as invalid."""
    scene = acting_scene(session, operation)
    text = spelling.build(lent_arguments(session, scene, operation))
    if not session.input_judge(operation).is_valid(decode(text)):
        raise SuiteFault(f"the valid spelling {spelling.name} of {operation.name} is not valid")
    answer = session.call(operation, text, scene.principal.credential)
    must_hold(not_refused_as(answer, "invalid_input", "INPUT-VALID-ACCEPTED", spelling.what))


@needs("token")
@cases("operation", each_operation("INPUT-DUPLICATE-NAME-EFFECT", "HTTP-NO-SERVER-ERROR"))
def test_a_name_given_twice_does_no_harm(operation: Operation, session: Session, record: Recorder) -> None:
    """A member given twice is refused, or one of its values is used; nothing happens that neither value asks for."""
    for duplicate in duplicate_names(operation):
        scene = acting_scene(session, operation)
        take_snapshot(session, scene)
        text = duplicate.build(lent_arguments(session, scene, operation))
        answer = session.call(operation, text, scene.principal.credential)
        record.freedom("OPEN-DUPLICATE-NAME", "refuses" if answer.outcome == "refused" else "acts on one value")
        must_hold(answered(answer))
        acted = answer.outcome == "success" and operation.effect == "write" and not duplicate.neither_asks
        if not acted:
            after = f"a call with {duplicate.name.replace('-', ', ')}"
            must_hold(unchanged(session, scene, "INPUT-DUPLICATE-NAME-EFFECT", after, answer.exchange))


@needs("token")
@cases("operation", each_operation("HTTP-NO-SERVER-ERROR"))
def test_what_is_left_open_of_input_is_recorded(operation: Operation, session: Session, record: Recorder) -> None:
    """Spellings that a server may accept or refuse are recorded, and judged for server errors alone."""
    for freedom, build in open_spellings(operation):
        scene = acting_scene(session, operation)
        text = build(lent_arguments(session, scene, operation))
        if not session.transport.can_carry(text):
            continue
        answer = session.call(operation, text, scene.principal.credential)
        must_hold(answered(answer))
        if answer.kinds is not None:
            record.freedom(freedom, "refuses" if "invalid_input" in answer.kinds else "accepts")
