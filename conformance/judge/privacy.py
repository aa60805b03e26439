"""Looks for private text where it must not be: everything that comes back, in every form that a server may give it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.judge.finding import Finding
from conformance.judge.markers import markers_in
from conformance.transport.exchange import Exchange


def seen_in(exchange: Exchange, markers: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (marker, where) for each marker that the answer gives away; ``where`` is ``body`` or a header's name."""
    response = exchange.response
    if response is None:
        return
    places = [("body", response.body), ("reason phrase", response.reason.encode("latin-1", "replace"))]
    places += [(f"header {name}", value.encode("latin-1", "replace")) for name, value in response.headers]
    seen = [(where, markers_in(text)) for where, text in places]
    for marker in markers:
        where = next((where for where, found in seen if marker in found), None)
        if where is not None:
            yield marker, where


def shows_nothing(exchange: Exchange, markers: Iterable[str], requirement: str, what: str) -> Iterator[Finding]:
    """Yield a finding when the answer gives away any of the markers; ``what`` says what kind of answer it is."""
    for marker, where in seen_in(exchange, sorted(markers)):
        yield Finding(
            requirement,
            exchange.operation,
            f"Private text is shown in {what}",
            where,
            "no private text",
            marker,
            (exchange,),
        )
        return
