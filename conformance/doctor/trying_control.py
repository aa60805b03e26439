"""Tries each capability of test control for what it does to the target, and not only for its answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from conformance.cases.conversations import MINUTE, Plan, RunPlan, compose
from conformance.cases.json_text import encode
from conformance.cases.texts import UTC_MILLISECONDS, timestamp
from conformance.checks.withholding import fresh_answer
from conformance.contract import Operation
from conformance.control.interface import CAPABILITIES
from conformance.doctor.costs import Costs
from conformance.doctor.diagnosis import Diagnosis
from conformance.errors import CouldNotRun, SuiteFault
from conformance.judge.formats import parse_instant
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Credential

_NEEDED_FIRST: Final = {
    "tokens": ("principals",),
    "seed": ("principals",),
    "clock": (),
    "access": ("principals", "seed"),
    "worker": ("principals", "seed"),
    "restart": ("principals", "seed"),
    "reset": (),
}
"""What must work before a capability can be tried."""


class _Fails(Exception):
    """A capability that answers and does not do what it is for."""


class TryingControl:
    """Tries the capabilities of one session's test control, in the order in which they build on each other."""

    def __init__(self, session: Session, costs: Costs, *, allow_reset: bool) -> None:
        self._session = session
        self._costs = costs
        self._allow_reset = allow_reset
        self._rng = session.random("doctor")
        self.working: set[str] = set()
        self.tokens: list[str] = []

    def diagnoses(self) -> list[Diagnosis]:
        """Try each capability that is offered."""
        return [self._diagnosis(name) for name in CAPABILITIES]

    def _diagnosis(self, name: str) -> Diagnosis:
        cost = self._costs.without_capability(name)
        if name not in self._session.stage.capabilities.names:
            return Diagnosis(name, "missing", "test control does not offer it", cost)
        if name == "reset" and not self._allow_reset:
            return Diagnosis(name, "untried", "offered; it drops all seeded data, so only --allow-reset tries it")
        before = [each for each in _NEEDED_FIRST.get(name, ()) if each not in self.working]
        if before:
            return Diagnosis(
                name, "untried", f"offered; it builds on {' and '.join(before)}, which does not work", cost
            )
        trying: dict[str, Callable[[], str]] = {
            "principals": self._principals,
            "tokens": self._tokens,
            "seed": self._seed,
            "clock": self._clock,
            "access": self._access,
            "worker": self._worker,
            "restart": self._restart,
            "reset": self._reset,
        }
        try:
            sentence = trying[name]()
        except CouldNotRun as problem:
            return Diagnosis(name, "broken", f"{problem.what}", cost)
        except _Fails as problem:
            return Diagnosis(name, "broken", str(problem), cost)
        self.working.add(name)
        return Diagnosis(name, "ok", sentence)

    def _principals(self) -> str:
        principal = self._session.stage.principal(self._rng)
        self.tokens.append(principal.token)
        answer = self._unknown(principal.credential)
        _let_in(answer, "the token of a new person")
        return f"a new person's read of an unknown id is refused as it should be ({answer.status})"

    def _tokens(self) -> str:
        principal = self._session.stage.principal(self._rng)
        more = self._session.stage.control.create_token(principal, (self._session.stage.scope,))
        self.tokens += [principal.token, more.token]
        _let_in(self._unknown(more.credential), "a further token of the same person")
        return "a further token of the same person is taken"

    def _seed(self) -> str:
        scene = self._session.stage.scene(self._rng)
        self.tokens.append(scene.principal.token)
        self._read(scene)
        return "a small conversation was stored and read back"

    def _clock(self) -> str:
        stage, workspace_id = self._session.stage, fresh_uuid(self._rng)
        control = stage.control
        if "principals" in self.working:
            workspace_id = stage.principal(self._rng, workspace_ids=(workspace_id,)).workspace_ids[0]
        at_first = float(parse_instant(control.read_clock(workspace_id)))
        instant = int(at_first * 1000) + MINUTE
        control.set_clock(workspace_id, timestamp(instant, UTC_MILLISECONDS))
        try:
            for _ in range(2):
                shown = control.read_clock(workspace_id)
                if round(float(parse_instant(shown)) * 1000) != instant:
                    asked = timestamp(instant, UTC_MILLISECONDS)
                    raise _Fails(f"it was set to {asked} and shows {shown}: it does not stand still there")
        finally:
            control.release_clock(workspace_id)
        released = control.read_clock(workspace_id)
        if round(float(parse_instant(released)) * 1000) == instant:
            raise _Fails("it was released (DELETE /clock) and still stands still")
        if stage.capabilities.clock_scope == "global":
            return (
                "read, set and released; its scope is global: one clock for all workspaces, so a run is one process, "
                "and checks of other years are left out"
            )
        return "read, set and released; its scope is workspace: each has a clock of its own"

    def _access(self) -> str:
        scene = self._session.stage.scene(self._rng)
        self.tokens.append(scene.principal.token)
        self._session.stage.control.set_access(scene.conversation_id, "access_changed")
        answer = self._get(scene)
        if answer.outcome == "success" and _document(answer).get("conversation", {}).get("availability") == "available":
            raise _Fails("access was withdrawn, and the conversation is still shown as available")
        self._session.stage.control.set_access(scene.conversation_id, "granted")
        return "withdrawn access is seen by the owner"

    def _worker(self) -> str:
        stage = self._session.stage
        plan = Plan(runs=(RunPlan("processing", "sentiment", question=True),))
        scene = stage.seeded(self._rng, compose(self._rng, stage.now(), plan))
        self.tokens.append(scene.principal.token)
        assert scene.document is not None
        (run_id,) = scene.run_ids
        self._session.stage.control.deliver_result(run_id, fresh_answer(self._rng, scene.document), "model", "1")
        document = self._read(scene)
        statuses = {str(run.get("id")).lower(): run.get("status") for run in document.get("runs", ())}
        if statuses.get(run_id.lower()) == "processing":
            raise _Fails("a result was delivered, and its run is still processing")
        return f"a delivered result is seen: the run is {statuses.get(run_id.lower())}"

    def _restart(self) -> str:
        scene = self._session.stage.scene(self._rng)
        self.tokens.append(scene.principal.token)
        self._session.stage.control.restart()
        self._read(scene)
        return "the target answers again, and still has what was stored"

    def _reset(self) -> str:
        self._session.stage.control.reset()
        return "test control says that all seeded data is dropped"

    def _read(self, scene: Scene) -> dict[str, Any]:
        answer = self._get(scene)
        if answer.outcome != "success":
            raise _Fails(f"the owner cannot read a conversation that was stored ({answer.status}{_quoted(answer)})")
        document = _document(answer)
        conversation = document.get("conversation")
        shown = conversation.get("id") if isinstance(conversation, dict) else None
        if str(shown).lower() != scene.conversation_id.lower():
            raise _Fails(f"the owner's read of a stored conversation shows another id: {shown!r:.60}")
        return document

    def _get(self, scene: Scene) -> Answer:
        operation = reading_operation(self._session)
        return self._session.call(operation, encode(scene.arguments(operation)), scene.principal.credential)

    def _unknown(self, credential: Credential) -> Answer:
        return read_unknown(self._session, credential)


def reading_operation(session: Session) -> Operation:
    """Return the operation that shows a conversation.

    Raises:
        SuiteFault: the contract has none.
    """
    for operation in session.contract.operations:
        if operation.effect == "read" and operation.result == "conversation":
            return operation
    raise SuiteFault("the doctor reads conversations, and this contract has no operation that does")


def read_unknown(session: Session, credential: Credential) -> Answer:
    """Read a conversation that nobody has."""
    rng, operation = session.random("doctor", "unknown"), reading_operation(session)
    arguments = {name: fresh_uuid(rng) for name in operation.bindings}
    return session.call(operation, encode(arguments), credential)


def _let_in(answer: Answer, whose: str) -> None:
    if answer.outcome == "no-answer":
        raise _Fails(f"the target gives no answer to {whose}: {answer.status}")
    if is_unauthenticated(answer):
        raise _Fails(f"the target refuses {whose} ({answer.status}{_quoted(answer)})")
    if answer.outcome == "server-error":
        raise _Fails(f"the target fails for {whose} ({answer.status}{_quoted(answer)})")


def is_unauthenticated(answer: Answer) -> bool:
    """Tell whether the answer says that the token is not taken at all."""
    is_401 = answer.exchange.response is not None and answer.exchange.response.status == 401
    return is_401 or (answer.kinds is not None and answer.kinds == {"unauthenticated"})


def _quoted(answer: Answer) -> str:
    body = answer.exchange.response.body if answer.exchange.response is not None else b""
    return f": {body[:120].decode('utf-8', 'replace')!r}" if body else ""


def _document(answer: Answer) -> dict[str, Any]:
    try:
        document = json.loads(answer.result or b"")
    except (ValueError, RecursionError):
        raise _Fails("the owner's read of a stored conversation is no JSON") from None
    if not isinstance(document, dict):
        raise _Fails("the owner's read of a stored conversation is no JSON object")
    return document
