"""What a page shows of a requirement beyond the registry: a fault that breaks it, and an exchange of either kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Line = Mapping[str, Any]
"""A line of ``exchanges.jsonl``."""


@dataclass(frozen=True)
class Example:
    """One case, run against a server with a fault and against one without.

    ``reported_as`` is the requirement under which the breach is reported: another one where a server error is all that
    the fault shows.

    ``case`` is the test id, and ``summary``, ``place``, ``expected`` and ``found`` are those of the finding. ``wrong``
    is the exchange that shows it, ``right`` the same one of the server without faults; ``right`` is ``None`` where that
    one had fewer, and ``wrong`` where the finding is about no exchange.
    """

    requirement: str
    reported_as: str
    fault: str
    fault_summary: str
    transport: str
    case: str
    summary: str
    place: str
    expected: str
    found: str
    wrong: Line | None
    right: Line | None
