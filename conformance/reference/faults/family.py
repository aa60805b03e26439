"""How a fault is declared: a named class in the place of one part, or a function that spoils results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from conformance.contract import Operation
from conformance.reference.parts import Part, Parts
from conformance.reference.presentation import Presenter
from conformance.reference.refusals import Refusal

AnyPart = TypeVar("AnyPart", bound=Part)
Result = dict[str, Any]
ChangeResult = Callable[[Operation, Result], None]
ChangeText = Callable[[Operation, bytes], bytes]


class Crash(Refusal):
    """An error that the server did not expect: status 500."""


@dataclass(frozen=True)
class Change:
    """A named difference from the plain reference server. ``summary`` says what a vendor did, and how it shows."""

    name: str
    summary: str
    parts: tuple[Part, ...]

    def applied_to(self, parts: Parts) -> Parts:
        """Return the parts with this change in them.

        Raises:
            ValueError: another change has taken the place.
        """
        for part in self.parts:
            parts = parts.with_part(part)
        return parts


@dataclass(frozen=True)
class Fault(Change):
    """A change that breaks the contract.

    ``breaks`` names the requirements that a suite may rightly report; ``observable`` says what it takes to see the
    fault, and is empty when any ordinary call shows it. ``ordinary`` is false where an ordinary valid call of the
    owner no longer gets status 200. ``reports`` are the addresses of public reports of such a defect in some server;
    ``fixtures/public-reports.toml`` says what each is about. ``over`` names the transports on which it shows, where
    neither its parts nor the requirements tell, and ``revision`` the one of MCP in which it does, where it is one.
    """

    breaks: tuple[str, ...]
    observable: str = ""
    ordinary: bool = True
    reports: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    revision: str = ""


@dataclass(frozen=True)
class Variant(Change):
    """A change that the contract leaves open; ``left_open`` names the entries of the list of what is open."""

    left_open: tuple[str, ...]


class Family:
    """The faults of one module, in the order in which they are declared."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def part(
        self,
        name: str,
        *breaks: str,
        observable: str = "",
        ordinary: bool = True,
        also: tuple[Part, ...] = (),
        reports: tuple[str, ...] = (),
        over: tuple[str, ...] = (),
        revision: str = "",
    ) -> Callable[[AnyPart], AnyPart]:
        """Declare the decorated class as a fault; ``also`` are further classes that it takes."""

        def declare(part: AnyPart) -> AnyPart:
            parts = (part, *also)
            self.faults.append(
                Fault(name, summary_of(part), parts, breaks, observable, ordinary, reports, over, revision)
            )
            return part

        return declare

    def result(
        self, name: str, *breaks: str, observable: str = "", reports: tuple[str, ...] = ()
    ) -> Callable[[ChangeResult], ChangeResult]:
        """Declare the decorated function as a fault: it changes a result in place before it is written."""

        def declare(change: ChangeResult) -> ChangeResult:
            class Changed(Presenter):
                def shape(self, operation: Operation, result: Result) -> Result:
                    change(operation, result)
                    return result

            self.faults.append(Fault(name, summary_of(change), (Changed,), breaks, observable, reports=reports))
            return change

        return declare

    def text(
        self, name: str, *breaks: str, observable: str = "", reports: tuple[str, ...] = ()
    ) -> Callable[[ChangeText], ChangeText]:
        """Declare the decorated function as a fault: it changes the bytes of a written result."""

        def declare(change: ChangeText) -> ChangeText:
            class Changed(Presenter):
                def shape(self, operation: Operation, result: Result) -> Result:
                    self._operation = operation
                    return result

                def encode(self, result: Result) -> bytes:
                    return change(self._operation, super().encode(result))

            self.faults.append(Fault(name, summary_of(change), (Changed,), breaks, observable, reports=reports))
            return change

        return declare


def summary_of(thing: Callable[..., Any]) -> str:
    """Return a docstring as one line of text."""
    return " ".join((inspect.getdoc(thing) or "").split())
