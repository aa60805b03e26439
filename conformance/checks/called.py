"""Every kind of call that succeeds and every kind that is refused, made once each, for checks of how answers look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.cases.conversations import MINUTE
from conformance.cases.json_text import encode
from conformance.checks.archiving import archive, can_archive
from conformance.checks.steps import call, lent_arguments, reading
from conformance.checks.withholding import expiring, operations
from conformance.contract import Operation
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Credential

Called = tuple[str, Answer]
"""What kind of call it was, and its answer."""


def successes(session: Session) -> Iterator[Called]:
    """Make every kind of call that must succeed, as far as the target's tier allows."""
    stage, rng = session.stage, session.rng
    yield from _reads(session, stage.scene(rng), "an available conversation")
    if not can_archive(session.contract) or stage.lacks(("seed",)):
        return
    scene = stage.scene(rng)
    answer, arguments = archive(session, scene)
    yield "an archive", answer
    yield "a replay", archive(session, scene, **arguments)[0]
    yield from _reads(session, scene, "an archived conversation")
    if operations(session.contract) and not stage.lacks(("clock",)):
        deadline = stage.now() + 10 * MINUTE
        scene = stage.seeded(rng, expiring(rng, stage.now(), deadline))
        stage.set_clock(scene.workspace_id, deadline)
        get = reading(session)
        assert get is not None
        yield "a read of an expired conversation", call(session, scene, get)[0]


def _reads(session: Session, scene: Scene, of_what: str) -> Iterator[Called]:
    for operation in session.contract.operations:
        if operation.effect == "read" and (operation.result != "run" or scene.run_ids):
            kind = "a run's status" if operation.result == "run" else "a read"
            yield f"{kind} of {of_what}", call(session, scene, operation)[0]


def refusals(session: Session) -> Iterator[Called]:
    """Make every kind of call that must be refused, as far as the target's tier allows."""
    stage, rng = session.stage, session.rng
    scene = stage.scene(rng)
    for operation in session.contract.operations:
        if "conversation_id" in operation.bindings:
            unknown = fresh_uuid(rng)
            yield "a call of an unknown conversation", _sent(session, scene, operation, conversation_id=unknown)
    yield from invalid_calls(session, scene)
    if can_archive(session.contract) and not stage.lacks(("seed",)):
        yield "an archive with another revision", archive(session, scene, expected_revision=scene.revision + 1)[0]
    for need, label, scopes in (("second principal", "other user", None), ("scope", "without scope", ())):
        if stage.tier == "control" and not stage.lacks((need,)):
            # A member of the same workspace, so that it is not the owner again where people are lent.
            other = stage.principal(rng, scopes=scopes, workspace_ids=(scene.workspace_id,), label=label)
            for operation in session.contract.operations:
                yield f"a call ({label})", _sent(session, scene, operation, other.credential)


def invalid_calls(session: Session, scene: Scene) -> Iterator[Called]:
    """Make calls whose arguments are an object that breaks the input schema, of each kind for each operation."""
    for operation in session.contract.operations:
        arguments = lent_arguments(session, scene, operation)
        wrong: dict[str, dict[str, Any]] = {"a call with an unknown field": {**arguments, "zz_unknown": 1}}
        for name in list(operation.input_schema.get("required", ()))[:1]:
            without = {key: value for key, value in arguments.items() if key != name}
            wrong["a call without a required field"] = without
            wrong["a call with a field of another type"] = {**arguments, name: [arguments[name]]}
            wrong["a call with an empty object as its arguments"] = {}
        for what, changed in wrong.items():
            yield what, session.call(operation, encode(changed), scene.principal.credential)


def _sent(
    session: Session, scene: Scene, operation: Operation, credential: Credential | None = None, **changed: Any
) -> Answer:
    arguments = {**lent_arguments(session, scene, operation), **changed}
    return session.call(operation, encode(arguments), credential or scene.principal.credential)
