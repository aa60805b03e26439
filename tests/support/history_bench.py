"""How long the linearizability check takes: for the bench."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping

from made_histories import FIRST, History, legal_history

from conformance.judge.history import is_linearizable
from conformance.judge.history_model import ConversationSpecification

CLIENTS = 8
CALLS = 5


def measure_history(sizes: tuple[int, ...] = (200, 2000), repeats: int = 5) -> Mapping[str, float]:
    """Return the median seconds of checking histories of these many calls.

    ``split N`` is N calls on conversations of 40 calls each, as races make them; ``single N`` is N calls of eight
    clients on one conversation.
    """
    measured = {}
    for size in sizes:
        measured[f"split {size}"] = _seconds(_split(size), repeats)
        measured[f"single {size}"] = _seconds([_single(size)], repeats)
    return measured


def _seconds(histories: list[History], repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        for each in histories:
            if not is_linearizable(each, ConversationSpecification(FIRST)):
                raise AssertionError("a legal history was refused")
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _split(size: int) -> list[History]:
    rng = random.Random(1)  # noqa: S311 - test data
    return [legal_history(rng, CLIENTS, CALLS, beside=False) for _ in range(size // (CLIENTS * CALLS))]


def _single(size: int) -> History:
    rng = random.Random(2)  # noqa: S311 - test data
    return legal_history(rng, CLIENTS, size // CLIENTS, beside=False, lost=0.0)


if __name__ == "__main__":
    for name, seconds in measure_history().items():
        print(f"{name:<12} {seconds * 1000:8.1f} ms")  # noqa: T201 - this is a command
