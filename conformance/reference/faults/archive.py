# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in what an archive does, to its own conversation and to others."""

from __future__ import annotations

import copy
from typing import Any

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Family, Result
from conformance.reference.refusals import Conflict, InvalidInput, NotFound
from conformance.reference.rules import Document, Rules, references
from conformance.reference.service import Arguments, Service
from conformance.reference.store import StoredConversation

family = Family()


@family.part("archive-refused-while-processing", "ARCHIVE-ACCEPTED", observable="a processing run", ordinary=False)
class RefusedWhileProcessing(Service):
    """A conversation with a run in the worker's hands cannot be archived."""

    def apply_archive(self, stored: StoredConversation) -> Document:
        if any(run["status"] == "processing" for run in stored.document["runs"]):
            raise Conflict("an analysis is running")
        return super().apply_archive(stored)


@family.result("archive-flag-false", "ARCHIVE-FLAG", observable="get and archive of an archived conversation")
def archive_flag_false(operation: Operation, result: Result) -> None:
    """Archived is a deprecated field of the row, which nobody sets any more."""
    del operation
    if "conversation" in result:
        result["conversation"]["archived"] = False


@family.result(
    "archive-availability-unavailable", "ARCHIVE-AVAILABILITY", observable="get and archive of an archived conversation"
)
def archive_availability_unavailable(operation: Operation, result: Result) -> None:
    """Without text the source is called unavailable, although nothing is wrong with it."""
    del operation
    if "conversation" in result and result["conversation"]["availability"] == "archived":
        result["conversation"]["availability"] = "source_unavailable"


@family.part("archive-answer-keeps-text", "ARCHIVE-ANSWER-WITHOUT-TEXT", observable="the archive's own answer")
class AnswerKeepsText(Service):
    """The answer is made from the messages that were loaded before the archive."""

    def apply_archive(self, stored: StoredConversation) -> Document:
        messages = copy.deepcopy(stored.document["messages"])
        return {**super().apply_archive(stored), "messages": messages}


class _KeepsText(Rules):
    """The stored text stays; only looking at it hides it."""

    def archive(self, document: Document) -> None:
        messages = copy.deepcopy(document["messages"])
        super().archive(document)
        document["messages"] = messages


@family.part("archive-get-keeps-text", "ARCHIVE-GET-WITHOUT-TEXT", observable="get", also=(_KeepsText,))
class GetKeepsText(Service):
    """Get takes the messages from a copy of the row; status and the archive's answer do not show them."""

    def get(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().get(caller, arguments)
        stored = self.find(caller, arguments)
        if stored.document["conversation"]["archived"]:
            result["messages"] = stored.document["messages"]
        return result


@family.part("archive-keeps-question-of-active-runs", "ARCHIVE-GET-WITHOUT-TEXT", observable="a queued run's question")
class KeepsQuestionOfActiveRuns(Rules):
    """Only messages of finished runs are cleared: what a cancelled run was asked stays."""

    def view(self, document: Document, access: str, now: Any) -> Document:
        kept = {message["id"]: message["question"] for message in document["messages"]}
        view = super().view(document, access, now)
        cancelled = {run["id"] for run in view["runs"] if run["status"] == "cancelled"}
        for message in view["messages"]:
            if view["conversation"]["archived"] and message["run_id"] in cancelled:
                message["question"] = kept[message["id"]]
        return view

    def archive(self, document: Document) -> None:
        kept = {message["id"]: message["question"] for message in document["messages"]}
        active = {run["id"] for run in document["runs"] if run["status"] in ("queued", "processing")}
        super().archive(document)
        for message in document["messages"]:
            if message["run_id"] in active:
                message["question"] = kept[message["id"]]


@family.part("archive-answer-of-intention", "ARCHIVE-READ-BACK", "ARCHIVE-ACTIVE-CANCELLED", observable="active runs")
class AnswerOfIntention(Service):
    """The answer shows runs as cancelled that are stored as they were."""

    def apply_archive(self, stored: StoredConversation) -> Document:
        runs = copy.deepcopy(stored.document["runs"])
        result = super().apply_archive(stored)
        fresh = self.store.conversation(stored.id)
        if fresh is not None:
            self.store.replace_document(fresh.id, {**fresh.document, "runs": runs})
        return result


@family.part("archive-cancels-failed-runs", "ARCHIVE-FINISHED-KEPT", observable="a failed run")
class CancelsFailedRuns(Rules):
    """Failed runs might be tried again, and are cancelled too."""

    def archive(self, document: Document) -> None:
        super().archive(document)
        for run in document["runs"]:
            if run["status"] == "failed":
                run["status"] = run["failure_code"] = "cancelled"


@family.part("archive-toggles", "ARCHIVE-LASTS", observable="a second archive with the current revision")
class ArchiveToggles(Service):
    """Archiving what is archived takes it back out."""

    def apply_archive(self, stored: StoredConversation) -> Document:
        if stored.document["conversation"]["archived"]:
            stored.document["conversation"]["archived"] = False
            self.rules.raise_revision(stored.document)
            self.store.replace_document(stored.id, stored.document)
            return self.look(stored)
        return super().apply_archive(stored)


@family.part("archive-undone-by-conflict", "ARCHIVE-LASTS", observable="a stale archive of an archived conversation")
class UndoneByConflict(Service):
    """A conflict rolls back to the state before the conversation's last change, and not the call's own."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().archive(caller, arguments)
        except Conflict:
            with self.store.transaction():
                stored = self.find(caller, arguments)
                stored.document["conversation"]["archived"] = False
                self.store.replace_document(stored.id, stored.document)
            raise


@family.part("archive-forgotten-at-restart", "ARCHIVE-SURVIVES-RESTART", observable="a restart")
class ForgottenAtRestart(Service):
    """Archived conversations are kept in a cache that is never written through."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._archived: dict[str, Document] = {}

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        stored = super().find(caller, arguments)
        document = copy.deepcopy(self._archived.get(stored.id, stored.document))
        return StoredConversation(stored.id, stored.workspace_id, stored.owner_id, stored.access, document)

    def apply_archive(self, stored: StoredConversation) -> Document:
        if not stored.document["conversation"]["archived"]:
            self.rules.archive(stored.document)
            self._archived[stored.id] = copy.deepcopy(stored.document)
        return self.look(stored)


class _ArchivesMore(Service):
    """Archives other conversations along with the one that is meant, among those that were looked at before."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._seen: dict[str, None] = {}

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        stored = super().find(caller, arguments)
        self._seen[stored.id] = None
        return stored

    def belongs(self, stored: StoredConversation, other: StoredConversation) -> bool:
        raise NotImplementedError

    def apply_archive(self, stored: StoredConversation) -> Document:
        for other in filter(None, map(self.store.conversation, list(self._seen))):
            if other.id != stored.id and not other.document["conversation"]["archived"] and self.belongs(stored, other):
                self.change(other)
                self.store.replace_document(other.id, other.document)
        return super().apply_archive(stored)

    def change(self, other: StoredConversation) -> None:
        self.rules.archive(other.document)


@family.part("archive-of-whole-workspace", "ARCHIVE-OTHERS-UNTOUCHED", observable="another conversation there")
class ArchiveOfWholeWorkspace(_ArchivesMore):
    """The update names the workspace and forgets the conversation."""

    def belongs(self, stored: StoredConversation, other: StoredConversation) -> bool:
        return stored.workspace_id == other.workspace_id


@family.part("archive-of-whole-person", "ARCHIVE-OTHERS-UNTOUCHED", observable="the person's other workspace")
class ArchiveOfWholePerson(_ArchivesMore):
    """The update names the owner and forgets the conversation."""

    def belongs(self, stored: StoredConversation, other: StoredConversation) -> bool:
        return stored.owner_id == other.owner_id and stored.workspace_id != other.workspace_id


@family.part("archive-withdraws-evidence", "ARCHIVE-OTHERS-UNTOUCHED", observable="a conversation with its evidence")
class ArchiveWithdrawsEvidence(_ArchivesMore):
    """Runs that work on the same evidence are cancelled wherever they are."""

    def belongs(self, stored: StoredConversation, other: StoredConversation) -> bool:
        evidence = [each.document["conversation"]["context"]["evidence"] for each in (stored, other)]
        return bool(references(evidence[0]) & references(evidence[1]))

    def change(self, other: StoredConversation) -> None:
        for run in other.document["runs"]:
            if run["status"] in ("queued", "processing"):
                run["status"] = run["failure_code"] = "cancelled"


@family.part("archive-unknown-conflicts", "ARCHIVE-UNKNOWN-CONVERSATION", observable="an unknown conversation")
class UnknownConflicts(Service):
    """The update with id and revision matches no row, which is called a conflict, also for an unknown id."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().archive(caller, arguments)
        except NotFound:
            raise Conflict("the conversation has another revision") from None


@family.part("archive-unknown-invalid", "ARCHIVE-UNKNOWN-CONVERSATION", observable="an unknown conversation")
class UnknownInvalid(Service):
    """An unknown conversation is called invalid input."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().archive(caller, arguments)
        except NotFound:
            raise InvalidInput("conversation_id is wrong") from None
