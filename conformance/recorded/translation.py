"""Translates between a recorded run and a live one, in which the server gives out other tokens, ids and sessions."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import urlsplit

from conformance.recorded.description import NOT_WRITTEN
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
    """What stands for what. Only what a server gave out is translated: all else is sent byte for byte."""

    def __init__(self, neighbours: Neighbours) -> None:
        self._neighbours = neighbours
        self._live: dict[str, str] = {}
        self._tokens: dict[str, str] = {}
        self._outward: re.Pattern[str] | None = None
        self._inward: re.Pattern[str] | None = None

    def token(self, recorded: str, live: str) -> None:
        """Take note of the token that a name in the record stands for now."""
        self._tokens[recorded] = live
        self.learn(recorded, live)

    def learn(self, recorded: str, live: str) -> None:
        """Take note of something that the server gave out, then and now."""
        if recorded and live and recorded != live:
            self._live[recorded] = live
            self._outward = self._inward = None

    def request(self, request: Request, place: Place) -> tuple[Request, str]:
        """Return a recorded request as it is to be sent now, and its path."""
        url = self._out(place.address(request.url))
        parts = urlsplit(url)
        origin = Origin.parse(f"{parts.scheme}://{parts.netloc}", "target")
        body = self._out(request.body.decode("latin-1")).encode("latin-1")
        headers = tuple(
            self._header(name, value, origin, len(body)) for name, value in request.headers if value != NOT_WRITTEN
        )
        path = url.removeprefix(f"{parts.scheme}://{parts.netloc}") or "/"
        return replace(request, url=url, headers=headers, body=body), path

    def response(self, response: Response) -> Response:
        """Return a live answer in the words of the record."""
        headers: Headers = tuple((name, self._in(value)) for name, value in response.headers)
        body = self._in(response.body.decode("latin-1")).encode("latin-1")
        return replace(response, headers=headers, body=body)

    def _header(self, name: str, value: str, origin: Origin, length: int) -> tuple[str, str]:
        if name.lower() == "host":
            return name, origin.authority
        if name.lower() == "content-length":
            return name, str(length)
        translated = self._out(value)
        if translated == value and name.lower() == "authorization":
            translated = self._made(value)
        return name, translated

    def _made(self, value: str) -> str:
        """Return the header again where its token is one that a check made from another one."""
        for recorded, live in reversed(self._tokens.items()):
            for what, made in self._neighbours(recorded, random.Random(0)).items():  # noqa: S311 - nothing secret
                if value == f"Bearer {made}":
                    return f"Bearer {self._neighbours(live, random.Random(0))[what]}"  # noqa: S311 - nothing secret
        return value

    def _out(self, text: str) -> str:
        if not self._live:
            return text
        if self._outward is None:
            self._outward = _any_of(self._live)
        return self._outward.sub(lambda match: self._live[match[0]], text)

    def _in(self, text: str) -> str:
        if not self._live:
            return text
        recorded = {live: name for name, live in self._live.items()}
        if self._inward is None:
            self._inward = _any_of(recorded)
        return self._inward.sub(lambda match: recorded[match[0]], text)


def _any_of(words: Mapping[str, str]) -> re.Pattern[str]:
    # A name ends where its number does.
    return re.compile("|".join(f"{re.escape(word)}(?![0-9])" for word in sorted(words, key=len, reverse=True)))
