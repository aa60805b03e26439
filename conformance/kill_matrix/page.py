"""The page on which one sees at a glance what is not caught: one file, no script, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TypeAlias

from conformance.kill_matrix.summary import kills, lines, what_is_wrong
from conformance.kill_matrix.tables import SUMMARY, places, requirement_rows, sentence, summary_row
from conformance.kill_matrix.trials import Result
from conformance.reference.catalogue import faults

_Cell: TypeAlias = str | tuple[str, ...]
"""Text, or addresses to be shown as links."""

_STYLE = """
:root { color-scheme: light dark; --bad: #b3261e; --good: #1b7a3d; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; } caption { text-align: left; font-weight: 600; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); }
code { font-size: .92em; overflow-wrap: anywhere; } .scroll { overflow-x: auto; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #7fd69b; } }
"""


def page(results: Sequence[Result]) -> str:
    """Return a self-contained HTML page."""
    wrong = what_is_wrong(results)
    head = f'<p class="bad">{len(wrong)} of {len(results)} trials are not as they should be.</p>'
    if not wrong:
        head = f'<p class="good">All {len(results)} trials came out as they should.</p>'
    items = "".join(f'<li class="bad">{escape(sentence(each))}</li>' for each in wrong)
    body = (
        "<h1>Kill matrix</h1>",
        head,
        f"<ul>{items}</ul>" if items else "",
        _table("Summary", SUMMARY, [summary_row(line) for line in lines(results)]),
        _table("Faults killed, by requirement", ("requirement", "faults", *places(results)), requirement_rows(results)),
        _table(
            "What found each fault first, and how often",
            ("fault", "what a vendor did", "reported at", "found by"),
            _kills(results),
        ),
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Kill matrix</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _kills(results: Sequence[Result]) -> list[tuple[_Cell, ...]]:
    tried, matrix = {result.trial.name for result in results}, kills(results)
    rows: list[tuple[_Cell, ...]] = []
    for name, fault in faults().items():
        found = ", ".join(f"{requirement} ({times})" for requirement, times in sorted(matrix.get(name, {}).items()))
        if name in tried:
            rows.append((name, fault.summary, fault.reports, found or "not caught"))
    return rows


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[_Cell]]) -> str:
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(text: _Cell) -> str:
    if not isinstance(text, str):
        return f"<td>{'<br>'.join(_link(address) for address in text)}</td>"
    hits, slash, of = text.partition("/")
    is_rate = bool(slash) and hits.isdigit() and of.isdigit()
    state = (' class="number good"' if hits == of else ' class="number bad"') if is_rate else ""
    return f"<td{state or (' class=bad' if text == 'not caught' else '')}>{escape(text)}</td>"


def _link(address: str) -> str:
    shown = escape(address.removeprefix("https://github.com/"))
    # Only what a browser opens as a page becomes a link.
    is_page = address.startswith("https://")
    return f'<a href="{escape(address)}" rel="noreferrer">{shown}</a>' if is_page else shown
