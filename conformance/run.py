"""The facts of one run, as every report states them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from conformance.target import Implementation, Tier, Waiver

Basis: TypeAlias = Literal["schema", "documented", "derived"]
RequiredLevel: TypeAlias = Literal["", "schema", "behaviour", "full"]
FindingKey: TypeAlias = tuple[str, str, str]
"""What makes two findings one fault of the target: requirement, operation and sentence."""


@dataclass(frozen=True)
class Shard:
    """One part of a run that is shared out: ``number`` counts from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True)
class Gate:
    """What a pipeline asks of a run beside its verdict.

    ``required`` is the lowest level that will do; ``fail_on`` the weakest basis whose breaches count; ``baseline``
    holds the faults that are known already, and is ``None`` where none was given.
    """

    required: RequiredLevel = ""
    fail_on: Basis = "derived"
    baseline: tuple[FindingKey, ...] | None = None


@dataclass(frozen=True)
class RunFacts:
    """What was tested, with what, and how.

    ``offered`` are all transports over which the target says it can be reached; ``started_at`` is UTC as RFC 3339.
    """

    suite_version: str
    contract: str
    contract_version: str
    requirement_set: str
    address: str
    implementation: Implementation
    embedded: bool
    transport: str
    mcp_revision: str
    tier: Tier
    capabilities: tuple[str, ...]
    seed: int
    profile: str
    waivers: tuple[Waiver, ...] = ()
    duration: float = 0.0
    unexecuted: int = 0
    """Cases that were deselected, or selected and then not executed; those of other shards are among them."""
    elsewhere: int = 0
    """Cases of other shards."""
    started_at: str = ""
    offered: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    """The transports of the runs that were put together; empty for a single run."""
    shard: Shard | None = None
    present: tuple[int, ...] = ()
    """The shards that were put together."""
    at_most: Literal["none", "schema", "behaviour", "full"] = "full"
    """What can be claimed at most: the least that one of the transports came to, where several were put together."""
    problems: tuple[str, ...] = ()
    """Sentences that fail the run beside what it found."""
    gate: Gate = Gate()

    @property
    def transports(self) -> tuple[str, ...]:
        """The transports over which the target was tested."""
        return self.merged or (self.transport,)

    def to_json(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers."""
        waivers = [{**asdict(waiver), "until": waiver.until.isoformat()} for waiver in self.waivers]
        return {**asdict(self), "waivers": waivers}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RunFacts:
        """Read what ``to_json`` wrote."""
        known = dict(values)
        known["implementation"] = Implementation(**known["implementation"])
        for name in ("capabilities", "offered", "merged", "present", "problems"):
            known[name] = tuple(known[name])
        known["waivers"] = tuple(
            Waiver(**{**each, "until": datetime.date.fromisoformat(each["until"])}) for each in known["waivers"]
        )
        known["duration"] = float(known["duration"])
        known["shard"] = Shard(**known["shard"]) if known["shard"] else None
        gate = known["gate"]
        baseline = None if gate["baseline"] is None else tuple((a, b, c) for a, b, c in gate["baseline"])
        known["gate"] = Gate(gate["required"], gate["fail_on"], baseline)
        return cls(**known)
