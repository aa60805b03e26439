"""A call over HTTP that is ready to be sent by whoever wants to send it in a way of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from conformance.transport.exchange import Answer, Call, Failure, Request, Response
from conformance.transport.wire import BodyWatch, Wire

Result_co = TypeVar("Result_co", covariant=True)


class Finish(Protocol[Result_co]):
    """Makes of what came of a request, in seconds, what it means; observers are not told."""

    def __call__(self, response: Response | None, failure: Failure | None, elapsed: float) -> Result_co:
        """Return the meaning; exactly one of ``response`` and ``failure`` is given."""


@dataclass(frozen=True)
class Prepared:
    """A request, where to send it, and how to read what comes of it; ``watch`` belongs to a body that may not end."""

    wire: Wire
    path: str
    request: Request
    finish: Finish[Answer]
    watch: BodyWatch | None = None


Prepare: TypeAlias = Callable[[Call], Prepared]
