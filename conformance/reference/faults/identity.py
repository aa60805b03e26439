# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in whose conversation is answered."""

from __future__ import annotations

from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Family
from conformance.reference.refusals import Forbidden, NotFound
from conformance.reference.rules import Document
from conformance.reference.service import Arguments, Service
from conformance.reference.store import StoredConversation

family = Family()


@family.part(
    "identity-foreign-forbidden",
    "PRIVACY-FOREIGN-LIKE-UNKNOWN",
    observable="another person's id",
    reports=("https://github.com/PhilanthropyDataCommons/service/issues/940",),
)
class ForeignForbidden(Service):
    """A foreign id is answered 403 and an unknown one 404, which tells that the foreign one exists."""

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        try:
            return super().find(caller, arguments)
        except NotFound:
            stored = self.store.conversation(arguments["conversation_id"])
            if stored is not None and not caller.may_open(stored.owner_id, stored.workspace_id):
                raise Forbidden("the conversation is not yours") from None
            raise


@family.part("identity-foreign-other-text", "PRIVACY-FOREIGN-LIKE-UNKNOWN", observable="another person's id")
class ForeignOtherText(Service):
    """A foreign id has the status of an unknown one, and another text."""

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        try:
            return super().find(caller, arguments)
        except NotFound:
            if self.store.conversation(arguments["conversation_id"]) is not None:
                raise NotFound("there is no such conversation for you") from None
            raise


@family.part(
    "identity-foreign-title-in-error",
    "PRIVACY-ERROR-TEXT",
    "PRIVACY-OTHER-USER",
    "PRIVACY-FOREIGN-LIKE-UNKNOWN",
    observable="another person's id of a conversation with a title",
)
class ForeignTitleInError(Service):
    """The refusal for a foreign id quotes the title."""

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        try:
            return super().find(caller, arguments)
        except NotFound:
            stored = self.store.conversation(arguments["conversation_id"])
            if stored is not None and stored.document["conversation"]["title"]:
                raise NotFound(f"no access to {stored.document['conversation']['title']}") from None
            raise


@family.part(
    "identity-workspace-member-reads",
    "PRIVACY-OTHER-USER",
    "PRIVACY-BODY",
    "PRIVACY-FOREIGN-LIKE-UNKNOWN",
    "ARCHIVE-OTHER-USER",
    observable="another member of the workspace",
)
class WorkspaceMemberReads(Service):
    """Membership of the workspace is enough: the owner is not compared."""

    def may_open(self, caller: Caller, stored: StoredConversation, arguments: Arguments) -> bool:
        return stored.workspace_id == arguments["workspace_id"] and stored.workspace_id in caller.workspaces


@family.part("identity-workspace-ignored", "READ-WORKSPACE-MISMATCH", "ARCHIVE-WORKSPACE-MISMATCH")
class WorkspaceIgnored(Service):
    """The conversation is found by its id alone, whatever workspace is named."""

    def may_open(self, caller: Caller, stored: StoredConversation, arguments: Arguments) -> bool:
        del arguments
        return caller.may_open(stored.owner_id, stored.workspace_id)


@family.part("identity-run-conversation-ignored", "READ-RUN-MISMATCH", observable="a run of one's other conversation")
class RunConversationIgnored(Service):
    """The run is found by its id alone, whatever conversation is named, among the caller's own."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        holder = self.store.conversation_of_run(arguments["run_id"])
        if holder is not None:
            arguments = {**arguments, "conversation_id": holder.id}
        return super().status(caller, arguments)


@family.part("identity-unknown-run-first", "READ-UNKNOWN-ID", "IDENTITY-RUN-ASKED", observable="an unknown run id")
class UnknownRunFirst(Service):
    """An unknown run id is answered with the conversation's first run."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().status(caller, arguments)
        except NotFound:
            stored = self.find(caller, arguments)
            if not stored.document["runs"]:
                raise
            return super().status(caller, {**arguments, "run_id": stored.document["runs"][0]["id"].lower()})


@family.part(
    "identity-mutation-ids-shared",
    "REPLAY-OTHER-USER-UNBLOCKED",
    observable="two people, one mutation id",
    reports=("https://github.com/C-Address-Onboarding-Bridge/C-Address-Onboarding-Bridge-Backend/issues/379",),
)
class MutationIdsShared(Service):
    """Mutation ids are unique for the whole server, so one person's key blocks another's."""

    def key_owner(self, caller: Caller) -> str:
        del caller
        return "everyone"


@family.part("identity-mutation-ids-by-scopes", "REPLAY-OTHER-TOKEN", observable="a second token with more scopes")
class MutationIdsByGrant(Service):
    """Mutation ids belong to the grant and not to the person: a token with other scopes has keys of its own."""

    def key_owner(self, caller: Caller) -> str:
        return " ".join([caller.principal_id, *sorted(caller.scopes)])
