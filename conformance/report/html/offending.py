"""Finds the part of a body that a finding is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from conformance.report.html.layout import Layout

Marks: TypeAlias = Mapping[int, tuple[int, int]]
"""Which part of which line is marked: from the first character to before the second."""

_BYTE = re.compile(r"byte (\d{1,12})")
_NAME = re.compile(r"[A-Za-z_]\w*")
_RESULTS: Final = ("/result/structuredContent", "/result", "")
"""Over MCP the result is part of a message, so a place in the result is looked up below that first."""
_MOST_MARKED = 40
_SHORTEST_FOUND = 4


def find(layout: Layout, body: str, place: str, found: str) -> Marks:
    """Return what to mark, which is nothing where the place cannot be told from others.

    ``place`` is that of a finding: a JSON Pointer, ``byte N``, ``body`` (then it is where ``found`` stands) or a name.
    """
    if place.startswith("/"):
        return next((_whole(layout, span) for span in _at(layout, place)), {})
    if byte := _BYTE.fullmatch(place):
        octets, offset = body.encode("utf-8", "surrogatepass"), int(byte[1])
        return _character(layout, len(octets[:offset].decode("utf-8", "ignore"))) if offset <= len(octets) else {}
    if place == "body":
        return dict(_occurrences(layout, found))
    if _NAME.fullmatch(place):
        return next((_whole(layout, span) for span in _named(layout, place, found)), {})
    return {}


def _at(layout: Layout, pointer: str) -> Iterator[tuple[int, int]]:
    """Yield where the value is, then where the object begins that lacks it."""
    above = pointer.rpartition("/")[0]
    for places in reversed(layout.documents):
        yield from (places[prefix + pointer] for prefix in _RESULTS if prefix + pointer in places)
    for places in reversed(layout.documents):
        yield from ((places[prefix + above][0],) * 2 for prefix in _RESULTS if prefix + above in places)


def _named(layout: Layout, name: str, found: str) -> Iterator[tuple[int, int]]:
    """Yield the one value that has this name, or the one of several that is what was found."""
    spans = [span for each in layout.documents for at, span in each.items() if at.rpartition("/")[2] == name]
    if len(spans) > 1:
        value = found.strip('"')
        ends = (f'"{value}"', f" {value}")
        spans = [span for span in spans if layout.lines[span[0]].text.rstrip(",").endswith(ends)]
    if len(spans) == 1:
        yield spans[0]


def _whole(layout: Layout, span: tuple[int, int]) -> Marks:
    first, last = span
    if last - first >= _MOST_MARKED:
        last = first
    texts = {number: layout.lines[number].text for number in range(first, last + 1)}
    return {number: (len(line) - len(line.lstrip(" ")), len(line.rstrip(","))) for number, line in texts.items()}


def _character(layout: Layout, offset: int) -> Marks:
    for number, line in enumerate(layout.lines):
        if line.start <= offset <= line.stop:
            column = min(offset - line.start, max(len(line.text) - 1, 0))
            return {number: (column, column + 1)} if line.is_raw else _whole(layout, (number, number))
    return {}


def _occurrences(layout: Layout, found: str) -> Iterator[tuple[int, tuple[int, int]]]:
    if len(found) < _SHORTEST_FOUND:
        return
    for number, line in enumerate(layout.lines):
        at = line.text.find(found)
        if at >= 0:
            yield number, (at, at + len(found))
