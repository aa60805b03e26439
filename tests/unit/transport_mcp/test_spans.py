"""Values are cut out of JSON text as they stand there, whatever they are worth."""

from __future__ import annotations

import pytest

from conformance.transport.mcp.frames import read_frame
from conformance.transport.mcp.spans import NoSpan, elements, members, whole


def cut(text: bytes) -> dict[str, bytes]:
    """Return the members of an object as they are written."""
    return {name: span.of(text) for name, span in members(text, whole(text))}


@pytest.mark.parametrize(
    "value",
    [
        b'{"a":1.0}',
        b'{"a":1,"a":2}',
        b"[1, [2, {}], 01, +1, NaN, .5]",
        b'{"a":"}]\\"\\\\"}',
        b'"\\ud800 \\"x\\""',
        b"1e400",
        b"tru",
        '"ä}€😀"'.encode(),
        b'{"a": [1,], "b"}',
        b'"\x01\xff"',
        b"[" * 3000 + b"]" * 3000,
    ],
)
def test_a_value_keeps_its_bytes(value: bytes) -> None:
    """Duplicate names, numbers that JSON does not allow, raw bytes and deep nesting all come out as they went in."""
    assert {"before": b"1", "it": value, "after": b"{}"} == cut(b' {"before":1 ,\n"it" : ' + value + b' ,"after":{} } ')


@pytest.mark.parametrize(
    "text", [b"", b" ", b"[]", b'{"a":1', b'{"a":1}}', b'{"a" 1}', b"{a:1}", b'{"a":[}', b'{"a":"x}', b'{"a":}', b"{,}"]
)
def test_what_is_no_object_has_no_members(text: bytes) -> None:
    """Text without the outline of one object is refused."""
    with pytest.raises(NoSpan):
        cut(text)


def test_elements_of_an_array() -> None:
    """The elements come in their order."""
    text = b' [ 1.0, {"a":[2]} ,"x,]" ] '
    assert [b"1.0", b'{"a":[2]}', b'"x,]"'] == [span.of(text) for span in elements(text, whole(text))]
    assert [] == elements(b"[]", whole(b"[]"))
    with pytest.raises(NoSpan):
        elements(b"{}", whole(b"{}"))


def test_the_last_of_two_members_counts_and_escaped_names_are_read() -> None:
    """A name may be escaped; of a repeated one the last value is taken, as most parsers do."""
    frame = read_frame(b'{"re\\u0073ult":{"isError":false,"isError":true},"id":"7"}')
    assert frame is not None
    assert b"true" == frame.text("result", "isError")
    assert ("string", "7") == frame.identifier
    assert frame.text("result", "isError", "deeper") is None
    assert frame.text("nothing", "deeper") is None


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        (b"1", ("number", 1)),
        (b'"1"', ("string", "1")),
        (b"1.0", ("number", 1)),
        (b"true", None),
        (b"null", None),
        (b"1.5", None),
        (b"[1]", None),
        (b"01", None),
    ],
)
def test_an_id_has_a_value_and_a_type(text: bytes, identifier: object) -> None:
    """Two ids are the same when both value and JSON type are."""
    frame = read_frame(b'{"id":' + text + b',"result":{}}')
    assert frame is not None
    assert identifier == frame.identifier
