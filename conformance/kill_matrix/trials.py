"""What is tried, and what can come of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from conformance.reference.catalogue import faults, variants
from conformance.reference.faults.family import Change, Fault
from conformance.reference.mcp.binding import McpBinding
from conformance.reference.presentation import Presenter
from conformance.reference.rest import RestBinding
from conformance.reference.validation import Validator
from conformance.requirements import Registry
from conformance.target import TRANSPORTS, TransportName

Kind: TypeAlias = Literal["plain", "fault", "variant"]
Outcome: TypeAlias = Literal["killed", "wrong reason", "survived", "void", "conforms", "false alarm", "error"]

BAD: frozenset[Outcome] = frozenset({"wrong reason", "survived", "void", "false alarm", "error"})
"""Outcomes that say that the suite, or the catalogue, has to be mended."""


@dataclass(frozen=True)
class Trial:
    """One server and one way to test it. ``natural`` is the order in which a user's run takes the cases.

    Otherwise the cases of what the fault breaks come first, which finds it sooner and with the same verdict.
    """

    kind: Kind
    name: str
    transport: TransportName
    profile: str
    seed: int
    natural: bool = False


@dataclass(frozen=True)
class Result:
    """What came of a trial.

    ``requirement`` and ``case`` are those of the first finding that counts, ``seconds`` and ``exchanges`` what it took
    to get there from the first case on; ``others`` are requirements that failed although the fault does not break them.
    """

    trial: Trial
    outcome: Outcome
    requirement: str = ""
    case: str = ""
    seconds: float = 0.0
    exchanges: int = 0
    others: tuple[str, ...] = ()
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "trial"}
        return {**vars(self.trial), **values, "others": list(self.others)}


def read_result(values: Mapping[str, Any]) -> Result:
    """Read what ``Result.to_json`` wrote."""
    of_trial = {name: values[name] for name in Trial.__dataclass_fields__}
    of_result = {name: values[name] for name in Result.__dataclass_fields__ if name != "trial"}
    return Result(Trial(**of_trial), **{**of_result, "others": tuple(values["others"])})


def transports_of(change: Change, registry: Registry) -> tuple[TransportName, ...]:
    """Return the transports over which a change shows: those of the part that it takes the place of.

    A fault shows only where some requirement that it breaks applies.
    """
    shows: set[TransportName] = set(TRANSPORTS)
    for part in change.parts:
        # Over MCP the SDK reads and writes the bytes, and not these parts.
        reads_bytes = issubclass(part, Validator) and part.decode is not Validator.decode
        writes_bytes = issubclass(part, Presenter) and part.encode is not Presenter.encode
        if issubclass(part, RestBinding) or reads_bytes or writes_bytes:
            shows &= {"rest"}
        elif issubclass(part, McpBinding):
            shows &= {"mcp-http", "mcp-stdio"}
    if isinstance(change, Fault):
        shows &= {name for each in change.breaks for name in registry.by_id[each].transports}
        shows &= set(change.over) or shows
    return tuple(name for name in TRANSPORTS if name in shows)


def plan(
    registry: Registry,
    *,
    names: Iterable[str] = (),
    transports: Iterable[TransportName] = TRANSPORTS,
    profiles: Iterable[str] = ("quick",),
    seeds: Iterable[int] = (1,),
    natural: bool = False,
) -> Iterator[Trial]:
    """Yield a trial for each fault and variant (all of them, or those named) and for the plain server."""
    wanted, transports, profiles, seeds = set(names), tuple(transports), tuple(profiles), tuple(seeds)
    changes: list[tuple[Kind, str, tuple[TransportName, ...]]] = [("plain", "", TRANSPORTS)]
    changes += [("fault", name, transports_of(fault, registry)) for name, fault in faults().items()]
    changes += [("variant", name, transports_of(variant, registry)) for name, variant in variants().items()]
    for kind, name, shows in changes:
        if wanted and name not in wanted:
            continue
        for transport in transports:
            for profile in profiles if transport in shows else ():
                for seed in seeds:
                    yield Trial(kind, name, transport, profile, seed, natural and kind == "fault")
