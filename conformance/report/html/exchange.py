"""Shows an exchange: request and answer side by side with the offending part marked, and the curl line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.report.html.evidence import Recorded, body_html, recorded
from conformance.report.html.markup import Html, code, counted, cut, folded, joined, tag

_LONGEST_CURL = 9000
_LONGEST_EARLIER = 1000
_LONGEST_VALUE = 300
_MOST_HEADERS = 40
_STATUS_LINE = "\0status"


def exchange_html(exchange: Mapping[str, Any], line: Mapping[str, Any] | None, finding: Mapping[str, Any]) -> Html:
    """Return the decisive exchange of a finding; ``line`` is its line in ``exchanges.jsonl``, where it has one."""
    place, found = str(finding.get("place", "")), str(finding.get("found", ""))
    sides = [_request(exchange, line), _answer(exchange, line, place, found)]
    return joined([tag("div", *sides, class_="sides"), _curl(exchange, has_line=line is not None)])


def earlier_html(exchanges: Sequence[Mapping[str, Any]], most: int) -> Html:
    """Return the exchanges before the decisive one in brief, the latest of them at the end; nothing for none."""
    if not exchanges:
        return Html()
    left_out = len(exchanges) - most
    note = [tag("p", f"{counted(left_out, 'earlier one')}: in report.json.", class_="quiet")] if left_out > 0 else []
    entries = [tag("li", _brief(exchange)) for exchange in exchanges[-most:]]
    return folded(f"{counted(len(exchanges), 'exchange')} before it", *note, tag("ol", *entries, class_="earlier"))


def _request(exchange: Mapping[str, Any], line: Mapping[str, Any] | None) -> Html:
    principal = str(exchange.get("principal") or "")
    title = tag("h4", "Request", tag("small", cut(f" as {principal}", 100)) if principal else "")
    if line is None:
        return tag("section", title, tag("p", "As in the command below.", class_="quiet"))
    request = line.get("request") or {}
    first = f"{request.get('method', '')} {request.get('target', '')}"
    head = _head(first, request.get("headers") or (), "")
    body, _ = body_html(recorded(request))
    return tag("section", title, head, body)


def _answer(exchange: Mapping[str, Any], line: Mapping[str, Any] | None, place: str, found: str) -> Html:
    excerpt = exchange.get("answer")
    answer = line.get("answer") if line else excerpt
    if not isinstance(answer, Mapping):
        failure = (line or {}).get("failure") or exchange.get("failure") or "none came"
        return tag("section", tag("h4", "Answer"), tag("p", tag("mark", f"No usable answer: {cut(failure)}")))
    beginning = str(excerpt.get("body", "")) if isinstance(excerpt, Mapping) else ""
    if line:
        body = recorded(answer, beginning)
        headers: Sequence[Sequence[str]] = answer.get("headers") or ()
    else:
        size = int(answer.get("bytes", 0))
        body = Recorded(beginning, size, is_cut=len(beginning.encode("utf-8", "surrogatepass")) < size)
        headers = [("Content-Type", answer["content_type"])] if answer.get("content_type") else []
    status = f"{answer.get('status', '')} {answer.get('reason', '')}".strip()
    shown, is_marked = body_html(body, place, found)
    in_head = "" if is_marked else _place_in_head(place, found, status)
    seconds = (line or {}).get("elapsed")
    took = "" if seconds is None else f", {float(seconds) * 1000:.1f} ms"
    title = tag("h4", "Answer", tag("small", f" {counted(body.bytes, 'byte')}{took}"))
    return tag("section", title, _head(status, headers, in_head), shown)


def _place_in_head(place: str, found: str, status: str) -> str:
    """Return the name of the header that the finding is about, or that of the status line, or nothing."""
    if place == "reason phrase" or (found[:3].isdigit() and status.startswith(found[:3]) and not place.startswith("/")):
        return _STATUS_LINE
    return place.removeprefix("header ").lower()


def _head(first: str, headers: Sequence[Sequence[str]], marked: str) -> Html:
    lines = [_marked(cut(first), marked == _STATUS_LINE)]
    lines += [
        _marked(f"{cut(name, 100)}: {cut(value, _LONGEST_VALUE)}", str(name).lower() == marked)
        for name, value in headers[:_MOST_HEADERS]
    ]
    if len(headers) > _MOST_HEADERS:
        lines.append(tag("i", f"and {len(headers) - _MOST_HEADERS} more headers"))
    return tag("pre", tag("code", Html("\n".join(lines))), class_="head")


def _marked(line: str, is_marked: bool) -> Html:  # noqa: FBT001 - one caller, a line above
    return tag("mark", line) if is_marked else joined([line])


def _curl(exchange: Mapping[str, Any], *, has_line: bool) -> Html:
    command = str(exchange.get("curl") or "")
    if not command:
        return Html()
    number = str(exchange.get("id") or "")
    named = tag("small", " exchange ", code(number, 80), " of exchanges.jsonl") if number and has_line else ""
    lines = Html("\n".join(joined([line]) for line in cut(command, _LONGEST_CURL).split("\n")))
    return joined([tag("h4", "As a command", named), tag("pre", tag("code", lines), class_="command")])


def _brief(exchange: Mapping[str, Any]) -> Html:
    answer = exchange.get("answer")
    if isinstance(answer, Mapping):
        size = counted(int(answer.get("bytes", 0)), "byte")
        came = f"{answer.get('status', '')} {answer.get('reason', '')}, {size}: {cut(answer.get('body', ''), 300)}"
    else:
        came = f"no usable answer: {exchange.get('failure') or 'none came'}"
    return joined([
        tag("pre", tag("code", cut(exchange.get("curl", ""), _LONGEST_EARLIER)), class_="command"),
        tag("p", cut(came)),
    ])  # fmt: skip
