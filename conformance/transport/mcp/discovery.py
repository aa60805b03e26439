"""Lists the tools of a server: every page, as it was sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from conformance.judge.decode import decode
from conformance.transport.mcp.channel import Received

_MOST_PAGES: Final = 100
_MOST_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as it is listed: the JSON text of its entry, and its name where that is a string."""

    name: str | None
    raw: bytes

    def decoded(self) -> Any:
        """Return the entry's value.

        Raises:
            DecodeFault: it is not strict JSON.
        """
        return decode(self.raw)


@dataclass(frozen=True, slots=True)
class ToolPage:
    """One page: what came, and the tools in it."""

    received: Received
    tools: tuple[ListedTool, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """All pages of a listing. ``problem`` says why it is not a whole one, and is empty when it is."""

    pages: tuple[ToolPage, ...]
    problem: str

    @property
    def tools(self) -> tuple[ListedTool, ...]:
        """The tools of all pages, in their order, twice where they are listed twice."""
        return tuple(tool for page in self.pages for tool in page.tools)

    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of the tools, in their order."""
        return tuple(tool.name for tool in self.tools)


def read_listing(ask: Callable[[bytes | None], Received]) -> Listing:
    """Follow the cursors from page to page; ``ask`` sends ``tools/list`` with these parameters.

    A list that has not ended after 100 pages, or 16 MB, is none.
    """
    size = 0
    pages: list[ToolPage] = []
    cursors: set[bytes] = set()
    params: bytes | None = None
    while len(pages) < _MOST_PAGES:
        page, problem = _page(ask(params))
        pages.append(page)
        size += len(page.received.answer.raw) if page.received.answer is not None else 0
        if problem:
            return Listing(tuple(pages), problem)
        frame = page.received.answer
        cursor = frame.text("result", "nextCursor") if frame is not None else None
        if cursor is None:
            return Listing(tuple(pages), "")
        if not cursor.startswith(b'"'):
            return Listing(tuple(pages), "nextCursor is not a string")
        if cursor in cursors:
            return Listing(tuple(pages), f"the cursor of page {len(pages)} has been given before")
        if size > _MOST_BYTES:
            return Listing(tuple(pages), f"the list has not ended after {_MOST_BYTES} bytes")
        cursors.add(cursor)
        params = b'{"cursor":' + cursor + b"}"
    return Listing(tuple(pages), f"the list has not ended after {_MOST_PAGES} pages")


def _page(received: Received) -> tuple[ToolPage, str]:
    frame = received.answer
    if frame is None:
        failure, response = received.exchange.failure, received.exchange.response
        reason = failure.message if failure is not None else f"HTTP {response.status}" if response is not None else ""
        return ToolPage(received, ()), f"tools/list has no answer ({reason})"
    entries = frame.elements("result", "tools")
    if entries is None:
        reason = (frame.text("error") or b"a result without a list of tools").decode("utf-8", "replace")[:200]
        return ToolPage(received, ()), f"tools/list was answered with {reason}"
    return ToolPage(received, tuple(ListedTool(_name(entry), entry) for entry in entries)), ""


def _name(entry: bytes) -> str | None:
    try:
        value = json.loads(entry)
    except (ValueError, RecursionError):
        return None
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None
