"""MCP over stdio without children: the record has what each of them said, asked or unasked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from conformance.errors import CouldNotRun
from conformance.recorded.bodies import body_bytes
from conformance.recorded.tape import Tape
from conformance.target import Entry, Target
from conformance.transport.exchange import Call, Credential, Exchange, Headers, Observer, Request, Response
from conformance.transport.mcp.channel import Entrance, Outgoing, Received
from conformance.transport.mcp.frames import read_frame
from conformance.transport.mcp.journal import Journal
from conformance.transport.mcp.revisions import STATELESS, opening_frames
from conformance.transport.mcp.stdio import token_of
from conformance.transport.mcp.transport import McpTransport
from conformance.transport.prepared import Prepare
from conformance.transport.race import Raced, Release, Timed

if TYPE_CHECKING:
    from conformance.transport.opening import Listener


class RecordedGateway:
    """Makes channels whose children are on the tape."""

    def __init__(
        self, tape: Tape, target: Target, entry: Entry, observer: Observer, listen: Listener, journal: Journal
    ) -> None:
        self.observe = observer
        self.tape = tape
        self.binding = target.mcp
        self.command = entry.command
        self.journal = journal
        self._listen = listen

    def channel(self, entrance: Entrance) -> RecordedChannel:
        """Return a channel for a new session.

        Raises:
            ValueError: the target does not say how to choose the profile, or the credential cannot be expressed.
        """
        self.binding.profile(entrance.profile)
        return RecordedChannel(self, entrance.credential, token_of(entrance.credential))

    def hear(self) -> None:
        """Take note of what children said unasked up to the next exchange."""
        for line in self.tape.unasked():
            text = body_bytes(line["text"])
            if line["kind"] == "stderr":
                self._listen(Credential(line["principal"], line["credential"]), text)
            elif line["kind"] == "stray":
                self.journal.note_stray(line["principal"], line["reason"], text)
            else:
                self.journal.note_frame(line["principal"], line["revision"], "", text)

    def close(self) -> None:
        """There is nothing to end."""


class RecordedChannel:
    """One session's way to a child that is on the tape."""

    def __init__(self, gateway: RecordedGateway, credential: Credential, token: str | None) -> None:
        self.revision = ""
        self._gateway = gateway
        self._credential = credential
        self._headers: Headers = () if token is None else ((gateway.binding.token_env, token),)
        self._is_open = False

    def is_open(self) -> bool:
        """Tell whether the session could make calls then; a child that was started anew was initialised anew."""
        if self.revision == STATELESS or not self._is_open:
            return self._is_open
        return self._gateway.tape.next_method() != "initialize"

    def opened(self, revision: str, received: Received | None) -> None:  # noqa: ARG002 - the protocol's parameter
        """Take note that the session is open."""
        self.revision, self._is_open = revision, True

    def dropped_by(self, received: Received) -> bool:  # noqa: ARG002 - the protocol's parameter
        """Tell that a session lasts as long as its child."""
        return False

    def send(self, outgoing: Outgoing) -> Received:
        """Return what came of a message."""
        return self.send_together([outgoing], lambda: None)[0]

    def send_together(self, outgoing: Sequence[Outgoing], start: Callable[[], None]) -> list[Received]:
        """Return what came of each message."""
        start()
        return [self._received(each, self._gateway.tape.take(self._request(each)).raw) for each in outgoing]

    def close(self) -> None:
        """There is nothing to end."""

    def came_of(self, outgoing: Outgoing, identifier: str) -> Received:
        """Return what came of a message of a race, by the id of its exchange; its own id was given out in the race."""
        recorded = self._gateway.tape.take_raced(identifier)
        sent, known = (_without_id(frame) for frame in (outgoing.frame, recorded["request"]["body"]))
        if sent != known:
            raise CouldNotRun(f"exchange {identifier} has another body than is sent", "")
        return self._received(outgoing, recorded, is_raced=True)

    def _request(self, outgoing: Outgoing) -> Request:
        opening = opening_frames(self.revision)
        return Request("STDIO", self._gateway.command, self._headers, outgoing.frame, opening)

    def _received(self, outgoing: Outgoing, line: Mapping[str, Any], *, is_raced: bool = False) -> Received:
        recorded = self._gateway.tape.read(line)
        response = None if recorded.response is None else Response(0, "", (), recorded.response.body)
        frame = read_frame(response.body) if response is not None and response.body else None
        label = outgoing.principal or self._credential.label
        request, failure = self._request(outgoing), recorded.failure
        exchange = Exchange(outgoing.operation, label, request, response, failure, recorded.elapsed)
        if frame is not None:
            self._gateway.journal.note_frame(self._credential.label, self.revision, outgoing.method, frame.raw)
        self._gateway.observe(exchange)
        self._gateway.hear()
        sent = read_frame(body_bytes(line["request"]["body"])) if is_raced else None
        identifier = sent.identifier if sent is not None else outgoing.identifier
        id_echoed = frame is not None and frame.identifier == identifier is not None
        return Received(exchange, frame, id_echoed, (), self._gateway.tape.clock.instant())


class RecordedMcpStdio(McpTransport):
    """MCP over stdio from the record."""

    def __init__(self, tape: Tape, target: Target, entry: Entry, observer: Observer, listen: Listener) -> None:
        journal = Journal()
        gateway = RecordedGateway(tape, target, entry, observer, listen, journal)
        super().__init__("mcp-stdio", gateway, target.mcp, journal)
        self._tape = tape

    def play_race(
        self,
        prepare: Prepare,
        scripts: Sequence[Sequence[Call]],
        release: Release,
        beside: Callable[[], None] | None,
        lead: float,
    ) -> Raced:
        """Return what the race came to.

        Raises:
            CouldNotRun: it is a replay, or the record has another race.
        """
        del prepare, release, lead
        if beside is not None:
            beside()
        span = None if beside is None else self._tape.beside()
        clients = self._tape.race()
        if len(clients) != len(scripts):
            raise CouldNotRun(f"a race of {len(clients)} clients was recorded, and one of {len(scripts)} is run", "")
        return Raced(tuple(map(self._client, scripts, clients)), span)

    def _client(self, script: Sequence[Call], recorded: Sequence[tuple[str, int, int]]) -> tuple[Timed, ...]:
        return tuple(
            Timed(self.session(call.credential).call_recorded(call, identifier), called, returned)
            for call, (identifier, called, returned) in zip(script, recorded, strict=False)
        )


def _without_id(frame: bytes | str) -> Any:
    value = json.loads(frame)
    value.pop("id", None)
    return value
