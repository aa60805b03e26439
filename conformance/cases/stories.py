"""What stories are made of: small conversations, choices of revisions and waits, worker's results; and how they run.

A story is drawn as choices ("the current revision", "just before the next deadline"). What they come to is resolved
when the step is taken, from the model's knowledge, so that nothing that is drawn depends on a server's answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias

import hypothesis
from hypothesis import strategies
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from conformance.cases.conversations import (
    DAY,
    LARGEST_ARCHIVABLE,
    LARGEST_INTEGER,
    MINUTE,
    AnswerPlan,
    Document,
    Plan,
    RunPlan,
    compose,
)
from conformance.cases.drawing import DrawingStopped, drawing, undisturbed
from conformance.cases.texts import TimestampStyle, new_marker
from conformance.judge.finding import NonConformance

STEPS: Final = 30
"""The most steps of a story."""

_LOT: Final = 10
_STORIES_OF_A_LOT: Final = 6
"""Of the first ten examples of a run Hypothesis makes some trivial; after them it only varies those that it has."""

_HOUR: Final = 60 * MINUTE
_BRIEF = AnswerPlan(findings=0, suggestions=0)


def _modest_number(rng: random.Random, greatest: int) -> int:
    """Choose a number that leaves room for older revisions and stays readable."""
    return min(greatest, rng.randint(3, 900))


def _plan(*runs: RunPlan, **more: Any) -> Plan:
    return Plan(**{"runs": runs, "evidence": 1, "numbers": _modest_number, **more})


def _great_number(rng: random.Random, greatest: int) -> int:
    """Choose a number that has neighbours only where 53 bits are kept."""
    return min(greatest, LARGEST_ARCHIVABLE - rng.randint(1, 9))


PLANS: Final[Mapping[str, Plan]] = {
    "an answer and a queued run": _plan(
        RunPlan(kind="sentiment", question=True, answer=_BRIEF), RunPlan("queued", "sentiment", question=True)
    ),
    "runs of every kind of progress": _plan(
        RunPlan(kind="sentiment", question=True, answer=_BRIEF),
        RunPlan("failed", "sentiment", question=True),
        RunPlan("processing", "themes", question=True),
        RunPlan("queued", "sentiment", question=True),
    ),
    "parts that expire early": _plan(
        RunPlan(kind="sentiment", question=True, answer=_BRIEF),
        RunPlan("processing", "sentiment", question=True),
        expires_in=150 * MINUTE,
        own_expiry=True,
    ),
    "times with offsets and great revisions": _plan(
        RunPlan("processing", "sentiment", question=True),
        RunPlan(kind="sentiment", answer=_BRIEF),
        expires_in=50 * MINUTE + 730,
        numbers=_great_number,
        styles=(TimestampStyle(330), TimestampStyle(-570, 1), TimestampStyle(1439)),
    ),
    "nothing yet": _plan(expires_in=DAY - 10 * MINUTE),
}
"""The conversations of stories, by what is in them. Their ids and texts are fresh in each story."""


def story_document(plan: str, now: int, fresh: random.Random, workspace_id: str) -> Document:
    """Return the conversation of that plan, stored at ``now`` (milliseconds since 1970).

    All but its ids and markers is the same every time, so that a story told again goes the same way.
    """
    return compose(random.Random(plan), now, PLANS[plan], fresh=fresh, workspace_id=workspace_id)  # noqa: S311 - test data


REVISIONS: Final[Mapping[str, Callable[[int], int]]] = {
    "the current revision": lambda current: current,
    "the revision before the current one": lambda current: max(1, current - 1),
    "revision 1": lambda current: min(1, current),
    "the revision after the current one": lambda current: current + 1,
    "the greatest revision": lambda current: max(LARGEST_INTEGER, current),
}
"""The revisions that an archive may expect, from the current one."""

_WAITS: Final[Mapping[str, tuple[bool, int]]] = {
    f"until {when}{what}": (whole, offset)
    for what, whole in (("the next deadline", False), ("a conversation expires", True))
    for when, offset in (("", 0), ("a millisecond before ", -1), ("a millisecond after ", 1))
}
"""Waits until some deadline or that of a whole conversation, and how many milliseconds past it."""

_SPANS: Final[Mapping[str, int]] = {"for an hour": _HOUR, "for 23 hours": 23 * _HOUR}
WAITS: Final = (*_WAITS, *_SPANS)
"""How far the clock may be moved on."""


def clock_after(wait: str, now: int, ends: Collection[int], deadlines: Collection[int]) -> int:
    """Return the time to which a wait brings the clock, always later than ``now``.

    All times are in milliseconds since 1970: ``ends`` are when conversations expire, ``deadlines`` when anything does.
    """
    if wait in _SPANS:
        return now + _SPANS[wait]
    whole, offset = _WAITS[wait]
    ahead = [deadline + offset for deadline in (ends if whole else deadlines) if deadline + offset > now]
    return min(ahead, default=now + MINUTE)


PERSONS: Final = ("Ann", "Bob")
"""Two members of one workspace."""

ROLES: Final = ("the owner", "the other person", "the owner's other token", "the owner's token without the scope")
"""Who may call, as seen from a conversation; the last two take test control that gives further tokens."""

Step: TypeAlias = tuple[Any, ...]
"""What is done, and the choices in it; see ``steps``."""


def steps(offers: Collection[str]) -> strategies.SearchStrategy[Step]:
    """Return the steps of stories, as far as test control offers what they take (in the words of a check's needs).

    A number chooses among conversations, runs or earlier attempts when the step is taken. Each kind of step stands as
    often as it is to come, calls much more often than events.
    """
    numbers = strategies.integers(0, 11)
    roles = strategies.sampled_from(("the owner", *(ROLES if "tokens" in offers else ROLES[:2])))
    revisions = strategies.sampled_from(list(REVISIONS))
    just = strategies.just
    kinds = {
        strategies.tuples(just("get"), numbers, just("the owner")): 4,
        strategies.tuples(just("status"), numbers, numbers, just("the owner")): 4,
        strategies.just(("look around",)): 1,
        strategies.tuples(just("archive available"), numbers): 2,
        strategies.tuples(just("archive available"), numbers, numbers): 2,
        strategies.tuples(just("repeat"), numbers, just("the owner")): 2,
        strategies.tuples(just("get"), numbers, roles): 2,
        strategies.tuples(just("status"), numbers, numbers, roles): 2,
        strategies.tuples(just("archive"), numbers, roles, revisions): 3,
        strategies.tuples(just("repeat"), numbers, roles): 2,
        strategies.tuples(just("archive"), numbers, roles, revisions, numbers): 2,
        strategies.tuples(just("begin"), strategies.sampled_from(PERSONS), strategies.sampled_from(list(PLANS))): 2,
    }
    if "own clock" in offers:
        kinds[strategies.tuples(just("wait"), strategies.sampled_from(WAITS), strategies.booleans())] = 3
    if "access" in offers:
        states = strategies.sampled_from(("granted", "access_changed", "source_unavailable"))
        kinds[strategies.tuples(just("access"), numbers, states)] = 2
    if "worker" in offers:
        kinds[strategies.tuples(just("deliver"), numbers)] = 2
    if "restart" in offers:
        kinds[strategies.just(("restart",))] = 1
    return strategies.one_of([kind for kind, weight in kinds.items() for _ in range(weight)])


def worker_answer(document: Document, fresh: random.Random) -> dict[str, Any]:
    """Return a valid answer to a run of this conversation, with a marker of its own."""
    evidence = document.conversation["context"]["evidence"][:1]
    return {
        "answer": {
            "statement": f"The worker found {new_marker(fresh)} in the interviews.",
            "basis": "inferred",
            "evidence": evidence,
            "uncertainty": "",
        },
        "findings": [],
        "sentiment": [{**each, "label": "mixed", "uncertainty": ""} for each in evidence],
        "query_suggestions": [],
        "limitations": ["One interview only."],
        "quantitative_claims": False,
        "method_version": "research-cited/v1",
    }


def run_stories(machine: type[RuleBasedStateMachine], *, seed: int, count: int) -> None:
    """Tell about ``count`` full stories, the same for the same seed; raise what the shortest failing one raises.

    A rule of the machine raises ``DrawingStopped`` for what is no finding. A target that fails once and then no more is
    judged by what it did: the last finding stands.

    Raises:
        CouldNotRun: the target or its test control is gone.
        NonConformance: a story went as it must not.
    """
    settings = drawing(max_examples=_LOT, stateful_step_count=STEPS)
    try:
        for lot in range(-(-count // _STORIES_OF_A_LOT)):
            with undisturbed():
                run_state_machine_as_test(hypothesis.seed(seed + lot)(machine), settings=settings)
    except DrawingStopped as stop:
        raise stop.problem from None
    except FlakyFailure as flaky:
        found = [each for each in flaky.exceptions if isinstance(each, NonConformance)]
        if not found:
            raise
        raise found[0] from None
