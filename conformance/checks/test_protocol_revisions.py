"""Which revision of MCP is spoken: how it is agreed on, what happens to others, and what the stateless one asks for."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final

import pytest

from conformance.cases.json_text import encode
from conformance.checks.declare import CaseFactory, case, cases, needs
from conformance.checks.messages import NO_HEADERS, Speaker, changed_by, excerpt, finding, lives_on, speaker
from conformance.checks.steps import lent_arguments
from conformance.checks.views import can_read, operation_that
from conformance.checks.withholding import each_once
from conformance.contract import Operation
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered
from conformance.session import Session
from conformance.transport.mcp.answers import McpAnswer
from conformance.transport.mcp.channel import HeaderChanges
from conformance.transport.mcp.frame_schema import judge_frame
from conformance.transport.mcp.revisions import STATELESS, initialize_params

_UNSUPPORTED_REVISION: Final = -32022
_NOBODYS: Final[Mapping[str, str]] = {"of-the-past": "1999-01-01", "of-the-future": "2999-12-31"}
"""Revisions that nobody speaks, by what is special about them."""

_REVISION: Final = "io.modelcontextprotocol/protocolVersion"


def _each(identifier: str, *names: str) -> CaseFactory:
    return lambda contract: [case(name, identifier, name) for name in names] if can_read(contract) else []


@needs("token")
@cases("asked", _each("PROTOCOL-REVISION-NEGOTIATED", "in-use", *_NOBODYS))
def test_a_revision_is_agreed_on(asked: str, session: Session) -> None:
    """The revision that is in use is agreed on when it is asked for; for one that nobody speaks another is offered."""
    heard = speaker(session)
    if heard.revision == STATELESS:
        if asked != "in-use":
            pytest.skip(f"{STATELESS} has no negotiation: a revision that is not spoken is refused")
        must_hold(_offered(heard))
    elif asked == "in-use":
        must_hold(_agreed(heard, heard.revision, "the revision that is in use"))
    else:
        must_hold(_another_offered(heard, _NOBODYS[asked]))


def _offered(heard: Speaker) -> Iterator[Finding]:
    """Yield findings where the stateless revision is not among those that the server says it speaks."""
    answer = heard.send(heard.request("a", "server/discover"))
    yield from answered(answer)
    offered = answer.frame.value("result", "supportedVersions") if answer.frame is not None else None
    if not isinstance(offered, list) or heard.revision not in offered:
        yield finding(
            "PROTOCOL-REVISION-NEGOTIATED", answer, "The revision in use is not among those that the server offers",
            "/result/supportedVersions", heard.revision, ascii(offered)[:120],
        )  # fmt: skip


def _asked_for(heard: Speaker, revision: str) -> McpAnswer:
    """Return the answer to ``initialize`` for this revision, in a session of its own."""
    credential = heard.scene.principal.credential
    with closing(heard.session.mcp.open_session(credential, opens_itself=False)) as fresh:
        return heard.send(heard.request("a", "initialize", initialize_params(revision)), through=fresh)


def _agreed(heard: Speaker, revision: str, what: str) -> Iterator[Finding]:
    answer = _asked_for(heard, revision)
    yield from answered(answer)
    agreed = answer.frame.value("result", "protocolVersion") if answer.frame is not None else None
    if agreed != revision:
        yield finding(
            "PROTOCOL-REVISION-NEGOTIATED", answer, f"The server does not agree on {what}",
            "/result/protocolVersion", revision, ascii(agreed)[:80],
        )  # fmt: skip


def _another_offered(heard: Speaker, revision: str) -> Iterator[Finding]:
    """Yield findings where a revision that nobody speaks is agreed on, or one is offered that is not spoken either.

    To refuse it with an error, as the specification has it in an example, is an offer to ask for another one.
    """
    answer = _asked_for(heard, revision)
    yield from answered(answer)
    frame = answer.frame
    if frame is None or answer.outcome == "refused":
        return
    offered = frame.value("result", "protocolVersion")
    if not isinstance(offered, str) or offered == revision:
        yield finding(
            "PROTOCOL-REVISION-NEGOTIATED", answer, "The server agrees on a revision that nobody speaks",
            "/result/protocolVersion", "one that it speaks", ascii(offered)[:80],
        )  # fmt: skip
    else:
        yield from _agreed(heard, offered, "the revision that it offered itself")


@needs("token")
@cases("named", _each("PROTOCOL-REVISION-MISMATCH", *_NOBODYS, "no-revision"))
def test_a_request_in_another_revision_is_refused(named: str, session: Session) -> None:
    """A request that names a revision which nobody speaks, or none, is refused as the revision in use has it."""
    heard = speaker(session)
    revision = _NOBODYS.get(named, "not-a-revision")
    if heard.revision != STATELESS and not heard.over_http:
        pytest.skip(f"over stdio a request of {heard.revision} names no revision")
    before = heard.ordinary()
    read = heard.read
    arguments = encode(heard.scene.arguments(read))
    headers: HeaderChanges = {"MCP-Protocol-Version": revision} if heard.over_http else NO_HEADERS
    named_within = {_REVISION: revision} if heard.revision == STATELESS else {}
    frame = heard.request("a", "tools/call", heard.params(read, arguments, **named_within))
    answer = heard.send(frame, headers=headers)
    what = "a request in a revision that nobody speaks"
    must_hold(
        each_once(_refused_with_400(heard, answer, what)),
        _told_which(heard, answer) if heard.revision == STATELESS else (),
        lives_on(before, [heard.ordinary()], what),
    )


def _refused_with_400(heard: Speaker, answer: McpAnswer, what: str) -> Iterator[Finding]:
    """Yield a finding where a request is not refused, over HTTP with the status 400."""
    response = answer.exchange.response
    if heard.over_http and response is not None and response.status == 400:
        return
    if heard.over_http or answer.outcome != "refused":
        yield from (found for found in answered(answer) if answer.outcome in ("server-error", "no-answer"))
        wanted = "HTTP 400" if heard.over_http else "an error"
        yield finding("PROTOCOL-REVISION-MISMATCH", answer, f"The server does not refuse {what}", "message", wanted,
                      answer.status)  # fmt: skip


def _told_which(heard: Speaker, answer: McpAnswer) -> Iterator[Finding]:
    """Yield findings where the refusal is not the one that the stateless revision has for it, with what is spoken."""
    frame = answer.frame
    code = frame.value("error", "code") if frame is not None else None
    supported = frame.value("error", "data", "supported") if frame is not None else None
    if code != _UNSUPPORTED_REVISION:
        yield finding(
            "PROTOCOL-REVISION-MISMATCH", answer, "A revision that is not spoken is refused as something else",
            "/error/code", str(_UNSUPPORTED_REVISION), answer.status,
        )  # fmt: skip
    elif not isinstance(supported, list) or heard.revision not in supported:
        yield finding(
            "PROTOCOL-REVISION-MISMATCH", answer, "The refusal of a revision does not say which ones are spoken",
            "/error/data/supported", heard.revision, ascii(supported)[:120],
        )  # fmt: skip


@needs("token")
@cases("call", _each("PROTOCOL-SERVER-DISCOVER", "discover"))
def test_a_server_tells_what_it_offers(call: str, session: Session) -> None:
    """It names the revisions and capabilities that it offers, tools among them, as the schema has it."""
    del call
    heard = speaker(session)
    if heard.revision != STATELESS:
        pytest.skip(f"{heard.revision} has no server/discover")
    identifier = "PROTOCOL-SERVER-DISCOVER"
    answer = heard.send(heard.request("a", "server/discover"))

    def story() -> Iterator[Finding]:
        yield from answered(answer)
        frame = answer.frame
        if frame is None or frame.kind != "result":
            yield finding(identifier, answer, "The server does not tell what it offers", "message", "a result",
                          answer.status)  # fmt: skip
            return
        for fault in judge_frame(heard.revision, "server", frame.raw, "server/discover"):
            yield finding(identifier, answer, "What the server tells of its offer breaks the published schema",
                          fault.path, "a DiscoverResult", fault.message[:160])  # fmt: skip
        tools = frame.text("result", "capabilities", "tools")
        if tools is None or not tools.startswith(b"{"):
            yield finding(identifier, answer, "The server does not tell that it offers tools",
                          "/result/capabilities/tools", "an object", excerpt(tools))  # fmt: skip

    must_hold(each_once(story()))


def _contradictions(operation: Operation, other: Operation) -> Mapping[str, HeaderChanges]:
    encoded = base64.b64encode(other.tool.encode()).decode()
    return {
        "name-missing": {"Mcp-Name": None},
        "name-of-another-tool": {"Mcp-Name": other.tool},
        "name-in-another-case": {"Mcp-Name": operation.tool.upper()},
        "name-of-another-tool-encoded": {"Mcp-Name": f"=?base64?{encoded}?="},
        "method-missing": {"Mcp-Method": None},
        "method-of-another-kind": {"Mcp-Method": "tools/list"},
        "revision-of-nobody": {"MCP-Protocol-Version": _NOBODYS["of-the-past"]},
    }


_CONTRADICTIONS: Final = (
    "name-missing",
    "name-of-another-tool",
    "name-in-another-case",
    "name-of-another-tool-encoded",
    "method-missing",
    "method-of-another-kind",
    "revision-of-nobody",
)


@needs("token")
@cases("name", _each("PROTOCOL-REQUEST-HEADERS", *_CONTRADICTIONS))
def test_headers_that_contradict_the_message_are_refused(name: str, session: Session) -> None:
    """A call whose headers are missing or say something else than its message is refused and has no effect."""
    heard = speaker(session)
    if heard.revision != STATELESS:
        pytest.skip(f"requests of {heard.revision} have no headers that repeat the message")
    identifier = "PROTOCOL-REQUEST-HEADERS"
    operation = operation_that(session.contract, "write", "conversation") or heard.read
    other = next(each for each in session.contract.operations if each.name != operation.name)
    before = heard.ordinary()
    arguments = lent_arguments(session, heard.scene, operation)
    frame = heard.request("a", "tools/call", heard.params(operation, encode(arguments)))
    answer = heard.send(frame, headers=_contradictions(operation, other)[name])
    after = heard.ordinary()
    what = f"a call with wrong headers ({name.replace('-', ' ')})"

    def story() -> Iterator[Finding]:
        response = answer.exchange.response
        if answer.outcome != "refused" and not (response is not None and 400 <= response.status < 500):
            yield from (found for found in answered(answer) if answer.outcome in ("server-error", "no-answer"))
            yield finding(identifier, answer, f"The server does not refuse {what}", "message", "HTTP 400",
                          answer.status)  # fmt: skip
        yield from changed_by(before, after, identifier, what)
        yield from lives_on(before, [after], what)

    must_hold(each_once(story()))
