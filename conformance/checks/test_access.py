"""Access that is withdrawn and sources that are gone: the text is withheld as long as that lasts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from conformance.cases.conversations import DAY, MINUTE, STATUSES, WITH_QUESTION, RunPlan, markers
from conformance.checks.archiving import archive
from conformance.checks.declare import case, cases, needs
from conformance.checks.steps import call, take_snapshot, unchanged
from conformance.checks.withholding import (
    ASKED,
    Blame,
    Expectation,
    each_once,
    expiring,
    needed,
    operations,
    seeded,
    shown_at,
    without_private_text,
)
from conformance.contract import Contract
from conformance.control.interface import AccessState
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered, succeeded
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene

_KINDS: Final[dict[AccessState, str]] = {"access_changed": "ACCESS-WITHDRAWN", "source_unavailable": "ACCESS-SOURCE"}
_WHEN: Final = {"access_changed": "while access is withdrawn", "source_unavailable": "while a source is gone"}
_EVERY_STATUS: Final = tuple(RunPlan(status, "sentiment", question=status in WITH_QUESTION) for status in STATUSES)


def _blame(state: AccessState) -> Blame:
    kind = _KINDS[state]
    # What an unfinished run shows while its text is withheld is left open, and so no run is blamed for anything.
    availability = f"{kind}-AVAILABILITY"
    return Blame(availability, availability, f"{kind}-GET-WITHOUT-TEXT", f"{kind}-STATUS-WITHOUT-TEXT", availability)


def _withheld(session: Session, state: AccessState) -> Expectation:
    return Expectation(session.stage.now(), frozenset({state}), _blame(state), withheld=True)


def _states(*names: str, also: tuple[str, ...] = (), identifier: str = "", wanted: tuple[str, ...] = ()) -> Any:
    """Return a factory of a case for each kind of withdrawal and name; by default under the family's own ids."""

    def factory(contract: Contract) -> Iterator[Any]:
        for state, kind in _KINDS.items() if operations(contract) else ():
            own = identifier or f"{kind}-GET-WITHOUT-TEXT"
            more = () if identifier else _blame(state).requirements
            for name in names:
                made = case((state, name), own, f"{name}-{state}", *more, *also)
                yield pytest.param(*made.values, id=made.id, marks=(*made.marks, needs("seed", "access", *wanted)))

    return factory


def _seed(session: Session, runs: tuple[RunPlan, ...] = ASKED, *, beside: Scene | None = None) -> Scene:
    """Store a conversation that does not expire soon, of the same person in the same workspace where one is given."""
    stage, rng = session.stage, session.rng
    now = stage.now()
    document = expiring(
        rng, now, now + DAY - 10 * MINUTE, runs=runs, workspace_id=beside.workspace_id if beside else None
    )
    return stage.seeded(rng, document, beside.principal if beside else None)


_RUNS: Final = {"unread": ASKED, "read-before": ASKED, "every-run-status": _EVERY_STATUS, "status-first": ASKED}


@cases("withdrawn", _states(*_RUNS))
def test_withheld_text_is_not_shown(withdrawn: tuple[AccessState, str], session: Session, record: Recorder) -> None:
    """Once access is withdrawn, or a source gone, neither read shows text, and the availability says why."""
    state, name = withdrawn
    scene = _seed(session, _RUNS[name])
    if name == "read-before":
        take_snapshot(session, scene)
    session.stage.control.set_access(scene.conversation_id, state)
    expected = _withheld(session, state)
    first = name == "status-first"
    must_hold(each_once(shown_at(session, record, scene, expected, _WHEN[state], status_first=first)))


@cases("withdrawn", _states("one-after-the-other"))
def test_one_withdrawal_follows_another(withdrawn: tuple[AccessState, str], session: Session, record: Recorder) -> None:
    """Access is withdrawn and then a source goes, or the other way round: the text stays withheld."""
    last, _ = withdrawn
    scene = _seed(session)
    control = session.stage.control
    for state in (*(each for each in _KINDS if each != last), last):
        control.set_access(scene.conversation_id, state)
    expected = Expectation(session.stage.now(), frozenset(_KINDS), _blame(last), withheld=True)
    must_hold(each_once(shown_at(session, record, scene, expected, "after both kinds of withdrawal")))


@cases("withdrawn", _states("after-restart", wanted=("restart",)))
def test_a_withdrawal_outlives_a_restart(
    withdrawn: tuple[AccessState, str], session: Session, record: Recorder
) -> None:
    """A restart does not give back what was withdrawn."""
    state, _ = withdrawn
    scene = _seed(session)
    session.stage.control.set_access(scene.conversation_id, state)
    session.stage.control.restart()
    expected = _withheld(session, state)
    must_hold(each_once(shown_at(session, record, scene, expected, f"{_WHEN[state]}, after a restart")))


@cases(
    "withdrawn",
    _states("archive", "archive-stale", "replay", identifier="ACCESS-ARCHIVE-WITHOUT-TEXT"),
)
def test_an_archive_of_withheld_text_shows_none(
    withdrawn: tuple[AccessState, str], session: Session, record: Recorder
) -> None:
    """An archive, one that conflicts, and a replay, may succeed or not; they bring no text and nothing comes back."""
    state, name = withdrawn
    scene = _seed(session)
    changed: dict[str, Any] = {}
    applying: set[str] = {state}
    if name == "replay":
        answer, arguments = archive(session, scene)
        must_hold(succeeded(answer, "ARCHIVE-ACCEPTED", "an archive of an available conversation"))
        changed = {each: arguments[each] for each in ("mutation_id", "expected_revision")}
    session.stage.control.set_access(scene.conversation_id, state)
    if name == "archive-stale":
        changed = {"expected_revision": scene.revision + 1}
    answer, arguments = archive(session, scene, **changed)
    if name == "replay":
        is_success = answer.outcome == "success"
        record.freedom("OPEN-REPLAY-WITHHELD", "success without text" if is_success else "error")
    elif name == "archive":
        record.freedom("OPEN-ARCHIVE-WITHHELD", "success" if answer.outcome == "success" else "error")
    if name != "archive-stale":
        applying.add("archived")
    identifier = "ACCESS-ARCHIVE-WITHOUT-TEXT"
    after = f"{_WHEN[state]}, after an archive"
    expected = Expectation(session.stage.now(), frozenset(applying), Blame.of(identifier), withheld=True, archived=True)
    private = markers(seeded(scene))
    must_hold(
        each_once(
            (
                *without_private_text(session, answer, arguments, private, identifier, f"an archive {_WHEN[state]}"),
                *shown_at(session, record, scene, expected, after),
            )
        )
    )


@cases("withdrawn", _states("neighbours", identifier="ACCESS-OTHERS-UNTOUCHED"))
def test_other_conversations_are_untouched(withdrawn: tuple[AccessState, str], session: Session) -> None:
    """A withdrawal changes nothing of another conversation of the same person, or of another workspace member."""
    state, _ = withdrawn
    stage, rng = session.stage, session.rng
    scene = _seed(session)
    other = stage.principal(rng, workspace_ids=(scene.workspace_id,), label="other member")
    now = stage.now()
    document = expiring(rng, now, now + DAY - 10 * MINUTE, workspace_id=scene.workspace_id)
    others = (_seed(session, beside=scene), stage.seeded(rng, document, other), _seed(session))
    for each in others:
        take_snapshot(session, each)
    stage.control.set_access(scene.conversation_id, state)
    read, _ = call(session, scene, needed(session).get)

    def story() -> Iterator[Finding]:
        yield from answered(read)
        after = "access to another conversation was withdrawn"
        for each in others:
            yield from unchanged(session, each, "ACCESS-OTHERS-UNTOUCHED", after, read.exchange)

    must_hold(each_once(story()))


@cases("withdrawn", _states("granted-again"))
def test_what_is_granted_again_is_recorded(
    withdrawn: tuple[AccessState, str], session: Session, record: Recorder
) -> None:
    """Whether text comes back with access is left open; what is shown then obeys the contract."""
    state, _ = withdrawn
    scene = _seed(session)
    control = session.stage.control
    control.set_access(scene.conversation_id, state)
    must_hold(each_once(shown_at(session, record, scene, _withheld(session, state), _WHEN[state])))
    control.set_access(scene.conversation_id, "granted")
    answer, arguments = call(session, scene, needed(session).get)
    must_hold(answered(answer))
    if answer.result is None:
        record.freedom("OPEN-ACCESS-GRANTED-AGAIN", "stays gone")
        return
    judged = session.results.judge(answer, arguments)
    must_hold(judged.findings)
    is_back = judged.value["conversation"]["availability"] == "available"
    record.freedom("OPEN-ACCESS-GRANTED-AGAIN", "comes back" if is_back else "stays gone")
