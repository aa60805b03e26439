"""Listens to what the children of a stdio server write to stderr, in a bounded time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from conformance.errors import SuiteFault
from conformance.session import Session
from conformance.transport.mcp.stdio import HasChildren

_SILENCE_SECONDS: Final = 0.1
"""How long nobody may have written before what there is counts as all: the stream is not in step with the answers."""

_MOST_SECONDS: Final = 1.0
_STEP_SECONDS: Final = 0.02


def settled(session: Session) -> tuple[bytes, ...]:
    """Wait until stderr has been silent for 0.1 s, or for a second, and return the end of what each child wrote.

    Raises:
        SuiteFault: the gateway is not one to children.
    """
    if session.tape is not None and session.tape.live is None:
        return session.tape.settled()
    gateway = session.mcp.gateway
    if not isinstance(gateway, HasChildren):
        raise SuiteFault("a check of stderr runs over a transport without children")
    began = changed = time.monotonic()
    heard = gateway.last_stderr()
    while (now := time.monotonic()) - changed < _SILENCE_SECONDS and now - began < _MOST_SECONDS:
        time.sleep(_STEP_SECONDS)
        latest = gateway.last_stderr()
        if latest != heard:
            heard, changed = latest, time.monotonic()
    session.note_settled(heard)
    return heard


def heard_since(before: Sequence[bytes], after: Sequence[bytes]) -> bytes:
    """Return what was written between the two, as far as it is kept, in any order of the children.

    Each is the end of what a child wrote; where nothing of what was there before is left at its beginning, the whole
    of it counts as new.
    """
    left = sorted(before, key=len, reverse=True)
    new = []
    for text in sorted(after, key=len, reverse=True):
        known = next((each for each in left if text.startswith(each)), b"")
        if known:
            left.remove(known)
        new.append(text[len(known) :])
    return b"\n".join(new)
