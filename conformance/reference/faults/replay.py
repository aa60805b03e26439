# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in how an attempt is recognised when it comes again."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from conformance.contract import Operation
from conformance.reference.authentication import Authenticator, Caller
from conformance.reference.faults.family import Family
from conformance.reference.instants import Instant
from conformance.reference.refusals import Conflict, Forbidden, InvalidInput, NotFound
from conformance.reference.rest import Collaborators, RestBinding
from conformance.reference.rules import Document
from conformance.reference.service import Arguments, Service
from conformance.reference.store import StoredConversation

family = Family()

_HOUR = 3600


class _Recognises(Service):
    """Does something wrong when it recognises an attempt."""

    def recognised(self, caller: Caller, arguments: Arguments, result: Document) -> Document | None:
        raise NotImplementedError

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        result = super().recall(caller, arguments)
        return None if result is None else self.recognised(caller, arguments, result)


@family.part("replay-shows-expected-revision", "REPLAY-SAME-RESULT", observable="the revision in a replay's result")
class ShowsExpectedRevision(_Recognises):
    """The result of a replay is put together from the arguments, with the revision that they expect."""

    def recognised(self, caller: Caller, arguments: Arguments, result: Document) -> Document | None:
        del caller
        result["conversation"]["revision"] = arguments["expected_revision"]
        for run in result["runs"]:
            run["conversation_revision"] = min(run["conversation_revision"], arguments["expected_revision"])
        return result


@family.part("replay-knows-last-attempt-only", "REPLAY-SAME-RESULT", observable="a refused archive in between")
class KnowsLastAttemptOnly(Service):
    """Each conversation remembers its last attempt, and a refused one takes the place of the applied one."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._last: dict[str, str] = {}

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        conversation_id, key = arguments["conversation_id"], arguments["mutation_id"]
        last = self._last.setdefault(conversation_id, key)
        self._last[conversation_id] = key
        return super().recall(caller, arguments) if last == key else None


@family.part("replay-cancels-again", "REPLAY-APPLIED-ONCE", observable="a read after a replay")
class CancelsAgain(_Recognises):
    """A replay is answered from memory, but the cancelling of runs goes out again, and completed ones are hit."""

    def recognised(self, caller: Caller, arguments: Arguments, result: Document) -> Document | None:
        stored = self.find(caller, arguments)
        for run in stored.document["runs"]:
            if run["status"] == "completed":
                run["status"] = run["failure_code"] = "cancelled"
        self.store.replace_document(stored.id, stored.document)
        return result


class _Forgets(Service):
    """Forgets an applied attempt some hours later."""

    hours: int

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._applied: dict[str, Instant] = {}

    def remember(self, caller: Caller, arguments: Arguments, result: Document) -> None:
        super().remember(caller, arguments, result)
        self._applied[arguments["mutation_id"]] = self.clock.now(arguments["workspace_id"])

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        applied, now = self._applied.get(arguments["mutation_id"]), self.clock.now(arguments["workspace_id"])
        if applied is not None and now.second - applied.second >= self.hours * _HOUR - 60:
            return None
        return super().recall(caller, arguments)


@family.part(
    "replay-forgotten-after-an-hour",
    "REPLAY-AFTER-TIME",
    observable="a clock that moves on by an hour",
    reports=("https://github.com/square/connect-api-examples/issues/135",),
)
class ForgottenAfterAnHour(_Forgets):
    """Keys are kept for an hour."""

    hours = 1


@family.part("replay-forgotten-after-half-a-day", "REPLAY-AFTER-TIME", observable="a clock that moves on by 23 hours")
class ForgottenAfterHalfADay(_Forgets):
    """Keys are kept for twelve hours."""

    hours = 12


class _Fingerprints(RestBinding):
    """Makes something of the request part of what must be equal."""

    fingerprint = ""

    def made_of(self, raw: bytes) -> str:
        raise NotImplementedError

    async def carry_out(self, operation: Operation, caller: Caller, raw: bytes) -> dict[str, Any]:
        validator = self.server.validator
        arguments = validator.check(operation, validator.decode(raw))
        return await self.perform(operation, caller, {**arguments, "fingerprint": self.made_of(raw)})


@family.part("replay-compares-bytes", "REPLAY-OTHER-FORM", observable="another order of names, white space, escapes")
class ComparesBytes(_Fingerprints):
    """Two attempts are the same when their bodies are equal byte for byte."""

    def made_of(self, raw: bytes) -> str:
        return raw.hex()


@family.part("replay-compares-headers", "REPLAY-OTHER-FORM", observable="another order of headers")
class ComparesHeaders(_Fingerprints):
    """The names of the headers, in their order, belong to the fingerprint of an attempt."""

    def made_of(self, raw: bytes) -> str:
        del raw
        return self.fingerprint

    async def read_body(self, request: Request) -> bytes:
        raw = await super().read_body(request)
        self.fingerprint = " ".join(name.decode("latin-1") for name, _ in request.headers.raw)
        return raw


class _ScopeOfWritesLater(Authenticator):
    """Leaves the scope of writes to the service."""

    def authorise(self, caller: Caller, operation: Operation) -> None:
        if operation.effect == "read":
            super().authorise(caller, operation)


@family.part(
    "replay-before-scope",
    "REPLAY-SCOPE-CHECKED",
    observable="a replay without the scope",
    also=(_ScopeOfWritesLater,),
    reports=("https://github.com/margince/margince/issues/5315",),
)
class BeforeScope(Service):
    """A replay is answered before the scope is looked at; anything else is refused without it."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        if "agent:research" not in caller.scopes:
            self.find(caller, arguments)
            replayed = self.recall(caller, arguments)
            if replayed is None:
                raise Forbidden("the token lacks the capability that this operation needs")
            return replayed
        return super().archive(caller, arguments)


@family.part(
    "replay-answers-anyone",
    "REPLAY-OTHER-USER-UNANSWERED",
    "REPLAY-OTHER-USER-UNBLOCKED",
    observable="another person with the same call",
    reports=("https://github.com/C-Address-Onboarding-Bridge/C-Address-Onboarding-Bridge-Backend/issues/379",),
)
class AnswersAnyone(Service):
    """The key is looked up before the conversation, and belongs to nobody."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        with self.store.transaction("IMMEDIATE"):
            replayed = self.recall(caller, arguments)
        return super().archive(caller, arguments) if replayed is None else replayed

    def key_owner(self, caller: Caller) -> str:
        del caller
        return "everyone"


@family.part(
    "replay-key-taken-by-anyone",
    "REPLAY-OTHER-USER-UNBLOCKED",
    observable="a key that another tried in vain",
    over=("rest", "mcp-http"),  # each child of stdio has a memory of its own
)
class KeyTakenByAnyone(Service):
    """Whoever sends a key first owns it, also when they were refused."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._owners: dict[str, str] = {}

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        if self._owners.setdefault(arguments["mutation_id"], caller.principal_id) != caller.principal_id:
            raise Conflict("the mutation id is taken")
        return super().archive(caller, arguments)


class _ComparesLess(Service):
    """Leaves some arguments out of what must be equal."""

    left_out: tuple[str, ...]

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        return super().recall(caller, self.less(arguments))

    def remember(self, caller: Caller, arguments: Arguments, result: Document) -> None:
        super().remember(caller, self.less(arguments), result)

    def less(self, arguments: Arguments) -> Arguments:
        return {name: value for name, value in arguments.items() if name not in self.left_out}


@family.part("replay-ignores-revision", "REPLAY-OTHER-ARGUMENTS-REFUSED", observable="a used key, another revision")
class IgnoresRevision(_ComparesLess):
    """A used key is answered whatever revision is expected."""

    left_out = ("expected_revision",)


@family.part(
    "replay-ignores-conversation",
    "REPLAY-OTHER-ARGUMENTS-REFUSED",
    observable="a used key, another conversation",
    reports=("https://github.com/KanishJebaMathewM/Truxify/issues/2869",),
)
class IgnoresConversation(_ComparesLess):
    """A used key is answered with its first result for any conversation at the same revision."""

    left_out = ("conversation_id", "workspace_id")


@family.part(
    "replay-key-per-conversation", "REPLAY-OTHER-ARGUMENTS-REFUSED", observable="a used key, another conversation"
)
class KeyPerConversation(Service):
    """Keys belong to a conversation: the same key archives another one."""

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        return super().recall(caller, self.keyed(arguments))

    def remember(self, caller: Caller, arguments: Arguments, result: Document) -> None:
        super().remember(caller, self.keyed(arguments), result)

    def keyed(self, arguments: Arguments) -> Arguments:
        return {**arguments, "mutation_id": f"{arguments['conversation_id']} {arguments['mutation_id']}"}


@family.part("replay-reuse-as-invalid", "REPLAY-CONFLICT-KIND", observable="a used key with other arguments")
class ReuseAsInvalid(Service):
    """A used key with other arguments is called invalid input."""

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        try:
            return super().recall(caller, arguments)
        except Conflict:
            raise InvalidInput("the mutation id was used") from None


@family.part("replay-reuse-applied", "REPLAY-REFUSED-UNCHANGED", observable="a used key for another conversation")
class ReuseApplied(Service):
    """The other conversation is archived, then the key turns out to be taken; the answer is a conflict all the same."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().archive(caller, arguments)
        except Conflict:
            with self.store.transaction():
                stored = self.find(caller, arguments)
                if stored.document["conversation"]["revision"] == arguments["expected_revision"]:
                    self.apply_archive(stored)
            raise


class _KeyLater(Service):
    """Leaves the key of an applied attempt to whoever sends the answer."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.pending: list[tuple[Caller, Arguments, Document]] = []

    def remember(self, caller: Caller, arguments: Arguments, result: Document) -> None:
        self.pending.append((caller, arguments, copy.deepcopy(result)))

    def keep(self) -> None:
        """Remember the pending attempts."""
        for attempt in self.pending:
            super().remember(*attempt)
        self.pending.clear()


@family.part("replay-key-lost-with-answer", "REPLAY-LOST-ANSWER", observable="a dropped connection", also=(_KeyLater,))
class KeyLostWithAnswer(RestBinding):
    """The key is stored in a second step, and that step is cancelled when the client has gone away."""

    async def handle(self, request: Request, operation: Operation) -> Response:
        response = await super().handle(request, operation)
        service = self.server.service
        if isinstance(service, _KeyLater) and service.pending:
            await asyncio.sleep(0.01)
            if await request.is_disconnected():
                service.pending.clear()
            else:
                service.keep()
        return response


@family.part(
    "replay-wedged-by-lost-answer",
    "REPLAY-LOST-ANSWER",
    observable="a dropped connection",
    also=(_KeyLater,),
    reports=("https://github.com/pathosDev/actor-ts/issues/984",),
)
class WedgedByLostAnswer(RestBinding):
    """The mark that an attempt is being carried out is never taken away when the client has gone: 409 for ever."""

    def __init__(self, server: Collaborators) -> None:
        super().__init__(server)
        self.wedged: set[str] = set()

    async def perform(self, operation: Operation, caller: Caller, arguments: Arguments) -> dict[str, Any]:
        if arguments.get("mutation_id") in self.wedged:
            raise Conflict("the attempt is being carried out")
        return await super().perform(operation, caller, arguments)

    async def handle(self, request: Request, operation: Operation) -> Response:
        response = await super().handle(request, operation)
        service = self.server.service
        if isinstance(service, _KeyLater) and service.pending:
            await asyncio.sleep(0.01)
            if await request.is_disconnected():
                self.wedged.update(arguments["mutation_id"] for _, arguments, _ in service.pending)
            service.keep()
        return response


class _RemembersText(_Recognises):
    """Keeps the conversation as it was before the archive, and shows it in some replays."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._before: dict[str, list[dict[str, Any]]] = {}

    def apply_archive(self, stored: StoredConversation) -> Document:
        self._before.setdefault(stored.id, copy.deepcopy(stored.document["messages"]))
        return super().apply_archive(stored)

    def recognised(self, caller: Caller, arguments: Arguments, result: Document) -> Document | None:
        stored = self.find(caller, arguments)
        if self.applies(stored):
            result["messages"] = self._before[stored.id]
        return result

    def applies(self, stored: StoredConversation) -> bool:
        raise NotImplementedError


@family.part("replay-after-expiry-shows-text", "REPLAY-EXPIRED-PRIVATE", observable="a replay after expiry")
class AfterExpiryShowsText(_RemembersText):
    """The stored result has expired by then, and the one before it is taken instead."""

    def applies(self, stored: StoredConversation) -> bool:
        return self.rules.has_passed(stored.document["conversation"]["expires_at"], self.clock.now(stored.workspace_id))


@family.part("replay-while-withheld-shows-text", "REPLAY-WITHHELD-PRIVATE", observable="a replay while withheld")
class WhileWithheldShowsText(_RemembersText):
    """While the source cannot be asked, a replay is answered from the last copy of the messages."""

    def applies(self, stored: StoredConversation) -> bool:
        return stored.access != "granted"


@family.part("replay-of-foreign-not-checked", "REPLAY-OTHER-USER-UNANSWERED", observable="another person's same call")
class ForeignNotChecked(Service):
    """A copy of an attempt by somebody else is answered as in progress or done: 409 instead of not found."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().archive(caller, arguments)
        except NotFound:
            stored = self.store.conversation(arguments["conversation_id"])
            if stored is not None and self.store.mutation(stored.owner_id, arguments["mutation_id"]):
                raise Conflict("the mutation id was used") from None
            raise
