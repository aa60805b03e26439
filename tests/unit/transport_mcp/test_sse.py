"""Streams of events are read as the HTML standard says, however they are cut into pieces."""

from __future__ import annotations

import pytest

from conformance.transport.mcp.sse import EventReader

STREAM = (
    b"\xef\xbb\xbf: a comment\r\nid: 1\r\ndata:\r\n\r\n"
    b'event: message\ndata: {"a":\ndata:1}\nretry: 10\n\n'
    b"event: other\rdata:  x\r\r"
    b"event: dropped\n\ndata\n\nunknown: 1\ndata: last"
)
EXPECTED = [("message", b"", "1"), ("message", b'{"a":\n1}', "1"), ("other", b" x", "1"), ("message", b"", "1")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_do_not_depend_on_the_pieces(size: int) -> None:
    """All three ends of line, comments, several data lines, ids; the unfinished last event is none."""
    reader = EventReader()
    pieces = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    events = [event for piece in pieces for event in reader.feed(piece)]
    assert EXPECTED == [(event.type, event.data, event.last_id) for event in events]


def test_an_event_that_ends_in_carriage_returns_is_complete_at_once() -> None:
    """Nobody waits for a line feed that may never come; one that does come begins no line."""
    reader = EventReader()
    assert [b"x"] == [event.data for event in reader.feed(b"data: x\r\r")]
    assert [b"y"] == [event.data for event in reader.feed(b"\ndata: y\n\n")]
