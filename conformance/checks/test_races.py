"""Calls at the same time: one archive is applied once, nothing half done is shown, and some order explains it all."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

from conformance.cases.conversations import Document
from conformance.cases.texts import MARKER, new_marker
from conformance.checks.declare import CaseFactory, case, cases, needs
from conformance.checks.racing import AFTERWARDS, Made, Round, can_race, rounds
from conformance.contract import Contract
from conformance.judge.comparison import differences
from conformance.judge.finding import Finding, must_hold
from conformance.judge.formats import parse_instant
from conformance.judge.history_model import Deadline, Result, is_whole
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.transport.exchange import Call

_ALSO: Final = ("RACE-LINEARIZABLE", "RACE-NO-SERVER-ERROR", "RACE-ALL-ANSWERED")
_CLIENTS: Final = (2, 8)
_TRIES: Final = 3
_IN_PROGRESS: Final = (409, 423, 425, 429)
_PAUSES: Final = (0.05, 0.2, 1.0)
"""Seconds to wait, only where a copy is told to, before it is sent again."""


def _each(identifier: str, *also: str) -> CaseFactory:
    """Return a factory of one case per number of clients."""

    def made(contract: Contract) -> list[Any]:
        if not can_race(contract):
            return []
        return [case(number, identifier, f"{number}-clients", *also, *_ALSO) for number in _CLIENTS]

    return made


@needs("seed")
@cases("clients", _each("RACE-ONE-WINNER", "RACE-LOSERS-CONFLICT"))
def test_of_several_archives_with_one_revision_one_is_applied(clients: int, session: Session) -> None:
    """Archives with one revision and different keys: one is applied, and the others conflict and change nothing."""
    for each in rounds(session):
        must_hold(each.release([[each.archive()] for _ in range(clients)]))
        settled = [each.then(made.timed.answer.call) if made.limited else made for made in each.raced]
        winner = next((made for made in settled if made.succeeded), None)
        now = each.read_afterwards()
        must_hold(each.not_readable(now), _one_winner(each, settled, now))
        for made in (winner, next((made for made in settled if made is not winner), None)):
            if made is not None:
                each.then(made.timed.answer.call)
        must_hold(each.linearizable())


def _one_winner(each: Round, settled: list[Made], now: Made) -> Iterator[Finding]:
    winners = [made for made in settled if made.succeeded]
    for made in settled:
        if made.refused and not made.refused_as("conflict"):
            yield each.finding(
                "RACE-LOSERS-CONFLICT", "Refused an archive that lost to another as another kind of failure",
                "a conflict", *winners, made,
            )  # fmt: skip
            break
    if len(winners) > 1:
        yield each.finding(
            "RACE-ONE-WINNER", "Several archives with one revision and different keys were applied",
            "one success", *winners,
        )  # fmt: skip
        yield each.finding(
            "RACE-LOSERS-CONFLICT", "An archive that lost to another is answered as a success",
            "a conflict for all but one", *winners,
        )  # fmt: skip
    elif not winners:
        yield each.finding(
            "RACE-ONE-WINNER", "None of several archives with the current revision was applied",
            "one success", *settled, now,
        )  # fmt: skip
    elif winners[0].view is not None and now.view is not None and now.view != winners[0].view:
        yield each.finding(
            "RACE-ONE-WINNER", "The conversation is not as the one archive that was applied left it",
            "what that archive's answer shows", *settled, now,
        )  # fmt: skip


@needs("seed")
@cases("clients", _each("RACE-ONE-KEY-ONCE", "RACE-COPY-ANSWER", "RACE-COPY-RETRY"))
def test_copies_of_one_archive_are_applied_once(clients: int, session: Session, record: Recorder) -> None:
    """Copies of one call are applied once, and each gets the first result, at once or when it is sent again."""
    for each in rounds(session):
        call = each.archive()
        must_hold(each.release([[call] for _ in range(clients)]))
        copies = list(each.raced)
        for made in copies:
            response = made.timed.answer.exchange.response
            if made.succeeded:
                record.freedom("OPEN-COPY-IN-PROGRESS", "first result")
            elif response is not None and response.status in _IN_PROGRESS:
                record.freedom("OPEN-COPY-IN-PROGRESS", str(response.status))
        must_hold(_copies_answered(each, copies))
        if not all(made.succeeded for made in copies):
            retry = _retried(each, call)
            must_hold(_retry_answered(each, copies, retry))
            copies.append(retry)
        now = each.read_afterwards()
        must_hold(each.not_readable(now), _applied_once(each, copies, now))
        must_hold(each.linearizable())


def _copies_answered(each: Round, copies: list[Made]) -> Iterator[Finding]:
    first = next((made for made in copies if made.value is not None), None)
    for made in copies:
        if made.refused and not made.refused_as("conflict", "in_progress"):
            yield each.finding(
                "RACE-COPY-ANSWER", "Refused a copy of a call that is being applied as another kind of failure",
                "the first result, or 409, 423, 425 or 429", made,
            )  # fmt: skip
            return
        if first is not None and made.value is not None and list(differences(first.value, made.value)):
            yield each.finding(
                "RACE-COPY-ANSWER", "Copies of one call got different results", "the first result for each",
                first, made,
            )  # fmt: skip
            yield each.finding(
                "RACE-ONE-KEY-ONCE", "Copies of one call were applied more than once", "applied once", first, made
            )
            return


def _retried(each: Round, call: Call) -> Made:
    """Send a copy again until it is not told to wait or conflict, a few times at most."""
    made = each.then(call)
    for pause in _PAUSES:
        if not (made.limited or made.refused_as("conflict", "in_progress")):
            break
        each.wait(pause)
        made = each.then(call)
    return made


def _retry_answered(each: Round, copies: list[Made], retry: Made) -> Iterator[Finding]:
    first = next((made for made in copies if made.value is not None), retry)
    if not retry.succeeded:
        yield each.finding(
            "RACE-COPY-RETRY", "A copy that was told to wait or conflict is not answered when it is sent again",
            "the first result", *copies, retry,
        )  # fmt: skip
    elif retry.value is not None and list(differences(first.value, retry.value)):
        yield each.finding(
            "RACE-COPY-RETRY", "A copy that is sent again gets another result than the first", "the first result",
            first, retry,
        )  # fmt: skip


def _applied_once(each: Round, copies: list[Made], now: Made) -> Iterator[Finding]:
    for made in copies:
        if made.view is not None and now.view is not None and made.view != now.view:
            yield each.finding(
                "RACE-ONE-KEY-ONCE", "The conversation is not as one application of the call left it",
                "what the call's first result shows", made, now,
            )  # fmt: skip
            return


@needs("seed")
@cases("clients", _each("RACE-NO-HALF-ARCHIVE"))
def test_reads_beside_an_archive_show_it_whole_or_not_at_all(clients: int, session: Session) -> None:
    """Reads beside an archive show the conversation as before or as after, and as after once it has been answered."""
    for each in rounds(session):
        must_hold(each.release(_mixed(each, clients)))
        now = each.read_afterwards()
        must_hold(each.not_readable(now), _whole(each))
        must_hold(each.linearizable())


def _mixed(each: Round, clients: int) -> list[list[Call]]:
    """Return scripts of one archive in four clients, each followed by a read, and of reads."""
    writers = max(1, clients // 4)
    archives = [[each.archive(), each.get()] for _ in range(writers)]
    run_id = _active_run(each)
    reads = [[each.get(), each.status(run_id), each.get(), each.status(run_id)] for _ in range(clients - writers)]
    for number, script in enumerate(reads):
        if number % 2:
            script.reverse()
    return [*archives, *reads]


def _active_run(each: Round) -> str:
    """Return the id of the run that is being processed; it is of the kind that *status* may insist on."""
    assert each.scene.document is not None
    return next(str(run["id"]) for run in each.scene.document.runs if run["status"] == "processing")


def _whole(each: Round) -> Iterator[Finding]:
    for made in each.made:
        if made.timed.answer.call.operation.effect != "read":
            continue
        if made.refused or (made.view is not None and not is_whole(each.specification, made.view)):
            yield each.finding(
                "RACE-NO-HALF-ARCHIVE", "A read beside an archive shows neither what was before nor what came after",
                "the conversation as before, or archived", made,
            )  # fmt: skip
            return


@needs("seed", "worker")
@cases("clients", _each("RACE-WORKER-RESULT"))
def test_a_result_that_meets_an_archive_brings_no_text_back(clients: int, session: Session) -> None:
    """A worker's result and an archive at the same time end with the conversation archived and no text."""
    for each in rounds(session):
        assert each.scene.document is not None
        run_id = _active_run(each)
        answer, control = _fresh_answer(session, each.scene.document), session.stage.control

        def deliver(run_id: str = run_id, answer: Any = answer) -> None:
            control.deliver_result(run_id, answer, "model", "1")  # noqa: B023 - the same in every round

        happening = Result(run_id.lower())
        must_hold(each.release(_mixed(each, clients)[: clients - 1], deliver, happening, happens_within=False))
        now = each.read_afterwards()
        for _ in range(_TRIES):
            if now.view is None or now.view.archived or _archive_answered(each):
                break
            # The result came first and has raised the revision, so that all archives were refused.
            each.then(each.archive(now.view.revision))
            now = each.read_afterwards()
        shown = [now, each.then(each.status(run_id)), each.read_afterwards()]
        must_hold(each.not_readable(now), each.not_readable(shown[-1]), _archived_for_good(each, shown))
        must_hold(each.linearizable())


def _archive_answered(each: Round) -> bool:
    return any(made.succeeded and made.timed.answer.call.operation.effect == "write" for made in each.made)


def _fresh_answer(session: Session, document: Document) -> Any:
    """Return an answer for the conversation with texts of its own."""
    given = next(message["answer"] for message in document.messages if message["answer"] is not None)
    return json.loads(MARKER.sub(lambda _: new_marker(session.rng), json.dumps(copy.deepcopy(given))))


def _archived_for_good(each: Round, shown: list[Made]) -> Iterator[Finding]:
    for made in shown:
        if made.view is not None and (made.view.archived is False or made.view.texts):
            yield each.finding(
                "RACE-WORKER-RESULT", "After an archive met a worker's result there is text, or no archive",
                "archived, without text", made,
            )  # fmt: skip
            return


@needs("seed", "own clock")
@cases("clients", _each("RACE-DEADLINE"))
def test_an_archive_that_meets_the_deadline_leaves_no_text(clients: int, session: Session) -> None:
    """An archive at the moment of expiry, whoever is first, ends with the text gone and nothing available."""
    for each in rounds(session, standing_clock=True):
        assert each.scene.document is not None
        expires_at = int(parse_instant(each.scene.document.conversation["expires_at"]) * 1000)
        stage, workspace_id = session.stage, each.scene.workspace_id

        def expire(workspace_id: str = workspace_id, instant: int = expires_at) -> None:
            stage.set_clock(workspace_id, instant)  # noqa: B023 - the same in every round

        must_hold(each.release(_mixed(each, clients)[: clients - 1], expire, Deadline()))
        now = each.read_afterwards()
        must_hold(_expired(each, now))
        must_hold(each.linearizable())


def _expired(each: Round, now: Made) -> Iterator[Finding]:
    for made in each.made:
        settled = made.client == AFTERWARDS or made.timed.answer.call.operation.effect == "write"
        if settled and made.view is not None and (made.view.texts or made.view.availability == "available"):
            yield each.finding(
                "RACE-DEADLINE", "After an archive met the deadline there is text, or something is available",
                "expired or archived, without text", made, now,
            )  # fmt: skip
            return
