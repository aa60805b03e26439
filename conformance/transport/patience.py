"""Waits for a rate limit as Retry-After says, a bounded number of times."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeVar

from conformance.transport.exchange import Exchange, Response

_TRIES: Final = 5
_MOST_SECONDS: Final = 5.0

_Sent = TypeVar("_Sent")


def patiently(
    send: Callable[[], _Sent], exchange_of: Callable[[_Sent], Exchange], wait: Callable[[float], None]
) -> _Sent:
    """Send, and again after a 429, and return what came last; in all it waits no longer than 5 seconds."""
    waited = 0.0
    for attempt in range(1, _TRIES + 1):
        sent = send()
        response = exchange_of(sent).response
        if response is None or response.status != HTTPStatus.TOO_MANY_REQUESTS or attempt == _TRIES:
            break
        pause = min(_retry_after(response), _MOST_SECONDS)
        waited += pause
        if waited > _MOST_SECONDS:
            break
        wait(pause)
    return sent


def _retry_after(response: Response) -> float:
    """Return how many seconds to wait; a date or nonsense counts as one second."""
    try:
        return max(0.0, float(response.header("Retry-After") or "1"))
    except ValueError:
        return 1.0
