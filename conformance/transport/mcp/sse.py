"""Server-sent events as the HTML standard has them: bytes in pieces of any size, whole events out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its type (``message`` unless named), its data, and the last event id so far."""

    type: str
    data: bytes
    last_id: str


class EventReader:
    """Reads a stream of events. What the stream leaves unfinished at its end is no event."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._is_first_line = True
        self._ended_with_return = False
        self._type = ""
        self._data: list[bytes] = []
        self._last_id = ""

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Take the next bytes and return the events that they complete."""
        if self._ended_with_return and piece:
            # A line may end in both, and the two may come apart.
            piece = piece.removeprefix(b"\n")
            self._ended_with_return = False
        searched, start = len(self._pending), 0
        self._pending += piece
        events: list[ServerEvent] = []
        for match in list(_LINE_END.finditer(self._pending, searched)):
            event = self._line(bytes(self._pending[start : match.start()]))
            start = match.end()
            self._ended_with_return = match.group() == b"\r" and start == len(self._pending)
            if event is not None:
                events.append(event)
        del self._pending[:start]
        return events

    def _line(self, line: bytes) -> ServerEvent | None:
        if self._is_first_line:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._is_first_line = False
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._type = value.decode("utf-8", "replace")
        elif field == b"id" and b"\0" not in value:
            self._last_id = value.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> ServerEvent | None:
        event = ServerEvent(self._type or "message", b"\n".join(self._data), self._last_id)
        has_data, self._data, self._type = bool(self._data), [], ""
        return event if has_data else None
