"""One server, several transports: the same calls have the same results on each, and the same people are let in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.cases.conversations import MINUTE, markers, title_markers
from conformance.cases.json_text import encode
from conformance.checks.archiving import can_archive, each
from conformance.checks.declare import cases, needs
from conformance.checks.withholding import each_once, expiring, needed, seeded
from conformance.contract import Operation
from conformance.errors import CouldNotRun
from conformance.judge.comparison import differences
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered
from conformance.judge.privacy import shows_nothing
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Credential

_IDENTIFIER = "PROTOCOL-EQUIVALENCE"
_STATES = ("available", "archived", "expired")
_NOBODY_THERE = ("unreachable", "closed")
_STRANGERS = ("nobody", "unknown-token", "another-person", "without-the-scope")


@needs("seed", "second transport")
@cases("state", each(_IDENTIFIER, _STATES, when=can_archive))
def test_a_conversation_looks_the_same_on_every_transport(state: str, session: Session) -> None:
    """Every read of it has the same outcome and the same result, whatever state the conversation is in."""
    scene = _scene(session)
    if state == "archived":
        operation = needed(session).archive
        session.call(operation, encode(scene.arguments(operation)), scene.principal.credential)
    elif state == "expired":
        _expire(session, scene)
    must_hold(each_once(_reads_agree(session, scene)))


@needs("seed", "second transport")
@cases("turn", each(_IDENTIFIER, ("there-then-here", "here-then-there"), when=can_archive))
def test_an_attempt_is_the_same_on_every_transport(turn: str, session: Session) -> None:
    """An archive over one transport is applied once: its copy over another one gets the same result."""
    operation = needed(session).archive
    here = session.transport_names[0]
    for there in session.transport_names[1:]:
        scene = _scene(session)
        names = (there, here) if turn == "there-then-here" else (here, there)
        arguments, credential = scene.arguments(operation), scene.principal.credential
        first, second = (_call(session, operation, arguments, credential, name) for name in names)
        must_hold(answered(first), answered(second), _agree(session, arguments, (first, second), names))
        must_hold(each_once(_reads_agree(session, scene)))


@needs("seed", "second transport")
@cases("fault", each(_IDENTIFIER, ("unknown-id", "other-revision", "unknown-field"), when=can_archive))
def test_a_wrong_call_is_refused_on_every_transport(fault: str, session: Session) -> None:
    """It is refused on each, as the same kind of failure where that is told, and changes nothing."""
    scene = _scene(session)
    faults: dict[str, dict[str, Any]] = {
        "unknown-id": {"conversation_id": fresh_uuid(session.rng)},
        "other-revision": {"expected_revision": scene.revision + 1},
        "unknown-field": {"unknown": True},
    }
    changed = faults[fault]
    operation = needed(session).archive
    arguments = {**scene.arguments(operation), **changed}
    must_hold(
        each_once(_refused_alike(session, operation, arguments, scene.principal.credential)),
        each_once(_reads_agree(session, scene)),
    )


@needs("seed", "second transport", "second principal", "scope")
@cases("stranger", each(_IDENTIFIER, _STRANGERS, when=can_archive))
def test_nobody_gets_in_by_another_transport(stranger: str, session: Session) -> None:
    """Who may not call over one transport may not call over any, and sees nothing."""
    scene = _scene(session)
    private = markers(seeded(scene)) | title_markers(seeded(scene))
    scene, credential = _stranger(session, scene, stranger)

    def story() -> Iterator[Finding]:
        for operation in (needed(session).get, needed(session).status, needed(session).archive):
            what = f"a call of {stranger.replace('-', ' ')}"
            yield from _refused_alike(session, operation, scene.arguments(operation), credential, private, what)

    must_hold(each_once(story()))


def _stranger(session: Session, scene: Scene, who: str) -> tuple[Scene, Credential]:
    if who == "nobody":
        return scene, Credential("nobody", None)
    if who == "unknown-token":
        token = f"{session.random('unknown token').getrandbits(256):064x}"
        return scene, Credential.bearer("nobody (unknown token)", token)
    if who == "without-the-scope":
        return session.stage.with_scopes(scene, ())
    rng, workspaces = session.rng, (scene.workspace_id,)
    return scene, session.stage.principal(rng, workspace_ids=workspaces, label="other person").credential


def _scene(session: Session) -> Scene:
    """Return a conversation to look at over each transport.

    Raises:
        CouldNotRun: nobody can be reached over one of them, which says nothing about how it would answer.
    """
    now = session.stage.now()
    scene = session.stage.seeded(session.rng, expiring(session.rng, now, now + 10 * MINUTE))
    read = needed(session).get
    for name in session.transport_names[1:]:
        failure = _call(session, read, scene.arguments(read), scene.principal.credential, name).exchange.failure
        if failure is not None and failure.kind in _NOBODY_THERE:
            raise CouldNotRun(
                f"no usable answer over {name}: {failure.message}",
                f"Correct [target.also.{name}] of the target file; a command starts in the folder of the run.",
            )
    return scene


def _expire(session: Session, scene: Scene) -> None:
    session.stage.set_clock(scene.workspace_id, session.stage.now() + 11 * MINUTE)


def _call(session: Session, operation: Operation, arguments: Any, credential: Credential, name: str) -> Answer:
    return session.call(operation, encode(arguments), credential, session.transport_named(name))


def _reads_agree(session: Session, scene: Scene) -> Iterator[Finding]:
    """Read the conversation and every run over each transport, and yield where one of them differs from the first."""
    known, here = needed(session), session.transport_names[0]
    calls = [(known.get, scene.arguments(known.get))]
    calls += [(known.status, scene.arguments(known.status, run_id)) for run_id in scene.run_ids]
    for operation, arguments in calls:
        credential = scene.principal.credential
        first = _call(session, operation, arguments, credential, here)
        yield from answered(first)
        for there in session.transport_names[1:]:
            answer = _call(session, operation, arguments, credential, there)
            yield from answered(answer)
            yield from _agree(session, arguments, (first, answer), (here, there))


def _refused_alike(
    session: Session,
    operation: Operation,
    arguments: Any,
    credential: Credential,
    private: frozenset[str] = frozenset(),
    what: str = "a refusal",
) -> Iterator[Finding]:
    """Make a call that must be refused over each transport; yield where it is not, or not alike, or shows text."""
    here = session.transport_names[0]
    answers = [_call(session, operation, arguments, credential, name) for name in session.transport_names]
    for there, answer in zip(session.transport_names, answers, strict=True):
        yield from answered(answer)
        if answer.outcome == "success":
            yield _finding(answer, f"Accepted over {there} what must be refused", "a refusal", answer.status)
        yield from shows_nothing(answer.exchange, private, _IDENTIFIER, what)
        yield from _agree(session, arguments, (answers[0], answer), (here, there))


def _agree(
    session: Session, arguments: Any, answers: tuple[Answer, Answer], names: tuple[str, str]
) -> Iterator[Finding]:
    """Yield a finding where two answers to one call do not come to the same."""
    (first, second), (here, there) = answers, names
    if first.outcome != second.outcome:
        summary = f"The same call has another outcome over {there} than over {here}"
        yield _finding(second, summary, first.status, second.status).shown_by(first.exchange)
    elif first.outcome == "refused" and first.kinds and second.kinds and not first.kinds & second.kinds:
        summary = f"The same call is refused over {there} as another kind of failure than over {here}"
        yield _finding(second, summary, first.status, second.status).shown_by(first.exchange)
    elif first.result is not None and second.result is not None:
        judged = [session.results.judge(each, arguments) for each in (first, second)]
        for each_judged in judged:
            yield from each_judged.findings
        values = [each_judged.value for each_judged in judged]
        if None in values:
            return
        for difference in differences(*values):
            yield Finding(
                _IDENTIFIER, second.call.operation.name,
                f"The same call has another result over {there} than over {here}",
                difference.pointer, str(difference.expected)[:80], str(difference.found)[:80],
                (second.exchange, first.exchange),
            )  # fmt: skip
            return


def _finding(answer: Answer, summary: str, expected: str, found: str) -> Finding:
    operation = answer.call.operation.name
    return Finding(_IDENTIFIER, operation, summary, "outcome", expected, found, (answer.exchange,))
