"""Legal conversations to seed: a plan says what there is of everything, ``compose`` fills in ids, texts and instants.

Every document keeps the output schema, the invariants of "Identity and shape" and what the target interface says of
seeded conversations: available, not archived and not expired at ``now``, nothing created later than that.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, Final, TypeAlias

from conformance.cases import texts
from conformance.cases.texts import UTC_MILLISECONDS, TextPolicy, TimestampStyle, plain

NumberPolicy: TypeAlias = Callable[[random.Random, int], int]
"""Chooses an integer from 1 to the given greatest one."""

MINUTE: Final = 60_000
DAY: Final = 24 * 60 * MINUTE
LARGEST_INTEGER: Final = 2**53 - 1
LARGEST_ARCHIVABLE: Final = LARGEST_INTEGER - 999

STATUSES: Final = ("queued", "processing", "completed", "failed", "cancelled", "expired", "unavailable")
KINDS: Final = ("question", "overview", "themes", "audiences", "sentiment", "query_suggestions")
FAILURE_CODES: Final = {
    "queued": (None,),
    "processing": (None,),
    "completed": (None,),
    "failed": (
        "not_configured", "budget_exhausted", "access_changed", "source_unavailable", "context_changed",
        "input_too_large", "provider_unavailable", "generation_unconfirmed", "invalid_output", "conversation_full",
    ),
    "cancelled": ("cancelled",),
    "expired": ("expired",),
    "unavailable": (
        "not_configured", "access_changed", "source_unavailable", "context_changed", "provider_unavailable",
    ),
}  # fmt: skip
"""The failure codes that a seeded run of each status may have; the first is the default."""

LANGUAGES: Final = (
    "de",
    "en-GB",
    "hi",
    "zh-Hant-TW",
    "sl-rozaj-biske-1994",
    "x",
    "de-Latn-DE-1996-x-private-use-only1",
)
"""Language tags, the shortest and the longest that the schema allows among them."""

WITH_QUESTION: Final = frozenset({"queued", "processing", "completed", "failed"})
"""The statuses of runs that are seeded with a question; whether the others still show theirs is left open."""


@dataclass(frozen=True)
class Document:
    """A conversation to seed: JSON values in the shape of *get*'s output, without its ``availability``."""

    conversation: dict[str, Any]
    messages: list[dict[str, Any]]
    runs: list[dict[str, Any]]

    @property
    def conversation_id(self) -> str:
        """The id of the conversation."""
        return str(self.conversation["id"])

    @property
    def workspace_id(self) -> str:
        """The id of its workspace."""
        return str(self.conversation["workspace_id"])

    def message_of(self, run_id: str) -> dict[str, Any] | None:
        """Return what *status* shows for a run: its answer, else its question, else nothing."""
        return next((message for message in reversed(self.messages) if message["run_id"] == run_id), None)


@dataclass(frozen=True)
class AnswerPlan:
    """How many of each an answer has; ``cited`` counts the evidence of each list, ``excluded_terms`` those of each."""

    findings: int = 1
    sentiment: int = 1
    suggestions: int = 1
    excluded_terms: int = 1
    limitations: int = 1
    cited: int = 1


@dataclass(frozen=True)
class RunPlan:
    """A run. A completed one gets an answer; ``question`` gives it a message of the user.

    Raises:
        ValueError: a failure code or a question that a run of this status cannot have.
    """

    status: str = "completed"
    kind: str = "question"
    question: bool = False
    failure_code: str | None = None
    answer: AnswerPlan = field(default_factory=AnswerPlan)

    def __post_init__(self) -> None:
        if self.failure_code is None:
            object.__setattr__(self, "failure_code", FAILURE_CODES[self.status][0])
        if self.failure_code not in FAILURE_CODES[self.status]:
            raise ValueError(f"a run that is {self.status} has no failure code {self.failure_code!r}")
        if self.question and self.status not in WITH_QUESTION:
            raise ValueError(f"a run that is {self.status} is seeded without messages")


def any_number(rng: random.Random, greatest: int) -> int:
    """Choose a number of any magnitude."""
    return min(greatest, rng.randint(1, 1 << rng.randint(1, 53)))


def lowest_number(rng: random.Random, greatest: int) -> int:
    """Choose 1."""
    del rng, greatest
    return 1


def greatest_number(rng: random.Random, greatest: int) -> int:
    """Choose the greatest number allowed."""
    del rng
    return greatest


@dataclass(frozen=True)
class Plan:
    """What a conversation is like. Times are in milliseconds.

    It expires ``expires_in`` after ``now`` and was created ``lifetime`` before that, or in 1970 where that were
    earlier. Its events lie on multiples of ``step`` where there is room; ``dense`` ones follow each other at every
    millisecond. With ``own_expiry`` messages and runs may expire before the conversation, but not before about half
    of what is left of it; with ``interleaved`` answers may come after later runs were created. ``language`` is any of
    ``LANGUAGES`` unless given. ``texts``, ``styles`` and ``uuid_versions`` are used in turn.
    """

    runs: tuple[RunPlan, ...] = ()
    evidence: int = 2
    title: bool = True
    language: str | None = None
    expires_in: int = DAY - 10 * MINUTE
    lifetime: int = DAY
    step: int = 1
    dense: bool = False
    own_expiry: bool = False
    interleaved: bool = False
    archivable: bool = True
    texts: tuple[TextPolicy, ...] = (plain,)
    numbers: NumberPolicy = any_number
    styles: tuple[TimestampStyle, ...] = (UTC_MILLISECONDS,)
    uuid_versions: tuple[int, ...] = (4,)


def compose(
    rng: random.Random, now: int, plan: Plan, *, fresh: random.Random | None = None, workspace_id: str | None = None
) -> Document:
    """Return a legal conversation by ``plan``, as seen at ``now`` (milliseconds since 1970).

    ``rng`` makes all choices; ``fresh`` makes ids and markers, so that they stay fresh when ``rng`` begins again at
    the same seed (by default it is ``rng``). A fresh workspace is used unless one is given.

    Raises:
        ValueError: ``now`` leaves no room, in the years 1970 to 2261 or before expiry, for what is planned.
    """
    return _Composer(rng, now, plan, fresh or rng).compose(workspace_id)


SMALL_RUNS: Final = (
    (RunPlan(question=True),),
    (RunPlan("queued", question=True),),
    (RunPlan(kind="sentiment"), RunPlan("processing", "themes")),
    (RunPlan(kind="overview", question=True), RunPlan("queued", "sentiment", question=True)),
    (RunPlan(question=True), RunPlan("processing", question=True)),
    (RunPlan(kind="themes"), RunPlan("failed", question=True)),
    (RunPlan("failed", "audiences"), RunPlan(kind="query_suggestions"), RunPlan("queued", question=True)),
)


def small(
    rng: random.Random, now: int, *, expires_in: int = DAY - 10 * MINUTE, workspace_id: str | None = None
) -> Document:
    """Return the cheap standard conversation: one to three messages, all private texts with markers, archivable."""
    return compose(rng, now, Plan(runs=rng.choice(SMALL_RUNS), expires_in=expires_in), workspace_id=workspace_id)


def archivable(
    rng: random.Random, now: int, *, expires_in: int = DAY - 10 * MINUTE, workspace_id: str | None = None
) -> Document:
    """Return a conversation on which an archive has something to do: active and finished runs, all with text."""
    runs = (
        RunPlan(question=True),
        RunPlan("failed", question=True),
        RunPlan("processing", "sentiment", question=True),
        RunPlan("queued", "themes", question=True),
    )
    return compose(rng, now, Plan(runs=runs, expires_in=expires_in), workspace_id=workspace_id)


def full_status(rng: random.Random, now: int, *, workspace_id: str | None = None) -> Document:
    """Return a conversation with one run of every status."""
    runs = tuple(
        RunPlan(status, kind, question=status in WITH_QUESTION)
        for status, kind in zip(STATUSES, cycle(KINDS), strict=False)
    )
    return compose(rng, now, Plan(runs=runs), workspace_id=workspace_id)


def markers(document: Document) -> frozenset[str]:
    """Return the markers of all private texts: those of questions and answers."""
    return _markers_in(document.messages)


def title_markers(document: Document) -> frozenset[str]:
    """Return the marker of the title, which stays private towards everyone but the owner."""
    return _markers_in(document.conversation["title"])


def _markers_in(value: Any) -> frozenset[str]:
    return frozenset(texts.MARKER.findall(json.dumps(value)))


class _Composer:
    """Fills in one plan."""

    def __init__(self, rng: random.Random, now: int, plan: Plan, fresh: random.Random) -> None:
        self.rng = rng
        self.now = now
        self.plan = plan
        self.fresh = fresh
        self.created, self.expires = self.window()
        self.versions = cycle(plan.uuid_versions)
        self.policies = cycle(plan.texts)
        self.styles = cycle(plan.styles)
        self.bases = cycle(("observed", "inferred", "generated"))
        self.labels = cycle(("positive", "negative", "neutral", "mixed", "unknown"))
        self.evidence = [
            {"evidence_id": self.uuid(), "revision": self.number(LARGEST_INTEGER)} for _ in range(plan.evidence)
        ]

    def compose(self, workspace_id: str | None) -> Document:
        revision = self.number(LARGEST_ARCHIVABLE if self.plan.archivable else LARGEST_INTEGER)
        conversation = {
            "id": self.uuid(),
            "workspace_id": workspace_id or self.uuid(),
            "revision": revision,
            "title": self.text(1, 200) if self.plan.title else None,
            "context": {
                "project_id": self.uuid(),
                "project_revision": self.number(LARGEST_INTEGER),
                "corpus_snapshot_id": self.uuid(),
                "evidence": self.evidence,
            },
            "language": self.plan.language or self.rng.choice(LANGUAGES),
            "archived": False,
            "availability": "available",
            "created_at": self.timestamp(self.created),
            "expires_at": self.timestamp(self.expires),
        }
        events = self.events()
        instants = self.instants(len(events))
        created = dict(zip(events, instants, strict=True))
        expires = [self.run_expiry(run, created[index, "run"]) for index, run in enumerate(self.plan.runs)]
        runs = self.runs(conversation, [(created[index, "run"], expires[index]) for index in range(len(expires))])
        messages = [
            self.message(part, index, runs[index]["id"], instant, expires[index])
            for (index, part), instant in created.items()
            if part != "run"
        ]
        return Document(conversation, messages, runs)

    def window(self) -> tuple[int, int]:
        step = self.plan.step
        expires = min(texts.LATEST, self.now + self.plan.expires_in)
        created = max(texts.EARLIEST, expires - self.plan.lifetime)
        created, expires = -(-created // step) * step, expires // step * step
        if not created <= self.now < expires <= created + DAY:
            raise ValueError(f"no conversation of this plan is available at {self.now}")
        return created, expires

    def events(self) -> list[tuple[int, str]]:
        """Return what happens, as the index of the run and ``run``, ``user`` or ``assistant``, in order of time."""
        ranked: list[tuple[float, int, str]] = []
        for index, run in enumerate(self.plan.runs):
            ranked.append((index, index, "run"))
            if run.question:
                ranked.append((index + 0.25, index, "user"))
            if run.status == "completed":
                delay = self.rng.uniform(0, 3) if self.plan.interleaved else 0
                ranked.append((index + 0.5 + delay, index, "assistant"))
        return [(index, part) for _, index, part in sorted(ranked)]

    def instants(self, count: int) -> list[int]:
        step = self.plan.step if (self.now - self.created) // self.plan.step >= count else 1
        if self.now - self.created < count:
            raise ValueError(f"there are fewer than {count} milliseconds between the creation and {self.now}")
        if self.plan.dense:
            start = self.rng.randint(self.created, self.now - count)
            return list(range(start, start + count))
        return sorted(self.rng.sample(range(self.created, self.now + 1, step), count))

    def run_expiry(self, run: RunPlan, created: int) -> int:
        if run.status == "expired":
            return self.rng.randint(created, self.now)
        return self.expiry(self.expires)

    def expiry(self, latest: int) -> int:
        earliest = self.now + (self.expires - self.now) // 2
        if not self.plan.own_expiry or latest - earliest < self.plan.step:
            return latest
        return self.rng.randint(earliest + 1, latest) // self.plan.step * self.plan.step

    def runs(self, conversation: dict[str, Any], windows: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
        revisions = sorted(self.number(conversation["revision"]) for _ in windows)
        generation = self.number(LARGEST_INTEGER - len(windows) + 1)
        return [
            {
                "id": self.uuid(),
                "workspace_id": conversation["workspace_id"],
                "conversation_id": conversation["id"],
                "conversation_revision": revisions[index],
                "generation": generation + index,
                "request_kind": run.kind,
                "status": run.status,
                "failure_code": run.failure_code,
                "created_at": self.timestamp(created),
                "expires_at": self.timestamp(expires),
                "processor": "Google Gemini",
                "model_id": self.model_text() if run.status == "completed" else None,
                "model_version": self.model_text() if run.status == "completed" else None,
            }
            for index, (run, (created, expires)) in enumerate(zip(self.plan.runs, windows, strict=True))
        ]

    def message(self, role: str, index: int, run_id: str, created: int, run_expires: int) -> dict[str, Any]:
        return {
            "id": self.uuid(),
            "run_id": run_id,
            "role": role,
            "question": self.text(0, 2000) if role == "user" else None,
            "answer": self.answer(self.plan.runs[index].answer) if role == "assistant" else None,
            "created_at": self.timestamp(created),
            "expires_at": self.timestamp(self.expiry(run_expires)),
        }

    def answer(self, plan: AnswerPlan) -> dict[str, Any]:
        return {
            "answer": self.statement(plan),
            "findings": [self.statement(plan) for _ in range(plan.findings)],
            "sentiment": [
                {**evidence, "label": next(self.labels), "uncertainty": self.text(0, 1000)}
                for evidence in self.cited(plan.sentiment)
            ],
            "query_suggestions": [
                {
                    "query": self.text(1, 2000),
                    "excluded_terms": [self.text(1, 100) for _ in range(plan.excluded_terms)],
                    "evidence": self.cited(plan.cited),
                    "rationale": self.text(1, 1000),
                }
                for _ in range(plan.suggestions)
            ],
            "limitations": [self.text(1, 1000) for _ in range(plan.limitations)],
            "quantitative_claims": False,
            "method_version": "research-cited/v1",
        }

    def statement(self, plan: AnswerPlan) -> dict[str, Any]:
        return {
            "statement": self.text(1, 2000),
            "basis": next(self.bases),
            "evidence": self.cited(plan.cited),
            "uncertainty": self.text(0, 1000),
        }

    def cited(self, count: int) -> list[dict[str, Any]]:
        chosen = self.rng.sample(self.evidence, min(count, len(self.evidence)))
        return [dict(evidence) for evidence in chosen]

    def text(self, minimum: int, maximum: int) -> str:
        return next(self.policies)(self.rng, texts.new_marker(self.fresh), minimum, maximum)

    def model_text(self) -> str:
        """Return a model's name or version, which is not private and carries no marker."""
        return next(self.policies)(self.rng, "", 0, 128)

    def number(self, greatest: int) -> int:
        return self.plan.numbers(self.rng, greatest)

    def uuid(self) -> str:
        return texts.new_uuid(self.fresh, next(self.versions))

    def timestamp(self, milliseconds: int) -> str:
        return texts.timestamp(milliseconds, next(self.styles))
