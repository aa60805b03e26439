"""Valid spellings are valid, open spellings are open, and random inputs repeat from their seed."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import strategies as st
from made_answers import ARCHIVE, CONTRACT, GET

from conformance.cases.examples import run_examples
from conformance.cases.inputs import uuid_of_version, valid_spellings
from conformance.cases.json_text import encode
from conformance.cases.left_open import duplicate_names, open_spellings
from conformance.cases.negatives import Negative, confirm
from conformance.cases.random_inputs import random_negatives, random_spellings
from conformance.contract import Operation
from conformance.errors import CouldNotRun, SuiteFault
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.finding import Finding, NonConformance, must_hold
from conformance.judge.formats import is_uuid
from conformance.judge.schema import SchemaJudge
from conformance.requirements import load_registry

OPERATIONS = pytest.mark.parametrize("operation", CONTRACT.operations, ids=lambda operation: operation.name)


def arguments(operation: Operation) -> dict[str, Any]:
    """Return the arguments of the published example, in which all ids are alike, with ids that differ."""
    made: dict[str, Any] = dict(operation.example_call["arguments"])
    for number, name in enumerate(operation.bindings):
        if made[name] == operation.example_call["arguments"]["conversation_id"]:
            made[name] = uuid_of_version(7, number)
    return made


@OPERATIONS
def test_valid_spellings_are_valid(operation: Operation) -> None:
    """Each obeys the schema, has a name of its own, and means the same call where it says so."""
    judge, given = SchemaJudge(operation.input_schema), arguments(operation)
    spellings = valid_spellings(operation)
    assert len(spellings) == len({spelling.name for spelling in spellings})
    for spelling in spellings:
        value = decode(spelling.build(given))
        assert judge.is_valid(value), spelling.name
        if spelling.same_call:
            assert given == value, spelling.name


def test_spellings_cover_versions_and_large_integers() -> None:
    """UUID versions 1 to 8, nil and max where an id may be unknown, and the bounds of 31, 32, 52 and 53 bits."""
    names = {spelling.name for spelling in valid_spellings(ARCHIVE)}
    assert {f"conversation_id-v{version}" for version in range(1, 9)} <= names
    assert {"conversation_id-nil", "conversation_id-max", "expected_revision-maximum"} <= names
    assert not {"mutation_id-nil", "mutation_id-max"} & names
    assert {f"expected_revision-above-{bits}-bits" for bits in (31, 32, 52)} <= names


@pytest.mark.parametrize("version", range(1, 9))
@pytest.mark.parametrize("digits", [0, 2**128 - 1, 0x1A2B3C4D5E6F708192A3B4C5D6E7F809])
def test_a_uuid_has_its_version_and_variant(version: int, digits: int) -> None:
    """Whatever its other digits are."""
    made = uuid.UUID(uuid_of_version(version, digits))
    assert (version, uuid.RFC_4122) == (made.version, made.variant)


@OPERATIONS
def test_names_given_twice_are_what_the_decoder_refuses(operation: Operation) -> None:
    """Each holds one member twice; where neither value asks for the twin's call, neither is the right value."""
    given = arguments(operation)
    made = list(duplicate_names(operation))
    assert len(made) == len({duplicate.name for duplicate in made}) >= 2 * len(given)
    for duplicate in made:
        text = duplicate.build(given)
        with pytest.raises(DecodeFault) as caught:
            decode(text)
        assert "duplicate" in caught.value.rule
        if duplicate.neither_asks:
            member = duplicate.name.partition("-")[0]
            assert encode({member: given[member]})[1:-1] not in text


@OPERATIONS
def test_open_spellings_are_open(operation: Operation) -> None:
    """Each is registered as a freedom, and is a valid input but for a byte order mark or a lost fraction."""
    judge, given = SchemaJudge(operation.input_schema), arguments(operation)
    known = load_registry(CONTRACT).freedoms_by_id
    for freedom, build in open_spellings(operation):
        assert freedom in known
        if freedom not in ("OPEN-BYTE-ORDER-MARK", "OPEN-INTEGER-LOST-FRACTION"):
            assert judge.is_valid(decode(build(given))), (freedom, build(given))


@OPERATIONS
def test_random_inputs_are_what_they_say(operation: Operation) -> None:
    """Negatives are wrong for one reason beside a valid twin; spellings are valid; a seed repeats them."""
    judge, given = SchemaJudge(operation.input_schema), arguments(operation)

    def drawn(seed: int) -> list[bytes]:
        seen: list[bytes] = []
        run_examples(
            random_negatives(operation), lambda each: seen.append(confirm(each, given, judge)), seed=seed, count=30
        )
        run_examples(random_spellings(operation), lambda each: seen.append(each.build(given)), seed=seed, count=15)
        assert all(judge.is_valid(decode(text)) for text in seen[-15:])
        return seen

    first = drawn(1)
    assert first == drawn(1)
    assert first != drawn(2)
    assert len(set(first)) > 20


def test_random_input_of_a_write_never_names_the_scene() -> None:
    """Nothing random may change a conversation that others read."""
    given = arguments(ARCHIVE)

    def look(spelling: Any) -> None:
        value = decode(spelling.build(given))
        assert value["conversation_id"] != given["conversation_id"]
        assert is_uuid(value["mutation_id"])

    run_examples(random_spellings(ARCHIVE), look, seed=3, count=10)


FINDING = Finding("A-B", GET.name, "Wrong")


def test_the_smallest_failing_example_is_reported() -> None:
    """After a failure Hypothesis shrinks, and the finding is that of the smallest example."""
    judged: list[int] = []

    def judge(number: int) -> None:
        judged.append(number)
        if number >= 100:
            must_hold([Finding("A-B", GET.name, "Wrong", str(number))])

    with pytest.raises(NonConformance) as caught:
        run_examples(st.integers(0, 10_000), judge, seed=1, count=50)
    assert "100" == caught.value.findings[0].place


def test_a_finding_that_does_not_repeat_stands() -> None:
    """A target that is wrong once is wrong; it is not the suite that failed."""
    failed: list[int] = []

    def judge(number: int) -> None:
        if number > 10 and not failed:
            failed.append(number)
            must_hold([FINDING])

    with pytest.raises(NonConformance) as caught:
        run_examples(st.integers(0, 10_000), judge, seed=1, count=50)
    assert (FINDING,) == caught.value.findings


def test_a_target_that_is_gone_ends_the_examples_at_once() -> None:
    """There is nothing to shrink, and each further try would wait again."""
    calls: list[int] = []

    def judge(number: int) -> None:
        calls.append(number)
        if number > 10:
            raise CouldNotRun("it is gone", "Look.")

    with pytest.raises(CouldNotRun, match="it is gone"):
        run_examples(st.integers(0, 10_000), judge, seed=1, count=50)
    assert [number > 10 for number in calls] == [False] * (len(calls) - 1) + [True]


def test_a_fault_of_the_suite_stays_one() -> None:
    """It is not mistaken for a finding."""

    def judge(_: int) -> None:
        raise SuiteFault("a contradiction")

    with pytest.raises(SuiteFault):
        run_examples(st.integers(), judge, seed=1, count=5)


def test_examples_are_as_many_as_asked_for() -> None:
    """Counts are fixed, not times."""
    seen: list[int] = []
    run_examples(st.integers(), seen.append, seed=1, count=37)
    assert 37 == len(seen)


def test_a_random_negative_names_the_rule_it_breaks() -> None:
    """And a requirement to it."""
    seen: list[Negative] = []
    run_examples(random_negatives(GET), seen.append, seed=5, count=60)
    assert {"INPUT-TYPE", "INPUT-UUID-FORMAT", "INPUT-UNKNOWN-FIELD", "INPUT-REQUIRED-FIELD"} <= {
        each.requirement for each in seen
    }
    assert all(each.what.startswith("a random input that breaks the rule /") for each in seen)
