"""One conversation as the reference model has it: frozen values, and what each event does to them.

Everything rests on "Derived" and "Left open" of the contract. Where the contract leaves a choice, a value holds what
is possible (a set of statuses, a least revision) until an answer shows what the server chose.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from conformance.cases.texts import MARKER
from conformance.control.interface import AccessState
from conformance.judge.formats import Instant, parse_instant

Channel = Literal["get", "status", "archive"]

ACTIVE: Final = frozenset({"queued", "processing"})
WITHHELD_FINISHED: Final = frozenset({"expired", "unavailable"})
"""What a finished run may show instead of its own status once its content is withheld."""

ANY_STATUS: Final = ACTIVE | WITHHELD_FINISHED | {"completed", "failed", "cancelled"}


def markers_in(value: Any) -> frozenset[str]:
    """Return the markers of all private texts in a JSON value."""
    return frozenset(MARKER.findall(json.dumps(value)))


@dataclass(frozen=True)
class Result:
    """A worker's result. ``requirement`` forbids to show it now or for ever; empty when it came in time."""

    answer: Mapping[str, Any]
    model_id: str | None
    model_version: str | None
    requirement: str = ""


@dataclass(frozen=True)
class Run:
    """A run. ``value`` is how it was last known, ``possible`` the statuses that it may have by now.

    While it is not ``settled``, the fields that go with a change of status are unknown. ``result`` came when the
    server might use it and has not been seen to be kept or dropped; ``late`` came too late. ``ran_out`` says that it
    was unfinished when its time came, so that an archive may still show it cancelled.
    """

    value: Mapping[str, Any]
    expires_at: Instant
    possible: frozenset[str]
    settled: bool = True
    ran_out: bool = False
    result: Result | None = None
    late: Result | None = None

    @property
    def id(self) -> str:
        """The id, in lower case."""
        return str(self.value["id"]).lower()


@dataclass(frozen=True)
class Message:
    """A message. It must be shown before ``due_until`` and its text must be gone from ``expires_at`` on.

    ``stored`` is false for one that came with a worker's result, which may stand anywhere in the list.
    """

    value: Mapping[str, Any]
    expires_at: Instant
    due_until: Instant
    stored: bool = True

    @property
    def id(self) -> str:
        """The id, in lower case."""
        return str(self.value["id"]).lower()

    @property
    def run_id(self) -> str:
        """The id of its run, in lower case."""
        return str(self.value["run_id"]).lower()

    @property
    def has_text(self) -> bool:
        """Whether there is anything private in it."""
        return self.value["question"] is not None or self.value["answer"] is not None


@dataclass(frozen=True)
class Pins:
    """What the last answers showed, as far as nothing has happened since that may change it."""

    conversation: Mapping[str, Any] | None = None
    messages: tuple[Mapping[str, Any], ...] | None = None
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    status_messages: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Conversation:
    """A conversation's life so far.

    ``revision`` is the least that it can be; ``growth`` names what may have raised it since. ``formerly`` are the ways
    in which content was withheld, until it is seen to be back; ``kept_away`` says that it was seen to stay gone.
    ``causes`` are the requirements by which what has happened since the last *get* must have changed nothing,
    ``gone_in`` the (reason, channel) pairs in which text has been seen to be gone, ``age`` counts events that may
    change what is shown.
    """

    owner: str
    value: Mapping[str, Any]
    runs: tuple[Run, ...]
    messages: tuple[Message, ...]
    begun: Instant
    now: Instant
    expires_at: Instant
    revision: int
    growth: frozenset[str] = frozenset()
    archived: bool = False
    access: AccessState = "granted"
    formerly: frozenset[str] = frozenset()
    kept_away: bool = False
    pins: Pins = field(default_factory=Pins)
    viewed: bool = False
    causes: frozenset[str] = frozenset()
    gone_in: frozenset[tuple[str, Channel]] = frozenset()
    restarted: bool = False
    age: int = 0

    @property
    def expired(self) -> bool:
        """Whether ``expires_at`` has come."""
        return self.now >= self.expires_at

    @property
    def withheld(self) -> bool:
        """Whether access is withdrawn or the source gone now."""
        return self.access != "granted"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the private text is gone; empty while it must be, or may be, shown."""
        found = ["archived"] * self.archived + ["expired"] * self.expired + [self.access] * self.withheld
        if self.kept_away and not found:
            found = sorted(self.formerly)
        return tuple(found)

    @property
    def undecided(self) -> bool:
        """Whether content that was withheld may be back or may have stayed gone."""
        return bool(self.formerly) and not self.reasons

    @property
    def availabilities(self) -> frozenset[str]:
        """Every availability that may be shown."""
        applying = ["archived"] * self.archived + ["expired"] * self.expired + [self.access] * self.withheld
        return frozenset(applying or ["available"]) | self.formerly

    @property
    def deadlines(self) -> frozenset[Instant]:
        """Every instant at which something of it expires."""
        runs, messages = (run.expires_at for run in self.runs), (message.expires_at for message in self.messages)
        return frozenset({self.expires_at, *runs, *messages})

    def run(self, run_id: str) -> Run:
        """Return the run of that id."""
        return next(run for run in self.runs if run.id == run_id.lower())

    def past(self, entry: Run | Message) -> bool:
        """Whether a run or message has expired by itself or with the conversation."""
        return self.now >= min(entry.expires_at, self.expires_at)

    def due(self, message: Message) -> bool:
        """Whether the text of a message must be shown as far as time goes."""
        return self.now < min(message.due_until, self.expires_at)

    def statuses(self, run: Run) -> frozenset[str]:
        """Every status that the run may show now."""
        found = set(run.possible)
        if run.possible & ACTIVE and self.withheld:
            found |= ANY_STATUS
        if run.possible - ACTIVE and (self.past(run) or self.withheld or self.formerly):
            found |= WITHHELD_FINISHED
        return frozenset(found)

    def forbidden_markers(self) -> frozenset[str]:
        """Return the markers of all texts that nobody may see now, not even the owner."""
        gone = bool(self.reasons)
        texts: list[Any] = [each.value for each in self.messages if gone or self.now >= each.expires_at]
        texts += [run.late.answer for run in self.runs if run.late]
        texts += [run.result.answer for run in self.runs if run.result and gone]
        return markers_in(texts)

    def all_markers(self) -> frozenset[str]:
        """Return the markers of everything private, the title included."""
        results = [each.answer for run in self.runs for each in (run.result, run.late) if each]
        return markers_in([self.value["title"], [each.value for each in self.messages], results])

    # What happens to it. Each method returns the conversation after the event.

    def advanced(self, now: Instant) -> Conversation:
        """Time passes. Nothing changes unless a deadline lies in between."""
        crossed = any(self.now < deadline <= now for deadline in self.deadlines)
        moved = replace(self, now=now)
        if not crossed:
            return moved
        runs = tuple(_expired(run) if moved.past(run) and run.possible & ACTIVE else run for run in self.runs)
        return replace(moved, runs=runs).loosened("OPEN-EXPIRY-REVISION")

    def with_access(self, state: AccessState) -> Conversation:
        """Access is withdrawn, a source goes, or either is granted again."""
        if state == self.access:
            return self
        changed = replace(self, access=state)
        if state != "granted":
            runs = tuple(_interrupted(run) if run.possible & ACTIVE else run for run in self.runs)
            changed = replace(changed, runs=runs, formerly=self.formerly | {state}, kept_away=False)
        return changed.loosened("access")

    def delivered(self, run_id: str, result: Result) -> Conversation:
        """The worker delivers a result: the server may use it only while the run has not ended."""
        run = self.run(run_id)
        if run.possible & ACTIVE:
            kept = replace(result, requirement="LATE-WHILE-WITHHELD" if self.withheld else "")
            changed = replace(run, result=kept, possible=run.possible | {"completed"}, settled=False)
        else:
            changed = replace(run, late=replace(result, requirement=self._late(run)))
        # A result that is not taken raises nothing, which says nothing about those that are.
        is_taken = run.possible & ACTIVE and not self.withheld
        return self.with_run(changed).loosened("OPEN-RESULT-REVISION" if is_taken else "a result too late")

    def _late(self, run: Run) -> str:
        if self.archived:
            return "LATE-AFTER-ARCHIVE"
        return "LATE-AFTER-EXPIRY" if self.past(run) else "LATE-AFTER-CANCEL"

    def archive_applied(self, expected_revision: int) -> Conversation:
        """An archive that expected this revision has succeeded, and raised it by whatever number."""
        least = max(self.revision, expected_revision) + 1
        return replace(self.archive_accepted(), revision=least)

    def archive_accepted(self, *, archived: bool = True) -> Conversation:
        """An archive has succeeded on what was archived, expired or withheld; it may have changed nothing."""
        runs = tuple(_cancelled(run) for run in self.runs) if archived else self.runs
        return replace(self, archived=archived, runs=runs).loosened("archive")

    def after_restart(self) -> Conversation:
        """The server starts again on its stored state: nothing may change."""
        return replace(self, restarted=True)

    def after(self, *causes: str) -> Conversation:
        """Something has happened that by these requirements must change nothing here."""
        return replace(self, causes=self.causes | set(causes))

    def loosened(self, growth: str) -> Conversation:
        """Something has happened after which other things may be shown, a larger revision among them."""
        return replace(self, pins=Pins(), growth=self.growth | {growth}, age=self.age + 1)

    def with_run(self, changed: Run) -> Conversation:
        """Replace a run by id."""
        return replace(self, runs=tuple(changed if run.id == changed.id else run for run in self.runs))


def _expired(run: Run) -> Run:
    return replace(run, possible=(run.possible - ACTIVE) | {"expired"}, settled=False, ran_out=True)


def _interrupted(run: Run) -> Run:
    ended = frozenset({"failed", "cancelled", "expired", "unavailable"})
    return replace(run, possible=run.possible | ended, settled=False)


def _cancelled(run: Run) -> Run:
    if run.possible & ACTIVE:
        return replace(run, possible=(run.possible - ACTIVE) | {"cancelled"}, settled=False)
    if run.ran_out:
        return replace(run, possible=run.possible | {"cancelled"}, settled=False)
    return run


def begin(
    owner: str,
    conversation: Mapping[str, Any],
    messages: Iterable[Mapping[str, Any]],
    runs: Iterable[Mapping[str, Any]],
    now: Instant,
) -> Conversation:
    """Return a conversation as it was stored at ``now``, in the shape of *get*'s output."""
    stored = tuple(Run(run, parse_instant(run["expires_at"]), frozenset({run["status"]})) for run in runs)
    entries = tuple(Message(message, instant := parse_instant(message["expires_at"]), instant) for message in messages)
    expires_at = parse_instant(conversation["expires_at"])
    return Conversation(owner, conversation, stored, entries, now, now, expires_at, conversation["revision"])
