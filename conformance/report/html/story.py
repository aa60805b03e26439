"""Shows what happened before a finding: the steps of the state machine's story, and the calls of a race in time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.report.html.markup import Html, counted, cut, folded, joined, tag

_SCRIPT = re.compile(r"^script\b.*:$", re.MULTILINE)
_STEP = re.compile(r"\d+\. (?P<told>.*)(?:\n +answer: +(?P<answer>.*)\n +allowed: +(?P<allowed>.*))?")
_LONGEST = 12_000
_LONGEST_STEP = 600
_MOST_STEPS = 100
_MOST_CALLS = 60
_WIDTH = 1000


def story_html(story: str, *, is_told: bool = False) -> Html:
    """Return a story as its steps, with the script that repeats it folded; any other story as it is.

    ``is_told``: the timeline tells the same, so a drawing is folded.
    """
    if not story:
        return Html()
    script = _SCRIPT.search(story)
    told = story[: script.start()].rstrip("\n") if script else story
    steps = list(_steps(told))
    if not steps:
        # A drawing: its columns have to stay below each other.
        drawing = _verbatim(story, "drawing")
        return folded("The same as a drawing", drawing) if is_told else joined([tag("h4", "What happened"), drawing])
    left_out = len(steps) - _MOST_STEPS
    note = [tag("p", f"{counted(left_out, 'step')} before these: in report.json.")] if left_out > 0 else []
    first = max(left_out, 0) + 1
    parts = [tag("h4", "What happened"), *note, tag("ol", *steps[-_MOST_STEPS:], start=str(first), class_="story")]
    if script:
        parts.append(folded("A shell script that repeats it", _verbatim(story[script.end() :].strip("\n"), "command")))
    return joined(parts)


def timeline_html(calls: Sequence[Mapping[str, Any]], name: str) -> Html:
    """Return the calls of a race as a table with a bar for each, all on one scale; nothing where there are none.

    ``name`` tells the table from others of the page.
    """
    if not calls:
        return Html()
    ordered = sorted(calls, key=lambda call: float(call.get("began_ms") or 0))
    origin = float(ordered[0].get("began_ms") or 0)
    end = max(max(_instants(call)) for call in ordered) - origin or 1.0
    rows = [_call(number, call, origin, end) for number, call in enumerate(ordered[:_MOST_CALLS], 1)]
    heads = ("#", "Call, answer and time", "When")
    top = tag("tr", *(tag("th", head, scope="col") for head in heads))
    caption = f"{counted(len(calls), 'call')} in {end:.2f} ms, in the order in which they began"
    if len(calls) > _MOST_CALLS:
        caption += f"; the first {_MOST_CALLS} are shown"
    whole = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", *rows), class_="timeline")
    return joined(
        [tag("h4", "Timeline"), tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=name)]
    )


def _steps(told: str) -> Iterator[Html]:
    """Yield the steps, or nothing where the text does not consist of steps alone."""
    matches = list(_STEP.finditer(told))
    if "\n".join(match[0] for match in matches) != told:
        return
    for match in matches:
        answer = [
            tag("div", tag("dt", name), tag("dd", cut(match[name], _LONGEST_STEP)))
            for name in ("answer", "allowed")
            if match[name] is not None
        ]
        yield tag("li", tag("p", cut(match["told"], _LONGEST_STEP)), tag("dl", *answer) if answer else "")


def _verbatim(words: str, kind: str) -> Html:
    lines = Html("\n".join(joined([line]) for line in cut(words, _LONGEST).split("\n")))
    return tag("pre", tag("code", lines), class_=kind, tabindex="0" if kind == "drawing" else False)


def _instants(call: Mapping[str, Any]) -> tuple[float, float]:
    began = float(call.get("began_ms") or 0)
    ended = call.get("ended_ms")
    return began, began if ended is None else float(ended)


def _call(number: int, call: Mapping[str, Any], origin: float, whole: float) -> Html:
    began, ended = (instant - origin for instant in _instants(call))
    is_open = call.get("ended_ms") is None
    times = f"from {began:.3f} ms, not ended" if is_open else f"{began:.3f} to {ended:.3f} ms"
    left = began / whole * _WIDTH
    # The shortest call is still to be seen.
    width = max((whole if is_open else ended) / whole * _WIDTH - left, 4.0)
    bar = tag("rect", x=f"{min(left, _WIDTH - 4):.1f}", y="0", width=f"{width:.1f}", height="10")
    drawn = tag(
        "svg", bar, viewBox=f"0 0 {_WIDTH} 10", preserveAspectRatio="none", aria_hidden="true", focusable="false"
    )
    client = cut(call.get("client", ""), 40)
    what = [
        tag("span", f"{client}: {cut(call.get('label', ''), 200)}", class_="line"),
        tag("b", cut(call.get("outcome", ""), 200), class_="line"),
        tag("span", times, class_="line quiet"),
    ]
    return tag("tr", tag("th", str(number), scope="row"), tag("td", *what), tag("td", drawn, class_="when"))
