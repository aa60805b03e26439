"""MCP over stdio without children: the record has what each of them said, asked or unasked.

In a replay there are children again, to whom the messages of the record are sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.errors import CouldNotRun
from conformance.recorded.bodies import body_bytes
from conformance.recorded.live_children import LiveChannel, LiveChildren
from conformance.recorded.tape import Tape
from conformance.target import Entry, Target
from conformance.transport.exchange import Answer, Call, Credential, Exchange, Headers, Observer, Request, Response
from conformance.transport.mcp.channel import Entrance, Outgoing, Received
from conformance.transport.mcp.frames import Identifier, identifier_of, read_frame
from conformance.transport.mcp.journal import Journal
from conformance.transport.mcp.revisions import STATELESS, opening_frames
from conformance.transport.mcp.stdio import token_of
from conformance.transport.mcp.transport import McpTransport
from conformance.transport.prepared import Prepare
from conformance.transport.race import Raced, Release, Timed, race_by_threads

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
        self.raced: dict[str, Mapping[str, Any]] = {}
        """The exchanges of the race that is played, by their ids, as far as they have not been asked for."""
        self._listen = listen
        self._children: LiveChildren | None = None

    def children(self) -> LiveChildren | None:
        """Return the live children of a replay, or ``None`` where the record is judged.

        Raises:
            NotReplayable: it is not known how they are started.
        """
        if self._children is None and self.tape.live is not None:
            self._children = LiveChildren(self.tape.live, self.journal, self._listen)
        return self._children

    def last_stderr(self) -> tuple[bytes, ...]:
        """Return the end of what each live child has written to stderr."""
        return () if self._children is None else self._children.last_stderr()

    def channel(self, entrance: Entrance) -> RecordedChannel:
        """Return a channel for a new session.

        Raises:
            ValueError: the target does not say how to choose the profile, or the credential cannot be expressed.
        """
        self.binding.profile(entrance.profile)
        return RecordedChannel(self, entrance, token_of(entrance.credential))

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
        """End live children, where there are any."""
        if self._children is not None:
            self._children.close()


class RecordedChannel:
    """One session's way to a child that is on the tape, and in a replay to one that lives."""

    def __init__(self, gateway: RecordedGateway, entrance: Entrance, token: str | None) -> None:
        self.revision = ""
        self._gateway = gateway
        self._entrance = entrance
        self._credential = entrance.credential
        self._live: LiveChannel | None = None
        self._lists: list[Outgoing] = []
        """The requests for lists of tools that the child has had: what is listed may depend on how often it was."""
        self._answered: set[Identifier] = set()
        self._lock = threading.Lock()
        self._headers: Headers = () if token is None else ((gateway.binding.token_env, token),)
        self._is_open = False

    def is_open(self) -> bool:
        """Tell whether the session could make calls then; a child that was started anew was initialised anew."""
        if self._live is not None:
            return self._live.is_open()
        if self.revision == STATELESS or not self._is_open:
            return self._is_open
        return self._gateway.tape.next_method() != "initialize"

    def opened(self, revision: str, received: Received | None) -> None:  # noqa: ARG002 - the protocol's parameter
        """Take note that the session is open."""
        self.revision, self._is_open = revision, True
        if self._live is not None:
            self._live.opened(revision)

    def dropped_by(self, received: Received) -> bool:  # noqa: ARG002 - the protocol's parameter
        """Tell that a session lasts as long as its child."""
        return False

    def send(self, outgoing: Outgoing) -> Received:
        """Return what came of a message."""
        return self.send_together([outgoing], lambda: None)[0]

    def send_together(self, outgoing: Sequence[Outgoing], start: Callable[[], None]) -> list[Received]:
        """Return what came of each message."""
        live = self._live_channel(outgoing[0].method)
        if live is not None:
            lines = [self._gateway.tape.take(self._request(each)).raw for each in outgoing]
            return self._came(outgoing, live.send_together(outgoing, lines, self.revision, start))
        start()
        return [self._received(each, self._gateway.tape.take(self._request(each)).raw) for each in outgoing]

    def close(self) -> None:
        """End the child, where it lives."""
        if self._live is not None:
            self._live.close()

    def came_of(self, outgoing: Outgoing, identifier: str) -> Received:
        """Return what came of a message of a race, by the id of its exchange; its own id was given out in the race."""
        recorded = self._gateway.raced.pop(identifier)
        sent, known = (_without_id(frame) for frame in (outgoing.frame, recorded["request"]["body"]))
        if sent != known:
            raise CouldNotRun(f"exchange {identifier} has another body than is sent", "")
        live = self._live_channel(outgoing.method)
        if live is not None:
            frame = body_bytes(recorded["request"]["body"])
            again = [replace(outgoing, frame=frame, identifier=identifier_of(frame))]
            return self._came(again, live.send_together(again, [recorded], self.revision, lambda: None))[0]
        return self._received(outgoing, recorded, is_raced=True)

    def _live_channel(self, method: str) -> LiveChannel | None:
        """Return the way to the live child in a replay, open where the record has it open; ``method`` comes next."""
        children = self._gateway.children()
        if children is None:
            return None
        with self._lock:
            if self._live is None:
                live = children.channel(self._entrance)
                if self._is_open and method != "initialize":
                    live.open_again(self.revision, self._lists, self._answered)
                self._live = live
            return self._live

    def _came(self, outgoing: Sequence[Outgoing], came: Sequence[Received]) -> list[Received]:
        """Return what came of live messages, as the record would have it, and tell of it."""
        told = []
        for sent, received in zip(outgoing, came, strict=True):
            exchange = replace(received.exchange, request=self._request(sent))
            self._gateway.observe(exchange)
            told.append(replace(received, exchange=exchange))
        return told

    def _keep(self, outgoing: Outgoing) -> None:
        """Keep what a replay has to know of the messages that the child has had since it was started."""
        if outgoing.method == "initialize":
            self._lists, self._answered = [], set()
        if outgoing.method == "tools/list":
            self._lists.append(outgoing)
        if outgoing.identifier is not None:
            self._answered.add(outgoing.identifier)

    def _request(self, outgoing: Outgoing) -> Request:
        opening = opening_frames(self.revision)
        return Request("STDIO", self._gateway.command, self._headers, outgoing.frame, opening)

    def _received(self, outgoing: Outgoing, line: Mapping[str, Any], *, is_raced: bool = False) -> Received:
        self._keep(outgoing)
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


_Timed: TypeAlias = tuple[str, int, int]
"""An exchange of a race by its id, and when it began and ended."""


class RecordedMcpStdio(McpTransport):
    """MCP over stdio from the record."""

    def __init__(self, tape: Tape, target: Target, entry: Entry, observer: Observer, listen: Listener) -> None:
        journal = Journal()
        self._recorded = RecordedGateway(tape, target, entry, observer, listen, journal)
        super().__init__("mcp-stdio", self._recorded, target.mcp, journal)
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
            CouldNotRun: the record has another race.
        """
        del prepare, release
        is_live = self._tape.live is not None
        if beside is not None and not is_live:
            beside()
        clients = self._tape.race()
        if len(clients) != len(scripts):
            raise CouldNotRun(f"a race of {len(clients)} clients was recorded, and one of {len(scripts)} is run", "")
        identifiers = [identifier for client in clients for identifier, _, _ in client]
        self._recorded.raced = {identifier: self._tape.take_raced(identifier) for identifier in identifiers}
        if is_live:
            return race_by_threads(list(map(self._calls, scripts, clients)), beside, lead)
        span = None if beside is None else self._tape.beside()
        return Raced(tuple(map(self._client, scripts, clients)), span)

    def _client(self, script: Sequence[Call], recorded: Sequence[_Timed]) -> tuple[Timed, ...]:
        return tuple(
            Timed(make_call(), called, returned)
            for make_call, (_, called, returned) in zip(self._calls(script, recorded), recorded, strict=False)
        )

    def _calls(self, script: Sequence[Call], recorded: Sequence[_Timed]) -> list[Callable[[], Answer]]:
        """Return what makes each call of a client, as far as the client came then."""
        return [
            partial(self.session(call.credential).call_recorded, call, identifier)
            for call, (identifier, _, _) in zip(script, recorded, strict=False)
        ]


def _without_id(frame: bytes | str) -> Any:
    value = json.loads(frame)
    value.pop("id", None)
    return value
