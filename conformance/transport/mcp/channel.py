"""What a session needs of a way to the server, be it HTTP or a child's standard streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from conformance.transport.exchange import Credential, Exchange
from conformance.transport.mcp.binding import FULL
from conformance.transport.mcp.frames import Frame, Identifier

HeaderChanges = Mapping[str, str | None]
"""Headers that replace those of the same name in any case; ``None`` leaves one out."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """How a session comes in: as whom, in which profile, and with output schemas listed or not."""

    credential: Credential
    profile: str = FULL
    output_schemas: bool = False


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message of ours: its bytes, and what the way to the server has to know about it.

    ``method`` and ``tool`` are empty where the bytes are no request; ``operation`` and ``principal`` are names for
    reports.
    """

    frame: bytes
    identifier: Identifier | None
    method: str = ""
    tool: str = ""
    operation: str = ""
    principal: str = ""
    expects_answer: bool = True
    headers: HeaderChanges = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Received:
    """What came of a message: the exchange, our answer if there is one, and whatever else came with it.

    ``id_echoed`` is false for an answer that can only be ours but does not carry our id, with its value and type.
    ``arrived`` is a reading of the monotonic clock in nanoseconds, after the last byte.
    """

    exchange: Exchange
    answer: Frame | None
    id_echoed: bool
    others: tuple[Frame, ...]
    arrived: int


class Channel(Protocol):
    """A way to the server for one session.

    ``revision`` is what the session speaks, empty before that is settled.
    """

    revision: str

    def is_open(self) -> bool:
        """Whether the session can make calls at once."""

    def opened(self, revision: str, received: Received | None) -> None:
        """Take note that the session is open; ``received`` is the answer to ``initialize``, where there was one."""

    def dropped_by(self, received: Received) -> bool:
        """Tell whether an answer says that the server no longer knows the session, and forget it if so."""

    def send(self, outgoing: Outgoing) -> Received:
        """Send one message and wait for what comes of it, within the deadline of a call."""

    def send_together(self, outgoing: Sequence[Outgoing], start: Callable[[], None]) -> list[Received]:
        """Send many messages before any answer is read; ``start`` is called right before the first byte."""

    def close(self) -> None:
        """End the session and release what it holds."""


@runtime_checkable
class PlaysExchanges(Protocol):
    """A channel whose exchanges have taken place already."""

    def came_of(self, outgoing: Outgoing, identifier: str) -> Received:
        """Return what came of a message, by the id of its exchange in the record."""
