"""Legal histories of one conversation made by a small concrete server, and ways to corrupt them.

The server has a definite answer to everything that the contract leaves open; a history is legal by construction,
because each call takes effect at one instant between its beginning and its end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from conformance.judge.history import Event
from conformance.judge.history_model import (
    Action,
    Answer,
    Archive,
    Deadline,
    Read,
    Result,
    View,
)

RUNS = {"a": "completed", "b": "processing", "c": "queued", "d": "failed"}
TEXTS = frozenset({("a", "user"), ("a", "assistant"), ("b", "user"), ("c", "user"), ("d", "user")})
FIRST = View(archived=False, availability="available", revision=5, runs=frozenset(RUNS.items()), texts=TEXTS)
ACTIVE = ("processing", "queued")

History = list[Event[Action]]


@dataclass
class Server:
    """A conversation and the choices of one vendor."""

    rng: random.Random
    revision: int = 5
    archived: bool = False
    expired: bool = False
    runs: dict[str, str] = field(default_factory=lambda: dict(RUNS))
    texts: frozenset[tuple[str, str]] = TEXTS
    applied: dict[str, View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.step = self.rng.choice((1, 3, 17))
        self.result_raises = self.rng.random() < 0.5
        self.expiry_raises = self.rng.random() < 0.3
        self.second_conflicts = self.rng.random() < 0.5
        self.expired_archive = self.rng.choice(("archives", "nothing", "error"))
        self.archived_first = self.rng.random() < 0.5
        self.finished_shows = self.rng.choice(("own", "expired", "unavailable"))

    def view(self, run: str | None = None) -> View:
        """Show the conversation, or the status of one run."""
        gone = self.archived or self.expired
        texts = frozenset[tuple[str, str]]() if gone else self.texts
        runs = {name: self._status(status) for name, status in self.runs.items()}
        if run is None:
            return View(self.archived, self._availability(), self.revision, frozenset(runs.items()), texts)
        own = {text for text in texts if text[0] == run}
        answers = frozenset(text for text in own if text[1] == "assistant")
        return View(None, None, self.revision, frozenset({(run, runs[run])}), answers)

    def _availability(self) -> str:
        names = [name for name in ("archived", "expired") if getattr(self, name)] or ["available"]
        return names[0] if self.archived_first else names[-1]

    def _status(self, status: str) -> str:
        if self.expired and status in ACTIVE:
            return "expired"
        return self.finished_shows if self.expired and self.finished_shows != "own" else status

    def archive(self, key: str, expected: int) -> Answer:
        """Archive, answer a replay, or refuse."""
        if key in self.applied:
            return self.applied[key]
        if expected != self.revision:
            return "refused"
        if self.archived and self.second_conflicts:
            return "refused"
        if self.expired and not self.archived and self.expired_archive != "archives":
            if self.expired_archive == "error":
                return "refused"
        elif not self.archived:
            self.archived = True
            self.revision += self.step
            self.runs = {name: "cancelled" if status in ACTIVE else status for name, status in self.runs.items()}
        self.applied[key] = self.view()
        return self.applied[key]

    def deliver(self, run: str) -> None:
        """Take a worker's result while it is wanted."""
        if not self.archived and not self.expired and self.runs[run] in ACTIVE:
            self.runs[run] = "completed"
            self.texts |= {(run, "assistant")}
            self.revision += self.step if self.result_raises else 0

    def expire(self) -> None:
        """Pass the deadline."""
        self.expired = True
        self.revision += self.step if self.expiry_raises else 0


class Planned(NamedTuple):
    """A call that will take effect at an instant, by which plans are sorted."""

    effect: int
    called: int
    returned: int
    client: str
    what: str


def legal_history(
    rng: random.Random, clients: int = 4, calls: int = 5, *, beside: bool = True, lost: float = 0.05
) -> History:
    """Return a history of so many clients with so many calls each.

    Sometimes there is a result or the deadline ``beside`` them; of the archives' answers the share ``lost`` is unknown.
    """
    server = Server(rng)
    planned: list[Planned] = []
    for client in range(clients):
        now = rng.randrange(20)
        for _ in range(calls):
            called = now + rng.randrange(3)
            effect = called + rng.randrange(30)
            returned = effect + rng.randrange(30)
            planned.append(Planned(effect, called, returned, f"client {client}", rng.choice("AARRRSS")))
            now = returned
    if beside and rng.random() < 0.5:
        called = rng.randrange(60)
        what = rng.choice(("result", "deadline"))
        planned.append(Planned(called + rng.randrange(60), called, called + 120, "beside", what))
    return [_carried_out(rng, server, lost, each) for each in sorted(planned)]


def _carried_out(rng: random.Random, server: Server, lost: float, planned: Planned) -> Event[Action]:
    _, called, returned, client, what = planned
    end: int | None = returned
    action: Action
    if what == "A":
        key, expected = rng.choice("klmn"), rng.choice((5, 5, 5, 4, server.revision))
        # A key always comes with the same arguments.
        key = f"{key}{expected}"
        answer = server.archive(key, expected)
        if rng.random() < lost:
            answer, end = "unknown", None
        action = Archive(key, expected, answer)
    elif what == "result":
        server.deliver("b")
        action, end = Result("b"), None
    elif what == "deadline":
        server.expire()
        action = Deadline()
    else:
        action = Read(server.view() if what == "R" else server.view(rng.choice("abcd")))
    return Event(client, action, called, end)


def without_freedom(history: History) -> bool:
    """Tell whether nothing left open plays a part: no result, no deadline, no unknown answer."""
    return all(event.returned is not None and not isinstance(event.action, Result | Deadline) for event in history)


Corruption = Callable[[random.Random, History], History | None]
"""Returns a history that is illegal for sure, or ``None`` where the given one offers no occasion."""


def _archives(history: History, *, applied: bool) -> list[Event[Action]]:
    return [
        event
        for event in history
        if isinstance(event.action, Archive) and isinstance(event.action.answer, View) == applied
    ]


def _first_applied(history: History) -> Event[Action] | None:
    done = [event for event in _archives(history, applied=True) if _expected(event) == 5]
    return min(done, key=lambda event: event.returned or 0, default=None)


def _expected(event: Event[Action]) -> int:
    assert isinstance(event.action, Archive)
    return event.action.expected


def _changed(history: History, old: Event[Action], action: Action) -> History:
    return [replace(event, action=action) if event is old else event for event in history]


def _later_reads(history: History, event: Event[Action], *, whole: bool = True) -> list[tuple[Event[Action], View]]:
    assert event.returned is not None
    return [
        (each, each.action.answer)
        for each in history
        if isinstance(each.action, Read)
        and isinstance(each.action.answer, View)
        and each.called > event.returned
        and (each.action.answer.archived is not None) == whole
    ]


def two_winners(rng: random.Random, history: History) -> History | None:
    """A loser with the first revision is answered as if it had been applied as well."""
    winner = _first_applied(history)
    losers = [event for event in _archives(history, applied=False) if _expected(event) == 5]
    if winner is None or not losers:
        return None
    loser = rng.choice(losers)
    assert isinstance(winner.action, Archive)
    assert isinstance(loser.action, Archive)
    if loser.action.key == winner.action.key:
        return None
    return _changed(history, loser, replace(loser.action, answer=winner.action.answer))


def refused_winner(rng: random.Random, history: History) -> History | None:
    """Every archive with the current revision is refused, though nothing else could have changed it."""
    del rng
    if _first_applied(history) is None:
        return None
    return [
        replace(event, action=replace(event.action, answer="refused"))
        if isinstance(event.action, Archive)
        else replace(event, action=Read(FIRST))
        for event in history
    ]


def stale_read(rng: random.Random, history: History) -> History | None:
    """A read that began after an archive had been answered shows the conversation as it was before."""
    winner = _first_applied(history)
    reads = _later_reads(history, winner) if winner else []
    return _changed(history, rng.choice(reads)[0], Read(FIRST)) if reads else None


def stale_status(rng: random.Random, history: History) -> History | None:
    """A status that was asked for after an archive had been answered shows the run as it was before."""
    winner = _first_applied(history)
    reads = _later_reads(history, winner, whole=False) if winner else []
    stale = View(None, None, 5, frozenset({("b", "processing")}), frozenset({("b", "user")}))
    return _changed(history, rng.choice(reads)[0], Read(stale)) if reads else None


def text_after_archive(rng: random.Random, history: History) -> History | None:
    """A read after an archive shows it as archived, with one text."""
    winner = _first_applied(history)
    reads = _later_reads(history, winner) if winner else []
    if not reads:
        return None
    event, view = rng.choice(reads)
    return _changed(history, event, Read(view._replace(texts=frozenset({("a", "user")}))))


def half_archive(rng: random.Random, history: History) -> History | None:
    """A read shows the runs as cancelled and the text still there."""
    reads = [event for event in history if isinstance(event.action, Read)]
    if not reads:
        return None
    runs = frozenset((run, "cancelled" if status in ACTIVE else status) for run, status in RUNS.items())
    return _changed(history, rng.choice(reads), Read(FIRST._replace(runs=runs)))


def finished_run_cancelled(rng: random.Random, history: History) -> History | None:
    """A read after an archive shows a completed run as cancelled."""
    winner = _first_applied(history)
    reads = _later_reads(history, winner) if winner else []
    if not reads:
        return None
    event, view = rng.choice(reads)
    runs = (view.runs - {("a", "completed")}) | {("a", "cancelled")}
    return _changed(history, event, Read(view._replace(runs=runs)))


def result_of_another_key(rng: random.Random, history: History) -> History | None:
    """A replay is answered with another result than the first."""
    done = _archives(history, applied=True)
    keys = [event.action.key for event in done if isinstance(event.action, Archive)]
    replays = [event for event in done if isinstance(event.action, Archive) and keys.count(event.action.key) > 1]
    if not replays:
        return None
    event = rng.choice(replays)
    assert isinstance(event.action, Archive)
    assert isinstance(event.action.answer, View)
    other = event.action.answer._replace(revision=event.action.answer.revision + 40)
    return _changed(history, event, replace(event.action, answer=other))


def refused_replay(rng: random.Random, history: History) -> History | None:
    """A replay that begins after the first result was answered is refused."""
    done = [event.action for event in _archives(history, applied=True)]
    for event in rng.sample(history, len(history)):
        first = [
            each
            for each in _archives(history, applied=True)
            if isinstance(event.action, Archive)
            and isinstance(each.action, Archive)
            and each.action.key == event.action.key
            and each.returned is not None
            and each.returned < event.called
        ]
        if first and event.action in done and isinstance(event.action, Archive):
            return _changed(history, event, replace(event.action, answer="refused"))
    return None


def revision_goes_back(rng: random.Random, history: History) -> History | None:
    """A read after an archive shows the archive, with a revision below that in its answer."""
    winner = _first_applied(history)
    reads = _later_reads(history, winner) if winner else []
    if not reads:
        return None
    event, view = rng.choice(reads)
    return _changed(history, event, Read(view._replace(revision=5)))


def archive_seen_early(rng: random.Random, history: History) -> History | None:
    """A read that ended before any archive began shows the conversation archived."""
    begun = min((event.called for event in history if isinstance(event.action, Archive)), default=None)
    reads = [
        event
        for event in history
        if isinstance(event.action, Read)
        and begun is not None
        and event.returned is not None
        and event.returned < begun
    ]
    if not reads:
        return None
    runs = frozenset((run, "cancelled" if status in ACTIVE else status) for run, status in RUNS.items())
    return _changed(
        history,
        rng.choice(reads),
        Read(View(archived=True, availability="archived", revision=6, runs=runs, texts=frozenset())),
    )


def applied_twice(rng: random.Random, history: History) -> History | None:
    """A read after an archive shows a revision that is further than the archive's answer says."""
    winner = _first_applied(history)
    reads = _later_reads(history, winner) if winner else []
    if not reads:
        return None
    event, view = rng.choice(reads)
    return _changed(history, event, Read(view._replace(revision=view.revision + 1)))


CORRUPTIONS: tuple[Corruption, ...] = (
    two_winners,
    refused_winner,
    stale_read,
    stale_status,
    text_after_archive,
    half_archive,
    finished_run_cancelled,
    result_of_another_key,
    refused_replay,
    revision_goes_back,
    archive_seen_early,
    applied_twice,
)
