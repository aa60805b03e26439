"""The three operations and the worker's delivery: authorisation, transactions, replay. Knows nothing of HTTP."""

from __future__ import annotations

import json
from typing import Any

from conformance.reference.authentication import Caller
from conformance.reference.clock import Clock
from conformance.reference.refusals import Conflict, NotFound
from conformance.reference.rules import LARGEST_REVISION, Document, Rules, find_run
from conformance.reference.store import Store, StoredConversation, StoredMutation

Arguments = dict[str, Any]


class Service:
    """Carries out operations for a caller. Arguments are canonical: ids in lower case, integers as ``int``.

    Each method is one transaction and never waits, so in one event loop each is atomic.
    """

    def __init__(self, store: Store, clock: Clock, rules: Rules) -> None:
        self.store = store
        self.clock = clock
        self.rules = rules

    def perform(self, operation: str, caller: Caller, arguments: Arguments) -> Document:
        """Carry out the operation with that name.

        Raises:
            Refusal: it may not be done, and nothing has changed.
        """
        match operation:
            case "conversations_get":
                return self.get(caller, arguments)
            case "sentiment_status":
                return self.status(caller, arguments)
            case "conversations_archive":
                return self.archive(caller, arguments)
        raise NotFound("there is no such operation")

    def get(self, caller: Caller, arguments: Arguments) -> Document:
        """Return the conversation as its reader may see it now."""
        with self.store.transaction("DEFERRED"):
            return self.look(self.find(caller, arguments))

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        """Return one run and its cited output, as *get* shows them. Nothing is generated."""
        with self.store.transaction("DEFERRED"):
            view = self.look(self.find(caller, arguments))
        run = find_run(view, arguments["run_id"])
        if run is None:
            raise self.not_found()
        return {
            "run": run,
            "message": self.cited_output(view, arguments["run_id"]),
            "conversation_revision": view["conversation"]["revision"],
            "availability": view["availability"],
        }

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        """Archive the conversation once per mutation id, guarded by the revision.

        Authorisation comes first, also for a replay; a replay is recognised before the revision is compared.
        """
        with self.store.transaction("IMMEDIATE"):
            stored = self.find(caller, arguments)
            replayed = self.recall(caller, arguments)
            if replayed is not None:
                return replayed
            self.guard(stored, arguments)
            result = self.apply_archive(stored)
            self.remember(caller, arguments, result)
            return result

    def deliver(self, run_id: str, result: dict[str, Any]) -> bool | None:
        """Take a worker's ``{"answer", "model_id", "model_version"}`` for a run (id in lower case).

        Returns:
            Whether it was taken; None when there is no such run.
        """
        with self.store.transaction("IMMEDIATE"):
            stored, seen = self.store.conversation_of_run(run_id), self.store.conversation_of_run(run_id)
            if stored is None or seen is None:
                return None
            view, run = self.look(seen), find_run(stored.document, run_id)
            shown = find_run(view, run_id)
            if run is None or shown is None or not self.rules.takes_result(view, shown, result["answer"]):
                return False
            self.rules.add_result(stored.document, run, result, self.clock.now(stored.workspace_id))
            self.store.replace_document(stored.id, stored.document)
            return True

    def change_access(self, conversation_id: str, access: str) -> bool:
        """Let the owner of a conversation (id in lower case) see it, or no more; false when there is none."""
        return self.store.set_access(conversation_id, access)

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        """Return the conversation that the arguments name.

        Raises:
            NotFound: it is unknown, in another workspace, or not the caller's; all three look the same.
        """
        stored = self.store.conversation(arguments["conversation_id"])
        if stored is None or not self.may_open(caller, stored, arguments):
            raise self.not_found()
        return stored

    def may_open(self, caller: Caller, stored: StoredConversation, arguments: Arguments) -> bool:
        """Tell whether the caller may open the stored conversation under the workspace they named."""
        return stored.workspace_id == arguments["workspace_id"] and caller.may_open(
            stored.owner_id, stored.workspace_id
        )

    def not_found(self) -> NotFound:
        """Return the one refusal for all that the caller may not know of."""
        return NotFound("there is no such conversation or run")

    def look(self, stored: StoredConversation) -> Document:
        """Return what the owner sees now."""
        return self.rules.view(stored.document, stored.access, self.clock.now(stored.workspace_id))

    def cited_output(self, view: Document, run_id: str) -> dict[str, Any] | None:
        """Return the assistant message of a run."""
        for message in view["messages"]:
            if message["role"] == "assistant" and message["run_id"].lower() == run_id:
                return dict(message)
        return None

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        """Let the current revision pass.

        Raises:
            Conflict: another revision is expected, or the revision cannot grow any more.
        """
        revision = stored.document["conversation"]["revision"]
        if arguments["expected_revision"] != revision:
            raise Conflict("the conversation has another revision")
        if revision == LARGEST_REVISION:
            raise Conflict("the conversation is at the top of the revision range")

    def apply_archive(self, stored: StoredConversation) -> Document:
        """Archive, store and return the view; an archived conversation stays as it is."""
        if not stored.document["conversation"]["archived"]:
            # What has expired is finished: an archive cancels it no more.
            self.rules.expire_runs(stored.document, self.clock.now(stored.workspace_id))
            self.rules.archive(stored.document)
            self.store.replace_document(stored.id, stored.document)
        return self.look(stored)

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        """Return the first result when this call was applied before, else None.

        Raises:
            Conflict: the mutation id was used with other arguments.
        """
        mutation = self.store.mutation(self.key_owner(caller), arguments["mutation_id"])
        if mutation is None:
            return None
        if mutation.arguments != canonical(arguments):
            raise Conflict("the mutation id was used with other arguments")
        return mutation.result

    def remember(self, caller: Caller, arguments: Arguments, result: Document) -> None:
        """Keep the result of an applied call. It holds no private text: archiving has removed it."""
        mutation = StoredMutation(canonical(arguments), result)
        self.store.add_mutation(self.key_owner(caller), arguments["mutation_id"], mutation)

    def key_owner(self, caller: Caller) -> str:
        """Return whose mutation ids the caller's are: the person's, whatever the token."""
        return caller.principal_id


def canonical(arguments: Arguments) -> str:
    """Return the arguments as text that is equal exactly when they mean the same call."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"))
