"""A round of a race: a conversation of its own, calls that are released together, calls afterwards, and their history.

A check arranges with ``rounds``, exchanges with ``Round.release`` and ``Round.then``, and judges what was made of it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.cases.conversations import DAY, MINUTE, Document, archivable
from conformance.cases.json_text import encode
from conformance.checks.views import AVAILABLE, judged_success, needed_operation
from conformance.contract import Contract, Operation
from conformance.errors import CouldNotRun
from conformance.judge.finding import Finding, NonConformance
from conformance.judge.history import Event, is_linearizable, smallest_part
from conformance.judge.history_model import (
    Action,
    Answer,
    Archive,
    ConversationSpecification,
    Read,
    View,
    conversation_view,
    status_view,
    with_copies_excused,
)
from conformance.judge.history_story import timed_calls, timeline
from conformance.judge.outcome import answered
from conformance.session import Session
from conformance.stage import Scene
from conformance.transport.exchange import Call
from conformance.transport.race import Release, Timed, race, releases, timed_call

AFTERWARDS: Final = "afterwards"
_LEADS: Final = (0.0, 0.0005, 0.001, 0.0015)
_SHOWN_EXCHANGES: Final = 4


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made: by whom, when, and what its answer shows, where it is a success that can be read."""

    client: str
    timed: Timed
    value: Any = None
    view: View | None = None

    @property
    def refused(self) -> bool:
        """The call was refused, for another reason than a rate limit."""
        return self.timed.answer.outcome == "refused" and not self.limited

    @property
    def limited(self) -> bool:
        """The answer may come from a rate limit, and then says nothing."""
        kinds = self.timed.answer.kinds
        return self.timed.answer.outcome == "refused" and kinds is not None and "rate_limited" in kinds

    @property
    def succeeded(self) -> bool:
        """The call was answered as a success."""
        return self.timed.answer.outcome == "success"

    def refused_as(self, *kinds: str) -> bool:
        """Tell whether the call was refused as one of these kinds, or without saying as what."""
        found = self.timed.answer.kinds
        return self.timed.answer.outcome == "refused" and (found is None or bool(found & set(kinds)))


class Round:
    """One conversation, the calls made on it, and what happened beside them."""

    def __init__(self, session: Session, scene: Scene, release: Release, number: int) -> None:
        self._session = session
        self.scene = scene
        self.how = release
        self._lead = _LEADS[number // 2 % len(_LEADS)]
        self._archive = needed_operation(session, "write", "conversation")
        self._get = needed_operation(session, "read", "conversation")
        self._status = needed_operation(session, "read", "run")
        self.made: list[Made] = []
        self.raced: list[Made] = []
        self._beside: list[Event[Action]] = []
        first = conversation_view(self._first_read())
        self.specification = ConversationSpecification(first)
        self.revision = first.revision

    def _first_read(self) -> Any:
        """Return what *get* shows before the race.

        Raises:
            NonConformance: it is refused, or does not obey the schema.
        """
        call = self.get()
        answer = self._session.transport.call(call)
        arguments = json.loads(call.arguments)
        judged, findings = judged_success(self._session, answer, arguments, "READ-AVAILABLE", AVAILABLE)
        if judged is None:
            raise NonConformance(findings)
        return judged.value

    def archive(self, revision: int | None = None) -> Call:
        """Return an archive under a fresh key, with the revision before the race unless another is given."""
        self.scene.revision = revision or self.revision
        return self._call(self._archive, self.scene.arguments(self._archive))

    def get(self) -> Call:
        """Return a read of the conversation."""
        return self._call(self._get, self.scene.arguments(self._get))

    def status(self, run_id: str) -> Call:
        """Return a read of a run's status."""
        return self._call(self._status, self.scene.arguments(self._status, run_id))

    def _call(self, operation: Operation, arguments: dict[str, Any]) -> Call:
        return Call(operation, encode(arguments), self.scene.principal.credential)

    def release(
        self,
        scripts: Sequence[Sequence[Call]],
        beside: Callable[[], None] | None = None,
        happening: Action | None = None,
        *,
        happens_within: bool = True,
    ) -> Iterator[Finding]:
        """Let each script be played by a client of its own at the same time; yield a finding per failed answer.

        ``happening`` is what ``beside`` does to the conversation, while it is called or, unless ``happens_within``,
        at any later time.
        """
        raced = race(self._session.transport, scripts, self.how, beside, self._lead)
        self._session.note_race(raced.clients)
        if raced.beside is not None:
            self._session.note_beside(raced.beside)
        if raced.beside is not None and happening is not None:
            called, returned = raced.beside
            self._beside.append(Event("beside", happening, called, returned if happens_within else None))
        for number, client in enumerate(raced.clients, 1):
            self.raced += [self._read(timed, f"client {number}") for timed in client]
        self.made += self.raced
        for made in self.raced:
            yield from self._unanswered(made)

    def then(self, call: Call) -> Made:
        """Make a call by itself, after the race."""
        self.made.append(self._read(timed_call(self._session.transport, call, self._session.clock), AFTERWARDS))
        return self.made[-1]

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._session.clock.wait(seconds)

    def read_afterwards(self) -> Made:
        """Read the conversation after the race.

        Raises:
            CouldNotRun: a rate limit stands in the way.
        """
        made = self.then(self.get())
        if made.limited:
            raise CouldNotRun(f"the target's rate limit stands in the way ({made.timed.answer.status})", "Raise it.")
        return made

    def not_readable(self, made: Made) -> Iterator[Finding]:
        """Yield a finding when a read after the race did not succeed."""
        if not made.succeeded:
            yield self.finding(
                "RACE-ALL-ANSWERED", "The conversation cannot be read after calls at the same time", "success", made
            )

    def _read(self, timed: Timed, client: str) -> Made:
        answer = timed.answer
        if answer.result is None:
            return Made(client, timed)
        value = self._session.results.judge(answer, json.loads(answer.call.arguments)).value
        if value is None:
            return Made(client, timed)
        view = conversation_view(value) if answer.call.operation.result == "conversation" else status_view(value)
        return Made(client, timed, value, view)

    def _unanswered(self, made: Made) -> Iterator[Finding]:
        outcome = made.timed.answer.outcome
        if outcome == "server-error":
            yield self.finding(
                "RACE-NO-SERVER-ERROR", "The server failed on calls at the same time", "a status below 500", made
            )
        elif outcome == "no-answer":
            yield self.finding("RACE-ALL-ANSWERED", "A call beside others got no answer", "an answer in time", made)
        elif outcome == "unexpected":
            yield from answered(made.timed.answer)

    def finding(self, requirement: str, summary: str, expected: str, *involved: Made) -> Finding:
        """Return a finding about a race, with the timeline of the smallest part of it that cannot be explained."""
        last = involved[-1]
        shown = tuple(made.timed.answer.exchange for made in involved[-_SHOWN_EXCHANGES:])
        answer = last.timed.answer
        events = self._telling()
        return Finding(
            requirement,
            answer.call.operation.name,
            summary,
            self._place,
            expected,
            answer.status,
            shown,
            timeline(events),
            timed_calls(events),
        )

    @property
    def _place(self) -> str:
        clients = len({made.client for made in self.raced})
        beside = " and test control" if self._beside else ""
        return f"{clients} client{'s' if clients > 1 else ''}{beside}, released by {self.how}"

    def linearizable(self) -> Iterator[Finding]:
        """Yield a finding when no order of the calls explains all their answers."""
        if not is_linearizable(self._history(), self.specification):
            yield self.finding(
                "RACE-LINEARIZABLE",
                "No order of the calls that keeps what was observed explains their answers",
                "answers as if the calls had happened one after the other, each between its start and its end",
                *self.made,
            )

    def _telling(self) -> Sequence[Event[Action]]:
        """Return the smallest part of the history that cannot be explained, or else the race itself."""
        history = self._history()
        if is_linearizable(history, self.specification):
            return [event for event in history if event.client != AFTERWARDS]
        return smallest_part(history, self.specification)

    def _history(self) -> list[Event[Action]]:
        return with_copies_excused([*self._beside, *map(self._event, self.made)])

    def _event(self, made: Made) -> Event[Action]:
        answer, operation = made.timed.answer, made.timed.answer.call.operation
        seen: Answer = "unknown"
        if made.view is not None:
            seen = made.view
        elif made.limited:
            seen = "put off"
        elif made.refused:
            seen = "refused"
        open_ended = seen == "unknown" and operation is self._archive
        returned = None if open_ended else made.timed.returned
        action: Action = Read(seen, answer.status)
        if operation is self._archive:
            arguments = json.loads(answer.call.arguments)
            names = {source: name for name, source in operation.bindings.items()}
            key, expected = arguments[names["fresh uuid"]], arguments[names["conversation.revision"]]
            action = Archive(key, expected, seen, answer.status)
        return Event(made.client, action, made.timed.called, returned)


def can_race(contract: Contract) -> bool:
    """Tell whether the contract has what is raced: an archive with key and revision, and reads of both kinds."""
    kinds = {(operation.effect, operation.result) for operation in contract.operations}
    bound = (set(operation.bindings.values()) for operation in contract.operations if operation.effect == "write")
    needed = {("write", "conversation"), ("read", "conversation"), ("read", "run")}
    return needed <= kinds and any({"fresh uuid", "conversation.revision"} <= sources for sources in bound)


def rounds(session: Session, *, standing_clock: bool = False) -> Iterator[Round]:
    """Yield as many rounds as the profile asks for, every way of releasing calls in turn.

    Each has a conversation of its own, and with ``standing_clock`` a workspace whose clock stands.
    """
    stage, ways = session.stage, releases(session.transport)
    now = stage.now()
    workspaces = stage.workspaces(session.rng, session.settings.examples("races"))
    documents = [_document(session.rng, now, workspace_id) for workspace_id in workspaces]
    owner = stage.principal(session.rng, workspace_ids=workspaces)
    for number, document in enumerate(documents):
        if standing_clock:
            stage.set_clock(document.workspace_id, now)
        scene = stage.seeded(session.rng, document, owner)
        yield Round(session, scene, ways[number % len(ways)], number)


def _document(rng: random.Random, now: int, workspace_id: str) -> Document:
    return archivable(rng, now, expires_in=DAY - 10 * MINUTE, workspace_id=workspace_id)
