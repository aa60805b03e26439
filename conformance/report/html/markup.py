"""Builds HTML so that escaping cannot be forgotten: all text is escaped but that which is HTML by its type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Literal

from conformance.printable import printable

_EMPTY = frozenset({"br", "input", "meta", "rect"})
_LONGEST = 2000


class Html(str):
    """Markup. Made by the functions of this module alone."""

    __slots__ = ()


def tag(element: str, /, *children: str, **attributes: str | bool) -> Html:
    """Return an element. Children that are no ``Html`` are text: they are escaped, and control characters written out.

    Names of attributes lose an underscore at their end, and have a hyphen for any other; ``True`` stands for an
    attribute without a value, and ``False`` for none.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not False)
    if element in _EMPTY:
        return Html(f"<{element}{written}>")
    return Html(f"<{element}{written}>{joined(children)}</{element}>")


def joined(parts: Iterable[str]) -> Html:
    """Return parts one after the other, those that are text escaped."""
    return Html("".join(part if isinstance(part, Html) else text(part) for part in parts))


def text(words: str) -> Html:
    """Return text as HTML that shows it, with nothing in it that changes how the rest is shown."""
    return Html(escape(printable(words), quote=False))


def cut(words: object, longest: int = _LONGEST) -> str:
    """Return text of at most this many characters, and how many are left out."""
    whole = str(words)
    return whole if len(whole) <= longest else f"{whole[:longest]} ... ({len(whole) - longest:,} more characters)"


def code(words: object, longest: int = 500) -> Html:
    """Return text as code within a line, which may be broken where it has an underscore."""
    return tag("code", Html("_<wbr>".join(text(part) for part in cut(words, longest).split("_"))))


def prose(words: object, longest: int = _LONGEST) -> Html:
    """Return a text in which what stands between backticks is code."""
    parts = cut(words, longest).split("`")
    if len(parts) % 2 == 0:
        return text("`".join(parts))
    return joined(tag("code", part) if index % 2 else part for index, part in enumerate(parts))


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> Html:
    """Return a table; the first cell of a row is its head, and the columns ``numbers`` hold numbers."""
    right = frozenset(numbers)
    top = [
        tag("th", head, scope="col", class_="number" if index in right else False) for index, head in enumerate(heads)
    ]
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell, class_="number" if index in right else False) for index, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    whole = tag("table", tag("caption", caption), tag("thead", tag("tr", *top)), tag("tbody", *body))
    # What can be scrolled has to be reached with the keyboard too.
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def folded(summary: str, *children: str, is_open: bool = False) -> Html:
    """Return what is shown when its summary is chosen."""
    return tag("details", tag("summary", summary), *children, open=is_open)


def items(entries: Sequence[str], most: int = 300) -> Html:
    """Return a list of at most this many entries, and how many are left out."""
    rest = len(entries) - most
    more = [tag("li", f"and {rest:,} more, in report.json")] if rest > 0 else []
    return tag("ul", *(tag("li", entry) for entry in entries[:most]), *more)


def facts(pairs: Iterable[tuple[str, str]]) -> Html:
    """Return names and values; those without a value are left out."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value), class_="facts")


def counted(count: int, noun: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _attribute(name: str, value: str | Literal[True]) -> str:
    written = name.rstrip("_").replace("_", "-")
    return f" {written}" if value is True else f' {written}="{escape(printable(str(value)))}"'
