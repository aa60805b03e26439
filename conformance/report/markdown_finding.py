"""One finding in Markdown: what is wrong, where, the request that shows it, and what came before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.report.markdown_text import clipped, code, fenced, folded, prose

_LONGEST_COMMAND: Final = 3000
_LONGEST_BODY: Final = 400
_LONGEST_STORY: Final = 3000
_MOST_SPANS: Final = 30
_ACCEPTED: Final = {
    "warning": "a warning: it does not decide the verdict",
    "known": "known: it is in the baseline",
    "waived": "waived",
}


def finding_lines(finding: Mapping[str, Any], requirement: Mapping[str, Any], *, with_story: bool = True) -> list[str]:
    """Return a finding with ``number`` and ``outcome`` as lines; ``requirement`` may lack any key, and be empty."""
    where = f" on {code(str(finding['operation']))}" if finding.get("operation") else ""
    stands = [str(requirement[key]) for key in ("level", "basis") if requirement.get(key)]
    stands += [_ACCEPTED[each] for each in [str(finding["outcome"])] if each in _ACCEPTED]
    lines = [f"#### {int(finding['number'])}. {code(str(finding['requirement']))}{where}", ""]
    if requirement.get("statement"):
        lines += [f"> Required: {prose(str(requirement['statement']))}", ""]
    lines += [f"**Found:** {prose(str(finding['summary']))}" + (f" ({prose(', '.join(stands))})" if stands else ""), ""]
    lines += [f"- {key}: {code(str(finding[key]))}" for key in ("place", "expected", "found") if finding.get(key)]
    cases = finding.get("cases") or ()
    if cases:
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        lines.append(f"- case: {code(str(cases[0]))}{more}")
    before = [*_timeline(finding), *_story(finding)] if with_story else []
    return [*lines, "", *_exchange(finding), *before]


def _exchange(finding: Mapping[str, Any]) -> list[str]:
    """Return the decisive exchange, which is the last."""
    exchanges = finding.get("exchanges") or ()
    if not exchanges:
        return []
    exchange = exchanges[-1]
    identifier = str(exchange.get("id") or "")
    named = f" (exchange {code(identifier)})" if identifier else ""
    command = str(exchange["curl"])
    if len(command) > _LONGEST_COMMAND:
        sent = [f"The command that repeats it has {len(command)} characters and is in `report.json`{named}."]
    else:
        sent = [f"Sent as {prose(str(exchange.get('principal', '')), 100) or 'nobody'}{named}:", ""]
        sent += fenced(command, "sh", _LONGEST_COMMAND)
    return [*sent, "", *_answer(exchange), ""]


def _answer(exchange: Mapping[str, Any]) -> list[str]:
    answer = exchange.get("answer")
    if not isinstance(answer, Mapping):
        return [f"No usable answer: {prose(str(exchange.get('failure') or 'none came'), 400)}"]
    status = f"{answer['status']} {answer['reason']} {answer['content_type']}".strip()
    body = str(answer["body"])
    if not body:
        return [f"Answer: {code(status, 200)} without a body"]
    return [f"Answer: {code(status, 200)}, {int(answer['bytes'])} bytes", "", *fenced(body, "text", _LONGEST_BODY)]


def _ended(call: Mapping[str, Any]) -> str:
    ended = call["ended_ms"]
    return f"{'...':>10}" if ended is None else f"{float(ended):10.2f}"


def _timeline(finding: Mapping[str, Any]) -> list[str]:
    spans = finding.get("timeline") or ()
    shown = [
        f"{float(each['began_ms']):10.2f} ms - {_ended(each)} ms  {each['client']}  "
        f"{clipped(str(each['label']), 80)}: {clipped(str(each['outcome']), 80)}"
        for each in spans[:_MOST_SPANS]
    ]
    if len(spans) > _MOST_SPANS:
        shown.append(f"and {len(spans) - _MOST_SPANS} more")
    # A line break within a label would look like another call.
    lines = fenced("\n".join(line.replace("\n", "\\n") for line in shown))
    return folded(f"Timeline: {len(spans)} calls", lines if shown else [])


def _story(finding: Mapping[str, Any]) -> list[str]:
    story = str(finding.get("story") or "")
    return folded("What happened before", fenced(story, "text", _LONGEST_STORY) if story else [])
