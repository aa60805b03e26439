"""What may happen to one conversation when calls on it follow each other: the sequential specification of races.

It keeps only what a race can show: archived or not, availability, revision, which texts are there, and the status of
each run. Where the contract leaves a choice it allows every one. A revision that has grown by an unknown step is a
least value until an answer shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from conformance.judge.history import Event

Text: TypeAlias = tuple[str, str]
"""A private text: the id of its run in lower case, and the role of its message."""

ACTIVE: Final = frozenset({"queued", "processing"})

_WHATEVER: Final = "whatever its answer"


class View(NamedTuple):
    """What an answer shows of a conversation.

    ``archived`` and ``availability`` are ``None``, and ``runs`` has one entry, where only the status of a run is shown.
    ``runs`` holds pairs of id and status, ``texts`` the texts that are not null.
    """

    archived: bool | None
    availability: str | None
    revision: int
    runs: frozenset[tuple[str, str]]
    texts: frozenset[Text]


def conversation_view(value: Mapping[str, Any]) -> View:
    """Return what a conversation's result (of *get* or *archive*) shows."""
    conversation = value["conversation"]
    return View(
        conversation["archived"],
        conversation["availability"],
        int(conversation["revision"]),
        frozenset((run["id"].lower(), run["status"]) for run in value["runs"]),
        _texts(value["messages"]),
    )


def status_view(value: Mapping[str, Any]) -> View:
    """Return what a run's status shows."""
    run, message = value["run"], value["message"]
    return View(
        None,
        None,
        int(value["conversation_revision"]),
        frozenset({(run["id"].lower(), run["status"])}),
        _texts([] if message is None else [message]),
    )


def _texts(messages: Iterable[Mapping[str, Any]]) -> frozenset[Text]:
    shown = (each for each in messages if each["question"] is not None or each["answer"] is not None)
    return frozenset((message["run_id"].lower(), message["role"]) for message in shown)


Answer: TypeAlias = View | Literal["refused", "put off", "unknown"]
"""What was answered.

``put off`` is an answer that says nothing of the conversation, so that the call has changed nothing: a rate limit, or
that a copy of the call is being carried out. With ``unknown`` no usable answer came: the call may have taken effect.
"""


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive under a mutation id with an expected revision. ``said`` is the answer in words, for people."""

    key: str
    expected: int
    answer: Answer
    said: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Read:
    """A *get* or a *status*. Without a view it says nothing."""

    answer: Answer
    said: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Result:
    """A worker's result for a run (id in lower case): taken at some time, or never. Its event never returns."""

    run: str


@dataclass(frozen=True, slots=True)
class Deadline:
    """The workspace's clock moves past the conversation's ``expires_at``."""


Action: TypeAlias = Archive | Read | Result | Deadline


class State(NamedTuple):
    """A conversation. ``exact`` says whether ``revision`` is its revision or the least that it may be.

    ``applied`` holds each applied mutation id with its first result, ``None`` while that is unknown.
    """

    revision: int
    exact: bool
    archived: bool
    expired: bool
    runs: frozenset[tuple[str, str]]
    texts: frozenset[Text]
    applied: frozenset[tuple[str, View | None]]


class ConversationSpecification:
    """The life of one available conversation, which ``first`` shows as it was before any of the calls."""

    def __init__(self, first: View) -> None:
        self._first = first

    def initial(self) -> State:
        """Return the state before the first call."""
        first = self._first
        return State(
            revision=first.revision,
            exact=True,
            archived=False,
            expired=False,
            runs=first.runs,
            texts=first.texts,
            applied=frozenset(),
        )

    def changes(self, action: Action) -> bool:
        """Tell whether the action may have changed the conversation."""
        if isinstance(action, Archive):
            return action.answer == "unknown" or isinstance(action.answer, View)
        return not isinstance(action, Read)

    def unanswered(self, action: Action) -> Action:
        """Return the action as if its answer were unknown."""
        return replace(action, answer="unknown", said=_WHATEVER) if isinstance(action, Archive) else action

    def after(self, state: State, action: Action) -> Iterator[State]:
        """Yield the states to which the action may lead, none when it cannot be answered so."""
        match action:
            case Read(answer):
                shown = explained(state, answer) if isinstance(answer, View) else state
                if shown is not None:
                    yield shown
            case Archive():
                yield from _archive(state, action)
            case Result(run):
                yield from _result(state, run)
            case Deadline():
                # Whether the revision grows once when something expires is left open.
                yield state._replace(expired=True, exact=False)


def _archive(state: State, action: Archive) -> Iterator[State]:
    applied, answer = dict(state.applied), action.answer
    if answer == "put off":
        yield state
    elif action.key in applied:
        yield from _replay(state, action, applied[action.key])
    elif answer == "refused":
        # A second archive with the current revision, and one of an expired conversation, may be refused.
        if state.archived or state.expired or not state.exact or action.expected != state.revision:
            yield state
    elif _expects(state, action.expected):
        for reached in _applications(state, action.expected):
            if not isinstance(answer, View):
                yield reached._replace(applied=reached.applied | {(action.key, None)})
                continue
            shown = explained(reached, answer)
            if shown is not None:
                yield shown._replace(applied=shown.applied | {(action.key, answer)})


def _expects(state: State, expected: int) -> bool:
    return expected == state.revision if state.exact else expected >= state.revision


def _applications(state: State, expected: int) -> Iterator[State]:
    """Yield what an archive with the current revision may make of the conversation."""
    current = state._replace(revision=expected, exact=True)
    if not state.archived:
        runs = frozenset((run, "cancelled" if status in ACTIVE else status) for run, status in state.runs)
        yield current._replace(revision=expected + 1, exact=False, archived=True, runs=runs)
    if state.archived or state.expired:
        yield current


def _replay(state: State, action: Archive, first: View | None) -> Iterator[State]:
    """Yield the state after an applied call came again: success with the first result, whatever happened since."""
    answer = action.answer
    if not isinstance(answer, View):
        # What a replay is answered after expiry is left open, so long as no text comes back.
        if answer == "unknown" or state.expired:
            yield state
    elif first is not None:
        if answer == first or (state.expired and not answer.texts):
            yield state
    elif answer.archived is not False and not answer.texts:
        if answer.revision > action.expected and (not state.exact or answer.revision <= state.revision):
            yield state._replace(applied=(state.applied - {(action.key, None)}) | {(action.key, answer)})
        elif state.expired:
            yield state


def _result(state: State, run: str) -> Iterator[State]:
    status = dict(state.runs).get(run)
    if status in ACTIVE and not state.archived and not state.expired:
        yield state._replace(
            # Whether a result raises the revision is left open.
            exact=False,
            runs=(state.runs - {(run, status)}) | {(run, "completed")},
            texts=state.texts | {(run, "assistant")},
        )


def explained(state: State, view: View) -> State | None:
    """Return the state, with its revision if the view shows it, when the view may show it; otherwise ``None``."""
    if view.revision != state.revision and (state.exact or view.revision < state.revision):
        return None
    if view.archived is not None and view.archived != state.archived:
        return None
    if view.availability is not None and view.availability not in _availabilities(state):
        return None
    stored = dict(state.runs)
    if any(status not in _statuses(state, stored.get(run)) for run, status in view.runs):
        return None
    if not _texts_agree(state, view):
        return None
    return state._replace(revision=view.revision, exact=True)


def _availabilities(state: State) -> tuple[str, ...]:
    shown = (("archived", state.archived), ("expired", state.expired))
    return tuple(name for name, applies in shown if applies) or ("available",)


def _statuses(state: State, stored: str | None) -> tuple[str, ...]:
    """Return what a run that is stored as such may show."""
    if stored is None:
        return ()
    if not state.expired:
        return (stored,)
    return ("expired",) if stored in ACTIVE else (stored, "expired", "unavailable")


def _texts_agree(state: State, view: View) -> bool:
    if state.archived or state.expired:
        return not view.texts
    if view.archived is not None:
        return view.texts == state.texts
    # A status shows the run's answer; of a run that has only a question it may show that, or nothing.
    shown = {run for run, _ in view.runs}
    answers = {text for text in state.texts if text[0] in shown and text[1] == "assistant"}
    if answers:
        return view.texts == answers
    return view.texts <= {text for text in state.texts if text[0] in shown}


def with_copies_excused(events: Sequence[Event[Action]]) -> list[Event[Action]]:
    """Return the history with refused copies of a call that another copy overlaps as ``put off``.

    Such a copy may be told to wait or that it conflicts, and has changed nothing.
    """
    return [
        replace(event, action=replace(event.action, answer="put off"))
        if isinstance(event.action, Archive) and any(_excuses(other, event) for other in events if other is not event)
        else event
        for event in events
    ]


def _excuses(other: Event[Action], event: Event[Action]) -> bool:
    one, copy = other.action, event.action
    return (
        isinstance(one, Archive)
        and isinstance(copy, Archive)
        and copy.answer == "refused"
        and (one.key, one.expected) == (copy.key, copy.expected)
        and (other.returned is None or other.returned >= event.called)
        and (event.returned is None or event.returned >= other.called)
    )


def is_whole(specification: ConversationSpecification, view: View) -> bool:
    """Tell whether a view shows the conversation as it was first, or as an archive leaves it."""
    first = specification.initial()
    return any(explained(state, view) is not None for state in (first, *_applications(first, first.revision)))
