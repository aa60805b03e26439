"""Messages that nobody should send: what is no JSON, no request or no call is not taken for a call.

What a server does with one is judged by the effects: it must not act on it, and the next ordinary call must be
answered as before. That it answers at all is asked only where the transport obliges it to: over HTTP, and where the
message is a request in form. A child's standard output carries nothing but messages meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from conformance.cases.json_text import encode
from conformance.checks.archiving import can_archive
from conformance.checks.declare import CaseFactory, case, cases, needs, over
from conformance.checks.messages import Speaker, changed_by, excerpt, finding, lives_on, speaker
from conformance.checks.steps import lent_arguments
from conformance.checks.views import can_read, operation_that
from conformance.checks.withholding import each_once
from conformance.contract import Contract, Operation
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered
from conformance.session import Session
from conformance.transport.mcp.answers import McpAnswer
from conformance.transport.mcp.frames import Frame, read_frame
from conformance.transport.mcp.revisions import STATELESS


def _each(identifier: str, names: Mapping[str, Any] | tuple[str, ...], *also: str) -> CaseFactory:
    return lambda contract: [case(name, identifier, name, *also) for name in names] if can_read(contract) else []


Spoil = Callable[[bytes], bytes]

_MALFORMED: Final[Mapping[str, Spoil]] = {
    "cut-short": lambda frame: frame[:-1],
    "trailing-comma": lambda frame: frame[:-1] + b",}",
    "single-quotes": lambda frame: frame.replace(b'"', b"'"),
    "comment": lambda frame: b"/* a call */" + frame,
    "name-without-quotes": lambda frame: frame.replace(b'"jsonrpc"', b"jsonrpc", 1),
    "two-documents": lambda frame: frame + b" " + frame,
    "stray-byte": lambda frame: frame[:1] + b"\xff" + frame[1:],
    "words": lambda _: b"call the tool, please",
}
"""Texts that are nearly a call and no JSON. A byte that is no UTF-8 stands outside of strings: in one, some decoders
replace it."""


@needs("token")
@cases("name", _each("PROTOCOL-MALFORMED-JSON", _MALFORMED, "PROTOCOL-SESSION-LIVES"))
def test_what_is_no_json_is_not_taken_for_a_call(name: str, session: Session) -> None:
    """Nothing happens, over HTTP it is answered with an error, and the session lives on."""
    _judge_no_call(session, "PROTOCOL-MALFORMED-JSON", name, _MALFORMED[name], has_answer=False)


def _without(member: bytes) -> Spoil:
    """Return what takes a member away from the head of a request of ours."""
    return lambda frame: frame.replace(member, b"", 1)


def _with_params(text: bytes) -> Spoil:
    return lambda frame: frame[: frame.index(b',"params":')] + b',"params":' + text + b"}"


_NO_REQUEST: Final[Mapping[str, Spoil]] = {
    "method-missing": _without(b',"method":"tools/call"'),
    "method-number": lambda frame: frame.replace(b'"tools/call"', b"7", 1),
    "jsonrpc-missing": _without(b'"jsonrpc":"2.0",'),
    "jsonrpc-other": lambda frame: frame.replace(b'"2.0"', b'"1.0"', 1),
    "params-null": _with_params(b"null"),
    "params-array": _with_params(b"[]"),
    "params-text": _with_params(b'"call"'),
    "number": lambda _: b"7",
    "text": lambda _: b'"call"',
    "null": lambda _: b"null",
    "empty-object": lambda _: b"{}",
}
"""JSON that is no request at all. Over stdio common servers drop it without a word."""

_NO_CALL: Final[Mapping[str, Spoil]] = {
    "params-missing": lambda frame: frame[: frame.index(b',"params":')] + b"}",
    "name-missing": lambda frame: frame.replace(b'"name":', b'"zz_name":', 1),
    "name-number": lambda frame: frame.replace(b'"name":"', b'"name":7,"zz":"', 1),
    "arguments-null": lambda frame: frame.replace(b'"arguments":{', b'"arguments":null,"zz":{', 1),
    "arguments-array": lambda frame: frame.replace(b'"arguments":{', b'"arguments":[],"zz":{', 1),
    "meta-missing": lambda frame: frame.replace(b'"_meta":', b'"zz_meta":', 1),
}
"""Requests in form that are no calls: they carry a usable id, so there is always somebody to answer."""


def _invalid_requests(contract: Contract) -> list[Any]:
    if not can_read(contract):
        return []
    names = (*_NO_REQUEST, *_NO_CALL)
    return [case(name, "PROTOCOL-INVALID-REQUEST", name, "PROTOCOL-SESSION-LIVES") for name in names]


@needs("token")
@cases("name", _invalid_requests)
def test_what_is_no_request_is_not_taken_for_a_call(name: str, session: Session) -> None:
    """Nothing happens, it is answered with an error where there must be an answer, and the session lives on."""
    in_form = name in _NO_CALL
    spoil = _NO_CALL[name] if in_form else _NO_REQUEST[name]
    _judge_no_call(session, "PROTOCOL-INVALID-REQUEST", name, spoil, has_answer=in_form)


def _judge_no_call(session: Session, requirement: str, name: str, spoil: Spoil, *, has_answer: bool) -> None:
    heard = speaker(session)
    if name == "meta-missing" and heard.revision != STATELESS:
        pytest.skip(f"requests of {heard.revision} need no _meta")
    operation = _most_telling(session)
    before = heard.ordinary()
    identifier = f"zz-{heard.scene.conversation_id}"
    call = heard.request(identifier, "tools/call", heard.params(operation, encode(_arguments(heard, operation))))
    mark = session.mcp.journal.mark()
    answer = heard.send(
        spoil(call), expect_answer=has_answer or heard.over_http, headers=heard.headers_of_call(operation)
    )
    after = heard.next_reads()
    what = f"a message that is no call ({name.replace('-', ' ')})"

    def story() -> Iterator[Finding]:
        if has_answer or heard.over_http:
            yield from _error_owed(heard, requirement, answer, what)
        for spoken in session.mcp.journal.frames(mark):
            frame = read_frame(spoken.raw)
            if frame is not None and frame.identifier == ("string", identifier) and _is_success(frame):
                yield finding(
                    requirement, answer, f"The server took {what} for a call", "message", "an error",
                    excerpt(spoken.raw),
                )  # fmt: skip
        yield from changed_by(before, after[-1], requirement, what)
        yield from lives_on(before, after, what)

    must_hold(each_once(story()))


def _is_success(frame: Frame) -> bool:
    return frame.kind == "result" and frame.text("result", "isError") in (None, b"false")


def _most_telling(session: Session) -> Operation:
    """Return the operation whose call shows best whether it was acted on: one that writes, where there is one."""
    write = operation_that(session.contract, "write", "conversation") if can_archive(session.contract) else None
    operation = write or operation_that(session.contract, "read", "conversation")
    assert operation is not None
    return operation


def _arguments(heard: Speaker, operation: Operation) -> dict[str, Any]:
    return lent_arguments(heard.session, heard.scene, operation)


def _error_owed(heard: Speaker, requirement: str, answer: McpAnswer, what: str) -> Iterator[Finding]:
    """Yield a finding where a message that must be answered with an error was not; HTTP has its own way to say so."""
    response = answer.exchange.response
    is_error = answer.outcome == "refused" or (response is not None and 400 <= response.status < 500)
    if answer.outcome == "unexpected" and answer.frame is not None:
        yield from answered(answer)
    elif not is_error:
        where = "an HTTP status of 400 or above, or an error" if heard.over_http else "an error"
        yield finding(requirement, answer, f"The server does not refuse {what}", "message", where, answer.status)


_ODD: Final[Mapping[str, Spoil]] = {
    "batch": lambda frame: b"[" + frame + b"]",
    "id-null": lambda frame: _with_id(frame, b"null"),
    "id-fraction": lambda frame: _with_id(frame, b"1.5"),
    "id-object": lambda frame: _with_id(frame, b"{}"),
}
"""Messages that common servers read in one way or another: as one call, as a notification, or not at all."""


def _with_id(frame: bytes, text: bytes) -> bytes:
    start = frame.index(b'"id":') + len(b'"id":')
    return frame[:start] + text + frame[frame.index(b',"method"') :]


@over("mcp-http")
@needs("token")
@cases("name", _each("PROTOCOL-SESSION-LIVES", _ODD))
def test_a_session_survives_odd_messages(name: str, session: Session) -> None:
    """After a batch, or a request whose id is none, an ordinary call is answered as before."""
    heard = speaker(session)
    before = heard.ordinary()
    params = heard.params(heard.read, encode(heard.scene.arguments(heard.read)))
    frame = _ODD[name](heard.request("zz", "tools/call", params))
    answer = heard.send(frame, headers=heard.headers_of_call(heard.read))
    must_hold(
        (found for found in answered(answer) if answer.outcome in ("server-error", "no-answer")),
        lives_on(before, [heard.ordinary()], f"an odd message ({name.replace('-', ' ')})"),
    )


@needs("token")
@cases("moment", _each("PROTOCOL-STDOUT-CLEAN", ("start", "calls", "refusals", "wrong-messages", "so-far")))
def test_standard_output_carries_messages_only(moment: str, session: Session) -> None:
    """At its start, with results, with refusals and after wrong messages: every line of a child is a message."""
    heard = speaker(session)
    journal = session.mcp.journal
    mark = 0 if moment == "so-far" else journal.mark()
    if moment == "start":
        child = session.mcp.open_session(heard.scene.principal.credential)
        child.list_tools()
        child.close()
    elif moment == "refusals":
        arguments = b'{"zz_unknown":1}'
        for operation in (heard.read, replace(heard.read, tool="zz_no_such_tool")):
            heard.send(heard.request("a", "tools/call", heard.params(operation, arguments)))
        heard.send(heard.request("a", "zz/unknown"))
    elif moment == "wrong-messages":
        call = heard.request("zz", "tools/call", heard.params(heard.read, b"{}"))
        for spoil in (*_MALFORMED.values(), *_NO_REQUEST.values()):
            heard.send(spoil(call), expect_answer=False)
    heard.next_reads()
    must_hold(
        each_once(
            Finding(
                "PROTOCOL-STDOUT-CLEAN", "", "The standard output carries what is no message of the protocol",
                "stdout", "messages only", f"{stray.reason}: {excerpt(stray.text) or 'an empty line'}",
            )
            for stray in journal.strays(mark)
            if stray.reason != "an answer that nobody awaits"
        )
    )  # fmt: skip
