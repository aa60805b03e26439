# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in what becomes of a worker's result that comes too late."""

from __future__ import annotations

import copy
from typing import Any

from conformance.reference.faults.family import Family
from conformance.reference.instants import Instant
from conformance.reference.rules import ACTIVE, Document, Rules

family = Family()


class _KeepsLateResults(Rules):
    """Takes results that it should not, and shows those that came after what hides the rest."""

    hiding: frozenset[str]

    def takes_result(self, view: Document, run: dict[str, Any], answer: dict[str, Any]) -> bool:
        is_late = view["conversation"]["availability"] in self.hiding
        return is_late or super().takes_result(view, run, answer)

    def add_result(self, document: Document, run: dict[str, Any], result: dict[str, Any], now: Instant) -> None:
        super().add_result(document, run, result, now)
        document["messages"][-1]["created_at"] = document["conversation"]["created_at"]
        document["late"] = [*document.get("late", ()), document["messages"][-1]["id"]]

    def view(self, document: Document, access: str, now: Instant) -> Document:
        late = document.pop("late", [])
        kept = {each["id"]: copy.deepcopy(each) for each in document["messages"] if each["id"] in late}
        view = super().view(document, access, now)
        if view["conversation"]["availability"] in self.hiding:
            view["messages"] = [kept.get(each["id"], each) for each in view["messages"]]
        return view


@family.part("late-result-after-archive-shown", "LATE-AFTER-ARCHIVE", observable="after an archive")
class LateAfterArchiveShown(_KeepsLateResults):
    """The archive empties what is there; a message that the worker adds afterwards stays."""

    hiding = frozenset({"archived"})


@family.part(
    "late-result-after-expiry-shown", "LATE-AFTER-EXPIRY", "EXPIRY-EVERY-STATE", observable="after the deadline"
)
class LateAfterExpiryShown(_KeepsLateResults):
    """Expiry empties what is there; a message that the worker adds afterwards is shown."""

    hiding = frozenset({"expired"})


@family.part("late-result-while-withheld-shown", "LATE-WHILE-WITHHELD", observable="while withheld")
class LateWhileWithheldShown(_KeepsLateResults):
    """A withdrawal hides what is there; a message that the worker adds meanwhile is shown."""

    hiding = frozenset({"access_changed", "source_unavailable"})


@family.part("late-result-for-cancelled-run", "LATE-AFTER-CANCEL", observable="a result for a cancelled run")
class LateForCancelledRun(Rules):
    """A result completes its run whatever has become of it meanwhile."""

    def takes_result(self, view: Document, run: dict[str, Any], answer: dict[str, Any]) -> bool:
        is_cancelled = run["status"] == "cancelled" and not view["conversation"]["archived"]
        return is_cancelled or super().takes_result(view, run, answer)


@family.part("late-result-for-expired-run", "LATE-AFTER-EXPIRY", observable="a run that expires before the rest")
class LateForExpiredRun(Rules):
    """A result revives a run that has expired by itself, and is kept as long as the conversation."""

    def takes_result(self, view: Document, run: dict[str, Any], answer: dict[str, Any]) -> bool:
        is_available = view["conversation"]["availability"] == "available"
        return (is_available and run["status"] == "expired") or super().takes_result(view, run, answer)

    def add_result(self, document: Document, run: dict[str, Any], result: dict[str, Any], now: Instant) -> None:
        is_expired = run["status"] in ACTIVE and self.has_passed(run["expires_at"], now)
        super().add_result(document, run, result, now)
        if is_expired:
            run["expires_at"] = document["messages"][-1]["expires_at"] = document["conversation"]["expires_at"]
