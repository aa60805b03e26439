"""An exchange as text: without what differs from run to run, and a long body cut to what a finding is about."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from conformance.requirement_pages.example import Line

_SHOWN_HEADERS: Final = (
    "authorization", "content-type", "allow", "retry-after", "mcp-protocol-version", "mcp-method", "mcp-name",
    "content-encoding", "www-authenticate",
)  # fmt: skip
_LONGEST: Final = 900
_LONGEST_TEXT: Final = 60
_WIDEST: Final = 110
_CLOSED_OBJECT: Final = re.compile(r'\{\s*"\.\.\.": "\.\.\."\s*\}')
_CLOSED_LIST: Final = re.compile(r'\[\s*"\.\.\."\s*\]')
_CHANGING: Final = (
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:8000"),
    (re.compile(r"(?i)(mcp-session-id: )\S+"), r"\1(a session)"),
    (re.compile(r"\$[A-Z_]*TOKEN(?:_[0-9]+)?"), "$SOSOAPI_TOKEN"),
    (re.compile(r"(/\S+)?/pages-\w+/\d+\.sqlite"), "state.db"),
)


def request_text(line: Line) -> str:
    """Return the request of an exchange."""
    request = line["request"]
    if request["method"] in ("STDIO", "STDERR"):
        return settled(f"(standard input of a child)\n\n{_body(request, '')}")
    first = f"{request['method']} {urlsplit(request['target']).path}"
    return settled("\n".join([first, *_headers(request["headers"]), "", _body(request, "")]).rstrip())


def answer_text(line: Line, place: str) -> str:
    """Return the answer of an exchange, or why there is none; ``place`` is where in its body a finding is."""
    answer = line["answer"]
    if answer is None:
        return settled(f"(no answer: {line['failure']})")
    if line["request"]["method"] in ("STDIO", "STDERR"):
        return settled(f"({'standard error' if line['request']['method'] == 'STDERR' else 'standard output'} of the "
                       f"child)\n\n{_body(answer, place)}")  # fmt: skip
    first = f"{answer['status']} {answer['reason']}".strip()
    return settled("\n".join([first, *_headers(answer["headers"]), "", _body(answer, place)]).rstrip())


def settled(text: str) -> str:
    """Return text with made-up values in place of those that differ from run to run."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text


def _headers(headers: Sequence[Sequence[str]]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers if name.lower() in _SHOWN_HEADERS]


def _body(side: Mapping[str, Any], place: str) -> str:
    body = side["body"]
    if not isinstance(body, str):
        kind, value = next(iter(body.items()))
        return f"({side['bytes']} bytes; {kind}: {value[:_LONGEST_TEXT]})"
    if not body:
        return "(no body)"
    if body.lstrip().startswith(("event:", "data:", ":")) and "data: " in body:
        # Of a stream of events what the last one says is shown.
        body = body[body.rindex("data: ") + len("data: ") :].strip()
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return _clipped(_visible(body), _LONGEST)
    if len(body) <= _LONGEST and not _has_repeated_name(body):
        return _dumped(value)
    if _has_repeated_name(body):
        return _clipped(_visible(body), _LONGEST)
    steps = tuple(place.removeprefix("/").split("/")) if place.startswith("/") else ()
    return _dumped(_outline(value, steps))


def _outline(value: Any, steps: tuple[str, ...]) -> Any:
    """Return a value of which only the way of ``steps`` is open; what is beside it is shown as an ellipsis."""
    if isinstance(value, dict):
        return {
            name: _outline(member, steps[1:])
            if steps and name == steps[0]
            else _closed(member, depth=0 if steps else 1)
            for name, member in value.items()
        }
    if isinstance(value, list):
        index = int(steps[0]) if steps and steps[0].isdigit() else 0
        if not value:
            return value
        index = min(index, len(value) - 1)
        shown = [_outline(value[index], steps[1:])]
        return [*(["..."] if index else []), *shown, *(["..."] if index < len(value) - 1 else [])]
    return _closed(value, depth=0)


def _closed(value: Any, depth: int) -> Any:
    if isinstance(value, dict) and value:
        return {name: _closed(each, depth - 1) for name, each in value.items()} if depth > 0 else {"...": "..."}
    if isinstance(value, list) and value:
        return [_closed(value[0], depth - 1), *(["..."] if len(value) > 1 else [])] if depth > 0 else ["..."]
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "..."
    return value


def _dumped(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    if len(text) > _WIDEST:
        text = json.dumps(value, ensure_ascii=True, indent=1)
    return _CLOSED_LIST.sub("[...]", _CLOSED_OBJECT.sub("{...}", text)).replace('"..."', "...")


def _has_repeated_name(body: str) -> bool:
    found = False

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        found = found or len({name for name, _ in pairs}) < len(pairs)
        return dict(pairs)

    json.loads(body, object_pairs_hook=look)
    return found


def _visible(text: str) -> str:
    """Return text in ASCII, with line breaks as they are."""
    return "".join(each if each == "\n" or " " <= each <= "~" else ascii(each)[1:-1] for each in text)


def _clipped(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} ... ({len(text)} characters)"
