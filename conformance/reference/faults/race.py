# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults that need two calls at the same time: one that comes alone is answered as it should be."""

from __future__ import annotations

import asyncio
import copy
from typing import Any, Final

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Crash, Family
from conformance.reference.refusals import Conflict, InvalidInput, NotFound
from conformance.reference.rest import Collaborators, RestBinding
from conformance.reference.rules import ACTIVE, Document, find_run
from conformance.reference.service import Arguments, Service, canonical
from conformance.reference.store import StoredConversation, StoredMutation

family = Family()

_HANGING_SECONDS: Final = 60.0
_WORKER_SECONDS: Final = 0.002


async def _pause() -> None:
    """Let whatever else is ready go on, as waiting for a database would."""
    for _ in range(3):
        await asyncio.sleep(0)


class _Racing(RestBinding):
    """Archives in steps between which other calls go on."""

    def __init__(self, server: Collaborators) -> None:
        super().__init__(server)
        self.service = server.service
        self.lock = asyncio.Lock()
        self.archiving: dict[tuple[str, str], asyncio.Event] = {}

    async def perform(self, operation: Operation, caller: Caller, arguments: Arguments) -> dict[str, Any]:
        if operation.effect == "read":
            return await self.read(operation, caller, arguments)
        key = (caller.principal_id, arguments["mutation_id"])
        if key in self.archiving:
            return await self.copy_meanwhile(caller, arguments)
        done = self.archiving[key] = asyncio.Event()
        try:
            return await self.archive(caller, arguments)
        finally:
            del self.archiving[key]
            done.set()

    async def read(self, operation: Operation, caller: Caller, arguments: Arguments) -> Document:
        return self.service.perform(operation.name, caller, arguments)

    async def archive(self, caller: Caller, arguments: Arguments) -> Document:
        stored, replayed = self.begin(caller, arguments)
        await _pause()
        return self.finish(caller, arguments, stored) if replayed is None else replayed

    async def copy_meanwhile(self, caller: Caller, arguments: Arguments) -> Document:
        """Answer a copy of a call that is being carried out: when that is done, with its result."""
        await self.archiving[caller.principal_id, arguments["mutation_id"]].wait()
        return self.service.archive(caller, arguments)

    def begin(self, caller: Caller, arguments: Arguments) -> tuple[StoredConversation, Document | None]:
        """Read the conversation and look for the first result; without one, compare the revision."""
        stored = self.service.find(caller, arguments)
        replayed = self.service.recall(caller, arguments)
        if replayed is None:
            self.service.guard(stored, arguments)
        return stored, replayed

    def finish(self, caller: Caller, arguments: Arguments, stored: StoredConversation) -> Document:
        """Archive if the revision is still the expected one."""
        del stored
        return self.service.archive(caller, arguments)

    def store(self, caller: Caller, arguments: Arguments, stored: StoredConversation) -> Document:
        """Archive the conversation as given, whatever is stored now, and remember the result."""
        with self.service.store.transaction():
            self.service.rules.archive(stored.document)
            self.service.store.replace_document(stored.id, stored.document)
            result = self.service.look(stored)
            if self.service.recall(caller, arguments) is None:
                self.service.remember(caller, arguments, result)
        return result


@family.part(
    "race-check-then-write",
    "RACE-ONE-WINNER",
    "RACE-LOSERS-CONFLICT",
    "RACE-LINEARIZABLE",
    observable="two archives at once",
    reports=("https://github.com/proteanhq/protean/issues/1087",),
)
class CheckThenWrite(_Racing):
    """The revision is compared first and the conversation written later, so every archive that fits is applied."""

    def finish(self, caller: Caller, arguments: Arguments, stored: StoredConversation) -> Document:
        del stored
        return self.store(caller, arguments, self.service.find(caller, arguments))


@family.part("race-last-write-wins", "RACE-ONE-WINNER", "RACE-LOSERS-CONFLICT", "RACE-LINEARIZABLE",
             observable="two archives at once")  # fmt: skip
class LastWriteWins(_Racing):
    """Each archive writes back the conversation as it had read it, so a later one overwrites an earlier one."""

    def finish(self, caller: Caller, arguments: Arguments, stored: StoredConversation) -> Document:
        return self.store(caller, arguments, stored)


@family.part(
    "race-key-looked-up-early",
    "RACE-ONE-KEY-ONCE",
    "RACE-COPY-ANSWER",
    "RACE-LINEARIZABLE",
    observable="two copies of an archive at once",
    reports=("https://github.com/mastodon/mastodon/pull/37879",),
)
class KeyLookedUpEarly(_Racing):
    """The key is looked up before the first call with it has finished, so both run, and the revision grows twice."""

    async def copy_meanwhile(self, caller: Caller, arguments: Arguments) -> Document:
        return await self.archive(caller, arguments)

    def finish(self, caller: Caller, arguments: Arguments, stored: StoredConversation) -> Document:
        if self.service.recall(caller, arguments) is None:
            return super().finish(caller, arguments, stored)
        return self.store(caller, arguments, self.service.find(caller, arguments))


@family.part("race-half-archive", "RACE-NO-HALF-ARCHIVE", "RACE-LINEARIZABLE", observable="a read beside an archive")
class HalfArchive(_Racing):
    """Active runs are cancelled first, and the text goes in a second transaction; reads see what is between."""

    async def archive(self, caller: Caller, arguments: Arguments) -> Document:
        async with self.lock:
            stored, replayed = self.begin(caller, arguments)
            if replayed is not None:
                return replayed
            for run in stored.document["runs"]:
                if run["status"] in ACTIVE:
                    run["status"] = run["failure_code"] = "cancelled"
            self.service.store.replace_document(stored.id, stored.document)
            await _pause()
            return self.finish(caller, arguments, stored)


@family.part("race-lock-conflict-500", "RACE-NO-SERVER-ERROR", observable="two archives at once")
class LockConflictCrashes(_Racing):
    """An archive that finds the conversation locked by another raises an error that is not caught."""

    async def archive(self, caller: Caller, arguments: Arguments) -> Document:
        if self.lock.locked():
            raise Crash("internal error")
        async with self.lock:
            return await super().archive(caller, arguments)


@family.part("race-same-key-hangs", "RACE-ALL-ANSWERED", observable="two copies of an archive at once")
class SameKeyHangs(_Racing):
    """A copy of a call that is being carried out waits for a signal that nobody gives."""

    async def copy_meanwhile(self, caller: Caller, arguments: Arguments) -> Document:
        await asyncio.sleep(_HANGING_SECONDS)
        return self.service.archive(caller, arguments)


@family.part("race-loser-answered-200", "RACE-LOSERS-CONFLICT", "RACE-ONE-WINNER", "RACE-LINEARIZABLE",
             "RACE-WORKER-RESULT", observable="two archives at once")  # fmt: skip
class LoserAnswered200(_Racing):
    """An archive that finds another revision when it comes to write is answered as if it had archived."""

    def finish(self, caller: Caller, arguments: Arguments, stored: StoredConversation) -> Document:
        try:
            return super().finish(caller, arguments, stored)
        except Conflict:
            return self.service.look(self.service.find(caller, arguments))


@family.part("race-loser-refused-as-invalid", "RACE-LOSERS-CONFLICT", observable="two archives at once")
class LoserRefusedAsInvalid(_Racing):
    """An archive that finds another revision when it comes to write is refused as invalid input."""

    def finish(self, caller: Caller, arguments: Arguments, stored: StoredConversation) -> Document:
        try:
            return super().finish(caller, arguments, stored)
        except Conflict:
            raise InvalidInput("the expected revision is wrong") from None


@family.part("race-loser-raises-revision", "RACE-ONE-WINNER", "RACE-LINEARIZABLE", observable="two archives at once")
class LoserRaisesRevision(_Racing):
    """An archive that loses is refused, but has raised the revision of what the winner left."""

    def finish(self, caller: Caller, arguments: Arguments, stored: StoredConversation) -> Document:
        try:
            return super().finish(caller, arguments, stored)
        except Conflict:
            stored = self.service.find(caller, arguments)
            self.service.rules.raise_revision(stored.document)
            self.service.store.replace_document(stored.id, stored.document)
            raise


@family.part("race-copy-not-found", "RACE-COPY-ANSWER", observable="two copies of an archive at once")
class CopyNotFound(_Racing):
    """A copy of a call that is being carried out is told that there is no such conversation."""

    async def copy_meanwhile(self, caller: Caller, arguments: Arguments) -> Document:
        del caller, arguments
        raise NotFound("there is no such conversation or run")


@family.part("race-copy-conflicts-for-ever", "RACE-COPY-RETRY", "RACE-LINEARIZABLE",
             observable="two copies of an archive at once, and a third later")  # fmt: skip
class CopyConflictsForEver(_Racing):
    """A copy that comes too early is told that it conflicts, and that is what its key is answered from then on."""

    def __init__(self, server: Collaborators) -> None:
        super().__init__(server)
        self.refused: set[str] = set()

    async def archive(self, caller: Caller, arguments: Arguments) -> Document:
        if arguments["mutation_id"] in self.refused:
            raise Conflict("the mutation id is in use")
        return await super().archive(caller, arguments)

    async def copy_meanwhile(self, caller: Caller, arguments: Arguments) -> Document:
        del caller
        self.refused.add(arguments["mutation_id"])
        raise Conflict("the mutation id is in use")


class _CachedService(Service):
    """Keeps what was read until a conversation changes."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.cache: dict[str, Document] = {}

    def deliver(self, run_id: str, result: dict[str, Any]) -> bool | None:
        taken = super().deliver(run_id, result)
        self.cache = {}
        return taken

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().archive(caller, arguments)
        self.cache = {}
        return result


@family.part("race-stale-cache", "RACE-LINEARIZABLE", also=(_CachedService,),
             observable="a read beside an archive, and another read later")  # fmt: skip
class StaleCache(_Racing):
    """A run's status is read through a cache that an archive empties; a read that began before it fills it again."""

    async def read(self, operation: Operation, caller: Caller, arguments: Arguments) -> Document:
        seen = await super().read(operation, caller, arguments)
        assert isinstance(self.service, _CachedService)
        # What a caller may not read, and what is withheld for another reason, never comes from the cache.
        availability = self.service.get(caller, arguments)["conversation"]["availability"]
        if "run_id" not in arguments or availability not in ("available", "archived"):
            return seen
        key = f"{caller.principal_id} {canonical(arguments)}"
        if key not in self.service.cache:
            await _pause()
            self.service.cache[key] = seen
        return copy.deepcopy(self.service.cache[key])


class _WorkerWritesLater(Service):
    """Reads the conversation when a result comes and writes it, with the answer, a moment later."""

    def deliver(self, run_id: str, result: dict[str, Any]) -> bool | None:
        stored, seen = self.store.conversation_of_run(run_id), self.store.conversation_of_run(run_id)
        if stored is None or seen is None:
            return None
        view, run = self.look(seen), find_run(stored.document, run_id)
        shown = find_run(view, run_id)
        if run is None or shown is None or not self.rules.takes_result(view, shown, result["answer"]):
            return False
        self.rules.add_result(stored.document, run, result, self.clock.now(stored.workspace_id))
        write = self.store.replace_document
        asyncio.get_running_loop().call_later(_WORKER_SECONDS, write, stored.id, stored.document)
        return True


@family.part("race-worker-overwrites-archive", "RACE-WORKER-RESULT", "RACE-LINEARIZABLE",
             observable="an archive beside a worker's result")  # fmt: skip
class WorkerOverwritesArchive(_WorkerWritesLater):
    """The worker writes back the whole conversation as it had read it; an archive that came between is undone."""


@family.part("race-deadline-answered-with-text", "RACE-DEADLINE", "RACE-LINEARIZABLE",
             observable="an archive beside the deadline")  # fmt: skip
class DeadlineAnsweredWithText(_Racing):
    """An archive that is overtaken by the deadline does nothing and answers with the conversation as it was."""

    def finish(self, caller: Caller, arguments: Arguments, stored: StoredConversation) -> Document:
        service = self.service
        was = copy.deepcopy(stored.document)
        if service.look(stored)["conversation"]["availability"] != "expired":
            return super().finish(caller, arguments, stored)
        service.store.add_mutation(
            caller.principal_id, arguments["mutation_id"], StoredMutation(canonical(arguments), was)
        )
        return was
