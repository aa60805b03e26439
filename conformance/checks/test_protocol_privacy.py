"""Where private text must not appear over MCP: the content of results, JSON-RPC errors, and a child's stderr."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from conformance.canary_places import places
from conformance.cases.conversations import DAY, MINUTE, markers, title_markers
from conformance.cases.json_text import encode
from conformance.checks.archiving import archive
from conformance.checks.declare import case, cases, needs
from conformance.checks.messages import Speaker, excerpt, speaker
from conformance.checks.standard_error import heard_since, settled
from conformance.checks.steps import call
from conformance.checks.withholding import each_once, expiring, needed, operations, seeded
from conformance.contract import Contract, Operation
from conformance.control.interface import AccessState
from conformance.errors import SuiteFault
from conformance.judge.finding import Finding, must_hold
from conformance.judge.markers import markers_in
from conformance.judge.outcome import answered, succeeded
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Call, Exchange

_STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "archived": (),
    "expired": ("clock",),
    "access_changed": ("access",),
    "source_unavailable": ("access",),
    "another-persons": ("second principal",),
}
"""Why text must not be shown to somebody, and what it takes of test control to bring that about."""


def _states(identifier: str) -> Any:
    def factory(contract: Contract) -> Iterator[Any]:
        for name, wanted in _STATES.items() if operations(contract) else ():
            made = case((identifier, name), identifier, name.replace("_", "-"))
            yield pytest.param(*made.values, id=made.id, marks=(*made.marks, needs("seed", *wanted)))

    return factory


@cases("attempt", _states("PRIVACY-MCP-CONTENT"))
def test_content_shows_no_text_that_is_gone(attempt: tuple[str, str], session: Session) -> None:
    """The content of results and refusals has nothing of a text that is gone, or another person's."""
    _judge_messages(session, *attempt)


@cases("attempt", _states("PRIVACY-RPC-ERROR-DATA"))
def test_errors_show_no_text_that_is_gone(attempt: tuple[str, str], session: Session) -> None:
    """The message and data of a JSON-RPC error have nothing of a text that is gone, or another person's."""
    _judge_messages(session, *attempt)


@cases("attempt", _states("PRIVACY-STDERR"))
def test_standard_error_shows_no_text_that_is_gone(attempt: tuple[str, str], session: Session) -> None:
    """What a child writes to stderr has nothing of a text that is gone, or another person's, and no token."""
    identifier, state = attempt
    owner, caller = _withheld(session, state)
    before = settled(session)
    exchanges = [answer.exchange for _, answer in _everything(session, owner, caller)]
    after = settled(session)
    text = heard_since(before, after)
    private = _private(owner, state)

    def story() -> Iterator[Finding]:
        shown = markers_in(text) & private
        if shown:
            yield _leak(identifier, exchanges[-1], "Private text is written to stderr", "stderr", min(shown))
        for scene in (owner, caller):
            token = scene.principal.token
            if token and token.encode() in b"".join(after):
                yield _leak(identifier, exchanges[-1], "A token is written to stderr", "stderr", "a person's token")

    must_hold(each_once(story()))


def _judge_messages(session: Session, identifier: str, state: str) -> None:
    owner, caller = _withheld(session, state)
    private = _private(owner, state)

    def story() -> Iterator[Finding]:
        for what, answer in _everything(session, owner, caller):
            yield from answered(answer)
            for part in places(answer.exchange):
                shown = markers_in(part.text) & private
                if part.requirement == identifier and shown:
                    summary = f"Private text is shown in the {part.name} of {what}"
                    yield _leak(identifier, answer.exchange, summary, part.name, min(shown))

    must_hold(each_once(story()))


def _leak(identifier: str, exchange: Exchange, summary: str, place: str, found: str) -> Finding:
    return Finding(identifier, exchange.operation, summary, place, "no private text", excerpt(found.encode()),
                   (exchange,))  # fmt: skip


def _private(owner: Scene, state: str) -> frozenset[str]:
    """Return what must not be shown; whether the title is private towards its owner is left open."""
    document = seeded(owner)
    return markers(document) | (title_markers(document) if state == "another-persons" else frozenset())


def _withheld(session: Session, state: str) -> tuple[Scene, Scene]:
    """Store a conversation, bring it to a state, and return it and who is to call: its owner, or another person."""
    stage, rng = session.stage, session.rng
    now = stage.now()
    deadline = now + (10 * MINUTE if state == "expired" else DAY - 10 * MINUTE)
    owner = stage.seeded(rng, expiring(rng, now, deadline))
    # What is read before is in a server's memory when the text goes.
    must_hold(answered(call(session, owner, needed(session).get)[0]))
    must_hold(answered(call(session, owner, needed(session).status)[0]))
    if state == "archived":
        answer, arguments = archive(session, owner)
        must_hold(succeeded(answer, "ARCHIVE-ACCEPTED", "an archive of an available conversation"))
        must_hold(answered(archive(session, owner, **arguments)[0]))
    elif state == "expired":
        stage.set_clock(owner.workspace_id, deadline)
    elif state == "another-persons":
        person = stage.principal(rng, workspace_ids=(owner.workspace_id,), label="other person")
        return owner, replace(owner, principal=person)
    else:
        kinds: Mapping[str, AccessState] = {each: each for each in _WITHDRAWN}
        stage.control.set_access(owner.conversation_id, kinds[state])
    return owner, owner


_WITHDRAWN: Final[tuple[AccessState, ...]] = ("access_changed", "source_unavailable")


def _everything(session: Session, owner: Scene, caller: Scene) -> Iterator[tuple[str, Answer]]:
    """Make every kind of request that names the conversation, right and wrong ones; yield each with a description."""
    known, rng = needed(session), session.rng
    credential = caller.principal.credential

    def sent(operation: Operation, **changed: Any) -> Answer:
        return session.call(operation, encode({**owner.arguments(operation), **changed}), credential)

    yield "a read", sent(known.get)
    for run_id in owner.run_ids:
        yield "a run's status", sent(known.status, run_id=run_id)
    yield "the status of an unknown run", sent(known.status, run_id=fresh_uuid(rng))
    yield "an archive with a revision of the past", sent(known.archive, expected_revision=1)
    yield "an archive with a revision of the future", sent(known.archive, expected_revision=owner.revision + 1000)
    for operation in (known.get, known.status, known.archive):
        yield "a call with an unknown field", sent(operation, zz_unknown=1)
        yield "a call with a malformed id", sent(operation, conversation_id=f"{owner.conversation_id}0")
    yield from _by_hand(session, owner, caller)
    yield "an archive", sent(known.archive)
    yield "a read after it", sent(known.get)


def _by_hand(session: Session, owner: Scene, caller: Scene) -> Iterator[tuple[str, Answer]]:
    """Yield what comes of messages that no tool answers: unknown tools and methods, parameters that are none."""
    if session.mcp.revision is None:
        raise SuiteFault("messages were to be sent before there was a revision to send them in")
    heard = Speaker(session, caller, session.mcp.revision)
    read = heard.read
    arguments = encode(owner.arguments(read))
    as_call = Call(read, arguments, caller.principal.credential)
    unknown_tool = replace(read, tool=f"{read.tool}_zz")
    messages = {
        "a call of an unknown tool": ("tools/call", heard.params(unknown_tool, arguments)),
        "a call whose arguments are a list": ("tools/call", heard.params(read, b"[" + arguments + b"]")),
        "a request with an unknown method": ("zz/unknown", heard.params(read, arguments)),
    }
    for what, (method, params) in messages.items():
        yield what, heard.send(heard.request(fresh_uuid(session.rng), method, params), as_call=as_call)


@needs("seed")
@cases(
    "moment",
    lambda contract: [case("opening", "PRIVACY-STDERR", "opening")] if operations(contract) else [],
)
def test_no_token_is_written_to_standard_error(moment: str, session: Session) -> None:
    """Not at the start of a child either, which finds its token in the environment, and not with what it refuses."""
    del moment
    heard = speaker(session)
    credential = heard.scene.principal.credential
    fresh = session.mcp.open_session(credential)
    fresh.list_tools()
    answer = heard.send(heard.request("a", "zz/unknown"), through=fresh)
    text = b"".join(settled(session))
    fresh.close()
    token = heard.scene.principal.token
    if token and token.encode() in text:
        must_hold([_leak("PRIVACY-STDERR", answer.exchange, "A token is written to stderr", "stderr", "the token")])
