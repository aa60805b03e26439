"""Any story: reads, archives, replays, time, access, restarts and late results in any order, judged step by step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from conformance.cases.drawing import DrawingStopped
from conformance.cases.stories import PLANS, Step, run_stories, steps
from conformance.checks.declare import case, cases, needs, requirement
from conformance.checks.documents import AGREEMENT_REQUIREMENTS, SHAPE_REQUIREMENTS
from conformance.checks.storytelling import Teller
from conformance.contract import Contract
from conformance.errors import CouldNotRun
from conformance.recorder import Recorder
from conformance.session import Session

BASE_REQUIREMENTS = (
    "ARCHIVE-ACCEPTED",
    "ARCHIVE-FLAG",
    "ARCHIVE-AVAILABILITY",
    "ARCHIVE-ANSWER-WITHOUT-TEXT",
    "ARCHIVE-GET-WITHOUT-TEXT",
    "ARCHIVE-STATUS-WITHOUT-TEXT",
    "ARCHIVE-ACTIVE-CANCELLED",
    "ARCHIVE-FINISHED-KEPT",
    "ARCHIVE-READ-BACK",
    "ARCHIVE-OTHERS-UNTOUCHED",
    "ARCHIVE-OTHER-USER",
    "REPLAY-SAME-RESULT",
    "REPLAY-APPLIED-ONCE",
    "REPLAY-OTHER-USER-UNANSWERED",
    "REPLAY-OTHER-USER-UNBLOCKED",
    "REPLAY-OTHER-ARGUMENTS-REFUSED",
    "REPLAY-CONFLICT-KIND",
    "REPLAY-REFUSED-UNCHANGED",
    "REVISION-STALE-REFUSED",
    "REVISION-AHEAD-REFUSED",
    "REVISION-CONFLICT-KIND",
    "REVISION-CONFLICT-UNCHANGED",
    "REVISION-CURRENT-AFTER-CONFLICT",
    "REVISION-GROWS",
    "REVISION-CHAINS",
    "READ-AVAILABLE",
    "READ-UNCHANGED",
    "READ-NEVER-GENERATES",
    "READ-FAILED-UNCHANGED",
    "IDENTITY-SEEDED-CONTENT",
    "IDENTITY-SEEDED-INSTANT",
    "PRIVACY-OTHER-USER",
    "PRIVACY-BODY",
    "PRIVACY-HEADER",
    "PRIVACY-ERROR-TEXT",
    "HTTP-NO-SERVER-ERROR",
    "HTTP-SUCCESS-STATUS",
    *AGREEMENT_REQUIREMENTS,
    *SHAPE_REQUIREMENTS,
)
"""What any story puts to the test."""

FURTHER_REQUIREMENTS = (
    "ARCHIVE-SURVIVES-RESTART",
    "AUTH-NO-CONTENT",
    "AUTH-REFUSED-UNCHANGED",
    "AUTH-SCOPE-MISSING",
    "REPLAY-AFTER-TIME",
    "REPLAY-AFTER-RESTART",
    "REPLAY-OTHER-TOKEN",
    "REPLAY-SCOPE-CHECKED",
    "REPLAY-EXPIRED-PRIVATE",
    "REPLAY-WITHHELD-PRIVATE",
    "READ-OTHER-TOKEN",
    "EXPIRY-BEFORE",
    "EXPIRY-AT-INSTANT",
    "EXPIRY-AVAILABILITY",
    "EXPIRY-GET-WITHOUT-TEXT",
    "EXPIRY-STATUS-WITHOUT-TEXT",
    "EXPIRY-ARCHIVE-WITHOUT-TEXT",
    "EXPIRY-RUNS-EXPIRED",
    "EXPIRY-FINAL",
    "EXPIRY-SURVIVES-RESTART",
    "EXPIRY-MESSAGE",
    "EXPIRY-RUN",
    "ACCESS-WITHDRAWN-AVAILABILITY",
    "ACCESS-WITHDRAWN-GET-WITHOUT-TEXT",
    "ACCESS-WITHDRAWN-STATUS-WITHOUT-TEXT",
    "ACCESS-SOURCE-AVAILABILITY",
    "ACCESS-SOURCE-GET-WITHOUT-TEXT",
    "ACCESS-SOURCE-STATUS-WITHOUT-TEXT",
    "ACCESS-ARCHIVE-WITHOUT-TEXT",
    "ACCESS-OTHERS-UNTOUCHED",
    "LATE-AFTER-ARCHIVE",
    "LATE-AFTER-CANCEL",
    "LATE-AFTER-EXPIRY",
    "LATE-WHILE-WITHHELD",
)
"""What a story puts to the test where the target's test control can do what the requirement needs."""


def _story_cases(contract: Contract) -> list[Any]:
    shapes = {(operation.effect, operation.result) for operation in contract.operations}
    wanted = {("read", "conversation"), ("read", "run"), ("write", "conversation")}
    return [case("any", "ARCHIVE-LASTS", "any-story", *BASE_REQUIREMENTS)] if wanted <= shapes else []


@needs("seed", "second principal")
@cases("kind", _story_cases)
def test_any_story_is_told_as_the_model_allows(
    kind: str, session: Session, record: Recorder, request: pytest.FixtureRequest
) -> None:
    """Whatever happens in whatever order, every answer is one that the reference model allows."""
    stage = session.stage
    # A pass must not count for what this target could not be asked.
    possible = [each for each in FURTHER_REQUIREMENTS if not stage.lacks(_needs(session, each))]
    request.node.add_marker(requirement(*possible))
    seed = session.random("stories", kind).getrandbits(64)
    run_stories(_machine(session, record), seed=seed, count=session.settings.examples("stories"))


def _needs(session: Session, identifier: str) -> tuple[str, ...]:
    known = session.registry.by_id.get(identifier)
    return tuple("own clock" if need == "clock" else need for need in known.needs) if known else ()


def _machine(session: Session, record: Recorder) -> type[RuleBasedStateMachine]:
    """Return the machine for this target."""
    stage = session.stage
    offers = frozenset(
        need for need in ("own clock", "access", "worker", "restart", "tokens") if not stage.lacks((need,))
    )
    start = stage.now() if "own clock" in offers else None

    class Stories(RuleBasedStateMachine):
        """One instance tells one story.

        There is one rule, because Hypothesis leaves about half of a machine's rules out of each example: stories would
        be made of few kinds of steps, many of them the same.
        """

        def __init__(self) -> None:
            super().__init__()
            self.teller = Teller(session, start)

        @initialize(plan=strategies.sampled_from(list(PLANS)))
        def begin(self, plan: str) -> None:
            """Every story begins with a conversation."""
            self._take(("begin", "Ann", plan))

        @rule(step=steps(offers))
        def step(self, step: Step) -> None:
            """Go on in any of the ways that this target's test control allows."""
            self._take(step)

        def _take(self, step: Step) -> None:
            try:
                self.teller.take(step)
            except CouldNotRun as problem:
                raise DrawingStopped(problem) from None

        def teardown(self) -> None:
            """Note the choices that the target took in this story, each once."""
            for freedom, choice in sorted(self.teller.freedoms):
                record.freedom(freedom, choice)

    return Stories
