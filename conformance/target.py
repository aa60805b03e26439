"""Who is tested: the target, however the options and the target file together describe it."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from conformance.errors import UsageProblem
from conformance.transport.exchange import is_token
from conformance.transport.mcp.binding import McpBinding
from conformance.transport.rest import RestBinding
from conformance.transport.wire import WireLimits

TransportName = Literal["rest", "mcp-http", "mcp-stdio"]
TRANSPORTS: tuple[TransportName, ...] = ("rest", "mcp-http", "mcp-stdio")

Tier = Literal["control", "manifest", "bare"]

TOKEN_ROLES = ("reader", "other_user", "without_scope")
DEFAULT_TOKEN_VARIABLE = "SOSOAPI_TOKEN"  # noqa: S105 - the name of a variable, not a token
CONTROL_TOKEN_VARIABLE = "SOSOAPI_CONTROL_TOKEN"  # noqa: S105 - the name of a variable, not a token


@dataclass(frozen=True)
class Implementation:
    """What the vendor calls the server under test; empty where unknown."""

    name: str = ""
    version: str = ""
    vendor: str = ""
    build_digest: str = ""


@dataclass(frozen=True)
class Secret:
    """A token by reference, never the value in a target file.

    ``source`` is ``env`` or ``file``, or ``recorded`` where only the name that stands for it is known.
    """

    source: str
    name: str

    def read(self) -> str:
        """Return the token.

        Raises:
            UsageProblem: the variable or file is missing or empty.
        """
        if self.source == "recorded":
            return self.name
        if self.source == "env":
            value = os.environ.get(self.name, "")
        else:
            try:
                value = Path(self.name).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "it is not text"
                raise UsageProblem(f"the token file cannot be read ({reason})", self.name, "Correct it.") from None
        if not value.strip():
            raise UsageProblem("no token there", f"{self.source} {self.name}", "Set it, or correct the target file.")
        if not is_token(value.strip()):
            # The value stays out of the message.
            raise UsageProblem(
                "what is there cannot be sent as a token",
                f"{self.source} {self.name}",
                "Use one line of visible ASCII.",
            )
        return value.strip()


@dataclass(frozen=True)
class PreparedRun:
    """A run that the vendor prepared: its id, kind and status."""

    run_id: str
    request_kind: str = ""
    status: str = ""


@dataclass(frozen=True)
class PreparedConversation:
    """A conversation that the vendor prepared by hand."""

    workspace_id: str
    conversation_id: str
    runs: tuple[PreparedRun, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """What the vendor prepared, by the role it can play."""

    readable: tuple[PreparedConversation, ...] = ()
    disposable: tuple[PreparedConversation, ...] = ()
    expired: tuple[PreparedConversation, ...] = ()
    foreign: tuple[PreparedConversation, ...] = ()


@dataclass(frozen=True)
class Waiver:
    """A derived requirement that the vendor asks to be excused from, until a day."""

    requirement: str
    reason: str
    owner: str
    until: datetime.date


@dataclass(frozen=True)
class Entry:
    """A further transport over which the same server can be reached: a URL, or a command and its environment."""

    transport: TransportName
    url: str = ""
    command: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """Everything the suite was told about the server under test."""

    transport: TransportName
    transport_named: bool = False
    url: str = ""
    command: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    also: tuple[Entry, ...] = ()
    control_url: str = ""
    control_token: Secret | None = None
    implementation: Implementation = Implementation()
    tokens: Mapping[str, Secret] = field(default_factory=dict)
    manifest: Manifest | None = None
    rest: RestBinding = field(default_factory=RestBinding)
    mcp: McpBinding = field(default_factory=McpBinding)
    limits: WireLimits = field(default_factory=WireLimits)
    waivers: tuple[Waiver, ...] = ()
    embedded: bool = False

    @property
    def address(self) -> str:
        """The URL or the command line, for people."""
        return self.url or self.command


@dataclass(frozen=True)
class TargetOptions:
    """What was given on the command line; it wins over the target file."""

    url: str | None = None
    command: str | None = None
    config: Path | None = None
    transport: str | None = None
    control_url: str | None = None
    mcp_revision: str | None = None

    @property
    def given(self) -> bool:
        """Whether the user named a target at all."""
        return any(given is not None for given in (self.url, self.command, self.config))


def guess_transport(url: str, command: str) -> TransportName:
    """Return the binding that a bare address suggests: a command is stdio, a path ending in ``/mcp`` is MCP."""
    if command and not url:
        return "mcp-stdio"
    return "mcp-http" if url.rstrip("/").endswith("/mcp") else "rest"
