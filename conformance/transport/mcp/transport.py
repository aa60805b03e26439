"""The ``mcp-http`` and ``mcp-stdio`` bindings, presented like every other transport, and more for checks of MCP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol

from conformance.errors import UsageProblem
from conformance.transport.exchange import Call, Credential, Observer
from conformance.transport.mcp.answers import McpAnswer
from conformance.transport.mcp.binding import FULL, McpBinding
from conformance.transport.mcp.channel import Channel, Entrance, HeaderChanges, Received
from conformance.transport.mcp.discovery import Listing
from conformance.transport.mcp.frames import call_params
from conformance.transport.mcp.journal import Journal
from conformance.transport.mcp.revisions import REVISIONS
from conformance.transport.mcp.sessions import McpSession, Negotiation
from conformance.transport.mcp.stdio import StderrObserver, StdioCommand, StdioGateway
from conformance.transport.mcp.streamable_http import HttpGateway
from conformance.transport.mcp.streaming import StreamingWire
from conformance.transport.prepared import Prepared
from conformance.transport.wire import Origin, WireLimits

McpName = Literal["mcp-http", "mcp-stdio"]

_FAREWELL_SECONDS: Final = 2.0


class Gateway(Protocol):
    """Makes channels to the server."""

    observe: Observer

    def channel(self, entrance: Entrance) -> Channel:
        """Return a channel for a new session."""

    def close(self) -> None:
        """Release connections and children."""


class McpTransport:
    """Calls tools, in one session for each credential, profile and switch. Safe to use from several threads."""

    def __init__(self, name: McpName, gateway: Gateway, binding: McpBinding, journal: Journal) -> None:
        if binding.revision and binding.revision not in REVISIONS:
            raise UsageProblem(
                f"the revision {binding.revision!r} of MCP is none that the suite speaks",
                "mcp.revision",
                f"Use one of {', '.join(REVISIONS)}, or none to negotiate.",
            )
        self.name: str = name
        self.binding = binding
        self.journal = journal
        self.gateway = gateway
        self._negotiation = Negotiation(binding.revision)
        self._sessions: dict[Entrance, McpSession] = {}
        self._more_sessions: list[McpSession] = []
        self._lock = threading.Lock()

    @property
    def revision(self) -> str | None:
        """The revision in use, known after the first contact that was let in."""
        return self._negotiation.revision or None

    @property
    def revision_problem(self) -> str:
        """Why server and suite could not agree on a revision; empty while nothing speaks against it."""
        return self._negotiation.problem

    def call(self, call: Call) -> McpAnswer:
        """Send one call and return what came of it.

        Raises:
            ValueError: the arguments are not one JSON value, or the credential cannot be expressed over stdio.
        """
        return self.session(call.credential).call(call)

    def call_with_headers(self, call: Call, headers: HeaderChanges) -> McpAnswer:
        """Send one call with other headers of HTTP."""
        return self.session(call.credential).call(call, headers)

    def prepare(self, call: Call) -> Prepared:
        """Return the call's request over HTTP, for whoever sends it in a way of their own.

        Raises:
            CouldNotRun: there is no session to send it in.
        """
        return self.session(call.credential).prepare(call)

    @property
    def observe(self) -> Observer:
        """What is told of every exchange."""
        return self.gateway.observe

    def session(self, credential: Credential, profile: str = FULL, *, output_schemas: bool = False) -> McpSession:
        """Return the session of a credential, opened when it is first used.

        Raises:
            ValueError: the target does not say how to choose the profile.
        """
        entrance = Entrance(credential, profile, output_schemas)
        with self._lock:
            if entrance not in self._sessions:
                self._sessions[entrance] = self._new_session(entrance, opens_itself=True)
            return self._sessions[entrance]

    def open_session(
        self, credential: Credential, profile: str = FULL, *, output_schemas: bool = False, opens_itself: bool = True
    ) -> McpSession:
        """Return a further session, to be closed by the caller.

        Without ``opens_itself`` nothing precedes the first message that is sent as it is, and nothing is negotiated.
        """
        session = self._new_session(Entrance(credential, profile, output_schemas), opens_itself=opens_itself)
        with self._lock:
            self._more_sessions.append(session)
        return session

    def list_tools(self, credential: Credential, *, profile: str = FULL, output_schemas: bool = False) -> Listing:
        """List the tools that a credential is shown, page by page to the end."""
        return self.session(credential, profile, output_schemas=output_schemas).list_tools()

    def request(
        self,
        credential: Credential,
        method: str,
        params: bytes | None = None,
        headers: HeaderChanges | None = None,
    ) -> Received:
        """Send a request of any method with these parameters (JSON text of an object) and wait for its answer."""
        return self.session(credential).request(method, params, headers)

    def exchange_frame(
        self,
        credential: Credential,
        frame: bytes,
        *,
        expect_answer: bool = True,
        headers: HeaderChanges | None = None,
    ) -> Received:
        """Send these bytes as a message in the session of a credential, right or wrong.

        Over stdio line breaks become blanks. Without ``expect_answer`` a child is not waited for: what it says to the
        message is in the journal. ``headers`` change those of HTTP.
        """
        return self.session(credential).exchange_frame(frame, expect_answer=expect_answer, headers=headers)

    def in_flight(self, credential: Credential, calls: Sequence[Call]) -> list[McpAnswer]:
        """Send all calls in one session before any answer is read; return the answers in the order of the calls."""
        return self.session(credential).call_together(calls)

    def can_carry(self, arguments: bytes) -> bool:
        """Tell whether a message can hold these arguments: they must be one JSON value."""
        try:
            call_params("", arguments, None)
        except ValueError:
            return False
        return True

    def restart(self) -> None:
        """End the children of a server that has been restarted; over HTTP it says itself that a session is gone."""
        if self.name == "mcp-stdio":
            self.gateway.close()

    def close(self) -> None:
        """End all sessions and release connections and children."""
        with self._lock:
            sessions = [*self._sessions.values(), *self._more_sessions]
            self._sessions.clear()
            self._more_sessions.clear()
        deadline = time.monotonic() + _FAREWELL_SECONDS
        for session in sessions:
            # Children are ended all at once, by the gateway; a server that is slow to end sessions can keep the rest.
            if self.name == "mcp-http" and time.monotonic() < deadline:
                session.close()
        self.gateway.close()

    def _new_session(self, entrance: Entrance, *, opens_itself: bool) -> McpSession:
        channel = self.gateway.channel(entrance)
        return McpSession(channel, self._negotiation, self.binding, opens_itself=opens_itself)


def mcp_http(
    url: str,
    binding: McpBinding,
    limits: WireLimits,
    observer: Observer,
    journal: Journal | None = None,
    make_wire: Callable[[Origin, WireLimits], StreamingWire] = StreamingWire,
) -> McpTransport:
    """Return the ``mcp-http`` transport for a server at ``url``.

    Raises:
        UsageProblem: the pinned revision is unknown.
    """
    journal = journal or Journal()
    return McpTransport("mcp-http", HttpGateway(url, binding, limits, observer, journal, make_wire), binding, journal)


def mcp_stdio(
    command: StdioCommand,
    binding: McpBinding,
    limits: WireLimits,
    observer: Observer,
    stderr_observer: StderrObserver = lambda _credential, _text: None,
    *,
    journal: Journal | None = None,
    most_children: int = 16,
) -> McpTransport:
    """Return the ``mcp-stdio`` transport for a server that ``command`` starts.

    ``stderr_observer`` is called from other threads.

    Raises:
        UsageProblem: the pinned revision is unknown, or the command cannot be split into words.
    """
    journal = journal or Journal()
    try:
        gateway = StdioGateway(
            command, binding, limits, observer, stderr_observer, journal, most_children=most_children
        )
    except ValueError as error:
        raise UsageProblem(
            f"the command {command.command!r} cannot be run ({error})", "target", "Correct it."
        ) from None
    return McpTransport("mcp-stdio", gateway, binding, journal)
