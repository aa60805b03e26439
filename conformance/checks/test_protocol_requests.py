"""Requests over MCP: every one is answered, ids come back, many at once are told apart, what nobody has is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.cases.conversations import DAY, MINUTE
from conformance.cases.json_text import encode
from conformance.checks.declare import CaseFactory, case, cases, needs
from conformance.checks.messages import (
    Speaker,
    excerpt,
    finding,
    lives_on,
    said_of_id,
    speaker,
    value_of,
)
from conformance.checks.views import can_read, operation_that
from conformance.checks.withholding import each_once, expiring
from conformance.contract import Contract, Operation
from conformance.errors import CouldNotRun
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered, refused
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Call
from conformance.transport.mcp.answers import McpAnswer


def _each(identifier: str, names: Mapping[str, Any] | tuple[str, ...], *also: str) -> CaseFactory:
    return lambda contract: [case(name, identifier, name, *also) for name in names] if can_read(contract) else []


_IDS: Final[Mapping[str, Any]] = {
    "string": "a-request",
    "numeric-string": "1",
    "zero-string": "0",
    "non-ascii": "\u0437\u0430\u043f\u0440\u043e\u0441-\u2713-\U0001f600",
    "zero": 0,
    "large": 2**53 - 1,
    "long-string": "x" * 200,
}
"""Ids that are legal in every revision, by what is special about them."""


@needs("token")
@cases("name", _each("PROTOCOL-ID-ECHOED", _IDS, "PROTOCOL-ANSWERED"))
def test_an_answer_carries_the_id_of_its_request(name: str, session: Session) -> None:
    """A result, a refusal and a JSON-RPC error each come back under the id of the request, with its JSON type."""
    heard = speaker(session)
    identifier = _IDS[name]
    arguments = heard.scene.arguments(heard.read)
    requests = {
        "a call": heard.params(heard.read, encode(arguments)),
        "a call of an unknown conversation": heard.params(
            heard.read, encode({**arguments, **_unknown(session, heard.read)})
        ),
        "a call of an unknown tool": heard.params(replace(heard.read, tool=_NO_TOOL), encode(arguments)),
    }

    def story() -> Iterator[Finding]:
        for what, params in requests.items():
            answer = heard.send(heard.request(identifier, "tools/call", params))
            yield from _answered(answer)
            if answer.frame is not None and not answer.received.id_echoed:
                sent = said_of_id(("string" if isinstance(identifier, str) else "number", identifier))
                yield finding(
                    "PROTOCOL-ID-ECHOED", answer, f"The answer to {what} does not carry the id of the request", "/id",
                    sent, said_of_id(answer.frame.identifier),
                )  # fmt: skip

    must_hold(each_once(story()))


_NO_TOOL: Final = "zz_no_such_tool"


def _unknown(session: Session, operation: Operation) -> dict[str, str]:
    names = [name for name, source in operation.bindings.items() if source == "conversation.id"]
    return {name: fresh_uuid(session.rng) for name in names}


def _answered(answer: Answer) -> Iterator[Finding]:
    """Yield a finding where a request has no proper answer.

    Raises:
        CouldNotRun: it was refused for a rate limit.
    """
    yield from answered(answer)
    if answer.kinds and "rate_limited" in answer.kinds:
        raise CouldNotRun(
            f"the target's rate limit stands in the way ({answer.status})",
            "Raise the limit for the deployment under test.",
        )


def _flights(contract: Contract) -> list[Any]:
    if not can_read(contract):
        return []
    return [
        case(20, "PROTOCOL-ID-IN-FLIGHT", "20", "PROTOCOL-ANSWERED"),
        case(100, "PROTOCOL-ID-IN-FLIGHT", "100", "PROTOCOL-ANSWERED", thorough=True),
    ]


@needs("token")
@cases("count", _flights)
def test_calls_in_flight_are_told_apart(count: int, session: Session) -> None:
    """Many calls of different tools and conversations, sent before any is answered, each get their own answer once."""
    identifier = "PROTOCOL-ID-IN-FLIGHT"
    heard = speaker(session)
    asked = [_asked(session, scene, number) for scene in _scenes(session, heard) for number in range(3)]
    chosen = [asked[number % len(asked)] for number in range(count)]
    before = session.mcp.journal.mark()
    answers = session.mcp.in_flight(heard.scene.principal.credential, [call for call, _, _ in chosen])
    # A second answer to one of them comes before the answer to what is asked later, and goes astray.
    after = heard.ordinary()

    def story() -> Iterator[Finding]:
        yield from answered(after)
        for answer, (_, member, wanted) in zip(answers, chosen, strict=True):
            yield from _answered(answer)
            yield from _own_answer(identifier, answer, member, wanted)
        for stray in session.mcp.journal.strays(before):
            if stray.reason == "an answer that nobody awaits":
                yield Finding(
                    identifier, "", "A request in flight is answered twice, or under an id that nobody has used",
                    "message", "one answer for each request", excerpt(stray.text),
                )  # fmt: skip

    must_hold(each_once(story()))


def _scenes(session: Session, heard: Speaker) -> list[Scene]:
    """Return conversations of one person: five where they can be stored."""
    if heard.scene.document is None:
        return [heard.scene]
    stage, first = session.stage, heard.scene
    now = stage.now()
    more = [
        stage.seeded(
            session.rng,
            expiring(session.rng, now, now + DAY - 10 * MINUTE, workspace_id=first.workspace_id),
            first.principal,
        )
        for _ in range(4)
    ]
    return [first, *more]


def _asked(session: Session, scene: Scene, number: int) -> tuple[Call, str, str]:
    """Return one of three calls about a scene, with the member of the result that must have which id.

    The member is empty for a call that must be refused, since it names what nobody has.
    """
    get = operation_that(session.contract, "read", "conversation")
    status = operation_that(session.contract, "read", "run")
    assert get is not None
    operation = status if number == 1 and status is not None and scene.known else get
    arguments = scene.arguments(operation)
    member = operation.result if scene.known else ""
    if number == 2:
        arguments, member = {**arguments, **_unknown(session, operation)}, ""
    wanted = arguments["run_id" if operation is status else "conversation_id"]
    return Call(operation, encode(arguments), scene.principal.credential), member, wanted


def _own_answer(identifier: str, answer: McpAnswer, member: str, wanted: str) -> Iterator[Finding]:
    """Yield a finding where an answer is under another id, or is plainly that to another one of the calls."""
    if answer.frame is None:
        return
    if not answer.received.id_echoed:
        yield finding(
            identifier, answer, "A request in flight is not answered under its id", "/id", "the id of the request",
            said_of_id(answer.frame.identifier),
        )  # fmt: skip
        return
    found = _shown_id(answer)
    has_anothers = bool(found) and found != f"{member} {wanted.lower()}"
    if has_anothers or (member and answer.outcome == "refused"):
        yield finding(
            identifier, answer, "A request in flight has the answer to another one", "result",
            f"that of {member} {wanted}" if member else "a refusal", found or answer.status,
        )  # fmt: skip


def _shown_id(answer: McpAnswer) -> str:
    """Return of which conversation or run a result is, empty where it is no such result."""
    value = value_of(answer)
    for member in ("conversation", "run"):
        shown = value.get(member) if isinstance(value, dict) else None
        if isinstance(shown, dict) and isinstance(shown.get("id"), str):
            return f"{member} {shown['id'].lower()}"
    return ""


_TOOLS: Final[Mapping[str, Callable[[str], str]]] = {
    "unknown": lambda _: _NO_TOOL,
    "longer": lambda tool: f"{tool}_zz",
    "shorter": lambda tool: tool[:-1],
}


@needs("token")
@cases("name", _each("PROTOCOL-UNKNOWN-TOOL", _TOOLS, "PROTOCOL-ANSWERED", "PROTOCOL-SESSION-LIVES"))
def test_a_tool_that_does_not_exist_is_refused(name: str, session: Session) -> None:
    """A call of a tool whose name is nobody's, or nearly that of a real one, is answered with an error."""
    heard = speaker(session)
    before = heard.ordinary()
    answer = _call_of(heard, name)
    what = "a call of a tool that does not exist"
    must_hold(refused(answer, "PROTOCOL-UNKNOWN-TOOL", what), lives_on(before, [heard.ordinary()], what))


@needs("token")
@cases("name", _each("PROTOCOL-UNKNOWN-TOOL-CODE", ("unknown",)))
def test_the_refusal_of_an_unknown_tool_has_its_code(name: str, session: Session) -> None:
    """It is the JSON-RPC error -32602."""
    answer = _call_of(speaker(session), name)
    must_hold(answered(answer))
    code = answer.frame.value("error", "code") if answer.frame is not None else None
    if code != _INVALID_PARAMS:
        found = finding(
            "PROTOCOL-UNKNOWN-TOOL-CODE", answer, "A tool that does not exist is refused in another way",
            "/error/code", str(_INVALID_PARAMS), answer.status,
        )  # fmt: skip
        must_hold([found])


_INVALID_PARAMS: Final = -32602


def _call_of(heard: Speaker, name: str) -> McpAnswer:
    tool = _TOOLS[name](heard.read.tool)
    credential = heard.scene.principal.credential
    arguments = encode(heard.scene.arguments(heard.read))
    return heard.session.mcp.call(Call(replace(heard.read, tool=tool), arguments, credential))


_METHODS: Final = ("zz/unknown", "tools/zz")


@needs("token")
@cases("method", _each("PROTOCOL-UNKNOWN-METHOD", _METHODS, "PROTOCOL-ANSWERED", "PROTOCOL-SESSION-LIVES"))
def test_an_unknown_method_is_answered_with_an_error(method: str, session: Session) -> None:
    """A request with a method that no revision has is answered with an error, and the session lives on."""
    heard = speaker(session)
    before = heard.ordinary()
    answer = heard.send(heard.request(heard.scene.conversation_id, method))
    what = "a request with an unknown method"

    def story() -> Iterator[Finding]:
        yield from answered(answer)
        response = answer.exchange.response
        told_by_http = response is not None and 400 <= response.status < 500
        if answer.outcome != "refused" and not told_by_http:
            yield finding(
                "PROTOCOL-UNKNOWN-METHOD", answer, f"The server does not refuse {what}", "message",
                "an error", answer.status,
            )  # fmt: skip
        yield from lives_on(before, [heard.ordinary()], what)

    must_hold(story())


@needs("token")
@cases("method", _each("PROTOCOL-ANSWERED", ("ping", "tools-list")))
def test_every_request_is_answered(method: str, session: Session) -> None:
    """A ping, where the revision has it, and a listing are answered, by a result or an error."""
    heard = speaker(session)
    answer = heard.send(heard.request("a", method.replace("-", "/")))
    must_hold(answered(answer))
