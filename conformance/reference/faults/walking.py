"""Ways through a result of any of the three operations, for the faults that spoil it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

Result = dict[str, Any]

TEXTS = frozenset(
    ("title", "question", "statement", "uncertainty", "query", "excluded_terms", "rationale", "limitations")
)
TIMES = frozenset(("created_at", "expires_at"))


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value, outer ones first."""
    if isinstance(value, dict):
        yield value
        for item in list(value.values()):
            yield from objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from objects(item)


def rewrite(result: Result, names: AbstractSet[str], change: Callable[[str], str]) -> None:
    """Change the strings under those names, and the strings in lists under them, everywhere in the result."""
    for holder in objects(result):
        for name in names & holder.keys():
            value = holder[name]
            if isinstance(value, str):
                holder[name] = change(value)
            elif isinstance(value, list):
                holder[name] = [change(item) if isinstance(item, str) else item for item in value]


def messages(result: Result) -> list[dict[str, Any]]:
    """Return the messages of a conversation, or the one of a status."""
    if "messages" in result:
        return list(result["messages"])
    return [result["message"]] if result["message"] else []


def runs(result: Result) -> list[dict[str, Any]]:
    """Return the runs of a conversation, or the one of a status."""
    return list(result["runs"]) if "runs" in result else [result["run"]]


def answers(result: Result) -> list[dict[str, Any]]:
    """Return the answer objects."""
    return [message["answer"] for message in messages(result) if message["answer"]]
