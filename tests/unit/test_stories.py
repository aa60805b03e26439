"""The makings of stories, and how they are written down."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis.stateful import RuleBasedStateMachine, rule
from made_answers import CONTRACT, answer, exchange

from conformance.cases.conversations import LARGEST_INTEGER, markers
from conformance.cases.drawing import DrawingStopped
from conformance.cases.stories import (
    PLANS,
    REVISIONS,
    WAITS,
    clock_after,
    run_stories,
    story_document,
    worker_answer,
)
from conformance.errors import CouldNotRun
from conformance.judge.finding import Finding, NonConformance
from conformance.judge.formats import parse_instant
from conformance.judge.schema import SchemaJudge
from conformance.report.story import Story, control_path, short_answer, variable

NOW = 1_790_000_000_000
WORKSPACE = "00000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize("plan", PLANS)
def test_conversations_are_told_the_same_way_with_fresh_ids(plan: str) -> None:
    """Two tellings differ in ids and markers alone, and each is seedable with room for older and newer revisions."""
    first, second = (story_document(plan, NOW, random.Random(seed), WORKSPACE) for seed in (1, 2))  # noqa: S311 - test data
    assert first.conversation_id != second.conversation_id
    assert first.conversation["revision"] == second.conversation["revision"]
    assert 2 < first.conversation["revision"] < LARGEST_INTEGER - 100
    assert [run["status"] for run in first.runs] == [run["status"] for run in second.runs]
    assert [run["expires_at"] for run in first.runs] == [run["expires_at"] for run in second.runs]
    assert parse_instant(first.conversation["expires_at"]) * 1000 > NOW
    assert not markers(first) & markers(second)


def test_a_workers_answer_is_valid() -> None:
    """It keeps the schema of an answer and cites the conversation's own evidence."""
    rng = random.Random(1)  # noqa: S311 - test data
    document = story_document("an answer and a queued run", NOW, rng, WORKSPACE)
    made = worker_answer(document, rng)
    schema = CONTRACT.operation("conversations_get").output_schema["properties"]["messages"]["items"]
    judge = SchemaJudge(
        {**schema["properties"]["answer"], "$schema": "http://json-schema.org/draft-07/schema#"}, "answer"
    )
    assert judge.is_valid(made)
    assert made["answer"]["evidence"] == document.conversation["context"]["evidence"][:1]


def test_revisions_stay_in_their_range() -> None:
    """Every choice can be sent, whatever the current revision is."""
    for choose in REVISIONS.values():
        for current in (1, 2, 900, LARGEST_INTEGER - 1):
            assert 1 <= choose(current) <= LARGEST_INTEGER


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        ("until the next deadline", 50),
        ("until a millisecond before the next deadline", 49),
        ("until a millisecond after the next deadline", 51),
        ("until a conversation expires", 90),
        ("until a millisecond before a conversation expires", 89),
        ("until a millisecond after a conversation expires", 91),
        ("for an hour", 3_600_010),
        ("for 23 hours", 82_800_010),
    ],
)
def test_waits_end_at_the_boundaries(wait: str, expected: int) -> None:
    """Deadlines that have passed do not count, and the clock always goes on."""
    assert wait in WAITS
    assert expected == clock_after(wait, 10, ends={90, 5}, deadlines={90, 50, 5})
    assert clock_after(wait, 49, ends={49}, deadlines={49}) > 49


def test_a_failing_story_is_raised_at_its_shortest() -> None:
    """The finding of the shortest story, and nothing else, comes out."""

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.steps = 0

        @rule()
        def step(self) -> None:
            self.steps += 1
            if self.steps >= 3:
                raise NonConformance((Finding("ARCHIVE-LASTS", "get", "Wrong", story=f"{self.steps} steps"),))

    with pytest.raises(NonConformance) as caught:
        run_stories(Machine, seed=1, count=5)
    assert "3 steps" == caught.value.findings[0].story


def test_a_target_that_is_gone_ends_the_stories_at_once() -> None:
    """It is no finding, and nothing is shrunk."""
    told = []

    class Machine(RuleBasedStateMachine):
        @rule()
        def step(self) -> None:
            told.append(1)
            raise DrawingStopped(CouldNotRun("gone", "start it"))

    with pytest.raises(CouldNotRun, match="gone"):
        run_stories(Machine, seed=1, count=5)
    assert [1] == told


def test_a_story_is_written_with_its_script() -> None:
    """Steps are numbered, tokens are variables, and control calls come before the calls that need them."""
    story = Story("http://127.0.0.1:9/", control_token=True)
    story.person("Ann", {"scopes": ["agent:research"], "workspace_ids": [WORKSPACE]})
    story.token("Ann", "Ann's token without the scope", {"scopes": []})
    story.stored("Ann", {"conversation": {"title": "it's"}, "messages": [], "runs": []})
    story.event("Stored")
    story.call("Ann: get conversation 1", "Ann", answer("refused"), "409", "success")
    told, _, script = story.text().partition("script")
    assert [
        "1. Stored",
        "2. Ann: get conversation 1",
        "     answer:  409",
        "     allowed: success",
    ] == told.splitlines()
    assert '-H "Authorization: Bearer $ANN"' in script
    assert "planted-token" not in script
    assert "Bearer $CONTROL_TOKEN" in script
    assert "ANN_WITHOUT_SCOPE=$(curl" in script
    assert script.index("/principals") < script.index("/conversations")


def test_a_story_without_a_control_url_says_what_was_done() -> None:
    """Test control as a Python object cannot be repeated by curl; the script says so in comments."""
    story = Story("")
    story.person("Bob", {})
    story.control("POST", "/restart")
    story.event("The server restarts")
    lines = [line.strip() for line in story.text().splitlines()]
    assert "# test control makes the person Bob and exports the token as BOB" in lines
    assert "# test control: POST /restart null" in lines


def test_words_of_stories() -> None:
    """Variables, paths and short answers."""
    assert "ANN_OTHER" == variable("Ann's other token")
    assert "/runs/a%2Fb/result" == control_path("runs", "a/b", "result")
    assert "409" in short_answer(answer("refused", shown=exchange(409)), None)
    value = json.loads(json.dumps(CONTRACT.operation("sentiment_status").example_result))
    assert "revision" in short_answer(answer("success"), value)
