"""Translates between a recorded run and a live one, in which the server gives out other tokens, ids and sessions."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import urlsplit

from conformance.recorded.description import NOT_WRITTEN
from conformance.redaction import without_token
from conformance.transport.exchange import Headers, Request, Response
from conformance.transport.wire import Origin

Neighbours: TypeAlias = Callable[[str, random.Random], Mapping[str, str]]
"""Returns the tokens that checks make from one, by what was done to it."""


@dataclass(frozen=True)
class Place:
    """Where a server was, and where it is now: the URL of each, with the path that all requests share."""

    recorded: str
    live: str

    def address(self, url: str) -> str:
        """Return a recorded URL as it is now."""
        return f"{self.live.rstrip('/')}{url.removeprefix(self.recorded.rstrip('/'))}"


class Translation:
    """What stands for what. Only what a server gave out is translated: all else is sent byte for byte.

    Safe to use from several threads.
    """

    def __init__(self, neighbours: Neighbours) -> None:
        self._neighbours = neighbours
        self._live: dict[str, str] = {}
        self._tokens: dict[str, str] = {}
        self._outward: _Words | None = None
        self._inward: _Words | None = None
        self._lock = threading.Lock()

    def token(self, recorded: str, live: str) -> None:
        """Take note of the token that a name in the record stands for now."""
        self._tokens[recorded] = live
        self.learn(recorded, live)

    def learn(self, recorded: str, live: str) -> None:
        """Take note of something that the server gave out, then and now."""
        if recorded and live and recorded != live:
            with self._lock:
                self._live[recorded] = live
                self._outward = self._inward = None

    def request(self, request: Request, place: Place) -> tuple[Request, str]:
        """Return a recorded request as it is to be sent now, and its path."""
        url = self._out(place.address(request.url))
        parts = urlsplit(url)
        origin = Origin.parse(f"{parts.scheme}://{parts.netloc}", "target")
        body = self.outward(request.body)
        headers = tuple(
            self._header(name, value, origin, len(body)) for name, value in request.headers if value != NOT_WRITTEN
        )
        path = url.removeprefix(f"{parts.scheme}://{parts.netloc}") or "/"
        return replace(request, url=url, headers=headers, body=body), path

    def response(self, response: Response) -> Response:
        """Return a live answer in the words of the record."""
        headers: Headers = tuple((name, self._in(value)) for name, value in response.headers)
        return replace(response, headers=headers, body=self.inward(response.body))

    def outward(self, body: bytes) -> bytes:
        """Return a recorded body as it is to be sent now."""
        return self._out(body.decode("latin-1")).encode("latin-1")

    def inward(self, body: bytes) -> bytes:
        """Return a live body in the words of the record."""
        return self._in(body.decode("latin-1")).encode("latin-1")

    def unasked(self, text: bytes) -> bytes:
        """Return what a child said unasked as the log would have it: without any token, in whatever form."""
        shown = text.decode("latin-1")
        for recorded, live in tuple(self._tokens.items()):
            shown = without_token(shown, live, recorded.removeprefix("$"))
        return self._in(shown).encode("latin-1")

    def credential(self, header: str) -> str:
        """Return a recorded authorisation as it is to be sent now, also where a check made its token from another."""
        translated = self._out(header)
        return self._made(header) if translated == header else translated

    def recorded_credential(self, header: str) -> str:
        """Return a live authorisation in the words of the record."""
        return self._in(header)

    def _header(self, name: str, value: str, origin: Origin, length: int) -> tuple[str, str]:
        if name.lower() == "host":
            return name, origin.authority
        if name.lower() == "content-length":
            return name, str(length)
        return name, self.credential(value) if name.lower() == "authorization" else self._out(value)

    def _made(self, value: str) -> str:
        """Return the header again where its token is one that a check made from another one."""
        for recorded, live in reversed(tuple(self._tokens.items())):
            for what, made in self._neighbours(recorded, random.Random(0)).items():  # noqa: S311 - nothing secret
                if value == f"Bearer {made}":
                    return f"Bearer {self._neighbours(live, random.Random(0))[what]}"  # noqa: S311 - nothing secret
        return value

    def _out(self, text: str) -> str:
        with self._lock:
            words = self._outward = self._outward or _Words(self._live)
        return words.replaced(text)

    def _in(self, text: str) -> str:
        with self._lock:
            words = self._inward = self._inward or _Words({live: name for name, live in self._live.items()})
        return words.replaced(text)


class _Words:
    """Words and what stands for each of them."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = dict(words)
        # A name ends where its number does.
        any_of = "|".join(f"{re.escape(word)}(?![0-9])" for word in sorted(words, key=len, reverse=True))
        self._pattern = re.compile(any_of)

    def replaced(self, text: str) -> str:
        """Return the text with all of them replaced."""
        return self._pattern.sub(lambda match: self._words[match[0]], text) if self._words else text
