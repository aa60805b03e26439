"""The facts of one run, as every report states them."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.target import Implementation, Tier, Waiver


@dataclass(frozen=True)
class RunFacts:
    """What was tested, with what, and how."""

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
    """Cases that were deselected, or selected and then not executed."""
