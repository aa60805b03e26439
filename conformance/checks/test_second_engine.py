"""A second, independent engine: Schemathesis generates inputs and judges answers; our judge confirms what it says."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from conformance.cases.conversations import Plan, RunPlan, compose, lowest_number
from conformance.cases.json_text import encode
from conformance.checks.declare import cases, each_operation, needs, over
from conformance.checks.steps import lent_arguments, take_snapshot, unchanged
from conformance.contract import Operation
from conformance.errors import SuiteFault
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered, not_refused_as, refused, refused_as, succeeded
from conformance.judge.result import OUTPUT_REQUIREMENTS
from conformance.second_engine.trials import (
    INPUT_REQUIREMENTS,
    Trial,
    spread,
    standing,
    with_fault,
    wrong_members,
)
from conformance.session import Session
from conformance.stage import Scene
from conformance.transport.exchange import Answer, Credential, ErrorKind, Exchange

if TYPE_CHECKING:
    # It costs 0.4 s to import, and may not be installed at all.
    from schemathesis import Case

    from conformance.second_engine.engine import SecondEngine

    _Wrong = tuple[Case[Any], Any, str | None]
    """A case, the body that was generated for it, and the wrong member of it that is to stand alone."""

EXTRA = "sosoapi-conformance[schemathesis]"

_DRAWS_PER_CASE = 2
_INVALID: frozenset[ErrorKind] = frozenset({"invalid_input"})
_UNAUTHENTICATED: frozenset[ErrorKind] = frozenset({"unauthenticated"})
_FINDS = (
    "HTTP-SUCCESS-STATUS",
    "READ-AVAILABLE",
    "INPUT-VALID-ACCEPTED",
    "INPUT-ERROR-KIND",
    "INPUT-REFUSED-UNCHANGED",
    *INPUT_REQUIREMENTS,
    *OUTPUT_REQUIREMENTS,
    "AUTH-TOKEN-MISSING",
    "AUTH-TOKEN-MALFORMED",
    "AUTH-TOKEN-UNKNOWN",
)


@over("rest")
@needs("token", "conversation")
@cases("operation", each_operation("HTTP-NO-SERVER-ERROR", *_FINDS, thorough=True))
def test_a_second_engine_finds_nothing(operation: Operation, session: Session) -> None:
    """What Schemathesis generates is answered as the contract says, in Schemathesis' eyes and in ours."""
    if importlib.util.find_spec("schemathesis") is None:
        pytest.skip(f"the second engine is not installed: pip install '{EXTRA}'")
    from conformance.second_engine.engine import SecondEngine  # noqa: PLC0415 - imports Schemathesis

    scene = _scene(session)
    arguments = lent_arguments(session, scene, operation)
    binding = session.rest.binding
    engine = SecondEngine(
        session.contract,
        operation,
        arguments,
        path=session.rest.path(operation),
        method=binding.method,
        status_kinds=binding.status_kinds,
    )
    _Duel(session, operation, scene, engine).run(session.settings.examples("schemathesis"))


def _scene(session: Session) -> Scene:
    """Return a scene of its own; its first run is a sentiment run where we make it, since *status* may insist on it."""
    if session.stage.tier != "control":
        return session.stage.scene(session.rng)
    plan = Plan(runs=(RunPlan(kind="sentiment"), RunPlan("queued", "themes", question=True)), numbers=lowest_number)
    return session.stage.scene(session.rng, compose(session.rng, session.stage.now(), plan))


class _Duel:
    """One operation put to the test by both engines, in a scene of its own."""

    def __init__(self, session: Session, operation: Operation, scene: Scene, engine: SecondEngine) -> None:
        self.session = session
        self.operation = operation
        self.scene = scene
        self.engine = engine
        self.judge = session.input_judge(operation)
        self.seed = session.random("second engine", operation.name).getrandbits(64)
        self.acts_on_stored = operation.effect == "read" or session.stage.tier == "control"

    def run(self, count: int) -> None:
        """Send about ``count`` cases: wrong credentials, wrong inputs, right inputs; a write that works comes last."""
        negative, positive = count // 2, count // 3
        take_snapshot(self.session, self.scene)
        for authorization in self.engine.authorizations(self.seed, count - negative - positive - 1):
            must_hold(self._refused_credentials(authorization))
        last: tuple[Exchange, ...] = ()
        for case in self._wrong(negative):
            last = (self._try(case).exchange,)
        after = "calls with random wrong input"
        must_hold(unchanged(self.session, self.scene, "INPUT-REFUSED-UNCHANGED", after, *last))
        for case in self.engine.cases("positive", self.seed, positive):
            self._try(case)
        self._reach()

    def _wrong(self, count: int) -> Iterator[Case[Any]]:
        """Yield wrong inputs, as many kinds of them as there are, each fault alone in arguments of the scene."""
        found: list[_Wrong] = []
        for case in self.engine.cases("negative", self.seed, count * _DRAWS_PER_CASE):
            members = wrong_members(case.body, self.judge) or (None,)
            found += [(case, case.body, member) for member in members]
        for wrong in spread(found, self._kind, count):
            yield self._alone(wrong)

    def _kind(self, wrong: _Wrong) -> str:
        return standing(self.engine.text(self._alone(wrong)), self.judge).what

    def _alone(self, wrong: _Wrong) -> Case[Any]:
        """Return the case with one of its faults; what was generated is whole again at the next call."""
        case, generated, member = wrong
        case.body = generated if member is None else with_fault(self._arguments(), generated, member)
        return case

    def _arguments(self) -> dict[str, Any]:
        """Return valid arguments, with a fresh mutation id where there is one."""
        return lent_arguments(self.session, self.scene, self.operation)

    def _refused_credentials(self, authorization: str | None) -> Iterator[Finding]:
        """Send valid arguments with a generated authorisation header, or none, and judge the refusal."""
        requirement, what = credential_fault(authorization)
        credential = Credential("no credentials" if authorization is None else "random credentials", authorization)
        answer = self.session.call(self.operation, encode(self._arguments()), credential)
        return refused_as(answer, _UNAUTHENTICATED, requirement, requirement, what)

    def _try(self, case: Case[Any]) -> Answer:
        """Send one case; raise what both engines find wrong about the answer."""
        text = self.engine.text(case)
        answer = self.session.call(self.operation, text, self.scene.principal.credential)
        must_hold(self._findings(case, standing(text, self.judge), answer))
        return answer

    def _findings(self, case: Case[Any], trial: Trial, answer: Answer) -> Iterator[Finding]:
        """Yield what Schemathesis says about an answer, as far as our judge confirms it."""
        if answer.exchange.response is None:
            yield from answered(answer)
            return
        failed = self.engine.failed_checks(case, answer.exchange)
        if "not_a_server_error" in failed or "status_code_conformance" in failed:
            yield from answered(answer)
        if "response_schema_conformance" in failed and answer.result is not None:
            yield from self._broken_result(case, answer)
        if "negative_data_rejection" in failed and trial.standing == "wrong":
            yield from self._not_refused(trial, answer)
        # A status that may also stand for something else, such as a conflict, may well mean that here.
        if "positive_data_acceptance" in failed and trial.standing == "valid" and answer.kinds == _INVALID:
            yield from not_refused_as(answer, "invalid_input", "INPUT-VALID-ACCEPTED", "random valid input")

    def _not_refused(self, trial: Trial, answer: Answer) -> Iterator[Finding]:
        if self.acts_on_stored:
            return refused_as(answer, _INVALID, trial.requirement, "INPUT-ERROR-KIND", trial.what)
        # The id is unknown too, and which of the two faults is seen first is left open.
        return refused(answer, trial.requirement, trial.what)

    def _broken_result(self, case: Case[Any], answer: Answer) -> tuple[Finding, ...]:
        judged = self.session.results.judge(answer, case.body if isinstance(case.body, dict) else {})
        if judged.value is not None:
            raise SuiteFault(f"a result of {self.operation.name} is wrong for Schemathesis and right for our judge")
        return judged.findings

    def _reach(self) -> None:
        """Call the operation with what is stored; a run that reaches nothing says nothing."""
        answer = self._try(self.engine.example())
        if self.operation.effect != "read" or answer.outcome == "success":
            return
        if not self._must_succeed():
            pytest.skip("the prepared conversation has no sentiment run, so no status was shown")
        must_hold(succeeded(answer, "READ-AVAILABLE", "the owner who reads an available conversation"))
        raise SuiteFault(f"{self.operation.name} reached nothing that is stored, and no finding says why")

    def _must_succeed(self) -> bool:
        """Tell whether the example must be answered: it is left open whether *status* insists on a sentiment run."""
        manifest = self.session.target.manifest
        if self.session.stage.tier == "control" or manifest is None or "run.id" not in self.operation.bindings.values():
            return True
        return any(run.request_kind == "sentiment" for run in manifest.readable[0].runs)


_BEARER_TOKEN = re.compile(r"[Bb]earer [A-Za-z0-9._~+/-]+=*")


def credential_fault(authorization: str | None) -> tuple[str, str]:
    """Return the requirement that such a header puts to the test, and what a call with it is."""
    if authorization is None:
        return "AUTH-TOKEN-MISSING", "a call without a token"
    if _BEARER_TOKEN.fullmatch(authorization):
        return "AUTH-TOKEN-UNKNOWN", "a call with a token that was never issued"
    return "AUTH-TOKEN-MALFORMED", "a call with random credentials that are no bearer token"
