"""Shows a body: the lines about the offending part, what stands before and after it folded, and what is left out."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.report.html.layout import Line, lay_out
from conformance.report.html.markup import Html, counted, folded, joined, tag, text
from conformance.report.html.offending import Marks, find

_LONGEST_READ = 64 * 1024
_LONGEST_SHOWN = 12_000
_LONGEST_LINE = 400
_BEFORE, _AFTER, _MOST_IN_SIGHT = 6, 6, 36
_SHORT = 24


@dataclass(frozen=True)
class Recorded:
    """A body as it was kept. ``text`` may be its beginning only; ``digest`` is empty where the whole is at hand."""

    text: str
    bytes: int
    is_cut: bool = False
    digest: str = ""


def recorded(message: Mapping[str, Any], excerpt: str = "") -> Recorded:
    """Return the body of a message of ``exchanges.jsonl``; the excerpt stands in for one that is kept as a digest."""
    body, size = message.get("body", ""), int(message.get("bytes", 0))
    if isinstance(body, Mapping) and "base64" in body:
        whole = base64.b64decode(str(body["base64"])).decode("utf-8", "backslashreplace")
        return Recorded(whole, size)
    if isinstance(body, Mapping):
        return Recorded(excerpt, size, is_cut=True, digest=str(body.get("sha256", "")))
    return Recorded(str(body), size)


def body_html(body: Recorded, place: str = "", found: str = "") -> tuple[Html, bool]:
    """Return the body as shown, and whether a part of it is marked."""
    if not body.text:
        return tag("p", "No body." if not body.bytes else _digest(body), class_="quiet"), False
    read = body.text[:_LONGEST_READ]
    is_cut = body.is_cut or len(read) < len(body.text)
    layout = lay_out(read, is_cut=is_cut, as_sent=place.startswith("byte "))
    marks = find(layout, read, place, found)
    lines, room = layout.lines, _LONGEST_SHOWN
    first, last = _in_sight(len(lines), marks)
    shown, room = _as_many(lines[first:last], room)
    last = first + shown
    after, room = _as_many(lines[last:], room)
    before, room = _as_many(reversed(lines[:first]), room)
    parts = [
        _fold(lines, marks, range(first - before, first), "before", first - before),
        _lines(lines, marks, range(first, last)),
        _fold(lines, marks, range(last, last + after), "after", len(lines) - last - after),
    ]
    if is_cut or after < len(lines) - last or before < first:
        parts.append(tag("p", _digest(body), class_="quiet"))
    return joined(parts), bool(marks)


def _in_sight(count: int, marks: Marks) -> tuple[int, int]:
    if count <= _SHORT:
        return 0, count
    if not marks:
        return 0, _SHORT - _BEFORE
    first = max(min(marks) - _BEFORE, 0)
    return first, min(max(marks) + _AFTER + 1, first + _MOST_IN_SIGHT, count)


def _as_many(lines: Iterable[Line], room: int) -> tuple[int, int]:
    """Return for how many of the lines there is room, and the room (in characters) that is left then."""
    count = 0
    for line in lines:
        size = min(len(line.text), _LONGEST_LINE) + 1
        if size > room:
            return count, 0
        room -= size
        count += 1
    return count, room


def _fold(lines: list[Line], marks: Marks, numbers: range, where: str, left_out: int) -> Html:
    if not numbers and not left_out:
        return Html()
    summary = f"{counted(len(numbers) + left_out, 'line')} {where}"
    note = [tag("p", f"{counted(left_out, 'line')} left out.", class_="quiet")] if left_out else []
    shown = [_lines(lines, marks, numbers)] if numbers else []
    return folded(summary, *(note + shown if where == "before" else shown + note))


def _lines(lines: list[Line], marks: Marks, numbers: range) -> Html:
    shown = [_line(lines[number].text, marks.get(number)) for number in numbers]
    return tag("pre", tag("code", Html("\n".join(shown))))


def _line(line: str, mark: tuple[int, int] | None) -> Html:
    begin, end = mark or (0, 0)
    begin, end = min(begin, len(line)), min(end, begin + _LONGEST_LINE // 2, len(line))
    first = max(0, begin - _LONGEST_LINE // 4) if len(line) > _LONGEST_LINE else 0
    last = min(len(line), first + _LONGEST_LINE)
    before = f"... {line[first:begin]}" if first else line[:begin]
    rest = len(line) - last
    after = line[end:last] + (f" ... ({rest:,} more characters)" if rest else "")
    return joined([before, tag("mark", text(line[begin:end]) or Html(" ")) if mark else Html(), after])


def _digest(body: Recorded) -> str:
    digest = body.digest or hashlib.sha256(body.text.encode("utf-8", "surrogatepass")).hexdigest()
    of = "of the body" if body.digest else "of what was recorded of it"
    return f"The body has {counted(body.bytes, 'byte')} and is not shown in full. SHA-256 {of}: {digest}"
