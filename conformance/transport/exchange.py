"""What went over the wire: the values that every check, judge and report works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from conformance.contract import Operation

Headers = tuple[tuple[str, str], ...]

FailureKind = Literal["unreachable", "closed", "timeout", "malformed", "too-large"]

ErrorKind = Literal[
    "invalid_input", "unauthenticated", "forbidden", "not_found", "conflict", "in_progress", "rate_limited"
]

Outcome = Literal["success", "refused", "server-error", "unexpected", "no-answer"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it was sent, byte for byte in its body.

    Over stdio the method is ``STDIO``, the URL the command line, the headers what the environment says of the token,
    and the body the message. ``opening`` are the messages that opened the session which it belongs to.
    """

    method: str
    url: str
    headers: Headers
    body: bytes
    opening: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """An answer as it arrived; header names keep their case, the body is never decoded."""

    status: int
    reason: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the first header of that name, whatever its case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer: the kind, and a sentence for people."""

    kind: FailureKind
    message: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came of it. Exactly one of ``response`` and ``failure`` is set.

    ``operation`` is the operation's name or empty, ``principal`` a label without secrets, ``elapsed`` in seconds.
    ``span`` is set for a call of a race: when it was sent and answered, in nanoseconds of the monotonic clock.
    """

    operation: str
    principal: str
    request: Request
    response: Response | None
    failure: Failure | None
    elapsed: float
    span: tuple[int, int] | None = None


def is_token(text: str) -> bool:
    """Tell whether ``text`` can stand in a header after ``Bearer``: visible ASCII without spaces."""
    return bool(text) and all("!" <= character <= "~" for character in text)


@dataclass(frozen=True, slots=True)
class Credential:
    """How a call identifies itself: the whole value of the authorisation header, or nothing.

    ``label`` is what reports print in its place; credentials of one header are the same whatever they are called.
    """

    label: str = field(compare=False)
    header: str | None

    @classmethod
    def bearer(cls, label: str, token: str) -> Credential:
        """Return the usual bearer credential."""
        return cls(label, f"Bearer {token}")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation; ``arguments`` is the JSON text of the input, right or wrong."""

    operation: Operation
    arguments: bytes
    credential: Credential


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to, in terms that hold on every transport.

    ``kinds`` are the error kinds that the answer may stand for, or ``None`` where the target gives no way to tell.
    ``result`` is the JSON text of a success.
    """

    call: Call
    exchange: Exchange
    outcome: Outcome
    kinds: frozenset[ErrorKind] | None
    result: bytes | None

    @property
    def status(self) -> str:
        """The answer in a few words, for sentences."""
        if self.exchange.response is not None:
            return f"{self.exchange.response.status} {self.exchange.response.reason}".strip()
        assert self.exchange.failure is not None
        return f"no answer ({self.exchange.failure.message})"

    @property
    def breach(self) -> str:
        """The requirement that is broken where the outcome is neither a success nor a refusal."""
        return "HTTP-SUCCESS-STATUS" if self.outcome == "unexpected" else "HTTP-NO-SERVER-ERROR"

    @property
    def absence(self) -> str:
        """The requirement that a success without a result breaks."""
        return "OUTPUT-WELL-FORMED"


Observer = Callable[[Exchange], None]


class Transport(Protocol):
    """A way to reach the target; every binding presents this."""

    name: str

    def call(self, call: Call) -> Answer:
        """Send the call and return what came of it; a silent or broken server is an answer too."""

    def can_carry(self, arguments: bytes) -> bool:
        """Tell whether a call with these arguments, right or wrong, can be put on the wire at all."""

    def close(self) -> None:
        """Release connections and children."""
