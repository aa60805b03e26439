"""The canary watch: looks through everything that comes back in a run for private text that must not be there.

Every private text that is seeded carries a marker that nobody can guess. The watch knows for each marker whose it is
and whether its text must be gone by now. Test control and the session tell it what happened; it judges the present
state alone, and where a call and a change of state overlap in time it does not judge (contract, "Privacy").
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.canary_places import Place, places
from conformance.cases.conversations import Document, title_markers
from conformance.cases.texts import MARKER
from conformance.clock import Clock
from conformance.control.interface import AccessState, Capabilities, Principal, TestControl
from conformance.judge.finding import Finding
from conformance.judge.formats import parse_instant
from conformance.judge.markers import markers_in
from conformance.stage import with_ids
from conformance.transport.exchange import Answer, Credential, Exchange, Request, Response

_UNKNOWN_BEGINNING_SECONDS: Final = 1.0
"""By how much a request may have been sent earlier than its exchange says, where nobody told when the call began."""

_MOST_LEAKS: Final = 20
_MOST_CONVERSATIONS: Final = 2000
"""How many conversations are watched: all that a standard run seeds, and the last ones of a longer run."""

_NO_CLOCK: Final = (-1, 0.0)


@dataclass(slots=True)
class _Conversation:
    """What is known of a seeded conversation; moments are readings of the suite's clock, in seconds."""

    owner: str
    workspace_id: str
    expires: int
    archived: float | None = None
    withheld: float | None = None
    runs: list[str] = field(default_factory=list)
    markers: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Canary:
    """A marker's text: where it belongs, and when it goes (milliseconds since 1970); a title is always the owner's."""

    conversation: _Conversation
    expires: int
    is_title: bool = False


class CanaryWatch:
    """Watches the exchanges of one process. Safe to use from several threads."""

    def __init__(self, scope: str, clock: Clock | None = None) -> None:
        self._scope = scope
        self._clock = clock or Clock()
        self._persons: dict[str, tuple[str, bool]] = {}
        self._conversations: dict[str, _Conversation] = {}
        self._runs: dict[str, _Conversation] = {}
        self._canaries: dict[str, _Canary] = {}
        self._clocks: dict[str | None, tuple[int, float]] = {}
        self._leaks: list[Finding] = []
        self._calls = threading.local()

    def begin_case(self) -> None:
        """Forget what was found in the last case."""
        self._leaks = []

    def leaks(self) -> tuple[Finding, ...]:
        """Return what was found in this case, each kind of leak of each operation once."""
        once = {(leak.requirement, leak.operation, leak.summary): leak for leak in reversed(self._leaks)}
        return tuple(reversed(once.values()))

    def knows(self, principal: Principal) -> None:
        """Take note of a person's token and whether it has the scope to read."""
        self._persons[principal.token] = (principal.principal_id, self._scope in principal.scopes)

    def seeded(self, owner: Principal, document: Document) -> None:
        """Take note of a stored conversation; ``document`` has the ids that the target gave it."""
        conversation = document.conversation
        known = _Conversation(
            owner.principal_id, conversation["workspace_id"].lower(), _milliseconds(conversation["expires_at"])
        )
        self._conversations[conversation["id"].lower()] = known
        known.runs = [run["id"].lower() for run in document.runs]
        self._runs.update(dict.fromkeys(known.runs, known))
        titles = title_markers(document)
        self._watch(known, titles, _Canary(known, known.expires, is_title=True))
        for message in document.messages:
            canary = _Canary(known, min(known.expires, _milliseconds(message["expires_at"])))
            self._watch(known, _markers_of(message), canary)
        while len(self._conversations) > _MOST_CONVERSATIONS:
            self._drop_oldest()

    def _watch(self, known: _Conversation, markers: frozenset[str], canary: _Canary) -> None:
        known.markers += markers
        self._canaries.update(dict.fromkeys(markers, canary))

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._conversations))
        known = self._conversations.pop(oldest)
        for run in known.runs:
            self._runs.pop(run, None)
        for marker in known.markers:
            self._canaries.pop(marker, None)

    def delivered(self, run_id: str, answer: Any) -> None:
        """Take note of the text that a worker is about to deliver."""
        known = self._runs.get(run_id.lower())
        if known is not None:
            self._watch(known, _markers_of({"answer": answer}), _Canary(known, known.expires))

    def clock_stands(self, workspace_id: str | None, now: int) -> None:
        """Take note that a workspace's clock stands (every clock, where none is named) at ``now`` milliseconds."""
        self._clocks[workspace_id and workspace_id.lower()] = (now, self._clock.reading())

    def clock_runs(self, workspace_id: str | None) -> None:
        """Take note that a workspace's clock is about to run again: what is expired there is not judged any more."""
        self._clocks.pop(workspace_id and workspace_id.lower(), None)

    def access_changed(self, conversation_id: str, *, granted: bool) -> None:
        """Take note of access that was withdrawn, or is about to be granted: then the text may come back."""
        known = self._conversations.get(conversation_id.lower())
        if known is not None:
            known.withheld = None if granted else self._clock.reading()

    def forget(self) -> None:
        """Forget everything that was seeded."""
        for known in (self._conversations, self._runs, self._canaries, self._clocks):
            known.clear()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Mark the beginning of a call of this thread, so that changes of state during it are known as such."""
        self._calls.began = self._clock.reading()
        try:
            yield
        finally:
            self._calls.began = None

    def look(self, exchange: Exchange) -> None:
        """Judge an exchange that has just come to its end."""
        if self._canaries:
            began = getattr(self._calls, "began", None)
            if began is None:
                began = self._clock.reading() - exchange.elapsed - _UNKNOWN_BEGINNING_SECONDS
            self.examine(exchange, places(exchange), began)

    def answered(self, answer: Answer) -> None:
        """Take note of a successful archive, whose own answer must be without the text already.

        What was archived must be said alike by the arguments and by the result; in doubt nothing is noted.
        """
        operation = answer.call.operation
        if operation.effect != "write" or answer.result is None or not self._canaries:
            return
        field = next((name for name, source in operation.bindings.items() if source == "conversation.id"), "")
        try:
            asked = json.loads(answer.call.arguments)[field].lower()
            conversation = json.loads(answer.result)["conversation"]
            is_archived = conversation["id"].lower() == asked and conversation["archived"] is True
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return
        known = self._conversations.get(asked)
        if is_archived and known is not None:
            known.archived = known.archived or self._clock.reading()
            self.examine(answer.exchange, places(answer.exchange), self._clock.reading())

    def examine(self, exchange: Exchange, parts: tuple[Place, ...], began: float) -> None:
        """Look for markers in the parts of what came back from a call that began at that reading of the counter.

        Whatever a binding has beside an HTTP answer (a tool's content, error data, stderr) comes in as further parts.
        """
        caller: tuple[str, bool] | None = None
        is_known = False
        for part in parts:
            for marker in markers_in(part.text):
                canary = self._canaries.get(marker)
                if canary is None:
                    continue
                if not is_known:
                    caller, is_known = self._caller(exchange), True
                judged = self._judged(canary, caller, part, began)
                if judged and len(self._leaks) < _MOST_LEAKS:
                    requirement, why = judged
                    self._leaks.append(_leak(exchange, part, requirement, why, marker))

    def hear(self, credential: Credential, text: bytes) -> None:
        """Look through what a child wrote to stderr, a moment before it is heard of here, or longer."""
        headers = () if credential.header is None else (("Authorization", credential.header),)
        request = Request("STDERR", "", headers, b"")
        exchange = Exchange("", credential.label, request, Response(0, "", (), text), None, 0.0)
        began = self._clock.reading() - _UNKNOWN_BEGINNING_SECONDS
        self.examine(exchange, (Place("stderr", text, "PRIVACY-STDERR"),), began)

    def _caller(self, exchange: Exchange) -> tuple[str, bool] | None:
        """Return whose token the request carried and whether it may read, or ``None`` for a token of nobody."""
        for _, value in exchange.request.headers:
            person = self._persons.get(value.rpartition(" ")[2])
            if person is not None:
                return person
        return None

    def _judged(
        self, canary: _Canary, caller: tuple[str, bool] | None, part: Place, began: float
    ) -> tuple[str, str] | None:
        """Return the requirement that showing this text breaks, and what the text is; ``None`` where it is right."""
        is_stderr = part.requirement == "PRIVACY-STDERR"
        if caller is None or not caller[1]:
            return part.requirement if is_stderr else "AUTH-NO-CONTENT", "of a conversation"
        if caller[0] != canary.conversation.owner:
            return part.requirement if is_stderr else "PRIVACY-OTHER-USER", "of another person"
        if canary.is_title:
            return None
        known = canary.conversation
        if known.archived is not None and known.archived <= began:
            return part.requirement, "that is archived"
        if known.withheld is not None and known.withheld <= began:
            return part.requirement, "that is withheld"
        now, since = self._clocks.get(known.workspace_id) or self._clocks.get(None) or _NO_CLOCK
        return (part.requirement, "that is expired") if canary.expires <= now and since <= began else None


def _leak(exchange: Exchange, part: Place, requirement: str, why: str, marker: str) -> Finding:
    where = {"PRIVACY-BODY": "a result", "PRIVACY-ERROR-TEXT": "an error", "PRIVACY-HEADER": "a header"}
    return Finding(
        requirement,
        exchange.operation,
        f"Private text {why} is shown in {where.get(part.requirement, part.name)}",
        _where(exchange, part, marker),
        "no private text",
        marker,
        (exchange,),
    )


def _where(exchange: Exchange, part: Place, marker: str) -> str:
    if part.requirement != "PRIVACY-HEADER" or exchange.response is None:
        return part.name
    for name, value in exchange.response.headers:
        if marker in markers_in(f"{name}: {value}".encode("latin-1", "replace")):
            return f"header {name}"
    return "reason phrase"


def _markers_of(message: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(MARKER.findall(json.dumps(message)))


def _milliseconds(text: str) -> int:
    return int(parse_instant(text) * 1000)


class WatchedControl:
    """Test control that tells the watch what it brings about; see ``TestControl`` for each call."""

    def __init__(
        self,
        control: TestControl,
        watch: CanaryWatch,
        capabilities: Capabilities,
        restarted: Callable[[], None] = lambda: None,
    ) -> None:
        """``restarted`` is called after the target has been restarted."""
        self._control = control
        self._restarted = restarted
        self._watch = watch
        self._capabilities = capabilities

    def capabilities(self) -> Capabilities:
        """Return what was offered when the run began."""
        return self._capabilities

    def create_principal(self, scopes: tuple[str, ...], workspace_ids: tuple[str, ...], label: str) -> Principal:
        """Create a person, whom the watch knows from then on."""
        principal = self._control.create_principal(scopes, workspace_ids, label)
        self._watch.knows(principal)
        return principal

    def create_token(self, principal: Principal, scopes: tuple[str, ...]) -> Principal:
        """Give a person a further token."""
        further = self._control.create_token(principal, scopes)
        self._watch.knows(further)
        return further

    def seed_conversation(self, principal: Principal, conversation: Any, messages: Any, runs: Any) -> Mapping[str, str]:
        """Store a conversation, whose texts are watched from then on."""
        changed = self._control.seed_conversation(principal, conversation, messages, runs)
        document = Document(conversation, messages, runs)
        self._watch.seeded(principal, with_ids(document, changed) if changed else document)
        return changed

    def read_clock(self, workspace_id: str) -> str:
        """Read a clock."""
        return self._control.read_clock(workspace_id)

    def set_clock(self, workspace_id: str, now: str) -> None:
        """Set a clock: what has expired by then must be gone afterwards."""
        self._control.set_clock(workspace_id, now)
        self._watch.clock_stands(self._clock_of(workspace_id), _milliseconds(now))

    def release_clock(self, workspace_id: str) -> None:
        """Let a clock run."""
        self._watch.clock_runs(self._clock_of(workspace_id))
        self._control.release_clock(workspace_id)

    def set_access(self, conversation_id: str, state: AccessState) -> None:
        """Withdraw access, after which the text must be gone, or grant it."""
        if state == "granted":
            self._watch.access_changed(conversation_id, granted=True)
        self._control.set_access(conversation_id, state)
        if state != "granted":
            self._watch.access_changed(conversation_id, granted=False)

    def deliver_result(self, run_id: str, answer: Any, model_id: str | None, model_version: str | None) -> None:
        """Deliver a result, whose texts are watched."""
        self._watch.delivered(run_id, answer)
        self._control.deliver_result(run_id, answer, model_id, model_version)

    def restart(self) -> None:
        """Restart the target."""
        self._control.restart()
        self._restarted()

    def reset(self) -> None:
        """Drop all seeded data."""
        self._control.reset()
        self._watch.forget()

    def _clock_of(self, workspace_id: str) -> str | None:
        return None if self._capabilities.clock_scope == "global" else workspace_id
