"""Steps that several checks take: read a conversation, see that nothing changed, call with the arguments of a scene."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from conformance.cases.json_text import encode
from conformance.contract import Operation
from conformance.judge.comparison import differences
from conformance.judge.finding import Finding
from conformance.judge.outcome import succeeded
from conformance.judge.result import Judged
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Exchange


def reading(session: Session) -> Operation | None:
    """Return the operation that shows a whole conversation, or ``None`` where the contract has none."""
    reads = (each for each in session.contract.operations if each.effect == "read" and each.result == "conversation")
    return next(reads, None)


def call(
    session: Session, scene: Scene, operation: Operation, run_id: str | None = None
) -> tuple[Answer, dict[str, Any]]:
    """Call an operation as the scene's principal; return the answer and the arguments."""
    arguments = scene.arguments(operation, run_id)
    return session.call(operation, encode(arguments), scene.principal.credential), arguments


def read_back(session: Session, scene: Scene) -> tuple[Judged | None, tuple[Finding, ...]]:
    """Read the scene's conversation; return it judged, with the findings of the outcome when it was not shown."""
    operation = reading(session)
    if operation is None or not scene.known or not scene.readable:
        return None, ()
    answer, arguments = call(session, scene, operation)
    failures = tuple(succeeded(answer, "READ-AVAILABLE", "the owner who reads an available conversation"))
    if answer.result is None:
        return None, failures
    return session.results.judge(answer, arguments), ()


def take_snapshot(session: Session, scene: Scene) -> None:
    """Remember how the conversation looks now, unless that is known already."""
    if scene.snapshot is None:
        judged, _ = read_back(session, scene)
        if judged is not None and judged.value is not None:
            scene.snapshot = judged.value
            scene.revision = judged.value["conversation"]["revision"]


def unchanged(session: Session, scene: Scene, requirement: str, after: str, *before: Exchange) -> Iterator[Finding]:
    """Read the conversation and yield a finding where it is not as the snapshot has it; ``after`` says after what."""
    if scene.snapshot is None:
        return
    judged, failures = read_back(session, scene)
    for finding in failures:
        # A conversation that cannot be read any more is not as it was either.
        is_refusal = finding.requirement == "READ-AVAILABLE"
        broken = replace(finding, requirement=requirement) if is_refusal else finding
        yield broken.shown_by(*before, *finding.exchanges)
    if judged is None or judged.value is None:
        return
    for difference in differences(scene.snapshot, judged.value):
        yield Finding(
            requirement,
            before[-1].operation if before else "",
            f"The conversation has changed after {after}",
            difference.pointer,
            str(difference.expected)[:80],
            str(difference.found)[:80],
            (judged.answer.exchange, *before),
        )


def lent_arguments(session: Session, scene: Scene, operation: Operation) -> dict[str, Any]:
    """Return valid arguments that a server may act on: a conversation that the vendor lent is never written to."""
    arguments = scene.arguments(operation)
    if operation.effect == "write" and session.stage.tier != "control":
        for name, source in operation.bindings.items():
            if source == "conversation.id":
                arguments[name] = fresh_uuid(scene.rng)
    return arguments
