"""Notes what a running case sees beside its findings: choices the contract leaves open, schema points exercised."""

from __future__ import annotations

from collections.abc import Iterable


class Recorder:
    """The notes of the case that is running now; one per process, emptied before each case."""

    def __init__(self) -> None:
        self.freedoms: list[tuple[str, str]] = []
        self.coverage: dict[str, set[str]] = {}

    def clear(self) -> None:
        """Forget the last case."""
        self.freedoms = []
        self.coverage = {}

    def freedom(self, identifier: str, choice: str) -> None:
        """Note which choice the target took at a point that the contract leaves open."""
        self.freedoms.append((identifier, choice))

    def covered(self, operation: str, points: Iterable[str]) -> None:
        """Note points of the operation's output schema that a result has exercised."""
        self.coverage.setdefault(operation, set()).update(points)
