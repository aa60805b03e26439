"""How the page lays out a body and finds the part of it that a finding is about."""

from __future__ import annotations

import json

import pytest

from conformance.report.html.layout import lay_out
from conformance.report.html.offending import find


def marked(body: str, place: str, found: str = "", *, as_sent: bool = False) -> list[str]:
    """Return the marked parts of the lines."""
    layout = lay_out(body, as_sent=as_sent)
    return [layout.lines[number].text[begin:end] for number, (begin, end) in find(layout, body, place, found).items()]


def test_json_is_indented_and_its_words_stay() -> None:
    """Numbers keep their digits, names that occur twice stay, and escapes stay escapes."""
    body = '{"a":1e400,"a":[1.00,{}],"b":"\\u0041, :"}'
    shown = ["{", '  "a": 1e400,', '  "a": [', "    1.00,", "    {}", "  ],", '  "b": "\\u0041, :"', "}"]
    assert shown == [line.text for line in lay_out(body).lines]


def test_what_is_no_json_stays_as_it_is() -> None:
    """Also where it looks like it."""
    assert ["{not json}", " at all"] == [line.text for line in lay_out("{not json}\n at all").lines]


def test_a_document_that_is_cut_off_is_indented_as_far_as_it_goes() -> None:
    """Its last string has no end."""
    lines = lay_out('{"a":{"b":"two wor', is_cut=True).lines
    assert ["{", '  "a": {', '    "b": "two wor'] == [line.text for line in lines]


@pytest.mark.parametrize("body", ["[" * 30_000, '{"a":' * 30_000, "[" * 30_000 + "]" * 30_000, "]}" * 100, '"', "{,:"])
def test_hostile_documents_are_laid_out_in_one_pass(body: str) -> None:
    """Neither depth nor nonsense is too much."""
    layout = lay_out(body, is_cut=True)
    assert max(len(line.text) for line in layout.lines) <= len(body) + 120


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/a", ['"a": 1']),
        ("/b/1/c", ['"c": null']),
        ("/d~1e/f~0g", ['"f~g": "x"']),
        ("/b", ['"b": [', "0", "{", '"c": null', "}", "]"]),
        ("/b/1/missing", ["{"]),
        ("/missing", ["{"]),
        ("/missing/too", []),
    ],
)
def test_a_pointer_marks_its_value_or_the_object_that_lacks_it(place: str, expected: list[str]) -> None:
    """Escapes of pointers are known; where the object is missing too nothing is marked."""
    body = json.dumps({"a": 1, "b": [0, {"c": None}], "d/e": {"f~g": "x"}})
    assert expected == marked(body, place)


def test_over_mcp_the_place_is_one_in_the_result() -> None:
    """Below the structured content of the message, also where the message is the data of an event."""
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"id": "x"}, "id": "y"}})
    assert ['"id": "x"'] == marked(message, "/id")
    assert ['"id": "x"'] == marked(f"event: message\ndata: {message}\n\n", "/id")


def test_a_byte_marks_the_character_that_it_belongs_to() -> None:
    """Bytes are counted in UTF-8, and lines are those of the body as it was sent."""
    assert ["N"] == marked('{"ü": NaN}', "byte 7", as_sent=True)
    assert ["}"] == marked('{"a":\n1}', "byte 7", as_sent=True)
    assert [] == marked("{}", "byte 70", as_sent=True)


def test_a_name_is_marked_where_it_is_the_only_one() -> None:
    """Of several values under one name it is the one that was found, if that is one."""
    body = json.dumps({"run": {"status": "expired"}, "other": {"status": "queued"}, "messages": 3})
    assert ['"messages": 3'] == marked(body, "messages")
    assert ['"status": "expired"'] == marked(body, "status", "expired")
    assert [] == marked(body, "status", "failed")


def test_what_was_found_is_marked_wherever_it_stands() -> None:
    """For a place that is the whole body; a text that is too short to be told apart is not."""
    body = json.dumps({"a": "xx canary-12 yy", "b": "canary-12"})
    assert ["canary-12", "canary-12"] == marked(body, "body", "canary-12")
    assert [] == marked(body, "body", "a")
