"""Tells the history of a race: drawn in plain text, and as calls with their instants."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.judge.finding import TimedCall
from conformance.judge.history import Event
from conformance.judge.history_model import Action, Answer, Archive, Deadline, Read, Result, View


def timed_calls(events: Sequence[Event[Action]]) -> tuple[TimedCall, ...]:
    """Return a history as calls with their instants, in the order in which they began."""
    ordered = sorted(events, key=lambda event: event.called)
    origin = ordered[0].called if ordered else 0
    calls = []
    for event in ordered:
        label, _, outcome = describe(event.action).partition(": ")
        ended = None if event.returned is None else (event.returned - origin) / 1e6
        calls.append(TimedCall(event.client, label, outcome, (event.called - origin) / 1e6, ended))
    return tuple(calls)


def timeline(events: Sequence[Event[Action]]) -> str:
    """Draw a history in plain text: a line per client with its calls as numbered bars, then what each call was.

    Each begin and end has a column of its own in order of time, so that the order can be read even where instants are
    microseconds apart; the instants are in the list. A bar that ends in ``...`` is a call that did not return, or of
    which the answer does not matter.
    """
    ordered = sorted(events, key=lambda event: event.called)
    instants = sorted(
        [(event.called, 0, number) for number, event in enumerate(ordered, 1)]
        + [(event.returned, 1, number) for number, event in enumerate(ordered, 1) if event.returned is not None]
    )
    step = max(3, len(str(len(ordered))) + 2)
    column = {(number, kind): index * step for index, (_, kind, number) in enumerate(instants)}
    width = len(instants) * step
    clients = list(dict.fromkeys(event.client for event in ordered))
    margin = max(map(len, clients), default=0) + 2
    lines = []
    for client in clients:
        line = [" "] * (width + 3)
        for number, event in enumerate(ordered, 1):
            if event.client == client:
                start, end = column[number, 0], column.get((number, 1), width)
                bar = f"{number}[".ljust(end - start, "=") + ("]" if event.returned is not None else "...")
                line[start : start + len(bar)] = bar
        lines.append(f"{client:<{margin}}{''.join(line)}".rstrip())
    origin = ordered[0].called if ordered else 0
    lines += [
        f"{number:>3}  {_span(event, origin)}  {describe(event.action)}" for number, event in enumerate(ordered, 1)
    ]
    return "\n".join(lines)


def _span(event: Event[Action], origin: int) -> str:
    begin = f"{(event.called - origin) / 1e6:.3f}"
    end = "..." if event.returned is None else f"{(event.returned - origin) / 1e6:.3f}"
    return f"{begin:>7} to {end:>7} ms"


def describe(action: Action) -> str:
    """Return the action and its answer in one line."""
    match action:
        case Archive(key, expected, answer, said):
            return f"archive under {key[:8]}, expecting revision {expected}: {_answered(answer, said)}"
        case Read(answer, said):
            kind = "status" if isinstance(answer, View) and answer.archived is None else "get"
            return f"{kind}: {_answered(answer, said)}"
        case Result(run):
            return f"the worker delivers a result for run {run[:8]}"
        case Deadline():
            return "the clock passes expires_at"


def _answered(answer: Answer, said: str) -> str:
    if not isinstance(answer, View):
        return said or answer
    words = [said] if said else []
    if answer.availability is not None:
        words.append(answer.availability)
    if answer.archived is not None and answer.archived != (answer.availability == "archived"):
        words.append(f"archived {str(answer.archived).lower()}")
    words += [f"revision {answer.revision}", f"{len(answer.texts) or 'no'} text{'' if len(answer.texts) == 1 else 's'}"]
    runs = sorted(status for _, status in answer.runs)
    return ", ".join(words) + (f", runs {' '.join(runs)}" if runs else "")
