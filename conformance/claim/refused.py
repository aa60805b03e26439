"""The error of a claim, or of a folder, that cannot be accepted for what it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from conformance.errors import ConformanceError


@dataclass
class ClaimRefused(ConformanceError):
    """Something was tampered with, cut or left out; ``sentence`` names it."""

    sentence: str

    def __str__(self) -> str:
        return self.sentence


def few(sentences: Iterable[str], most: int = 3) -> Iterator[str]:
    """Yield the first sentences, and one for all further ones: a single cut can shift thousands of lines."""
    rest = iter(sentences)
    yield from islice(rest, most)
    further = sum(1 for _ in rest)
    if further:
        yield f"The same is so in {further} further {'place' if further == 1 else 'places'}."
