"""Speaking MCP by hand: messages put together from parts, right or wrong, and what came of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.cases.json_text import encode
from conformance.checks.steps import call, reading
from conformance.contract import Operation
from conformance.errors import CouldNotRun, SuiteFault
from conformance.judge.comparison import differences
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered
from conformance.session import Session
from conformance.stage import Scene
from conformance.transport.exchange import Answer, Call
from conformance.transport.mcp.answers import McpAnswer, read_answer
from conformance.transport.mcp.channel import HeaderChanges
from conformance.transport.mcp.frames import Identifier, call_params, with_meta
from conformance.transport.mcp.revisions import STATELESS, request_meta
from conformance.transport.mcp.sessions import McpSession

NO_HEADERS: Final[HeaderChanges] = {}


@dataclass(frozen=True)
class Speaker:
    """The owner of a scene, who speaks MCP by hand in the session that other calls of theirs go through as well.

    ``revision`` is the one in use.
    """

    session: Session
    scene: Scene
    revision: str

    @property
    def over_http(self) -> bool:
        """Whether a message is an HTTP request of its own, so that there is always something to answer it with."""
        return self.session.mcp.name == "mcp-http"

    @property
    def read(self) -> Operation:
        """The operation that shows a conversation."""
        return _reading(self.session)

    def params(self, operation: Operation, arguments: bytes, **meta: Any) -> bytes:
        """Return the parameters of a call; ``meta`` are further members of ``_meta``."""
        return call_params(operation.tool, arguments, self._meta(meta))

    def request(self, identifier: Any, method: str, params: bytes | None = None) -> bytes:
        """Return a request under this id; without ``params`` it has those that the revision wants."""
        if params is None:
            params = with_meta(None, self._meta({}))
        tail = b"" if params is None else b',"params":' + params
        return b'{"jsonrpc":"2.0","id":%s,"method":%s%s}' % (encode(identifier), encode(method), tail)

    def send(
        self,
        frame: bytes,
        *,
        expect_answer: bool = True,
        headers: HeaderChanges = NO_HEADERS,
        through: McpSession | None = None,
        as_call: Call | None = None,
    ) -> McpAnswer:
        """Send these bytes as a message and read what came of it as the answer to ``as_call``, a read unless given."""
        credential = self.scene.principal.credential
        way = through or self.session.mcp.session(credential)
        with self.session.canaries.calling():
            received = way.exchange_frame(frame, expect_answer=expect_answer, headers=headers)
        made = as_call or Call(self.read, b"{}", credential)
        answer = read_answer(made, received, self.session.mcp.binding)
        self.session.canaries.answered(answer)
        return answer

    def headers_of_call(self, operation: Operation) -> HeaderChanges:
        """Return the headers that go with a call, for a message in which the client does not recognise one."""
        if self.revision != STATELESS or not self.over_http:
            return NO_HEADERS
        return {"Mcp-Method": "tools/call", "Mcp-Name": operation.tool}

    def ordinary(self) -> Answer:
        """Read the conversation in the ordinary way."""
        return call(self.session, self.scene, self.read)[0]

    def next_reads(self) -> list[Answer]:
        """Read the conversation in the ordinary way, after a message that was not waited for.

        Over stdio twice at once: what a server says to that message may come now, and can be told from the answers
        as long as more than one is waited for.
        """
        if self.over_http:
            return [self.ordinary()]
        credential = self.scene.principal.credential
        read = Call(self.read, encode(self.scene.arguments(self.read)), credential)
        with self.session.canaries.calling():
            return list(self.session.mcp.in_flight(credential, [read, read]))

    def _meta(self, more: Mapping[str, Any]) -> bytes | None:
        usual = request_meta(self.revision)
        if not more:
            return usual
        return json.dumps({**(json.loads(usual) if usual else {}), **more}).encode()


def speaker(session: Session, scene: Scene | None = None) -> Speaker:
    """Return somebody to speak: the owner of the scene, or of a new one.

    Raises:
        NonConformance: an ordinary read, which comes first, is not answered.
        CouldNotRun: no session can be opened, so that there is nobody to speak to.
    """
    scene = scene or session.stage.scene(session.rng)
    # On a stdio connection the first request may decide for all that follow.
    must_hold(answered(call(session, scene, _reading(session))[0]))
    revision = session.mcp.revision
    if revision is None:
        raise CouldNotRun("no session could be opened", "See that the token in use is one that the target takes.")
    return Speaker(session, scene, revision)


def _reading(session: Session) -> Operation:
    operation = reading(session)
    if operation is None:
        raise SuiteFault("a check of MCP ran on a contract that shows no conversations")
    return operation


def finding(
    requirement: str, answer: Answer, summary: str, place: str = "", expected: str = "", found: str = ""
) -> Finding:
    """Return a finding that an answer shows."""
    operation = answer.exchange.operation or answer.call.operation.name
    return Finding(requirement, operation, summary, place, expected, found, (answer.exchange,))


def excerpt(text: bytes | None, length: int = 120) -> str:
    """Return the beginning of a text in printable form; ``nothing`` where there is none."""
    if text is None:
        return "nothing"
    shown = ascii(text.decode("utf-8", "replace"))[1:-1]
    return shown if len(shown) <= length else f"{shown[:length]}..."


def said_of_id(identifier: Identifier | None) -> str:
    """Return an id with its JSON type."""
    return "no usable id" if identifier is None else f"the {identifier[0]} {ascii(identifier[1])[:80]}"


def value_of(answer: Answer) -> Any:
    """Return the decoded result of a success, or ``None`` where there is none or it is not strict JSON."""
    try:
        return decode(answer.result) if answer.result else None
    except DecodeFault:
        return None


def lives_on(before: Answer, after: Iterable[Answer], what: str) -> Iterator[Finding]:
    """Yield a finding when a read is not answered as it was before; ``what`` names the message between the two."""
    for answer in after:
        if answer.outcome != before.outcome:
            yield finding(
                "PROTOCOL-SESSION-LIVES", answer, f"An ordinary call is not answered as before after {what}",
                "the next call", before.status, answer.status,
            )  # fmt: skip
            return


def changed_by(before: Answer, after: Answer, requirement: str, what: str) -> Iterator[Finding]:
    """Yield a finding when two reads around a message that must have no effect show different conversations."""
    was, now = value_of(before), value_of(after)
    if was is None or now is None:
        return
    for difference in differences(was, now):
        yield finding(
            requirement, after, f"The server acted on {what}", difference.pointer,
            ascii(difference.expected)[:80], ascii(difference.found)[:80],
        )  # fmt: skip
        return
