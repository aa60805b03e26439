"""JSON equality, pointers and differences."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.json_values import MISSING, first_difference, json_equal, json_type, pointer, pointer_parts

UNEQUAL: list[tuple[Any, Any]] = [
    (True, 1), (False, 0), (False, None), (0, None), ("1", 1), ("", None), ([], {}), ([True], [1]),
    ({"a": False}, {"a": 0}), ({"a": 1}, {"b": 1}), ({"a": None}, {}), ([1, 2], [2, 1]), ([1], [1, 1]),
    (9007199254740993, 9007199254740992.0), (10**400, 1.5), ("\u00e9", "e\u0301"),
]  # fmt: skip
EQUAL: list[tuple[Any, Any]] = [
    (1, 1.0), (0, -0.0), (None, None), (True, True), ("a", "a"), ([1, [2.0]], [1.0, [2]]),
    ({"a": 1, "b": [None]}, {"b": [None], "a": 1.0}), ({}, {}), (10**400, 10**400),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), UNEQUAL)
def test_values_of_other_types_or_contents_differ(one: Any, other: Any) -> None:
    """Equality is that of JSON, in both directions, and a difference is found exactly where values are unequal."""
    assert not json_equal(one, other)
    assert not json_equal(other, one)
    assert first_difference(one, other) is not None


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_the_same_json_value_is_equal(one: Any, other: Any) -> None:
    """Member order and the way an integral number is held do not matter."""
    assert json_equal(one, other)
    assert json_equal(other, one)
    assert first_difference(one, other) is None


@pytest.mark.parametrize(
    ("expected", "found", "difference"),
    [
        (1, 2, ("", 1, 2)),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, ("/a/1/b", 2, 3)),
        ({"a": 1}, {}, ("/a", 1, MISSING)),
        ({}, {"a/~": None}, ("/a~1~0", MISSING, None)),
        ([1, 2], [1], ("/1", 2, MISSING)),
        ([], [None], ("/0", MISSING, None)),
        ({"a": []}, {"a": {}}, ("/a", [], {})),
        ({"a": {}}, {"a": []}, ("/a", {}, [])),
        ({"b": 1, "a": 1}, {"a": 2, "b": 2}, ("/b", 1, 2)),
    ],
)
def test_the_first_difference_is_located(expected: Any, found: Any, difference: tuple[str, Any, Any]) -> None:
    """The pointer leads to the innermost place, and a side that has nothing there says so."""
    assert difference == first_difference(expected, found)


def test_a_pointer_escapes_and_can_be_read_back() -> None:
    """RFC 6901: ``~`` is ``~0`` and ``/`` is ``~1``."""
    assert pointer(("a/b", 0, "~1", "")) == "/a~1b/0/~01/"
    assert pointer(()) == ""
    assert pointer_parts("/a~1b/0/~01/") == ("a/b", "0", "~1", "")
    assert pointer_parts("") == ()


def test_each_value_has_its_type() -> None:
    """Booleans are not integers, integral floats are, and what JSON cannot hold is refused."""
    values: tuple[Any, ...] = (None, True, 1, 1.0, 1.5, "", [], {})
    expected = ["null", "boolean", "integer", "integer", "number", "string", "array", "object"]
    assert expected == [json_type(value) for value in values]
    with pytest.raises(TypeError, match="tuple"):
        json_type(())
