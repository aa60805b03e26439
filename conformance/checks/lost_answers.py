"""Calls whose answer is lost on the way: the suite drops the connection itself, at a chosen point, and then retries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from conformance.session import Session
from conformance.transport.exchange import Answer, Call, Exchange, Failure


@dataclass(frozen=True)
class Drop:
    """Where a connection is dropped: what of the body is sent, and what is awaited then.

    ``awaits`` is empty, ``answer`` (the answer has begun to arrive, and is not read) or ``byte`` (its first byte is
    read).
    """

    what: str
    sent: Callable[[bytes], bytes]
    awaits: Literal["", "answer", "byte"] = ""


DROPS: Mapping[str, Drop] = {
    "before-the-body": Drop("before the body was sent", lambda _: b""),
    "half-the-body": Drop("when half of the body was sent", lambda body: body[: len(body) // 2]),
    "before-the-last-byte": Drop("before the last byte of the body", lambda body: body[:-1]),
    "unread": Drop("when the request was sent, without waiting for the answer", lambda body: body),
    "answer-waiting": Drop("when the answer had arrived, without reading it", lambda body: body, "answer"),
    "first-byte": Drop("after the first byte of the answer", lambda body: body, "byte"),
}
"""The points at which an answer may be lost."""

_FIRST_PAUSE = 0.01
_PAUSES = 8


def send_and_drop(session: Session, call: Call, drop: Drop) -> Exchange:
    """Send a call over a connection of its own and drop that; return what was sent, as an exchange without answer.

    Whatever the target does with the connection is no failure: it was the suite that went away.
    """
    prepared = session.transport.prepare(call)
    request, started = prepared.request, session.clock.reading()
    prepared.wire.drop(request, prepared.path, drop.sent(request.body), drop.awaits)
    elapsed = session.clock.reading() - started
    failure = Failure("closed", f"the suite dropped the connection {drop.what}")
    dropped = Exchange(call.operation.name, call.credential.label, request, None, failure, elapsed)
    session.note_dropped(dropped, drop.sent(request.body), drop.awaits)
    return dropped


def sent_until_answered(session: Session, call: Call) -> Answer:
    """Send a call again for as long as the target says that a copy of it is being applied, a bounded number of times.

    No time is spent waiting unless the target asks for it by saying so.
    """
    answer = session.call(call.operation, call.arguments, call.credential)
    pause = _FIRST_PAUSE
    for _ in range(_PAUSES):
        if answer.outcome != "refused" or (answer.kinds is not None and "in_progress" not in answer.kinds):
            break
        session.clock.wait(pause)
        pause *= 2
        answer = session.call(call.operation, call.arguments, call.credential)
    return answer
