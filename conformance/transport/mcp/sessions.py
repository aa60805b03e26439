"""Opens sessions, in whatever revision the server and the suite have in common, and calls through them.

The newest revision has no session to open: a first request finds out whether the server speaks it. Every other one
begins with ``initialize``. What was found out once holds for the whole run.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.errors import CouldNotRun, SuiteFault
from conformance.transport.exchange import Call, Failure, Response
from conformance.transport.mcp.answers import McpAnswer, not_opened, read_answer
from conformance.transport.mcp.binding import McpBinding
from conformance.transport.mcp.channel import Channel, HeaderChanges, Outgoing, PlaysExchanges, Received
from conformance.transport.mcp.discovery import Listing, read_listing
from conformance.transport.mcp.frame_schema import judge_frame
from conformance.transport.mcp.frames import (
    call_params,
    identifier_of,
    notification_frame,
    read_frame,
    request_frame,
    with_meta,
)
from conformance.transport.mcp.revisions import (
    STATELESS,
    WITH_SESSIONS,
    initialize_params,
    newest_common,
    request_meta,
)
from conformance.transport.mcp.streamable_http import HttpChannel
from conformance.transport.prepared import Prepared

_UNSUPPORTED_REVISION = -32022
_SAYS_WHO_AND_NOT_WHAT = frozenset({401, 403, 429})
"""Statuses that refuse whoever asks, and so do not tell which revision the server speaks."""


@dataclass
class Negotiation:
    """What was found out about the revision: ``pinned`` and ``revision`` are empty while there is none.

    ``problem`` says why server and suite could not agree.
    """

    pinned: str = ""
    revision: str = ""
    problem: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def settled(self) -> str:
        """Return the revision to begin with, empty while it has to be found out."""
        return self.revision or self.pinned


@dataclass(frozen=True, slots=True)
class NotOpened:
    """What came instead of a session."""

    received: Received
    problem: str


class McpSession:
    """One session: a credential, a profile, a revision, and a counter of its own for the ids of requests."""

    def __init__(
        self, channel: Channel, negotiation: Negotiation, binding: McpBinding, *, opens_itself: bool = True
    ) -> None:
        self._channel = channel
        self._negotiation = negotiation
        self._binding = binding
        self._opens_itself = opens_itself
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    @property
    def revision(self) -> str:
        """The revision in use, empty before the first contact."""
        return self._channel.revision

    def open(self) -> NotOpened | None:
        """Make sure that the session is open; return what came instead where it cannot be opened."""
        if self._channel.is_open():
            return None
        with self._lock:
            if self._channel.is_open():
                return None
            if revision := self._negotiation.settled():
                return self._begin(revision)
            # The first contact finds out for all others.
            with self._negotiation.lock:
                revision = self._negotiation.settled()
                return self._begin(revision) if revision else self._negotiate()

    def call(self, call: Call, headers: HeaderChanges | None = None) -> McpAnswer:
        """Call a tool and return what came of it; a refusal to open the session is the answer to the call.

        ``headers`` change those of HTTP.

        Raises:
            ValueError: the arguments are not one JSON value, so that no message can carry them.
        """
        refused = self.open()
        if refused is not None:
            call_params(call.operation.tool, call.arguments, None)
            return not_opened(call, refused.received, refused.problem, self._binding)
        received = self._channel.send(self._outgoing(call, headers))
        if self._channel.dropped_by(received):
            refused = self.open()
            if refused is not None:
                return not_opened(call, refused.received, refused.problem, self._binding)
            received = self._channel.send(self._outgoing(call, headers))
        return read_answer(call, received, self._binding)

    def prepare(self, call: Call) -> Prepared:
        """Return the request of a call over HTTP, for whoever sends it in a way of their own.

        Raises:
            CouldNotRun: there is no session to send it in.
        """
        refused = self.open()
        if refused is not None:
            said = not_opened(call, refused.received, refused.problem, self._binding).status
            raise CouldNotRun(f"the target opens no session for {call.credential.label} ({said})", "Look at its log.")
        if not isinstance(self._channel, HttpChannel):
            raise SuiteFault("only over HTTP can a call be sent in a way of one's own")
        prepared = self._channel.prepare(self._outgoing(call))

        def finish(response: Response | None, failure: Failure | None, elapsed: float) -> McpAnswer:
            return read_answer(call, prepared.finish(response, failure, elapsed), self._binding)

        return Prepared(prepared.wire, prepared.path, prepared.request, finish, prepared.watch)

    def call_recorded(self, call: Call, identifier: str) -> McpAnswer:
        """Return what came of a call of a recorded race, by the id of its exchange."""
        if not isinstance(self._channel, PlaysExchanges):
            raise SuiteFault("only a record has exchanges that have taken place already")
        return read_answer(call, self._channel.came_of(self._outgoing(call), identifier), self._binding)

    def call_together(self, calls: Sequence[Call], start: Callable[[], None] = lambda: None) -> list[McpAnswer]:
        """Send all calls before any answer is read; return the answers in the order of the calls.

        Raises:
            ValueError: arguments are not one JSON value.
        """
        if not calls:
            return []
        refused = self.open()
        if refused is not None:
            start()
            return [not_opened(call, refused.received, refused.problem, self._binding) for call in calls]
        together = self._channel.send_together([self._outgoing(call) for call in calls], start)
        return [read_answer(call, received, self._binding) for call, received in zip(calls, together, strict=True)]

    def request(self, method: str, params: bytes | None = None, headers: HeaderChanges | None = None) -> Received:
        """Send a request of any method, with the ``_meta`` that the revision wants, and wait for its answer."""
        refused = self._opened_or_refused()
        if refused is not None:
            return refused.received
        number = next(self._numbers)
        frame = request_frame(number, method, with_meta(params, request_meta(self.revision)))
        return self._channel.send(Outgoing(frame, ("number", number), method, headers=headers or {}))

    def exchange_frame(
        self, frame: bytes, *, expect_answer: bool = True, headers: HeaderChanges | None = None
    ) -> Received:
        """Send these bytes as a message, right or wrong.

        With ``expect_answer`` the wait is for a message under the id in the bytes, or for an error without an id.
        """
        refused = self._opened_or_refused()
        if refused is not None:
            return refused.received
        sent = read_frame(frame)
        method = sent.value("method") if sent is not None else None
        tool = sent.value("params", "name") if sent is not None else None
        return self._channel.send(
            Outgoing(
                frame,
                identifier_of(frame),
                method if isinstance(method, str) else "",
                tool if isinstance(tool, str) else "",
                expects_answer=expect_answer,
                headers=headers or {},
            )
        )

    def next_number(self) -> int:
        """Return an id that no other request of this session has, for messages that are put together by hand."""
        return next(self._numbers)

    def list_tools(self) -> Listing:
        """List the tools, page by page to the end."""
        return read_listing(lambda params: self.request("tools/list", params))

    def close(self) -> None:
        """End the session."""
        self._channel.close()

    def _opened_or_refused(self) -> NotOpened | None:
        return self.open() if self._opens_itself else None

    def _outgoing(self, call: Call, headers: HeaderChanges | None = None) -> Outgoing:
        number = next(self._numbers)
        params = call_params(call.operation.tool, call.arguments, request_meta(self.revision))
        frame = request_frame(number, "tools/call", params)
        operation, label = call.operation, call.credential.label
        names = ("tools/call", operation.tool, operation.name, label)
        return Outgoing(frame, ("number", number), *names, headers=headers or {})

    def _begin(self, revision: str) -> NotOpened | None:
        if revision == STATELESS:
            self._settle(revision, None)
            return None
        return self._initialize(revision)

    def _negotiate(self) -> NotOpened | None:
        """Ask for the newest revision first; whoever does not know the question speaks an older one."""
        self._channel.revision = STATELESS
        received = self._own_request("server/discover", with_meta(None, request_meta(STATELESS)), STATELESS)
        self._channel.revision = ""
        offered = _offered(received)
        if offered is not None:
            revision = newest_common(offered)
            if revision is None:
                problem = f"the server speaks no revision that the suite speaks, but {_listed(offered)}"
                self._negotiation.problem = problem
                return NotOpened(received, problem)
            return self._begin(revision)
        response, failure = received.exchange.response, received.exchange.failure
        if response is not None and response.status in _SAYS_WHO_AND_NOT_WHAT:
            return NotOpened(received, "")
        if failure is not None and failure.kind == "unreachable":
            return NotOpened(received, "")
        return self._initialize(WITH_SESSIONS[0])

    def _initialize(self, revision: str) -> NotOpened | None:
        self._channel.revision = ""
        received = self._own_request("initialize", initialize_params(revision), revision)
        agreed: Any = received.answer.value("result", "protocolVersion") if received.answer is not None else None
        acceptable = (self._negotiation.pinned,) if self._negotiation.pinned else WITH_SESSIONS
        if agreed not in acceptable:
            problem = f"asked for the revision {revision}, the server agreed on {str(agreed)[:40]!r}"
            if agreed is not None:
                self._negotiation.problem = problem
            return NotOpened(received, problem)
        self._settle(agreed, received)
        initialized = notification_frame("notifications/initialized")
        _check_ours(agreed, initialized)
        self._channel.send(Outgoing(initialized, None, "notifications/initialized", expects_answer=False))
        return None

    def _settle(self, revision: str, received: Received | None) -> None:
        self._channel.opened(revision, received)
        self._negotiation.revision = revision
        self._negotiation.problem = ""
        _check_ours(revision, request_frame(0, "tools/call", call_params("any", b"{}", request_meta(revision))))

    def _own_request(self, method: str, params: bytes | None, revision: str) -> Received:
        number = next(self._numbers)
        frame = request_frame(number, method, params)
        _check_ours(revision, frame)
        return self._channel.send(Outgoing(frame, ("number", number), method))


def _check_ours(revision: str, frame: bytes) -> None:
    """Make sure that a message of ours is right.

    Raises:
        SuiteFault: it is not.
    """
    for fault in judge_frame(revision, "client", frame):
        raise SuiteFault(f"a message of the suite breaks the MCP schema of {revision} at {fault.path}: {fault.message}")


def _offered(received: Received) -> tuple[object, ...] | None:
    """Return the revisions that the server says it speaks, or ``None`` where it does not know the question."""
    frame = received.answer
    if frame is None:
        return None
    offered = frame.value("result", "supportedVersions")
    if frame.kind == "error" and frame.value("error", "code") == _UNSUPPORTED_REVISION:
        offered = frame.value("error", "data", "supported")
    return tuple(offered) if isinstance(offered, list) else None


def _listed(offered: Sequence[object]) -> str:
    return ", ".join(str(revision)[:40] for revision in offered[:10]) or "none"
