"""The stdio transport of MCP: one child for each principal, its token in the environment."""

from __future__ import annotations

import itertools
import os
import shlex
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from conformance.transport.exchange import Credential, Exchange, Headers, Observer, Request, Response
from conformance.transport.mcp.binding import McpBinding
from conformance.transport.mcp.channel import Entrance, Outgoing, Received
from conformance.transport.mcp.child import Awaited, Child, ChildFault, ChildListener
from conformance.transport.mcp.frames import Frame, Identifier
from conformance.transport.mcp.journal import Journal
from conformance.transport.mcp.revisions import STATELESS, opening_frames
from conformance.transport.wire import WireLimits

OUTPUT_SCHEMAS_SWITCH: Final = "SOSOAPI_OUTPUT_SCHEMAS"
_LEAVE_SECONDS: Final = 1.0
"""How long a child that is not needed any more may take to end by itself."""

WITHHELD: Final = frozenset({"SOSOAPI_TOKEN", "SOSOAPI_CONTROL_TOKEN", OUTPUT_SCHEMAS_SWITCH})
"""Variables of the suite's own environment that a child must not inherit."""

StderrObserver = Callable[[Credential, bytes], None]
"""Looks at what a child writes to stderr: whose child, and the next bytes with the beginning of their line."""


@dataclass(frozen=True)
class StdioCommand:
    """How children are started: the command line, and the environment beside the suite's own without ``withheld``."""

    command: str
    environment: Mapping[str, str]
    withheld: Collection[str] = WITHHELD

    def words(self) -> list[str]:
        """Return the command in words, split as a shell splits them; there is no shell.

        Raises:
            ValueError: a quotation mark is not closed, or there are no words.
        """
        words = shlex.split(self.command)
        if not words:
            raise ValueError("the command is empty")
        return words


def token_of(credential: Credential) -> str | None:
    """Return the token that a child gets in its environment; ``None`` for none at all.

    Raises:
        ValueError: the credential is something that no environment variable can say, such as another scheme.
    """
    if credential.header is None:
        return None
    scheme, _, token = credential.header.partition(" ")
    if scheme.lower() != "bearer" or "\0" in token:
        raise ValueError(f"the credential {credential.label!r} cannot be expressed over stdio")
    return token


@runtime_checkable
class HasChildren(Protocol):
    """A gateway to children."""

    def last_stderr(self) -> tuple[bytes, ...]:
        """Return the end of what each running child has written to stderr."""


class StdioGateway:
    """Makes channels to children, of which at most ``most_children`` run at a time unless more are busy."""

    def __init__(
        self,
        command: StdioCommand,
        binding: McpBinding,
        limits: WireLimits,
        observer: Observer,
        stderr_observer: StderrObserver,
        journal: Journal,
        most_children: int = 16,
    ) -> None:
        self.command = command
        self.binding = binding
        self.limits = limits
        self.observe = observer
        self.observe_stderr = stderr_observer
        self.journal = journal
        self._words = command.words()
        self._most_children = most_children
        self._children: OrderedDict[int, Child] = OrderedDict()
        self._leaving: list[tuple[Child, float]] = []
        self._keys = itertools.count()
        self._lock = threading.Lock()

    def channel(self, entrance: Entrance) -> StdioChannel:
        """Return a channel for a new session, which gets a child of its own when it is first used.

        Raises:
            ValueError: the target does not say how to choose the profile, or the credential cannot be expressed.
        """
        profile, token = self.binding.profile(entrance.profile), token_of(entrance.credential)
        kept = {name: value for name, value in os.environ.items() if name not in self.command.withheld}
        environment = {**kept, **self.command.environment, **profile.environment}
        environment.pop(self.binding.token_env, None)
        if token is not None:
            environment[self.binding.token_env] = token
        if entrance.output_schemas:
            environment[OUTPUT_SCHEMAS_SWITCH] = "1"
        return StdioChannel(self, next(self._keys), entrance.credential, environment)

    def running(self, key: int) -> Child | None:
        """Return the child of a channel if it can be used."""
        with self._lock:
            child = self._children.get(key)
            if child is None or not child.usable:
                return None
            self._children.move_to_end(key)
            return child

    def start(self, key: int, environment: Mapping[str, str], listener: ChildListener) -> Child:
        """Start a child for a channel, and end those that are too many.

        Raises:
            ChildFault: the command cannot be started.
        """
        child = Child(self._words, environment, self.limits, listener)
        with self._lock:
            former = [self._children.pop(key)] if key in self._children else []
            self._children[key] = child
            idle = [each for each, other in self._children.items() if not other.is_busy and other is not child]
            surplus = idle[: max(0, len(self._children) - self._most_children)]
            former += [self._children.pop(each) for each in surplus]
        self._let_go(former)
        return child

    def _let_go(self, former: Sequence[Child]) -> None:
        """Ask children to end, and see to those that were asked before: nobody waits for one that takes its time."""
        for child in former:
            if not child.is_busy:
                child.hang_up()
        now = time.monotonic()
        with self._lock:
            self._leaving += [(child, now) for child in former]
            due = [
                (child, since)
                for child, since in self._leaving
                if not child.is_busy and (child.has_ended or now - since > _LEAVE_SECONDS)
            ]
            self._leaving = [each for each in self._leaving if each not in due]
        for child, _ in due:
            child.close(kindly=False)

    def end(self, key: int) -> None:
        """End the child of a channel, if it has one."""
        with self._lock:
            child = self._children.pop(key, None)
        if child is not None:
            child.close()

    def last_stderr(self) -> tuple[bytes, ...]:
        """Return the end of what each running child has written to stderr."""
        with self._lock:
            return tuple(child.last_stderr for child in self._children.values())

    def close(self) -> None:
        """End all children."""
        with self._lock:
            children = [*self._children.values(), *(child for child, _ in self._leaving)]
            self._children.clear()
            self._leaving.clear()
        # All are asked before any is waited for.
        for child in children:
            child.hang_up()
        for child in children:
            child.close(kindly=not child.retired)


class StdioChannel(ChildListener):
    """One session's way to its child, which is started when it is needed and again when it is gone."""

    def __init__(self, gateway: StdioGateway, key: int, credential: Credential, environment: Mapping[str, str]) -> None:
        self.revision = ""
        self._gateway = gateway
        self._key = key
        self._credential = credential
        self._environment = environment
        self._lock = threading.Lock()
        token = environment.get(gateway.binding.token_env)
        self._headers: Headers = () if token is None else ((gateway.binding.token_env, token),)

    def is_open(self) -> bool:
        """Whether the session can make calls at once."""
        child = self._gateway.running(self._key)
        return child is not None and child.opened

    def opened(self, revision: str, received: Received | None) -> None:  # noqa: ARG002 - the protocol's parameter
        """Take note that the session is open."""
        self.revision = revision
        child = self._gateway.running(self._key)
        if child is None and revision == STATELESS:
            # There was nothing to open, so no child has been started yet.
            try:
                child = self._child()
            except ChildFault:
                return
        if child is not None:
            child.opened = True

    def answered_before(self, identifiers: Collection[Identifier]) -> None:
        """Let the child that runs take these for ids of messages that were answered."""
        child = self._gateway.running(self._key)
        if child is not None:
            child.answered_before(identifiers)

    def dropped_by(self, received: Received) -> bool:  # noqa: ARG002 - the protocol's parameter
        """Tell that a session lasts as long as its child."""
        return False

    def send(self, outgoing: Outgoing) -> Received:
        """Send one message and wait for what comes of it."""
        return self.send_together([outgoing], lambda: None)[0]

    def send_together(self, outgoing: Sequence[Outgoing], start: Callable[[], None]) -> list[Received]:
        """Send all messages in one piece and wait for what comes of them."""
        awaited = [Awaited(each.identifier, each.method) for each in outgoing]
        lines = b"".join(_line(each.frame) for each in outgoing)
        try:
            child = self._child()
        except ChildFault as fault:
            start()
            return [self._received(each, Awaited(None, "", failure=fault.failure), 0.0) for each in outgoing]
        started = time.perf_counter()
        deadline = time.monotonic() + self._gateway.limits.seconds
        start()
        expected = [each for each, message in zip(awaited, outgoing, strict=True) if message.expects_answer]
        child.begin(lines, expected, deadline)
        for each in expected:
            child.wait(each, deadline)
        elapsed = time.perf_counter() - started
        return [self._received(message, each, elapsed) for message, each in zip(outgoing, awaited, strict=True)]

    def close(self) -> None:
        """End the child."""
        self._gateway.end(self._key)

    def heard(self, frame: Frame, answers: str) -> None:
        """Keep a message, and answer it if it is a request: ping as it should be, others as unknown."""
        self._gateway.journal.note_frame(self._credential.label, self.revision, answers, frame.raw)
        identifier = frame.text("id")
        if frame.kind == "request" and identifier is not None and self.revision != STATELESS:
            known = frame.value("method") == "ping"
            outcome = b'"result":{}' if known else b'"error":{"code":-32601,"message":"Method not found"}'
            child = self._gateway.running(self._key)
            if child is not None:
                child.write_quietly(_line(b'{"jsonrpc":"2.0","id":' + identifier + b"," + outcome + b"}"))

    def stray(self, reason: str, text: bytes) -> None:
        """Keep stray output."""
        self._gateway.journal.note_stray(self._credential.label, reason, text)

    def stderr(self, text: bytes) -> None:
        """Show stderr to whoever looks at it."""
        self._gateway.observe_stderr(self._credential, text)

    def _child(self) -> Child:
        with self._lock:
            child = self._gateway.running(self._key)
            return child or self._gateway.start(self._key, self._environment, self)

    def _received(self, outgoing: Outgoing, awaited: Awaited, elapsed: float) -> Received:
        opening = opening_frames(self.revision)
        request = Request("STDIO", self._gateway.command.command, self._headers, outgoing.frame, opening)
        frame, failure = awaited.frame, awaited.failure
        response = Response(0, "", (), frame.raw if frame is not None else b"") if failure is None else None
        label = outgoing.principal or self._credential.label
        exchange = Exchange(outgoing.operation, label, request, response, failure, elapsed)
        self._gateway.observe(exchange)
        return Received(exchange, frame, awaited.id_echoed, (), awaited.arrived or time.monotonic_ns())


def _line(frame: bytes) -> bytes:
    """Return a message as a line; a line break in JSON can only be white space, and stands for a blank then."""
    return frame.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"
