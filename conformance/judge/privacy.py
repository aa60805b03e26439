"""Looks for private text where it must not be: everything that comes back, in every form that a server may give it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from functools import cache
from urllib.parse import quote

from conformance.judge.finding import Finding
from conformance.transport.exchange import Exchange


@cache
def forms(marker: str) -> tuple[bytes, ...]:
    """Return the byte strings that give the marker away: as it is, in another case, escaped, encoded.

    Base64 is looked for at all three alignments, without the characters at either end that depend on what surrounds
    the marker. All forms are lower case, except base64, whose case carries meaning.
    """
    plain = marker.encode()
    escaped = "".join(f"\\u{ord(character):04x}" for character in marker).encode()
    percent = "".join(f"%{ord(character):02x}" for character in marker).encode()
    hexadecimal = plain.hex().encode()
    found = {plain, quote(marker, safe="").encode(), json.dumps(marker)[1:-1].encode(), escaped, percent, hexadecimal}
    return tuple(sorted({form.lower() for form in found}))


@cache
def base64_forms(marker: str) -> tuple[bytes, ...]:
    """Return what of the marker is seen in base64, in the plain and the URL-safe alphabet, at each alignment."""
    plain = marker.encode()
    found = set()
    for before in range(3):
        text = base64.b64encode(b"\0" * before + plain)
        start = -(-before * 8 // 6)
        end = (before + len(plain)) * 8 // 6
        found |= {text[start:end], text[start:end].replace(b"+", b"-").replace(b"/", b"_")}
    return tuple(sorted(found))


def seen_in(exchange: Exchange, markers: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (marker, where) for each marker that the answer gives away; ``where`` is ``body`` or a header's name."""
    response = exchange.response
    if response is None:
        return
    places = [("body", response.body), ("reason phrase", response.reason.encode("latin-1", "replace"))]
    places += [(f"header {name}", value.encode("latin-1", "replace")) for name, value in response.headers]
    lowered = [(where, text, text.lower()) for where, text in places]
    for marker in markers:
        for where, text, lower in lowered:
            if any(form in lower for form in forms(marker)) or any(form in text for form in base64_forms(marker)):
                yield marker, where
                break


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
