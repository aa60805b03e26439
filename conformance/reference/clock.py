"""A clock per workspace: real time, or an instant at which it stands until it is moved on."""

from __future__ import annotations

import time

from conformance.reference.instants import Instant, format_instant, parse_instant
from conformance.reference.store import Store


class ClockWouldGoBackError(Exception):
    """A standing clock was told an earlier instant than its own."""


class Clock:
    """The clocks of all workspaces. Standing clocks are stored, so they survive a restart."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def now(self, workspace_id: str) -> Instant:
        """Return the instant that it is for that workspace; real time to the millisecond."""
        standing = self._store.clock(workspace_id.lower())
        return Instant.from_nanoseconds(time.time_ns()) if standing is None else parse_instant(standing)

    def stand_still(self, workspace_id: str, instant: Instant) -> None:
        """Stop the workspace's clock at that instant.

        Raises:
            ClockWouldGoBackError: it stands at a later one.
        """
        standing = self._store.clock(workspace_id.lower())
        if standing is not None and instant < parse_instant(standing):
            raise ClockWouldGoBackError
        self._store.set_clock(workspace_id.lower(), format_instant(instant))

    def run(self, workspace_id: str) -> None:
        """Return the workspace to real time."""
        self._store.set_clock(workspace_id.lower(), None)
