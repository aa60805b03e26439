"""What ends at ``expires_at``: judged at instants around it, in every state, and whatever is called meanwhile."""

from __future__ import annotations

import email.utils
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from conformance.cases.conversations import DAY, MINUTE, STATUSES, WITH_QUESTION, Document, RunPlan, markers
from conformance.cases.json_text import encode
from conformance.cases.texts import UTC_MILLISECONDS, TimestampStyle
from conformance.checks.archiving import archive
from conformance.checks.declare import case, cases, needs
from conformance.checks.steps import call
from conformance.checks.withholding import (
    ASKED,
    Blame,
    Expectation,
    by_the_clock,
    each_once,
    expiring,
    fresh_answer,
    instant,
    needed,
    operations,
    seeded,
    shown_at,
    without_private_text,
)
from conformance.contract import Contract, Operation
from conformance.judge.finding import Finding, must_hold
from conformance.judge.formats import parse_instant
from conformance.judge.markers import markers_in
from conformance.judge.outcome import answered, succeeded
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene
from conformance.transport.exchange import Answer, Call, Exchange

SECOND: Final = 1000
_MOMENTS: Final = {
    -SECOND: "a second before the deadline",
    -1: "a millisecond before the deadline",
    0: "at the deadline",
    1: "a millisecond after the deadline",
    SECOND: "a second after the deadline",
}
_AFTER: Final = Blame(
    "EXPIRY-BEFORE",
    "EXPIRY-AVAILABILITY",
    "EXPIRY-GET-WITHOUT-TEXT",
    "EXPIRY-STATUS-WITHOUT-TEXT",
    "EXPIRY-RUNS-EXPIRED",
)
_AROUND: Final = (*_AFTER.requirements, "EXPIRY-AT-INSTANT", "EXPIRY-ARCHIVE-WITHOUT-TEXT")
_SPELLINGS: Final = (
    *(
        (name, "EXPIRY-OFFSET", TimestampStyle(offset, 0), 0)
        for name, offset in {
            "minus-23-59": -1439, "minus-9-30": -570, "minus-0-01": -1, "plus-0-00": 0, "plus-5-45": 345,
            "plus-14-00": 840, "plus-23-59": 1439,
        }.items()
    ),
    *(
        (name, "EXPIRY-FRACTION", TimestampStyle(None, digits), fraction)
        for name, (fraction, digits) in {
            "tenth": (500, 1), "hundredth": (250, 2), "first-millisecond": (1, 3), "last-millisecond": (999, 3),
            "trailing-zeros": (700, 3),
        }.items()
    ),
    ("fraction-minus-23-59", "EXPIRY-OFFSET", TimestampStyle(-1439, 3), 1),
)  # fmt: skip
"""Ways to write a deadline: name, requirement, style and milliseconds beyond the full second."""
_FAR: Final = {
    "1970": "1970-01-02T00:00:00.001Z",
    "leap-day": "2028-02-29T00:00:37Z",
    "after-leap-day": "2028-03-01T00:00:00Z",
    "2038": "2038-01-19T03:14:08Z",
    "not-a-leap-year": "2100-03-01T00:00:00Z",
    "2261": "2261-12-31T23:00:00.999Z",
}
_PLAIN: Final = {"conversation": "EXPIRY-BEFORE", "message": "EXPIRY-MESSAGE", "run": "EXPIRY-RUN"}
"""What may expire, and the requirement that is put to the test when nothing else is special about it."""


@dataclass(frozen=True)
class Boundary:
    """An instant at which ``subject`` expires, as it is written; with ``far`` at that instant, else in ten minutes."""

    subject: str
    identifier: str
    style: TimestampStyle = UTC_MILLISECONDS
    fraction: int = 0
    far: str = ""

    def deadline(self, now: int) -> int:
        """Return the instant in milliseconds since 1970; never at a full minute unless it is a far one."""
        if self.far:
            return instant(self.far)
        return (now // MINUTE + 10) * MINUTE + 37 * SECOND + self.fraction

    def blame(self, moment: int) -> Blame:
        """Return what is to blame for what is wrong at a moment, in milliseconds after the deadline."""
        if self.is_about_spelling or (moment >= 0 and self.identifier != "EXPIRY-BEFORE"):
            return Blame.of(self.identifier)
        return Blame.of("EXPIRY-AT-INSTANT") if moment == 0 else _AFTER

    @property
    def is_about_spelling(self) -> bool:
        """Whether it is the spelling of the timestamp that is put to the test."""
        return self.identifier in ("EXPIRY-OFFSET", "EXPIRY-FRACTION")

    @property
    def twin(self) -> Boundary:
        """The same boundary in the plainest spelling, at a full second."""
        return Boundary(self.subject, _PLAIN[self.subject], TimestampStyle(digits=0))


def _boundaries(contract: Contract) -> Iterator[Any]:
    if operations(contract) is None:
        return
    for number, (subject, plain) in enumerate(_PLAIN.items()):
        also = _AROUND if subject == "conversation" else ("EXPIRY-BEFORE",)
        yield case(Boundary(subject, plain).twin, plain, subject, *also)
        for turn, (name, identifier, style, fraction) in enumerate(_SPELLINGS):
            others = (plain, "EXPIRY-FRACTION") if fraction and style.offset else (plain,)
            # The quick profile has each spelling once, in turn for a conversation, a message and a run.
            is_thorough = turn % len(_PLAIN) != number
            boundary = Boundary(subject, identifier, style, fraction)
            yield case(boundary, identifier, f"{subject}-{name}", *others, thorough=is_thorough)


def _far_boundaries(contract: Contract) -> Iterator[Any]:
    for name, far in _FAR.items() if operations(contract) else ():
        boundary = Boundary("conversation", "EXPIRY-BEFORE", TimestampStyle(), far=far)
        yield case(boundary, "EXPIRY-BEFORE", f"conversation-{name}", *_AROUND)


@needs("seed", "clock")
@cases("boundary", _boundaries)
def test_the_instant_decides(boundary: Boundary, session: Session, record: Recorder) -> None:
    """Until a millisecond before its instant something is shown, from the instant on it is gone, however called."""
    now = session.stage.now()
    must_hold(each_once(_around(session, record, boundary, now)))


@needs("seed", "own clock")
@cases("boundary", _far_boundaries)
def test_the_instant_decides_in_every_year(boundary: Boundary, session: Session, record: Recorder) -> None:
    """So it is in other years: on and beside leap days, beyond 32 bits of seconds, at both ends of what is seeded."""
    now = boundary.deadline(0) - 10 * MINUTE
    must_hold(each_once(_around(session, record, boundary, now)))


def _around(session: Session, record: Recorder, boundary: Boundary, now: int) -> Iterator[Finding]:
    """Step the clock over the deadline; call everything at each moment, archive on conversations of their own."""
    stage, rng = session.stage, session.rng
    deadline = boundary.deadline(now)

    def document(workspace_id: str | None = None) -> Document:
        return expiring(rng, now, deadline, subject=boundary.subject, style=boundary.style, workspace_id=workspace_id)

    first = document()
    if boundary.far:
        stage.set_clock(first.workspace_id, now)
    scene = stage.seeded(rng, first)
    owner = scene.principal
    at_moment = {each: stage.seeded(rng, document(scene.workspace_id), owner) for each in _MOMENTS}
    earlier = stage.seeded(rng, document(scene.workspace_id), owner)
    twin = _twin(session, boundary, now, scene) if boundary.is_about_spelling else None
    answer, arguments = archive(session, earlier)
    yield from succeeded(answer, "ARCHIVE-ACCEPTED", "an archive of an available conversation")
    key = {name: value for name, value in arguments.items() if name in ("mutation_id", "expected_revision")}
    for moment, when in _MOMENTS.items():
        stage.set_clock(scene.workspace_id, deadline + moment)
        expected = by_the_clock(seeded(scene), deadline + moment, boundary.blame(moment))
        findings = [
            *shown_at(session, record, scene, expected, when),
            *_archived_at(session, record, at_moment[moment], expected, when),
        ]
        if answer.outcome == "success":
            replayed, _ = archive(session, earlier, **key)
            findings += _replayed_at(session, record, earlier, replayed, expected, when)
        if findings and twin is not None:
            expected = by_the_clock(seeded(twin), deadline + moment, boundary.twin.blame(moment))
            plain = shown_at(session, record, twin, expected, f"{when}, plainly written")
            findings = _not_of_spelling(boundary, findings, [*plain])
        yield from findings


def _twin(session: Session, boundary: Boundary, now: int, scene: Scene) -> Scene:
    """Store what expires at about the same time, written plainly: a fault that it shows is not one of spelling."""
    twin = boundary.twin
    document = expiring(
        session.rng, now, twin.deadline(now), subject=twin.subject, style=twin.style, workspace_id=scene.workspace_id
    )
    return session.stage.seeded(session.rng, document, scene.principal)


def _not_of_spelling(boundary: Boundary, findings: list[Finding], plain: list[Finding]) -> list[Finding]:
    """Blame the plain boundary for what its twin shows as well; without that, the findings are of the spelling."""
    if not plain:
        return findings
    return [*plain, *(finding for finding in findings if finding.requirement != boundary.identifier)]


def _archived_at(
    session: Session, record: Recorder, scene: Scene, expected: Expectation, when: str
) -> Iterator[Finding]:
    """Archive: it must succeed as long as the conversation is available, and never shows text."""
    is_available = expected.availability == {"available"}
    if is_available:
        # A message or a run that expires may have raised the revision.
        read, arguments = call(session, scene, needed(session).get)
        if read.result is not None:
            judged = session.results.judge(read, arguments)
            scene.revision = judged.value["conversation"]["revision"] if judged.value else scene.revision
    answer, arguments = archive(session, scene)
    if is_available:
        yield from succeeded(answer, expected.blame.shown, f"an archive of an available conversation {when}")
    else:
        record.freedom("OPEN-ARCHIVE-EXPIRED", "success" if answer.outcome == "success" else "error")
    private = markers(seeded(scene))
    identifier = "ARCHIVE-ANSWER-WITHOUT-TEXT" if is_available else "EXPIRY-ARCHIVE-WITHOUT-TEXT"
    yield from without_private_text(session, answer, arguments, private, identifier, f"an archive {when}")


def _replayed_at(
    session: Session, record: Recorder, scene: Scene, answer: Answer, expected: Expectation, when: str
) -> Iterator[Finding]:
    """A replay gets its result as long as the conversation has time left, and never shows text."""
    if expected.availability == {"available"}:
        yield from succeeded(answer, "REPLAY-SAME-RESULT", f"a replay {when}")
    else:
        is_success = answer.outcome == "success"
        record.freedom("OPEN-REPLAY-EXPIRED", "success without text" if is_success else "error")
    arguments = scene.arguments(needed(session).archive)
    private = markers(seeded(scene))
    identifier = "ARCHIVE-ANSWER-WITHOUT-TEXT" if expected.availability == {"available"} else "REPLAY-EXPIRED-PRIVATE"
    yield from without_private_text(session, answer, arguments, private, identifier, f"a replay {when}")


_FIRST_CALLS: Final = ("get", "status", "archive", "replay")


def _named(identifier: str, names: Iterable[str], *also: str) -> Any:
    return lambda contract: [case(name, identifier, name, *also) for name in names] if operations(contract) else []


@needs("seed", "clock")
@cases("first", _named("EXPIRY-WITHOUT-TRAFFIC", _FIRST_CALLS, "EXPIRY-ARCHIVE-WITHOUT-TEXT"))
def test_expiry_needs_no_call_before(first: str, session: Session, record: Recorder) -> None:
    """Between storing and the deadline nothing is called; whatever is called first afterwards shows no text."""
    stage, rng = session.stage, session.rng
    now = stage.now()
    deadline = now + 10 * MINUTE
    scene = stage.seeded(rng, expiring(rng, now, deadline))
    key = {}
    if first == "replay":
        answer, arguments = archive(session, scene)
        must_hold(succeeded(answer, "ARCHIVE-ACCEPTED", "an archive of an available conversation"))
        key = {name: arguments[name] for name in ("mutation_id", "expected_revision")}
    stage.set_clock(scene.workspace_id, deadline + MINUTE)
    must_hold(each_once(_first_call(session, record, scene, first, key)))


def _first_call(session: Session, record: Recorder, scene: Scene, first: str, key: dict[str, Any]) -> Iterator[Finding]:
    deadline = instant(seeded(scene).conversation["expires_at"])
    expected = by_the_clock(seeded(scene), deadline, Blame.of("EXPIRY-WITHOUT-TRAFFIC"))
    if first in ("archive", "replay"):
        answer, arguments = archive(session, scene, **key)
        private = markers(seeded(scene))
        yield from without_private_text(
            session, answer, arguments, private, "EXPIRY-ARCHIVE-WITHOUT-TEXT", f"a first {first} after the deadline"
        )
        applying = frozenset({"expired", "archived"})
        expected = replace(expected, availability=applying, archived=True)
    after = f"after a first {first} after the deadline" if first != "get" else "by a first read after the deadline"
    yield from shown_at(session, record, scene, expected, after, status_first=first == "status")
    if not expected.archived:
        grown = scene.revision > seeded(scene).conversation["revision"]
        record.freedom("OPEN-EXPIRY-REVISION", "grows" if grown else "stays")


_FINISHED: Final = (RunPlan(kind="sentiment", question=True), RunPlan("failed", question=True))
_EVERY_STATUS: Final = tuple(RunPlan(status, "sentiment", question=status in WITH_QUESTION) for status in STATUSES)
_STATES: Final = {
    "fresh": (ASKED, ()),
    "read-before": (ASKED, ()),
    "finished": (_FINISHED, ()),
    "waiting": ((RunPlan("queued", "sentiment", question=True),), ()),
    "every-run-status": (_EVERY_STATUS, ()),
    "no-runs": ((), ()),
    "archived": (ASKED, ()),
    "result-delivered": (ASKED, ("worker",)),
    "access_changed": (ASKED, ("access",)),
    "source_unavailable": (ASKED, ("access",)),
    "granted-again": (ASKED, ("access",)),
    "granted-afterwards": (ASKED, ("access",)),
}
"""What a conversation may have come through when it expires: its runs, and what that takes of test control."""


def _every_state(contract: Contract) -> Iterator[Any]:
    for name, (_, wanted) in _STATES.items() if operations(contract) else ():
        values = case(name, "EXPIRY-EVERY-STATE", name)
        yield pytest.param(*values.values, id=values.id, marks=(*values.marks, needs("seed", "clock", *wanted)))


@cases("state", _every_state)
def test_every_state_expires(state: str, session: Session, record: Recorder) -> None:
    """Whatever has happened to a conversation, at its deadline it loses its text."""
    stage, rng = session.stage, session.rng
    now = stage.now()
    deadline = now + 10 * MINUTE
    scene = stage.seeded(rng, expiring(rng, now, deadline, runs=_STATES[state][0]))
    applying = _brought_to(session, scene, state)
    stage.set_clock(scene.workspace_id, deadline)
    if state == "granted-afterwards":
        stage.control.set_access(scene.conversation_id, "granted")
    expected = Expectation(
        deadline,
        frozenset({"expired"} | applying),
        Blame.of("EXPIRY-EVERY-STATE"),
        withheld=bool(applying - {"archived"}),
        # A delivered result has finished a run that was seeded unfinished.
        archived="archived" in applying or state == "result-delivered",
    )
    must_hold(each_once(shown_at(session, record, scene, expected, f"at the deadline ({state})")))


def _brought_to(session: Session, scene: Scene, state: str) -> set[str]:
    """Let happen what the state says; return the availabilities that apply beside ``expired``."""
    control = session.stage.control
    if state == "read-before":
        for operation in (needed(session).get, needed(session).status):
            must_hold(answered(call(session, scene, operation)[0]))
    elif state == "archived":
        must_hold(succeeded(archive(session, scene)[0], "ARCHIVE-ACCEPTED", "an archive of an available conversation"))
        return {"archived"}
    elif state == "result-delivered":
        answer = fresh_answer(session.rng, seeded(scene))
        control.deliver_result(scene.run_ids[1], answer, None, None)
    elif state in ("access_changed", "granted-afterwards"):
        control.set_access(scene.conversation_id, "access_changed")
        must_hold(answered(call(session, scene, needed(session).get)[0]))
        # Whether access that was granted again applies at once is left open.
        return {"access_changed"}
    elif state == "source_unavailable":
        control.set_access(scene.conversation_id, "source_unavailable")
        return {"source_unavailable"}
    elif state == "granted-again":
        control.set_access(scene.conversation_id, "access_changed")
        control.set_access(scene.conversation_id, "granted")
        return {"access_changed"}
    return set()


_LATER: Final = {
    "a minute": MINUTE, "an hour": 60 * MINUTE, "a day": DAY, "a day and a second": DAY + SECOND, "a week": 7 * DAY,
}  # fmt: skip


@needs("seed", "clock")
@cases("subject", _named("EXPIRY-FINAL", ("conversation", "archive-tried")))
def test_what_has_expired_never_comes_back(subject: str, session: Session, record: Recorder) -> None:
    """However long the clock goes on, and whatever is called, nothing is shown again."""
    stage, rng = session.stage, session.rng
    now = stage.now()
    deadline = now + 10 * MINUTE
    scene = stage.seeded(rng, expiring(rng, now, deadline))
    expected = Expectation(deadline, frozenset({"expired"}), Blame.of("EXPIRY-FINAL"))

    def story() -> Iterator[Finding]:
        nonlocal expected
        for after, later in _LATER.items():
            stage.set_clock(scene.workspace_id, deadline + later)
            yield from shown_at(session, record, scene, expected, f"{after} after the deadline")
            if subject == "archive-tried":
                answer, _ = archive(session, scene)
                yield from answered(answer)
                applying = frozenset({"expired", "archived"})
                expected = replace(expected, availability=applying, archived=True)

    must_hold(each_once(story()))


@needs("seed", "clock", "restart")
@cases("state", _named("EXPIRY-SURVIVES-RESTART", ("read-before", "not-read-before", "expires-later")))
def test_what_has_expired_stays_so_after_a_restart(state: str, session: Session, record: Recorder) -> None:
    """A restart brings nothing back and forgets no deadline."""
    stage, rng = session.stage, session.rng
    now = stage.now()
    deadline = now + 10 * MINUTE
    scene = stage.seeded(rng, expiring(rng, now, deadline))
    expected = Expectation(deadline, frozenset({"expired"}), Blame.of("EXPIRY-SURVIVES-RESTART"))
    if state != "expires-later":
        stage.set_clock(scene.workspace_id, deadline)
    if state == "read-before":
        must_hold(each_once(shown_at(session, record, scene, replace(expected, blame=_AFTER), "at the deadline")))
    stage.control.restart()
    stage.set_clock(scene.workspace_id, deadline)
    must_hold(each_once(shown_at(session, record, scene, expected, "at the deadline, after a restart")))


@needs("seed", "clock")
@cases("subject", _named("EXPIRY-NOT-PROLONGED", _PLAIN))
def test_reading_does_not_prolong(subject: str, session: Session, record: Recorder) -> None:
    """What is read until a millisecond before its deadline is gone at it, and never had another."""
    stage, rng = session.stage, session.rng
    now = stage.now()
    deadline = now + 30 * MINUTE
    scene = stage.seeded(rng, expiring(rng, now, deadline, subject=subject))
    blame = Blame.of("EXPIRY-NOT-PROLONGED")

    def story() -> Iterator[Finding]:
        before = replace(blame, shown="EXPIRY-BEFORE")
        for left in (20 * MINUTE, MINUTE, SECOND, 1, 1, 1):
            stage.set_clock(scene.workspace_id, deadline - left)
            expected = by_the_clock(seeded(scene), deadline - left, before)
            yield from shown_at(session, record, scene, expected, "before the deadline, by repeated reads")
            yield from _same_deadlines(session, scene)
        stage.set_clock(scene.workspace_id, deadline)
        expected = by_the_clock(seeded(scene), deadline, blame)
        yield from shown_at(session, record, scene, expected, "at the deadline, after repeated reads")
        yield from _same_deadlines(session, scene)

    must_hold(each_once(story()))


def _same_deadlines(session: Session, scene: Scene) -> Iterator[Finding]:
    """Read the conversation and yield where a time at which something expires is not the stored one."""
    answer, arguments = call(session, scene, needed(session).get)
    judged = session.results.judge(answer, arguments) if answer.result is not None else None
    if judged is None or judged.value is None:
        return
    document, value = seeded(scene), judged.value
    stored = {each["id"].lower(): each for each in (document.conversation, *document.messages, *document.runs)}
    for entry in (value["conversation"], *value["messages"], *value["runs"]):
        own = stored.get(entry["id"].lower())
        if own is not None and parse_instant(own["expires_at"]) != parse_instant(entry["expires_at"]):
            yield Finding(
                "EXPIRY-NOT-PROLONGED", answer.call.operation.name, "Reading has moved an expires_at", "expires_at",
                own["expires_at"], entry["expires_at"], (answer.exchange,),
            )  # fmt: skip


_CACHE_HEADERS: Final = {
    "same-etag": (("If-None-Match", "{etag}"),),
    "any-etag": (("If-None-Match", "*"),),
    "weak-etag": (("If-None-Match", 'W/"1", "1"'),),
    "not-modified-since": (("If-Modified-Since", "{date}"),),
    "unmodified-since": (("If-Unmodified-Since", "{date}"), ("If-Match", "{etag}")),
    "only-if-cached": (("Cache-Control", "only-if-cached, max-stale"),),
    "max-stale": (("Cache-Control", "max-stale=100000, stale-if-error=100000"), ("Pragma", "cache")),
    "range": (("Range", "bytes=0-100000"), ("If-Range", "{etag}")),
}


@needs("seed", "clock")
@cases("header", _named("EXPIRY-NO-STALE-COPY", _CACHE_HEADERS))
def test_no_header_brings_text_back(header: str, session: Session) -> None:
    """A conditional request, or one that asks for a stale copy, gets no text after the deadline, and no 304.

    With a 304 a server would tell its client that the copy of the text is still right.
    """
    stage, rng = session.stage, session.rng
    now = stage.now()
    deadline = now + 10 * MINUTE
    scene = stage.seeded(rng, expiring(rng, now, deadline))
    reads = (needed(session).get, needed(session).status)
    # The second time the headers go with a request for text that may be shown, which is what fills a cache.
    before = {read.name: call(session, scene, read)[0].exchange for read in reads}
    for read in reads:
        _with_headers(session, scene, read, before[read.name], _CACHE_HEADERS[header])
    stage.set_clock(scene.workspace_id, deadline)
    private = markers(seeded(scene))
    for read in reads:
        for _ in range(2):
            exchange = _with_headers(session, scene, read, before[read.name], _CACHE_HEADERS[header])
            must_hold(_no_stale_copy(exchange, private))
            must_hold(answered(call(session, scene, read)[0]))


def _with_headers(
    session: Session, scene: Scene, operation: Operation, before: Exchange, headers: tuple[tuple[str, str], ...]
) -> Exchange:
    """Make the same call again with these headers, filled in with what the first answer said of itself."""
    response = before.response
    etag = (response.header("ETag") if response else None) or '"1"'
    date = (response.header("Last-Modified") or response.header("Date") if response else None) or _http_date(session)
    filled = {name: value.format(etag=etag, date=date) for name, value in headers}
    repeated = Call(operation, encode(scene.arguments(operation)), scene.principal.credential)
    with session.canaries.calling():
        return session.transport.call_with_headers(repeated, filled).exchange


def _http_date(session: Session) -> str:
    return email.utils.formatdate(session.clock.now(), usegmt=True)


def _no_stale_copy(exchange: Exchange, private: frozenset[str]) -> Iterator[Finding]:
    response = exchange.response
    if response is None:
        return
    if response.status == 304:
        yield Finding(
            "EXPIRY-NO-STALE-COPY", exchange.operation, "A copy of expired text is said to be still right", "status",
            "anything but 304", f"{response.status} {response.reason}", (exchange,),
        )  # fmt: skip
    seen = markers_in(response.body) & private
    if seen:
        yield Finding(
            "EXPIRY-NO-STALE-COPY", exchange.operation, "A header of the request brings expired text back", "body",
            "no private text", min(seen), (exchange,),
        )  # fmt: skip


_REAL_SECONDS: Final = 4
_REAL_MARGIN: Final = 2
_LONGEST_WAIT: Final = 12.0


@needs("seed")
@cases(
    "kind",
    _named(
        "EXPIRY-WITHOUT-TRAFFIC", ("real-time",), *_AFTER.requirements[1:], "EXPIRY-ARCHIVE-WITHOUT-TEXT",
        "EXPIRY-NOT-PROLONGED",
    ),
)  # fmt: skip
def test_a_deadline_passes_in_real_time(kind: str, session: Session, record: Recorder) -> None:
    """Where no clock can be set: a deadline a few seconds away passes by itself, judged two seconds afterwards."""
    del kind
    stage, rng = session.stage, session.rng
    if "clock" in stage.capabilities.names:
        pytest.skip("the clock can be set here, and the other checks judge all of this to the millisecond")
    probe = stage.scene(rng)
    target_now = _clock_of_answers(session, probe)
    if target_now is None:
        pytest.skip("no clock can be set, and the target's answers have no Date by which to read its own")
    deadline = target_now + _REAL_SECONDS * SECOND
    untouched, asked, archived, read = (
        stage.seeded(rng, expiring(rng, target_now - SECOND, deadline)) for _ in range(4)
    )
    _wait_until(session, deadline + _REAL_MARGIN * SECOND, probe, read)
    expected = by_the_clock(seeded(untouched), deadline, replace(_AFTER, get="EXPIRY-WITHOUT-TRAFFIC"))

    def story() -> Iterator[Finding]:
        when = "seconds after a deadline in real time"
        yield from shown_at(session, record, untouched, expected, when)
        yield from shown_at(session, record, asked, replace(expected, blame=_AFTER), when, status_first=True)
        prolonged = replace(expected, blame=Blame.of("EXPIRY-NOT-PROLONGED"))
        yield from shown_at(session, record, read, prolonged, f"{when} until which it was read")
        answer, arguments = archive(session, archived)
        private = markers(seeded(archived))
        yield from without_private_text(
            session, answer, arguments, private, "EXPIRY-ARCHIVE-WITHOUT-TEXT", f"an archive {when}"
        )

    must_hold(each_once(story()))


def _clock_of_answers(session: Session, scene: Scene) -> int | None:
    """Return the target's time in milliseconds by the Date of an answer, to the second and never too early."""
    answer, _ = call(session, scene, needed(session).get)
    response = answer.exchange.response
    date = response.header("Date") if response is not None else None
    try:
        parsed = email.utils.parsedate_to_datetime(date) if date else None
    except ValueError:
        return None
    return int(parsed.timestamp() * 1000) + SECOND if parsed is not None else None


def _wait_until(session: Session, moment: int, probe: Scene, read: Scene) -> None:
    """Wait until the target's own clock is past the moment, and read one conversation meanwhile.

    Skips the check where that clock does not come there in time.
    """
    end = session.clock.reading() + _LONGEST_WAIT
    while session.clock.reading() < end:
        call(session, read, needed(session).get)
        now = _clock_of_answers(session, probe)
        if now is not None and now - SECOND >= moment:
            return
        session.clock.wait(0.25)
    pytest.skip("no clock can be set, and the Date of the target's answers does not go on")
