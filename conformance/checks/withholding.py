"""Steps of the checks of what is withheld: conversations that expire, and judging what is shown at an instant.

``shown_at`` reads a conversation in every way and compares it with an ``Expectation``: what is past its time or
withheld must be gone, all else must be there. What the contract leaves open is recorded and not judged.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.cases.conversations import DAY, Document, Plan, RunPlan, compose
from conformance.cases.texts import MARKER, UTC_MILLISECONDS, TimestampStyle, timestamp
from conformance.checks.steps import call
from conformance.checks.views import operation_that
from conformance.contract import Contract, Operation
from conformance.errors import SuiteFault
from conformance.judge.comparison import differences
from conformance.judge.finding import Finding
from conformance.judge.formats import parse_instant
from conformance.judge.markers import markers_in
from conformance.judge.outcome import answered, succeeded
from conformance.judge.result import Judged
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene
from conformance.transport.exchange import Answer

ACTIVE: Final = frozenset({"queued", "processing"})
_FINISHED_MAY_SHOW: Final = frozenset({"expired", "unavailable"})
_ANY_STATUS_SHOWS: Final = "sentiment"

ASKED: Final = (
    RunPlan(kind="sentiment", question=True),
    RunPlan("queued", "sentiment", question=True),
    RunPlan("processing", "themes", question=True),
)
"""A finished run and two unfinished ones, all with text; *status* shows the first two whatever it insists on."""


@dataclass(frozen=True)
class Operations:
    """The operations that the checks of this module call."""

    get: Operation
    status: Operation
    archive: Operation


def operations(contract: Contract) -> Operations | None:
    """Return the operations, or ``None`` where the contract lacks one of them: then there is nothing to check."""
    get = operation_that(contract, "read", "conversation")
    status = operation_that(contract, "read", "run")
    archive = operation_that(contract, "write", "conversation")
    return Operations(get, status, archive) if get and status and archive else None


def needed(session: Session) -> Operations:
    """Return the operations.

    Raises:
        SuiteFault: the contract lacks one, and so the check should not have been collected.
    """
    found = operations(session.contract)
    if found is None:
        raise SuiteFault("a check of withheld text ran on a contract that has no conversations")
    return found


def instant(text: str) -> int:
    """Return a timestamp as milliseconds since 1970."""
    return int(parse_instant(text) * 1000)


@dataclass(frozen=True)
class Blame:
    """The requirements that are broken by what may be wrong at an instant.

    ``shown``: text is not shown although it must be; ``availability``: another one is shown than must be; ``get`` and
    ``status``: text is shown there that must be gone; ``runs``: a run should be ``expired``.
    """

    shown: str
    availability: str
    get: str
    status: str
    runs: str

    @classmethod
    def of(cls, identifier: str) -> Blame:
        """Return the blame that lays everything to one requirement."""
        return cls(*(identifier,) * 5)

    @property
    def requirements(self) -> tuple[str, ...]:
        """The requirements, each once."""
        return tuple(dict.fromkeys((self.shown, self.availability, self.get, self.status, self.runs)))


@dataclass(frozen=True)
class Expectation:
    """What must be seen of a conversation at ``now``, milliseconds since 1970.

    ``availability`` are the values that may be shown. ``withheld`` says that access or a source is gone or that it is
    archived: then all text is gone, whatever the time. ``archived`` says that no run is active any more.
    """

    now: int
    availability: frozenset[str]
    blame: Blame
    withheld: bool = False
    archived: bool = False

    def is_past(self, document: Document, entry: Mapping[str, Any]) -> bool:
        """Tell whether a message or a run of the document is past its own or the conversation's time."""
        return min(instant(entry["expires_at"]), instant(document.conversation["expires_at"])) <= self.now

    def is_gone(self, document: Document, message: Mapping[str, Any]) -> bool:
        """Tell whether a message's text must be gone."""
        return self.withheld or self.is_past(document, message)


def by_the_clock(document: Document, now: int, blame: Blame) -> Expectation:
    """Return what must be seen at ``now`` of a seeded conversation to which nothing has happened but time."""
    is_expired = instant(document.conversation["expires_at"]) <= now
    return Expectation(now, frozenset({"expired" if is_expired else "available"}), blame)


def expiring(
    rng: random.Random,
    now: int,
    expires: int,
    *,
    subject: str = "conversation",
    style: TimestampStyle = UTC_MILLISECONDS,
    runs: tuple[RunPlan, ...] = ASKED,
    workspace_id: str | None = None,
) -> Document:
    """Return a conversation of which ``subject`` expires at the instant ``expires`` (milliseconds since 1970).

    With ``message`` the messages expire then, with ``run`` the unfinished runs, one that failed, and their messages;
    the conversation itself has another hour. All its times are written in ``style``.
    """
    if subject == "run":
        runs = (*runs, RunPlan("failed", question=True))
    last = expires if subject == "conversation" else expires + DAY // 24
    plan = Plan(runs=runs, expires_in=last - now, styles=(style,))
    document = compose(rng, now, plan, workspace_id=workspace_id)
    if subject == "conversation":
        return document
    own = {"expires_at": timestamp(expires, style)}
    if subject == "message":
        return Document(document.conversation, [{**each, **own} for each in document.messages], document.runs)
    earlier = {run["id"] for run in document.runs if run["status"] in ACTIVE | {"failed"}}
    return Document(
        document.conversation,
        [{**each, **own} if each["run_id"] in earlier else each for each in document.messages],
        [{**each, **own} if each["id"] in earlier else each for each in document.runs],
    )


def seeded(scene: Scene) -> Document:
    """Return what was seeded.

    Raises:
        SuiteFault: the scene was not seeded, and so the check should have said that it needs it.
    """
    if scene.document is None:
        raise SuiteFault("a check of withheld text ran on a conversation that it did not seed")
    return scene.document


def texts_of(messages: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the markers in the texts of messages."""
    return frozenset(MARKER.findall(repr([(each["question"], each["answer"]) for each in messages])))


def body_shows(answer: Answer, private: frozenset[str], requirement: str, what: str) -> Iterator[Finding]:
    """Yield a finding when the body of an answer, a result or an error, gives any of the markers away."""
    response = answer.exchange.response
    seen = markers_in(response.body) & private if response is not None else frozenset()
    if seen:
        yield _finding(requirement, answer, f"Private text is shown in {what}", "body", "no private text", min(seen))


def without_private_text(
    session: Session, answer: Answer, arguments: Mapping[str, Any], private: frozenset[str], requirement: str, what: str
) -> Iterator[Finding]:
    """Yield findings when an answer that may be a success or a refusal shows a text, or is no proper answer."""
    yield from answered(answer)
    yield from body_shows(answer, private, requirement, what)
    if answer.result is not None:
        judged = session.results.judge(answer, arguments)
        yield from judged.findings
        for message in messages_in(judged):
            if message["question"] is not None or message["answer"] is not None:
                yield _finding(requirement, answer, f"Private text is shown in {what}", "messages", "null", "a text")


def messages_in(judged: Judged) -> Sequence[Mapping[str, Any]]:
    """Return the messages of a result of either kind, none where it could not be read."""
    if judged.value is None:
        return ()
    if "messages" in judged.value:
        return list(judged.value["messages"])
    return [judged.value["message"]] if judged.value["message"] is not None else ()


def shown_at(
    session: Session, record: Recorder, scene: Scene, expected: Expectation, when: str, *, status_first: bool = False
) -> Iterator[Finding]:
    """Read the conversation and the status of each run, and yield where they are not as expected.

    ``when`` says at what time, for sentences. The scene's revision becomes the one that is shown.
    """
    if status_first:
        yield from _statuses(session, record, scene, expected, when)
    yield from _conversation(session, record, scene, expected, when)
    if not status_first:
        yield from _statuses(session, record, scene, expected, when)


def _conversation(
    session: Session, record: Recorder, scene: Scene, expected: Expectation, when: str
) -> Iterator[Finding]:
    document, blame = seeded(scene), expected.blame
    answer, arguments = call(session, scene, needed(session).get)
    is_available = expected.availability == {"available"}
    failures = list(succeeded(answer, blame.shown if is_available else blame.availability, f"the owner's read {when}"))
    gone = [message for message in document.messages if expected.is_gone(document, message)]
    yield from failures
    yield from body_shows(answer, texts_of(gone), blame.get, f"a read {when}")
    if failures:
        return
    judged = session.results.judge(answer, arguments)
    yield from judged.findings
    if judged.value is None:
        return
    conversation = judged.value["conversation"]
    found = conversation["availability"]
    if found not in expected.availability:
        yield _finding(
            blame.shown if is_available else blame.availability, answer, f"Another availability is shown {when}",
            "/conversation/availability", " or ".join(sorted(expected.availability)), found,
        )  # fmt: skip
    elif len(expected.availability) > 1:
        record.freedom("OPEN-AVAILABILITY-CHOICE", found)
    scene.revision = conversation["revision"]
    if not is_available:
        _note_form(record, document, conversation, judged.value["messages"])
    yield from _messages(judged, document, expected, when)
    runs = {run["id"].lower(): run for run in judged.value["runs"]}
    for run in document.runs:
        yield from _run(record, answer, document, run, runs.get(run["id"].lower()), expected, when)


def _messages(judged: Judged, document: Document, expected: Expectation, when: str) -> Iterator[Finding]:
    """Judge every message that was seeded, and those that came later where all text must be gone."""
    answer, blame = judged.answer, expected.blame
    shown = {message["id"].lower(): message for message in judged.value["messages"]}
    for message in document.messages:
        present = shown.pop(message["id"].lower(), None)
        if expected.is_gone(document, message):
            yield from _hidden(answer, present, blame.get, f"a read {when}")
        else:
            yield from _present(answer, message, present, blame.shown, when)
    if expected.availability != {"available"}:
        for later in shown.values():
            yield from _hidden(answer, later, blame.get, f"a read {when}")


def _statuses(session: Session, record: Recorder, scene: Scene, expected: Expectation, when: str) -> Iterator[Finding]:
    document, blame = seeded(scene), expected.blame
    is_available = expected.availability == {"available"}
    for run in document.runs:
        answer, arguments = call(session, scene, needed(session).status, run["id"])
        yield from answered(answer)
        yield from body_shows(
            answer,
            texts_of(each for each in document.messages if expected.is_gone(document, each)),
            blame.status,
            f"a run's status {when}",
        )
        if answer.result is None:
            # Nothing obliges a server to show the status of a run whose conversation it withholds.
            if is_available and run["request_kind"] == _ANY_STATUS_SHOWS:
                yield from succeeded(answer, blame.shown, f"the status of a run {when}")
            continue
        judged = session.results.judge(answer, arguments)
        yield from judged.findings
        if judged.value is None:
            continue
        yield from _run(record, answer, document, run, judged.value["run"], expected, when)
        yield from _status_message(record, judged, document, run, expected, when)


def _status_message(
    record: Recorder, judged: Judged, document: Document, run: Mapping[str, Any], expected: Expectation, when: str
) -> Iterator[Finding]:
    """Judge the message beside a run's status; which one it is, is left open where the run has only a question."""
    found = judged.value["message"]
    own = [message for message in document.messages if message["run_id"] == run["id"]]
    text = next((message for message in own if message["role"] == "assistant"), None)
    if expected.availability != {"available"} and (text is not None or (own and found is not None)):
        record.freedom("OPEN-WITHHELD-STATUS-FORM", "null message" if found is None else "null fields")
    same = next((each for each in own if found is not None and each["id"].lower() == found["id"].lower()), None)
    if expected.withheld or (same is not None and expected.is_gone(document, same)):
        yield from _hidden(judged.answer, found, expected.blame.status, f"a run's status {when}")
    elif text is not None and not expected.is_gone(document, text):
        yield from _present(judged.answer, text, found, expected.blame.shown, when)


def _hidden(answer: Answer, message: Mapping[str, Any] | None, requirement: str, what: str) -> Iterator[Finding]:
    if message is not None and (message["question"] is not None or message["answer"] is not None):
        member = "question" if message["question"] is not None else "answer"
        yield _finding(requirement, answer, f"Private text is shown in {what}", member, "null, or no message", "a text")


def _present(
    answer: Answer, expected: Mapping[str, Any], message: Mapping[str, Any] | None, requirement: str, when: str
) -> Iterator[Finding]:
    members = ("question", "answer")
    if message is None or any(list(differences(expected[member], message[member])) for member in members):
        yield _finding(
            requirement, answer, f"A message has lost its text {when}", "messages", "the text as it was stored",
            "no such message" if message is None else "no or another text",
        )  # fmt: skip


def _run(
    record: Recorder, answer: Answer, document: Document, run: Mapping[str, Any], found: Mapping[str, Any] | None,
    expected: Expectation, when: str,
) -> Iterator[Finding]:  # fmt: skip
    """Judge a run's status, where the contract says what it is."""
    if found is None or expected.archived:
        return
    own, shown = run["status"], found["status"]
    is_past, is_active = expected.is_past(document, run), own in ACTIVE
    if is_active and expected.withheld:
        if not is_past:
            record.freedom("OPEN-ACTIVE-RUN-WITHHELD", shown)
    elif is_active and is_past:
        if shown != "expired":
            yield _finding(
                expected.blame.runs, answer, f"An unfinished run is not expired {when}", "status", "expired", shown
            )
    elif not (is_past or expected.withheld):
        if shown != own:
            yield _finding(expected.blame.shown, answer, f"A run has another status {when}", "status", own, shown)
    elif shown == own or shown in _FINISHED_MAY_SHOW:
        is_own_time = expected.availability == {"available"}
        name = "OPEN-FINISHED-RUN-PAST-EXPIRY" if is_own_time else "OPEN-FINISHED-RUN-WITHHELD"
        record.freedom(name, "its own" if shown == own else shown)


def _note_form(
    record: Recorder, document: Document, conversation: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
) -> None:
    """Record how withheld content is shown."""
    if document.messages:
        record.freedom("OPEN-WITHHELD-FORM", "null fields" if messages else "empty list")
    title = document.conversation["title"]
    if title is not None and conversation["availability"] != "archived":
        record.freedom("OPEN-WITHHELD-TITLE", "kept" if conversation["title"] == title else "gone")


def each_once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the first finding of each requirement, operation and sentence."""
    once: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        once.setdefault((finding.requirement, finding.operation, finding.summary), finding)
    return tuple(once.values())


def fresh_answer(rng: random.Random, document: Document) -> dict[str, Any]:
    """Return an answer that the analysis worker may deliver for any run of the document, with markers of its own."""
    donor = compose(rng, DAY, Plan(runs=(RunPlan(),), evidence=1))
    evidence = document.conversation["context"]["evidence"][0]
    answer: dict[str, Any] = _citing(donor.messages[0]["answer"], evidence)
    return answer


def _citing(value: Any, evidence: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        changed = {name: _citing(item, evidence) for name, item in value.items()}
        return {**changed, **evidence} if "evidence_id" in value else changed
    return [_citing(item, evidence) for item in value] if isinstance(value, list) else value


def _finding(requirement: str, answer: Answer, summary: str, place: str, expected: str, found: str) -> Finding:
    return Finding(requirement, answer.call.operation.name, summary, place, expected, found, (answer.exchange,))
