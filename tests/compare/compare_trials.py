"""What is compared: who tests, on which servers, and what comes of each trial."""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import conformance.reference.faults
from conformance.contract import load_contract
from conformance.kill_matrix.trials import transports_of
from conformance.reference.catalogue import faults, variants
from conformance.requirements import load_registry

Kind = Literal["unbroken", "fault", "variant"]
Ending = Literal["finding", "complete", "out of time", "error"]


@dataclass(frozen=True)
class Tester:
    """One way to test a server. ``profile`` is that of this suite, empty for the alternatives."""

    name: str
    label: str
    profile: str = ""


TESTERS: Final = (
    Tester("suite-quick", "this suite, quick", "quick"),
    Tester("suite-standard", "this suite, standard", "standard"),
    Tester("schemathesis-defaults", "Schemathesis, defaults"),
    Tester("schemathesis-seeded", "Schemathesis, seeded, all checks"),
    Tester("hypothesis-jsonschema", "hypothesis-jsonschema + jsonschema"),
)


@dataclass(frozen=True)
class Trial:
    """One tester on one server; ``name`` is that of the fault or variant, empty for the unbroken server.

    ``examples`` is how many the alternatives draw of each kind, 0 as many as they do by default.
    """

    tester: str
    kind: Kind
    name: str = ""
    seed: int = 1
    examples: int = 0


@dataclass(frozen=True)
class Result:
    """What came of a trial.

    On a server with a fault, ``alarms`` are those that the tester does not raise on the unbroken server, and the first
    ends the trial ("finding"); on the other servers they are all that it raises. ``seconds`` and ``exchanges`` are what
    it took until then, ``processor_seconds`` what the whole trial used, the server's share and set-up included.
    """

    trial: Trial
    ending: Ending
    alarms: tuple[str, ...] = ()
    seconds: float = 0.0
    exchanges: int = 0
    processor_seconds: float = 0.0
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "trial"}
        times = {name: round(own[name], 3) for name in ("seconds", "processor_seconds")}
        return {**vars(self.trial), **own, **times, "alarms": list(self.alarms)}


def read_result(values: Mapping[str, Any]) -> Result:
    """Read what ``Result.to_json`` wrote."""
    trial = Trial(**{name: values[name] for name in Trial.__dataclass_fields__})
    own = {name: values[name] for name in Result.__dataclass_fields__ if name != "trial"}
    return Result(trial, **{**own, "alarms": tuple(values["alarms"])})


def faults_over_http() -> list[str]:
    """Return the names of the faults that show over plain HTTP."""
    registry = load_registry(load_contract())
    return [name for name, fault in faults().items() if "rest" in transports_of(fault, registry)]


def variants_over_http() -> list[str]:
    """Return the names of the conforming variants that show over plain HTTP."""
    registry = load_registry(load_contract())
    return [name for name, variant in variants().items() if "rest" in transports_of(variant, registry)]


def families() -> dict[str, str]:
    """Return for each fault the name of its family, which is that of its module."""
    package = conformance.reference.faults
    modules = [
        importlib.import_module(f"{package.__name__}.{each.name}") for each in pkgutil.iter_modules(package.__path__)
    ]
    return {
        fault.name: module.__name__.rpartition(".")[2].replace("_", " ")
        for module in modules
        if hasattr(module, "family") and module.__name__.rpartition(".")[2] != "family"
        for fault in module.family.faults
    }


def stratified(names: Sequence[str], strata: Mapping[str, str], count: int, seed: int) -> list[str]:
    """Draw that many of the names at random, from each stratum its share of them; in the order in which they came."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(strata[name], []).append(name)
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    shares = _shares({stratum: len(group) for stratum, group in groups.items()}, count)
    drawn = {name for stratum, group in groups.items() for name in rng.sample(group, shares[stratum])}
    return [name for name in names if name in drawn]


def _shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Return how many to take of each: whole numbers in proportion, the largest remainders rounded up."""
    total = sum(sizes.values())
    count = min(count, total)
    exact = {stratum: size * count / total for stratum, size in sizes.items()}
    shares = {stratum: int(share) for stratum, share in exact.items()}
    by_remainder = sorted(exact, key=lambda stratum: (shares[stratum] - exact[stratum], stratum))
    for stratum in by_remainder[: count - sum(shares.values())]:
        shares[stratum] += 1
    return shares


def plan(testers: Iterable[Tester], faults: Iterable[str], variants: Iterable[str], seed: int) -> Iterator[Trial]:
    """Yield the trials on all servers but the unbroken one."""
    faults, variants = list(faults), list(variants)
    for tester in testers:
        yield from (Trial(tester.name, "fault", name, seed) for name in faults)
        yield from (Trial(tester.name, "variant", name, seed) for name in variants)
