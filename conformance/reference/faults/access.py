# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in what is shown while access is withdrawn or a source gone."""

from __future__ import annotations

import copy

from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Family
from conformance.reference.instants import Instant
from conformance.reference.rules import Document, Rules
from conformance.reference.service import Arguments, Service
from conformance.reference.store import StoredConversation

family = Family()


@family.part(
    "access-availability-alone",
    "ACCESS-WITHDRAWN-GET-WITHOUT-TEXT",
    "ACCESS-WITHDRAWN-STATUS-WITHOUT-TEXT",
    "ACCESS-SOURCE-GET-WITHOUT-TEXT",
    "ACCESS-SOURCE-STATUS-WITHOUT-TEXT",
    "PRIVACY-BODY",
    observable="access withdrawn, or a source gone",
)
class AvailabilityAlone(Rules):
    """A withdrawal sets the availability and leaves the text to the reader's good manners."""

    def view(self, document: Document, access: str, now: Instant) -> Document:
        messages = copy.deepcopy(document["messages"])
        view = super().view(document, access, now)
        if view["conversation"]["availability"] in ("access_changed", "source_unavailable"):
            view["messages"] = messages
        return view


@family.part(
    "access-source-not-watched",
    "ACCESS-SOURCE-AVAILABILITY",
    "ACCESS-SOURCE-GET-WITHOUT-TEXT",
    "ACCESS-SOURCE-STATUS-WITHOUT-TEXT",
    "PRIVACY-BODY",
    observable="a source gone",
)
class SourceNotWatched(Rules):
    """Access is checked; whether the sources still exist is not."""

    def availability(self, document: Document, access: str, now: Instant) -> str:
        return super().availability(document, "granted" if access == "source_unavailable" else access, now)


@family.part("access-word-for-word-expired", "ACCESS-WITHDRAWN-AVAILABILITY", "ACCESS-SOURCE-AVAILABILITY")
class WithdrawnCalledExpired(Rules):
    """The text is withheld, and every withdrawal is called expired."""

    def availability(self, document: Document, access: str, now: Instant) -> str:
        shown = super().availability(document, access, now)
        return "expired" if shown in ("access_changed", "source_unavailable") else shown


@family.part(
    "access-status-keeps-text",
    "ACCESS-WITHDRAWN-STATUS-WITHOUT-TEXT",
    "ACCESS-SOURCE-STATUS-WITHOUT-TEXT",
    "PRIVACY-BODY",
    observable="status only",
)
class StatusKeepsText(Service):
    """Only get asks for the present access; the status of a run shows the stored message."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().status(caller, arguments)
        stored = self.find(caller, arguments)
        if stored.access != "granted":
            result["message"] = self.cited_output(stored.document, arguments["run_id"])
        return result


@family.part(
    "access-archive-shows-text",
    "ACCESS-ARCHIVE-WITHOUT-TEXT",
    "PRIVACY-BODY",
    observable="an archive while access is withdrawn",
)
class ArchiveShowsText(Service):
    """An archive answers with what it archived, whether or not that may be seen now."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        stored = self.find(caller, arguments)
        result = copy.deepcopy(super().archive(caller, arguments))
        return {**result, "messages": stored.document["messages"]} if stored.access != "granted" else result


@family.part("access-withdrawn-by-workspace", "ACCESS-OTHERS-UNTOUCHED", observable="a neighbour in the workspace")
class WithdrawnByWorkspace(Service):
    """A withdrawal is kept by workspace, and takes the neighbours with it."""

    def look(self, stored: StoredConversation) -> Document:
        row = self.store._row(  # noqa: SLF001 - the store of the faultless server has no such question
            "SELECT access FROM conversations WHERE workspace_id = ? AND access <> 'granted'", stored.workspace_id
        )
        access = stored.access if row is None else str(row[0])
        return self.rules.view(stored.document, access, self.clock.now(stored.workspace_id))
