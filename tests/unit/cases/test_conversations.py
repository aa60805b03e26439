"""Every conversation that the suite seeds is legal, in every year in which a clock may stand."""

from __future__ import annotations

import itertools
import json
import random
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from conformance.cases import conversations, texts
from conformance.cases.conversations import (
    DAY,
    Document,
    Plan,
    RunPlan,
    archivable,
    compose,
    full_status,
    markers,
    small,
    title_markers,
)
from conformance.cases.directed import PLANS, directed_documents
from conformance.cases.random_conversations import documents, random_document
from conformance.contract import load_contract
from conformance.judge.formats import parse_instant
from conformance.judge.schema import SchemaJudge

YEARS = {
    "1970": datetime(1970, 1, 1, 0, 1, tzinfo=UTC),
    "2000": datetime(2000, 2, 29, 23, 59, 59, tzinfo=UTC),
    "2024": datetime(2024, 2, 29, 12, tzinfo=UTC),
    "2026": datetime(2026, 11, 3, 9, 30, 15, 250_000, tzinfo=UTC),
    "2104": datetime(2104, 2, 29, tzinfo=UTC),
    "2261": datetime(2261, 12, 31, 23, tzinfo=UTC),
}
NOWS = {year: int(now.timestamp()) * 1000 + now.microsecond // 1000 for year, now in YEARS.items()}
NOW = NOWS["2026"]
in_every_year = pytest.mark.parametrize("now", NOWS.values(), ids=NOWS)


def seeded(seed: int) -> random.Random:
    """Return a source of choices that repeats."""
    return random.Random(seed)  # noqa: S311 - test data, not a secret


@cache
def judge() -> SchemaJudge:
    """The judge of the operation that returns whole conversations."""
    return SchemaJudge(load_contract().operation("conversations_get").output_schema)


def milliseconds(text: str) -> int:
    """Return an instant that has no finer part than milliseconds."""
    instant = parse_instant(text) * 1000
    assert instant.denominator == 1
    return int(instant)


def strings(value: Any) -> list[str]:
    """Return all strings in a JSON value."""
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for child in children for text in strings(child)]


def evidence_lists(document: Document) -> list[list[tuple[str, int]]]:
    """Return every list of evidence in the document, that of the context first."""
    lists = [document.conversation["context"]["evidence"]]
    for answer in (message["answer"] for message in document.messages if message["answer"]):
        parts = [answer["answer"], *answer["findings"], *answer["query_suggestions"]]
        lists += [answer["sentiment"], *(part["evidence"] for part in parts)]
    return [[(item["evidence_id"], item["revision"]) for item in items] for items in lists]


def assert_legal(document: Document, now: int, *, can_archive: bool = True) -> None:
    """Check a document against the contract and the target interface, independently of how it was made."""
    availability = {"configured": True, "reason": None, "processor": "Google Gemini", "retention_hours": 24}
    result = {
        "conversation": document.conversation,
        "messages": document.messages,
        "runs": document.runs,
        "availability": availability,
    }
    assert judge().violations(result) == []
    assert_legal_conversation(document.conversation, now, can_archive=can_archive)
    assert_legal_ids(document)
    assert_legal_times(document, now)
    for run in document.runs:
        assert_legal_run(document, run, now)
    for text in strings(result):
        assert "\0" not in text
        assert not any("\ud800" <= character <= "\udfff" for character in text)
    for text in strings([document.messages, document.conversation["title"]]):
        assert len(text.encode("utf-16-le")) // 2 <= 2000


def assert_legal_conversation(conversation: dict[str, Any], now: int, *, can_archive: bool) -> None:
    """Check that it is available at ``now``, and for no longer than a day."""
    assert (conversation["archived"], conversation["availability"]) == (False, "available")
    created, expires = milliseconds(conversation["created_at"]), milliseconds(conversation["expires_at"])
    assert 0 <= created <= now < expires <= created + 24 * 3600 * 1000
    assert expires <= NOWS["2261"] + 3600 * 1000
    assert not can_archive or conversation["revision"] <= 2**53 - 1000


def assert_legal_ids(document: Document) -> None:
    """Check that ids are unique and that references lead somewhere."""
    context = evidence_lists(document)[0]
    named = document.conversation
    ids = [
        *(named[name] for name in ("id", "workspace_id")),
        *(named["context"][name] for name in ("project_id", "corpus_snapshot_id")),
        *(evidence_id for evidence_id, _ in context),
        *(each["id"] for each in [*document.runs, *document.messages]),
    ]
    assert len(set(ids)) == len(ids)
    for cited in evidence_lists(document):
        assert set(cited) <= set(context)
        assert len({evidence_id for evidence_id, _ in cited}) == len(cited)
    assert {message["run_id"] for message in document.messages} <= {run["id"] for run in document.runs}


def assert_legal_times(document: Document, now: int) -> None:
    """Check that everything is created in order, in the window of the conversation, and expires within it."""
    conversation = document.conversation
    earliest, latest = milliseconds(conversation["created_at"]), milliseconds(conversation["expires_at"])
    for items in (document.runs, document.messages):
        created = [milliseconds(item["created_at"]) for item in items]
        assert all(one < other for one, other in itertools.pairwise(created))
        assert all(earliest <= instant <= now for instant in created)
        assert all(milliseconds(item["expires_at"]) <= latest for item in items)
    for text in (item[name] for item in [conversation, *document.runs, *document.messages] for name in item):
        if isinstance(text, str) and text[4:5] == "-" and text[10:11] == "T":
            assert "1970" <= text[:4] <= "2261"


def assert_legal_run(document: Document, run: dict[str, Any], now: int) -> None:
    """Check a run and its messages."""
    conversation = document.conversation
    assert (run["workspace_id"], run["conversation_id"]) == (conversation["workspace_id"], conversation["id"])
    assert run["conversation_revision"] <= conversation["revision"]
    status, code = run["status"], run["failure_code"]
    assert (code is None) == (status in {"queued", "processing", "completed"})
    assert (code == "cancelled") == (status == "cancelled")
    assert (code == "expired") == (status == "expired")
    created, expires = milliseconds(run["created_at"]), milliseconds(run["expires_at"])
    assert created <= expires
    assert (expires <= now) == (status == "expired")
    messages = [message for message in document.messages if message["run_id"] == run["id"]]
    roles = [message["role"] for message in messages]
    assert roles in (["user", "assistant"], ["assistant"], ["user"], [])
    assert ("assistant" in roles) == (status == "completed")
    assert not messages or status in {"queued", "processing", "completed", "failed"}
    for message in messages:
        question, answer = message["question"] is not None, message["answer"] is not None
        assert (question, answer) == ((True, False) if message["role"] == "user" else (False, True))
        assert created < milliseconds(message["created_at"])
        assert now < milliseconds(message["expires_at"]) <= expires


@in_every_year
@pytest.mark.parametrize("index", range(len(PLANS)), ids=PLANS)
def test_directed_documents_are_legal(index: int, now: int) -> None:
    """A directed document is legal, smaller than 200 kB, and at the top of the revision range only where it says so."""
    named = directed_documents(seeded(index), now)[index]
    assert list(PLANS)[index] == named.name
    assert_legal(named.document, now, can_archive=PLANS[named.name].archivable)
    size = len(json.dumps([named.document.conversation, named.document.messages, named.document.runs]).encode())
    assert size < 200_000


@in_every_year
def test_random_documents_are_legal(now: int) -> None:
    """So are random ones."""
    rng = seeded(now)
    for _ in range(200):
        assert_legal(random_document(rng, now), now)


@in_every_year
def test_standard_documents_are_legal(now: int) -> None:
    """So are the small standard ones and that with a run of every status."""
    rng = seeded(now)
    for make in (small, archivable, full_status):
        for _ in range(20):
            assert_legal(make(rng, now), now)


@settings(max_examples=60, database=None, derandomize=True, deadline=None, phases=[Phase.generate])
@given(documents(NOW, seeded(1)))
def test_drawn_documents_are_legal(document: Document) -> None:
    """So are those that Hypothesis draws."""
    assert_legal(document, NOW)


def test_ids_and_markers_stay_fresh_when_hypothesis_repeats_itself() -> None:
    """Shrinking tries the same seed again and again, and never makes the same id or marker twice."""
    seen: list[str] = []

    def has_a_finding(document: Document) -> bool:
        seen.append(document.conversation_id)
        seen.extend(markers(document))
        return any(message["answer"] and message["answer"]["findings"] for message in document.messages)

    quiet = settings(
        max_examples=50, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
    )
    smallest = find(documents(NOW, seeded(2)), has_a_finding, settings=quiet)
    assert (len(smallest.runs), len(smallest.conversation["context"]["evidence"])) == (1, 1)
    assert len(set(seen)) == len(seen)


def test_small_documents_mark_every_private_text() -> None:
    """Each text of a question or an answer carries a marker of its own, and so does the title."""
    fixed = {"user", "assistant", "research-cited/v1", "observed", "inferred", "generated"}
    labels = {"positive", "negative", "neutral", "mixed", "unknown"}
    rng = seeded(5)
    for _ in range(30):
        document = small(rng, NOW)
        assert 1 <= len(document.messages) <= 3
        private = [
            text
            for message in document.messages
            for text in strings([message["question"], message["answer"]])
            if text not in fixed | labels and not (len(text) == 36 and text[8] == "-")
        ]
        found = [texts.MARKER.findall(text) for text in private]
        assert [1] * len(private) == [len(each) for each in found]
        assert frozenset(each[0] for each in found) == markers(document)
        assert len(private) == len(markers(document))
        assert len(title_markers(document)) == 1
        assert not title_markers(document) & markers(document)


def test_the_same_seed_makes_the_same_document() -> None:
    """A recorded seed repeats a run."""
    for make in (small, archivable, full_status, random_document):
        assert make(seeded(7), NOW) == make(seeded(7), NOW)
    assert directed_documents(seeded(7), NOW) == directed_documents(seeded(7), NOW)


def test_fresh_ids_do_not_change_the_rest() -> None:
    """What is not an id or a marker depends on the first source of choices alone."""
    one, other = (compose(seeded(1), NOW, Plan(runs=(RunPlan(question=True),)), fresh=seeded(seed)) for seed in (1, 2))
    assert one.conversation_id != other.conversation_id
    assert not markers(one) & markers(other)
    assert [len(text) for text in strings(one.messages)] == [len(text) for text in strings(other.messages)]
    assert one.conversation["created_at"] == other.conversation["created_at"]


def test_about_to_expire() -> None:
    """The instant of expiry can be chosen to the millisecond; such a conversation is almost a day old."""
    conversation = small(seeded(1), NOW, expires_in=1).conversation
    assert milliseconds(conversation["expires_at"]) == NOW + 1
    assert milliseconds(conversation["created_at"]) == NOW + 1 - DAY


def test_a_given_workspace_is_used() -> None:
    """Several conversations can share a workspace."""
    workspace = texts.new_uuid(seeded(1))
    document = archivable(seeded(2), NOW, workspace_id=workspace)
    assert {workspace} == {document.workspace_id, *(run["workspace_id"] for run in document.runs)}


def test_every_status_occurs_once() -> None:
    """The full-status document has one run of each."""
    assert list(conversations.STATUSES) == [run["status"] for run in full_status(seeded(1), NOW).runs]


def test_messages_can_follow_each_other_at_every_millisecond() -> None:
    """A dense plan leaves no gap between events."""
    plan = Plan(runs=(RunPlan(question=True),) * 3, dense=True)
    document = compose(seeded(1), NOW, plan)
    created = sorted(milliseconds(each["created_at"]) for each in [*document.runs, *document.messages])
    assert list(range(created[0], created[0] + 9)) == created


def test_message_of_a_run() -> None:
    """Status shows the answer, else the question, else nothing."""
    plan = Plan(runs=(RunPlan(question=True), RunPlan("queued", question=True), RunPlan("expired")))
    document = compose(seeded(1), NOW, plan)
    shown = [document.message_of(run["id"]) for run in document.runs]
    assert [message and message["role"] for message in shown] == ["assistant", "user", None]


@pytest.mark.parametrize(
    "plan", [Plan(expires_in=0), Plan(lifetime=DAY + 1, expires_in=1), Plan(lifetime=5, expires_in=6)]
)
def test_impossible_windows_are_refused(plan: Plan) -> None:
    """A conversation that would not be available now cannot be planned."""
    with pytest.raises(ValueError, match="is available at"):
        compose(seeded(1), NOW, plan)


def test_too_little_time_for_the_messages_is_refused() -> None:
    """Messages have a millisecond each."""
    with pytest.raises(ValueError, match="fewer than 3 milliseconds"):
        compose(seeded(1), 2, Plan(runs=(RunPlan(question=True),)))


@pytest.mark.parametrize(
    ("status", "code", "question"),
    [("completed", "expired", False), ("failed", "cancelled", False), ("expired", None, True)],
)
def test_illegal_runs_are_refused(status: str, code: str | None, question: bool) -> None:  # noqa: FBT001 - a parameter of the table
    """A run of a status has only the failure codes and messages that fit it."""
    with pytest.raises(ValueError, match=f"a run that is {status}"):
        RunPlan(status, failure_code=code, question=question)
