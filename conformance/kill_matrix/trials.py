"""What is tried, and what can come of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, product
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


TOGETHER = (
    ("withheld-as-empty-list", "withdrawn-for-good", "conflict-412", "upper-case-uuids-refused"),
    ("revision-grows-by-three", "second-archive-conflicts", "copy-in-progress-conflicts", "integers-as-floats"),
    ("result-keeps-revision", "withheld-archive-conflicts", "unknown-403", "never-a-reason"),
    ("archived-title-null", "refused-attempt-binds-its-key", "copy-told-to-wait"),
    ("withheld-title-null", "expiry-raises-revision", "offset-instead-of-z"),
    (
        "finished-runs-unavailable-when-withheld",
        "times-cut-to-milliseconds",
        "invalid-422",
        "float-integers-refused",
    ),
    ("finished-runs-expire-too", "content-type-ignored", "lengths-in-utf-16-units"),
    ("expired-before-archived", "expired-archive-cancels", "extra-headers", "careless-parser"),
    ("result-kept-while-withheld", "question-as-status-message", "wrong-method-404", "upper-case-ids-written"),
    ("archived-context-reduced", "replay-of-the-withheld-refused", "gzip-accepted", "escaped-and-spaced"),
    (
        "reason-also-when-configured",
        "status-of-sentiment-runs-only",
        "input-judged-before-caller",
        "published-uuids-only",
    ),
)
"""Variants of different parts, of which none refuses the calls that show another: a refusal would hide it."""


@dataclass(frozen=True)
class Trial:
    """One server and one way to test it; the names of variants that share a server are joined by ``+``.

    ``natural`` is the order in which a user's run takes the cases.
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
    in_turn: bool = False,
) -> Iterator[Trial]:
    """Yield a trial for each fault and variant (all of them, or those named) and for the plain server.

    ``natural`` asks for the order of a user's run where the first transport, profile and seed meet. ``in_turn`` lets
    variants of different parts share a server, and each conforming server meet one profile and seed in turn.
    """
    wanted, transports, ways = set(names), tuple(transports), tuple(product(profiles, seeds))
    turns = cycle(_in_turn(ways))
    for kind, name, shows in _servers(registry, together=in_turn):
        if wanted and wanted.isdisjoint(name.split("+")):
            continue
        for transport in transports:
            all_ways = ways if kind == "fault" or not in_turn else (next(turns),)
            for profile, seed in all_ways if transport in shows else ():
                is_natural = natural and kind == "fault" and (transport, (profile, seed)) == (transports[0], ways[0])
                yield Trial(kind, name, transport, profile, seed, is_natural)


def _in_turn(ways: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the pairs of a profile and a seed in an order in which the profile changes every time."""
    by_profile: dict[str, list[tuple[str, int]]] = {}
    for way in ways:
        by_profile.setdefault(way[0], []).append(way)
    return [way for turn in zip(*by_profile.values(), strict=True) for way in turn]


def _servers(registry: Registry, *, together: bool) -> Iterator[tuple[Kind, str, tuple[TransportName, ...]]]:
    yield "plain", "", TRANSPORTS
    for name, fault in faults().items():
        yield "fault", name, transports_of(fault, registry)
    shared = TOGETHER if together else ()
    for names in (*shared, *((name,) for name in variants() if not any(name in group for group in shared))):
        shows = [transports_of(variants()[name], registry) for name in names]
        yield "variant", "+".join(names), tuple(each for each in TRANSPORTS if any(each in some for some in shows))
