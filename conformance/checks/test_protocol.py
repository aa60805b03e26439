"""How results and refusals travel over MCP: structured content, its text, the mark of an error, and the envelope.

The messages of the other requests, right and wrong, are judged in the two modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest

from conformance.checks.called import Called, invalid_calls, refusals, successes
from conformance.checks.declare import CaseFactory, case, cases, needs
from conformance.checks.mcp_results import JUDGES, in_schema, without_unknown_keys
from conformance.checks.messages import finding, speaker
from conformance.checks.steps import call
from conformance.checks.views import can_read
from conformance.checks.withholding import each_once
from conformance.contract import Contract
from conformance.errors import SuiteFault
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import refused
from conformance.session import Session
from conformance.transport.exchange import Answer
from conformance.transport.mcp.answers import McpAnswer

_GROUPS: Final[Mapping[str, tuple[str, Callable[[Session], Iterator[Called]]]]] = {
    "successes": ("conversation", successes),
    "refusals": ("token", refusals),
}
"""Groups of calls, with what they need of the target."""

_JUDGED: Final = (
    ("PROTOCOL-STRUCTURED-CONTENT", "successes"),
    ("PROTOCOL-CONTENT", "successes"),
    ("PROTOCOL-CONTENT", "refusals"),
    ("PROTOCOL-CONTENT-MIRROR", "successes"),
    ("PROTOCOL-SUCCESS-UNMARKED", "successes"),
    ("PROTOCOL-ERROR-MARKED", "refusals"),
    ("PROTOCOL-IS-ERROR-BOOLEAN", "successes"),
    ("PROTOCOL-IS-ERROR-BOOLEAN", "refusals"),
)


def _judged(contract: Contract) -> Iterator[Any]:
    for identifier, group in _JUDGED if can_read(contract) else ():
        made = case((identifier, group), identifier, group)
        yield pytest.param(*made.values, id=made.id, marks=(*made.marks, needs(_GROUPS[group][0])))


def _over_mcp(answer: Answer) -> McpAnswer:
    if not isinstance(answer, McpAnswer):
        raise SuiteFault("a check of MCP got an answer of another binding")
    return answer


@cases("judged", _judged)
def test_an_answer_carries_what_it_must(judged: tuple[str, str], session: Session) -> None:
    """Each kind of success carries its result and is not marked, each kind of refusal is; both carry content."""
    identifier, group = judged
    judge = JUDGES[identifier]
    must_hold(
        each_once(
            found
            for what, answer in _GROUPS[group][1](session)
            for found in judge(session, what, _over_mcp(answer))
        )
    )  # fmt: skip


def _one(identifier: str, *names: str) -> CaseFactory:
    return lambda contract: [case(name, identifier, name) for name in names] if can_read(contract) else []


@needs("token")
@cases("operations", _one("PROTOCOL-INVALID-ARGUMENTS", "each-operation"))
def test_invalid_arguments_are_refused(operations: str, session: Session) -> None:
    """Arguments that break the schema are answered with an error, by either channel."""
    del operations
    calls = invalid_calls(session, speaker(session).scene)
    must_hold(
        each_once(finding for what, answer in calls for finding in refused(answer, "PROTOCOL-INVALID-ARGUMENTS", what))
    )


@needs("token")
@cases("operations", _one("PROTOCOL-INVALID-ARGUMENTS-CHANNEL", "each-operation"))
def test_invalid_arguments_are_refused_by_the_channel_of_the_revision(operations: str, session: Session) -> None:
    """Since 2025-11-25 they are an error of the tool, a result with isError; before by either."""
    del operations
    identifier = "PROTOCOL-INVALID-ARGUMENTS-CHANNEL"
    heard = speaker(session)

    def story() -> Iterator[Finding]:
        for what, answer in invalid_calls(session, heard.scene):
            frame = _over_mcp(answer).frame
            if frame is not None and frame.kind == "error" and heard.revision >= _BY_RESULT:
                yield finding(
                    identifier, answer, f"Refused {what} by a JSON-RPC error instead of a result", "message",
                    f"a result with isError, as {heard.revision} has it", answer.status,
                )  # fmt: skip

    must_hold(each_once(story()))


_BY_RESULT: Final = "2025-11-25"
"""The first revision in which invalid arguments are an error of the tool and not of the protocol."""

_TRAFFIC: Final = ("opening", "successes", "refusals", "errors", "so-far")


@needs("token")
@cases("traffic", _one("PROTOCOL-FRAME-SCHEMA", *_TRAFFIC))
def test_every_message_obeys_the_schema_of_the_revision(traffic: str, session: Session) -> None:
    """What the server sends, in answer to whatever, is as the published schema of the revision in use has it."""
    must_hold(each_once(in_schema(session, _mark_before(session, traffic))))


@needs("token")
@cases("traffic", _one("PROTOCOL-ENVELOPE-KEYS", *_TRAFFIC))
def test_no_envelope_has_unknown_keys(traffic: str, session: Session) -> None:
    """Beside the keys of JSON-RPC an answer has none."""
    must_hold(each_once(without_unknown_keys(session, _mark_before(session, traffic))))


def _mark_before(session: Session, traffic: str) -> int:
    """Make the traffic and return the mark before it in the journal; for all messages of the process it is 0."""
    heard = speaker(session)
    if traffic == "so-far":
        return 0
    mark = session.mcp.journal.mark()
    if traffic == "opening":
        fresh = session.mcp.open_session(heard.scene.principal.credential)
        fresh.list_tools()
        fresh.close()
    elif traffic == "errors":
        operation = heard.read
        arguments = b'{"zz_unknown":1}'
        for identifier, method, params in (
            ("a", "zz/unknown", None),
            ("b", "tools/call", heard.params(operation, arguments)),
            ("c", "tools/call", heard.params(operation, b"null")),
            ("d", "tools/call", heard.params(operation, arguments).replace(operation.tool.encode(), b"zz_unknown")),
        ):
            heard.send(heard.request(identifier, method, params))
    elif traffic == "refusals" or not session.stage.lacks(("conversation",)):
        for _ in _GROUPS[traffic][1](session):
            pass
    else:
        call(session, heard.scene, heard.read)
    return mark
