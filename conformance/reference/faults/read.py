# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in reads: what should be found is not, and what should leave no trace leaves one."""

from __future__ import annotations

from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Family
from conformance.reference.refusals import NotFound
from conformance.reference.rules import ACTIVE, Document
from conformance.reference.service import Arguments, Service
from conformance.reference.store import StoredConversation

family = Family()


@family.part("read-unfinished-run-not-found", "READ-AVAILABLE", observable="status of an unfinished run")
class UnfinishedRunNotFound(Service):
    """Status looks among results, so a run that is queued or processing is not found."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().status(caller, arguments)
        if result["run"]["status"] in ACTIVE:
            raise self.not_found()
        return result


@family.part("read-refused-counts-as-change", "READ-FAILED-UNCHANGED", observable="a read after another person's read")
class RefusedCountsAsChange(Service):
    """An attempt of somebody else to read is noted in the conversation, and raises its revision."""

    def get(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().get(caller, arguments)
        except NotFound:
            with self.store.transaction():
                stored = self.store.conversation(arguments["conversation_id"])
                if stored is not None and stored.owner_id != caller.principal_id:
                    self.rules.raise_revision(stored.document)
                    self.store.replace_document(stored.id, stored.document)
            raise


@family.part("read-status-of-unknown-run-queues", "READ-FAILED-UNCHANGED", observable="a read after an unknown run id")
class StatusOfUnknownRunQueues(Service):
    """A status that is asked for an unknown run starts the last run of the conversation anew."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().status(caller, arguments)
        except NotFound:
            with self.store.transaction():
                stored = self.find(caller, arguments)
                for run in stored.document["runs"][-1:]:
                    run["generation"] = min(run["generation"] + 1, 2**53 - 1)
                self.store.replace_document(stored.id, stored.document)
            raise


@family.part("read-moves-creation", "READ-UNCHANGED", observable="two reads of a status")
class ReadMovesCreation(Service):
    """Each status that is read writes its run again, and the row's creation time becomes that of the conversation."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().status(caller, arguments)
        with self.store.transaction():
            stored = self.find(caller, arguments)
            for run in stored.document["runs"]:
                if run["id"].lower() == arguments["run_id"]:
                    run["created_at"] = stored.document["conversation"]["created_at"]
            self.store.replace_document(stored.id, stored.document)
        return result


@family.part("read-by-exact-grant", "READ-OTHER-TOKEN", observable="a token of the owner with a further scope")
class ReadByExactGrant(Service):
    """A conversation opens only for tokens whose grant is that of the first one, and not for one with more scopes."""

    def may_open(self, caller: Caller, stored: StoredConversation, arguments: Arguments) -> bool:
        return len(caller.scopes) == 1 and super().may_open(caller, stored, arguments)
