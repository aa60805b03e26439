# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in the guard `expected_revision`: how revisions are compared, and what a conflict leaves behind."""

from __future__ import annotations

import struct
from typing import Any

from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Crash, Family
from conformance.reference.refusals import Conflict, InvalidInput, NotFound
from conformance.reference.rules import ACTIVE, Document
from conformance.reference.service import Arguments, Service
from conformance.reference.store import StoredConversation

family = Family()


class _Compares(Service):
    """Compares revisions in some representation."""

    def represent(self, revision: int) -> Any:
        raise NotImplementedError

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        current = stored.document["conversation"]["revision"]
        if self.represent(arguments["expected_revision"]) != self.represent(current):
            raise Conflict("the conversation has another revision")


@family.part(
    "revision-compared-as-32-bit-float",
    "REVISION-STALE-REFUSED",
    "REVISION-AHEAD-REFUSED",
    observable="neighbours of a revision above 2**24",
)
class ComparedAs32BitFloat(_Compares):
    """Revisions are compared as 32-bit floats, so large neighbours are equal."""

    def represent(self, revision: int) -> Any:
        return struct.pack("f", float(revision))


@family.part("revision-stale-by-one-accepted", "REVISION-STALE-REFUSED", observable="the revision just before")
class StaleByOneAccepted(_Compares):
    """A revision that is one behind passes, for clients that count from the last read."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        if arguments["expected_revision"] + 1 != stored.document["conversation"]["revision"]:
            super().guard(stored, arguments)

    def represent(self, revision: int) -> Any:
        return revision


@family.part("revision-one-means-any", "REVISION-STALE-REFUSED", observable="revision 1 for a changed conversation")
class OneMeansAny(Service):
    """Revision 1 is what a client sends that has never read, and it passes always."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        if arguments["expected_revision"] != 1:
            super().guard(stored, arguments)


@family.part("revision-largest-means-any", "REVISION-AHEAD-REFUSED", observable="revision 2**53 - 1")
class LargestMeansAny(Service):
    """The largest revision is a wildcard."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        if arguments["expected_revision"] != 2**53 - 1:
            super().guard(stored, arguments)


@family.part(
    "revision-unguarded-when-finished", "REVISION-STALE-REFUSED", "REVISION-AHEAD-REFUSED",
    observable="a conversation without active runs",
)  # fmt: skip
class UnguardedWhenFinished(Service):
    """The guard is there to protect running analyses; without any, the revision is not compared."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        if any(run["status"] in ACTIVE for run in stored.document["runs"]):
            super().guard(stored, arguments)


@family.part(
    "revision-unguarded-when-archived", "REVISION-STALE-REFUSED", "REVISION-AHEAD-REFUSED",
    observable="a wrong revision for an archived conversation",
)  # fmt: skip
class UnguardedWhenArchived(Service):
    """An archived conversation is archived already, so any revision is answered with success."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        if not stored.document["conversation"]["archived"]:
            super().guard(stored, arguments)


class _Guarded(Service):
    """Does something wrong when the guard refuses."""

    def refused(self, stored: StoredConversation, conflict: Conflict) -> None:
        raise NotImplementedError

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        try:
            super().guard(stored, arguments)
        except Conflict as conflict:
            self.refused(stored, conflict)
            raise


@family.part("revision-conflict-as-invalid", "REVISION-CONFLICT-KIND", observable="the status of a conflict")
class ConflictAsInvalid(_Guarded):
    """A revision that does not fit is called invalid input."""

    def refused(self, stored: StoredConversation, conflict: Conflict) -> None:
        del stored
        raise InvalidInput("expected_revision is wrong") from conflict


@family.part("revision-conflict-as-not-found", "REVISION-CONFLICT-KIND", observable="the status of a conflict")
class ConflictAsNotFound(_Guarded):
    """The update with revision and id matches no row, which is called not found."""

    def refused(self, stored: StoredConversation, conflict: Conflict) -> None:
        del stored
        raise NotFound("there is no such conversation or run") from conflict


@family.part(
    "revision-conflict-500",
    "REVISION-CONFLICT-KIND",
    "HTTP-NO-SERVER-ERROR",
    observable="the status of a conflict",
    reports=("https://github.com/halo-dev/halo/issues/6254",),
)
class ConflictCrashes(_Guarded):
    """The store's error about a revision that does not fit is not caught."""

    def refused(self, stored: StoredConversation, conflict: Conflict) -> None:
        del stored
        raise Crash("internal error") from conflict


@family.part("revision-conflict-locks", "REVISION-CURRENT-AFTER-CONFLICT", observable="an archive after a conflict")
class ConflictLocks(_Guarded):
    """The lock that is taken before the comparison is never given back after a conflict."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._locked: set[str] = set()

    def refused(self, stored: StoredConversation, conflict: Conflict) -> None:
        del conflict
        self._locked.add(stored.id)

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        if stored.id in self._locked:
            raise Conflict("the conversation is being changed")
        super().guard(stored, arguments)


@family.part("revision-conflict-cancels-runs", "REVISION-CONFLICT-UNCHANGED", observable="active runs after a conflict")
class ConflictCancelsRuns(Service):
    """The workers are told to stop before the revision is compared."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().archive(caller, arguments)
        except Conflict:
            with self.store.transaction():
                stored = self.find(caller, arguments)
                for run in stored.document["runs"]:
                    if run["status"] in ACTIVE:
                        run["status"] = run["failure_code"] = "cancelled"
                self.store.replace_document(stored.id, stored.document)
            raise


@family.part(
    "revision-raised-after-answer", "REVISION-CHAINS", "ARCHIVE-READ-BACK", observable="the read after an archive"
)
class RaisedAfterAnswer(Service):
    """A trigger raises the revision once more when the archive is stored, after the answer was made."""

    def apply_archive(self, stored: StoredConversation) -> Document:
        result = super().apply_archive(stored)
        fresh = self.store.conversation(stored.id)
        if fresh is not None:
            self.rules.raise_revision(fresh.document)
            self.store.replace_document(fresh.id, fresh.document)
        return result


@family.part(
    "revision-of-before-in-answer",
    "REVISION-GROWS",
    "REVISION-CHAINS",
    "ARCHIVE-READ-BACK",
    observable="the revision in the answer to an archive",
    reports=("https://github.com/devonfw/cobigen/issues/669",),
)
class OfBeforeInAnswer(Service):
    """The answer to an archive is built before the revision is counted up."""

    def apply_archive(self, stored: StoredConversation) -> Document:
        before = stored.document["conversation"]["revision"]
        result = super().apply_archive(stored)
        result["conversation"]["revision"] = before
        return result


@family.part("revision-of-status-is-the-runs", "REVISION-CHAINS", "IDENTITY-STATUS-REVISION", observable="status")
class RevisionOfStatusIsTheRuns(Service):
    """Once archived, a status shows the revision at which its run was made instead of the conversation's."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().status(caller, arguments)
        if self.find(caller, arguments).document["conversation"]["archived"]:
            result["conversation_revision"] = result["run"]["conversation_revision"]
        return result
