"""The three operations as most people would test them: hypothesis-jsonschema draws inputs, jsonschema judges results.

``pytest hypothesis_jsonschema_alone.py`` with ``TARGET_URL``, ``TARGET_TOKEN`` and, as JSON, ``TARGET_EXAMPLES``: for
each operation arguments with which a call succeeds.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema
from jsonschema import Draft7Validator, FormatChecker

CONTRACT: Final = Path(__file__).parents[2] / "contracts" / "research"
PATHS: Final = {
    "conversations_get": "/research-api/conversations/get",
    "sentiment_status": "/research-api/sentiment/status",
    "conversations_archive": "/research-api/conversations/archive",
}
EXAMPLES: Final[dict[str, list[dict[str, Any]]]] = json.loads(os.environ["TARGET_EXAMPLES"])
CLIENT: Final = httpx.Client(
    base_url=os.environ["TARGET_URL"],
    headers={"Authorization": f"Bearer {os.environ['TARGET_TOKEN']}"},
    trust_env=False,
)

SMALL_JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
for_each_operation = pytest.mark.parametrize("operation", PATHS)


@cache
def schema_of(operation: str, part: str) -> dict[str, Any]:
    """Return the published schema of an operation's input or output."""
    schema: dict[str, Any] = json.loads((CONTRACT / operation / f"{part}.schema.json").read_text(encoding="utf-8"))
    return schema


@cache
def validator_of(operation: str, part: str) -> Draft7Validator:
    """Return what validates an operation's input or output, formats included."""
    return Draft7Validator(schema_of(operation, part), format_checker=FormatChecker())


@cache
def drawn_from_schema(operation: str) -> st.SearchStrategy[Any]:
    """Return a strategy for an operation's input. Of itself the library does not know what a UUID is."""
    return from_schema(schema_of(operation, "input"), custom_formats={"uuid": st.uuids(version=4).map(str)})


def assert_result(answer: httpx.Response, operation: str) -> None:
    """Pass a success whose body is as the output schema says."""
    assert 200 == answer.status_code
    validator_of(operation, "output").validate(answer.json())


@st.composite
def valid_arguments(draw: st.DrawFn, operation: str) -> dict[str, Any]:
    """Draw arguments as the schema has them, each of them often that of a seeded conversation."""
    seeded = draw(st.sampled_from(EXAMPLES[operation]))
    drawn: dict[str, Any] = draw(drawn_from_schema(operation))
    return {name: seeded[name] if draw(st.booleans()) else value for name, value in drawn.items()}


@st.composite
def wrong_arguments(draw: st.DrawFn, operation: str) -> dict[str, Any]:
    """Draw the arguments of a seeded conversation with one that is wrong, unknown or left out."""
    arguments = dict(draw(st.sampled_from(EXAMPLES[operation])))
    change = draw(st.sampled_from(["wrong", "unknown", "left out"]))
    name = draw(st.sampled_from(sorted(arguments)))
    if change == "wrong":
        judge = validator_of(operation, "input")
        arguments[name] = draw(SMALL_JSON.filter(lambda value: not judge.is_valid({**arguments, name: value})))
    elif change == "unknown":
        arguments[draw(st.text(min_size=1).filter(lambda text: text not in arguments))] = draw(SMALL_JSON)
    else:
        del arguments[name]
    return arguments


@for_each_operation
def test_a_seeded_conversation_is_answered_as_the_schema_says(operation: str) -> None:
    """Every example succeeds."""
    for arguments in EXAMPLES[operation]:
        assert_result(CLIENT.post(PATHS[operation], json=arguments), operation)


@for_each_operation
@given(data=st.data())
@settings(deadline=None)
def test_valid_input_is_accepted(operation: str, data: st.DataObject) -> None:
    """It is a success, or there is no such thing, or it has changed; never is the input to blame."""
    answer = CLIENT.post(PATHS[operation], json=data.draw(valid_arguments(operation)))
    assert answer.status_code in (200, 403, 404, 409, 412)
    if answer.status_code == 200:
        assert_result(answer, operation)


@for_each_operation
@given(data=st.data())
@settings(deadline=None)
def test_wrong_input_is_refused(operation: str, data: st.DataObject) -> None:
    """What the schema does not allow is refused as invalid."""
    answer = CLIENT.post(PATHS[operation], json=data.draw(wrong_arguments(operation)))
    assert answer.status_code in (400, 422)


@for_each_operation
def test_who_shows_no_token_is_refused(operation: str) -> None:
    """Neither without a token nor with one that nobody has."""
    for headers in ({"Authorization": ""}, {"Authorization": "Bearer unknown"}):
        assert 401 == CLIENT.post(PATHS[operation], json=EXAMPLES[operation][0], headers=headers).status_code
