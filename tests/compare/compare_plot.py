"""The comparison as a picture: SVG, written by hand, with one font and no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from compare_summary import Line

from conformance.kill_matrix.summary import Rate

_WIDTH: Final = 1010
_LEFT: Final = 300
_BAR_WIDTH: Final = 440
_BAR_STEP: Final = 44
_ROW: Final = 24
_OURS, _THEIRS, _ALARM = "#1b6e53", "#6f4fa0", "#b3261e"
_INK, _FAINT, _LINE = "#1f2328", "#59636e", "#d1d9e0"


def plot(lines: Sequence[Line], by_family: Mapping[str, Mapping[str, Rate]], subtitle: str) -> str:
    """Return the picture: above the faults caught by each tester, below the same by family."""
    bars_top = 104
    table_top = bars_top + _BAR_STEP * len(lines) + 62
    height = table_top + 34 + _ROW * len(by_family) + 24
    body = [
        _text(24, 34, "Faults caught, same servers, same machine, same run", size=19, weight=600),
        _text(24, 58, subtitle, colour=_FAINT),
        *_bars(lines, bars_top),
        _text(24, table_top - 18, "By family of faults: caught / tried", size=15, weight=600),
        *_table(lines, by_family, table_top),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="Faults caught by each tester" font-family="system-ui, Helvetica, Arial, sans-serif">'
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _bars(lines: Sequence[Line], top: int) -> list[str]:
    drawn = []
    bottom = top + _BAR_STEP * len(lines)
    for per_cent in (0, 25, 50, 75, 100):
        x = _LEFT + _BAR_WIDTH * per_cent / 100
        drawn.append(f'<line x1="{x:g}" y1="{top - 8}" x2="{x:g}" y2="{bottom - 6}" stroke="{_LINE}"/>')
        drawn.append(_text(x, top - 14, f"{per_cent} %", size=12, colour=_FAINT, anchor="middle"))
    alarms_at = _LEFT + _BAR_WIDTH + 112
    drawn.append(_text(alarms_at, top - 14, "false alarms", size=12, colour=_FAINT, anchor="start"))
    for number, line in enumerate(lines):
        y = top + _BAR_STEP * number
        low, high = line.caught.interval
        width = _BAR_WIDTH * line.caught.rate if line.caught.of else 0.0
        drawn += [
            _text(_LEFT - 12, y + 18, line.tester.label, anchor="end"),
            f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="26" rx="2" fill="{_colour(line)}"/>',
            _whisker(_LEFT + _BAR_WIDTH * low, _LEFT + _BAR_WIDTH * high, y + 13),
            _text(_LEFT + _BAR_WIDTH + 16, y + 18, f"{line.caught.hits} of {line.caught.of}", weight=600),
            _alarms(line, alarms_at, y + 18),
        ]
    return drawn


def _whisker(low: float, high: float, y: float) -> str:
    return (
        f'<line x1="{low:.1f}" y1="{y}" x2="{high:.1f}" y2="{y}" stroke="{_INK}" stroke-opacity="0.55" '
        f'stroke-width="1.5"/>'
    )


def _alarms(line: Line, x: float, y: float) -> str:
    raised = line.alarmed.hits or line.on_unbroken
    unbroken = f", {len(line.on_unbroken)} unbroken" if line.on_unbroken else ""
    text = f"{line.alarmed.hits} of {line.alarmed.of}{unbroken}" if raised else f"0 of {line.alarmed.of}"
    return _text(x, y, text, colour=_ALARM if raised else _INK)


def _table(lines: Sequence[Line], by_family: Mapping[str, Mapping[str, Rate]], top: int) -> list[str]:
    cell = (_WIDTH - _LEFT - 24) / max(1, len(lines))
    drawn = []
    for column, line in enumerate(lines):
        first, _, second = line.tester.label.replace(" + ", ", + ", 1).partition(", ")
        middle = _LEFT + cell * (column + 0.5)
        drawn.append(_text(middle, top + 2, first, size=12, colour=_FAINT, anchor="middle"))
        drawn.append(_text(middle, top + 17, second, size=12, colour=_FAINT, anchor="middle"))
    for row, (family, rates) in enumerate(by_family.items()):
        y = top + 26 + _ROW * row
        drawn.append(_text(_LEFT - 12, y + 16, family, size=13, anchor="end"))
        for column, line in enumerate(lines):
            rate = rates.get(line.tester.name, Rate(0, 0))
            share = rate.hits / rate.of if rate.of else 0.0
            x = _LEFT + cell * column
            colour = "#ffffff" if share > 0.6 else _INK
            drawn.append(
                f'<rect x="{x + 1:.1f}" y="{y}" width="{cell - 2:.1f}" height="{_ROW - 2}" fill="#f6f8fa"/>'
                f'<rect x="{x + 1:.1f}" y="{y}" width="{cell - 2:.1f}" height="{_ROW - 2}" fill="{_colour(line)}" '
                f'fill-opacity="{share:.2f}"/>'
            )
            drawn.append(
                _text(x + cell / 2, y + 16, f"{rate.hits} / {rate.of}", size=13, colour=colour, anchor="middle")
            )
    return drawn


def _colour(line: Line) -> str:
    return _OURS if line.tester.profile else _THEIRS


def _text(
    x: float, y: float, text: str, *, size: int = 14, weight: int = 400, colour: str = _INK, anchor: str = "start"
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
