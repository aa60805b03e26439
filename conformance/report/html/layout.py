"""Lays the body of an answer out in lines.

JSON is indented, but its words stay as they were sent: numbers keep their digits, names that occur twice stay twice.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

_LEXEME = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
"""A string (also one that is cut off), a mark, or any other word of JSON."""
_OPENING, _CLOSING = frozenset("{["), frozenset("}]")
_DEEPEST = 60
"""Values nested more deeply get no pointer and no further indentation."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line as shown, and the part of the body (in characters) that it shows; ``is_raw``: exactly as it came."""

    text: str
    start: int
    stop: int
    is_raw: bool = True


@dataclass
class Layout:
    """A body in lines. ``documents`` has, for each JSON document, first and last line of each value by its pointer."""

    lines: list[Line] = field(default_factory=list)
    documents: list[dict[str, tuple[int, int]]] = field(default_factory=list)


def lay_out(body: str, *, is_cut: bool = False, as_sent: bool = False) -> Layout:
    """Return the body in lines: JSON indented, also where it is the data of an event, and all else as it is.

    A body that ``is_cut`` is taken for JSON when it begins like it. ``as_sent`` indents nothing.
    """
    layout = Layout()
    if not as_sent and _is_json(body, is_cut=is_cut):
        _Indenting(layout, 0).read(body)
        return layout
    start = 0
    for line in body.split("\n"):
        label = "data:" if line.startswith("data:") else ""
        if not as_sent and _is_json(line[len(label) :], is_cut=False):
            if label:
                layout.lines.append(Line(label, start, start + len(label)))
            _Indenting(layout, start + len(label)).read(line[len(label) :])
        else:
            layout.lines.append(Line(line, start, start + len(line)))
        start += len(line) + 1
    return layout


def _is_json(body: str, *, is_cut: bool) -> bool:
    if body.lstrip()[:1] not in _OPENING:
        return False
    if is_cut:
        return True
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass
class _Open:
    """An object or a list that has begun; ``pointer`` is None where it is too deep to be kept."""

    pointer: str | None
    line: int
    is_object: bool
    name: str = ""
    index: int = 0
    awaits_name: bool = True

    def child(self) -> str | None:
        return None if self.pointer is None else f"{self.pointer}/{self.name if self.is_object else self.index}"


class _Indenting:
    """Adds a JSON document, which may be cut off, to the lines. A stack of its own: a target may nest deeply."""

    def __init__(self, layout: Layout, offset: int) -> None:
        self._lines = layout.lines
        self._places: dict[str, tuple[int, int]] = {}
        self._offset = offset
        self._stack: list[_Open] = []
        self._parts: list[str] = []
        self._start = self._stop = offset
        self._is_opened = False
        layout.documents.append(self._places)

    def read(self, document: str) -> None:
        for match in _LEXEME.finditer(document):
            lexeme = match[0]
            if lexeme in _CLOSING:
                self._close()
            elif self._is_opened:
                self._end_line()
            self._is_opened = lexeme in _OPENING
            if not self._parts:
                self._parts.append("  " * min(len(self._stack), _DEEPEST))
                self._start = self._offset + match.start()
            self._stop = self._offset + match.end()
            self._add(lexeme)
        self._end_line()

    def _add(self, lexeme: str) -> None:
        top = self._stack[-1] if self._stack else None
        self._parts.append(": " if lexeme == ":" else lexeme)
        if lexeme == ",":
            if top:
                top.index, top.awaits_name = top.index + 1, True
            self._end_line()
        elif top and top.is_object and top.awaits_name and lexeme[0] == '"':
            top.name, top.awaits_name = _name(lexeme), False
        elif lexeme != ":" and lexeme not in _CLOSING:
            self._value(lexeme, top.child() if top else "")

    def _value(self, lexeme: str, pointer: str | None) -> None:
        line = len(self._lines)
        if pointer is not None:
            self._places[pointer] = (line, line)
        if lexeme in _OPENING:
            is_deep = len(self._stack) >= _DEEPEST
            self._stack.append(_Open(None if is_deep else pointer, line, lexeme == "{"))

    def _close(self) -> None:
        if not self._is_opened:
            self._end_line()
        closed = self._stack.pop() if self._stack else None
        if closed and closed.pointer is not None:
            self._places[closed.pointer] = (closed.line, len(self._lines))

    def _end_line(self) -> None:
        if self._parts:
            self._lines.append(Line("".join(self._parts), self._start, self._stop, is_raw=False))
            self._parts.clear()


def _name(lexeme: str) -> str:
    """Return a name as it stands in a JSON Pointer."""
    try:
        name = str(json.loads(lexeme))
    except ValueError:
        name = lexeme
    return name.replace("~", "~0").replace("/", "~1")
