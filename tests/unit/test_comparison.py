"""Comparison: JSON values, times as instants, ids in any case."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.comparison import differences, is_id_field
from conformance.judge.json_values import MISSING

UUID = "5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"a": [1, None, "x"]}, {"a": [1, None, "x"]}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"revision": 1}, {"revision": 1.0}),
        ({"id": UUID}, {"id": UUID.upper()}),
        ({"evidence_id": UUID}, {"evidence_id": UUID.upper()}),
        ({"created_at": "2026-01-01T00:00:00Z"}, {"created_at": "2026-01-01T01:00:00.000+01:00"}),
        ({"expires_at": "2026-12-31T23:30:00-01:00"}, {"expires_at": "2027-01-01T00:30:00Z"}),
    ],
)
def test_the_same_in_another_form_is_no_difference(expected: Any, found: Any) -> None:
    """Member order, number form, letter case of ids, offset and fraction of times."""
    assert [] == list(differences(expected, found))


@pytest.mark.parametrize(
    ("expected", "found", "told"),
    [
        ({"a": 1}, {"a": 2}, [("/a", 1, 2)]),
        ({"a": 1}, {}, [("/a", 1, MISSING)]),
        ({}, {"a": None}, [("/a", MISSING, None)]),
        ({"a": None}, {"a": ""}, [("/a", None, "")]),
        ({"a": "1"}, {"a": 1}, [("/a", "1", 1)]),
        ({"a": 1, "b": 1}, {"a": True, "b": 2}, [("/a", 1, True), ("/b", 1, 2)]),
        ({"a": [1, 2]}, {"a": [2, 1]}, [("/a/0", 1, 2), ("/a/1", 2, 1)]),
        ({"a": [1]}, {"a": [1, 2]}, [("/a", "1 entries", "2 entries")]),
        ({"a": []}, {"a": {}}, [("/a", [], {})]),
        ({"model_id": "M"}, {"model_id": "m"}, [("/model_id", "M", "m")]),
        ({"text": UUID}, {"text": UUID.upper()}, [("/text", UUID, UUID.upper())]),
        ({"title": "\u00e9"}, {"title": "e\u0301"}, [("/title", "\u00e9", "e\u0301")]),
        (
            {"created_at": "2026-01-01T00:00:00Z"}, {"created_at": "2026-01-01T00:00:00.001Z"},
            [("/created_at", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.001Z")],
        ),
        ({"created_at": None}, {"created_at": "2026-01-01T00:00:00Z"}, [("/created_at", None, "2026-01-01T00:00:00Z")]),
        ({"created_at": "2026-01-01T00:00:00Z"}, {"created_at": None}, [("/created_at", "2026-01-01T00:00:00Z", None)]),
        ({"id": UUID}, {"id": UUID.replace("5", "6")}, [("/id", UUID, UUID.replace("5", "6"))]),
        ({"a": None}, {"a": []}, [("/a", None, [])]),
        ({"a": "x", "b": 1}, {"a": "x", "b": 2}, [("/b", 1, 2)]),
        ({"a": {}}, {"a": None}, [("/a", {}, None)]),
        (1, 2, [("", 1, 2)]),
    ],
)  # fmt: skip
def test_every_difference_is_named_at_its_place(expected: Any, found: Any, told: list[tuple[str, Any, Any]]) -> None:
    """A JSON Pointer and both values; letters that only look alike are not the same."""
    assert told == [tuple(difference) for difference in differences(expected, found)]


def test_names_of_ids() -> None:
    """Everything that ends in ``_id``, but for the model's name."""
    assert [True, True, True, False, False] == [
        is_id_field(name) for name in ("id", "run_id", "corpus_snapshot_id", "model_id", "identity")
    ]
