"""``exchanges.jsonl``: every exchange of a run, written as the run goes, without tokens, closed by a digest."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, Literal

from conformance.judge.markers import markers_in
from conformance.redaction import Redaction
from conformance.report.curl import bearer_token
from conformance.report.token_names import TokenNames
from conformance.run import RunFacts
from conformance.transport.exchange import Exchange, Headers

NAME: Final = "exchanges.jsonl"
FORMAT: Final = "sosoapi-conformance exchanges"
FORMAT_VERSION: Final = 2

_GIVEN_TOKEN: Final = re.compile(rb'("token" *: *")([^"]*)"')
"""A token in an answer of test control, which gives them."""
_MOST_BYTES: Final = 4 * 1024 * 1024
_MOST_UNASKED_BYTES: Final = 16 * 1024 * 1024
"""What children have said unasked in a whole run; a run in which they said more cannot be judged again."""

_HEADERS: Final = frozenset({
    "accept", "accept-encoding", "allow", "authorization", "cache-control", "content-encoding", "content-length",
    "content-type", "date", "etag", "expect", "host", "last-event-id", "mcp-protocol-version", "mcp-session-id",
    "retry-after", "transfer-encoding", "vary", "www-authenticate",
})  # fmt: skip
"""Headers whose values are written; of others the name alone is."""


class ExchangeLog:
    """Writes exchanges; safe to use from several threads.

    Bodies beyond 4 MiB are written as their digest. Each token has a name of its own, so that it can still be told who
    called.
    """

    def __init__(
        self,
        path: Path,
        facts: RunFacts,
        redaction: Redaction,
        worker: str = "main",
        description: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin the file; ids of exchanges begin with the name of the worker.

        Raises:
            OSError: it cannot be written.
        """
        self._file: IO[bytes] = path.open("wb")
        self._redaction = redaction
        self._worker = worker
        self._started = time.monotonic()
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self._count = 0
        self._unasked_bytes = 0
        self._case = ""
        self._tokens = TokenNames(redaction.names())
        self._ids: dict[int, tuple[Exchange, str]] = {}
        self._write({**header(facts), "target": description})

    def begin_case(self, case: str) -> None:
        """Take note of the case to which the next exchanges belong."""
        self._file.flush()
        self._case = case
        self._ids.clear()

    def read_clock(self, now: float) -> None:
        """Write down a time of day from which a case is made, in seconds since 1970."""
        with self._lock:
            self._write({"kind": "reading", "case": self._case, "now": now})

    def beside(self, span: tuple[int, int]) -> None:
        """Write down when what was done beside a race began and ended, in nanoseconds of the monotonic clock."""
        with self._lock:
            self._write({"kind": "beside", "case": self._case, "span": self._since_start(span)})

    def heard(self, kind: Literal["heard", "stray", "stderr"], principal: str, text: bytes, **more: str | None) -> None:
        """Write down what a child has said unasked: a message, a line that is none, or something on stderr.

        A child may go on saying things after the end of the run, or say more than anybody wants to keep.
        """
        token = (more.get("credential") or "").rpartition(" ")[2]
        with self._lock:
            self._unasked_bytes += len(text)
            if self._file.closed or self._unasked_bytes > _MOST_UNASKED_BYTES:
                return
            told = {name: None if value is None else self._text(value, token) for name, value in more.items()}
            line = {"kind": kind, "case": self._case, "principal": principal, **told}
            self._write({**line, "text": self._unasked_body(text)})

    def settled(self, texts: Sequence[bytes]) -> None:
        """Write down the end of what each child has written to stderr."""
        with self._lock:
            bodies = [self._unasked_body(text) for text in texts]
            self._write({"kind": "settled", "case": self._case, "texts": bodies})

    def race(self, clients: Sequence[Sequence[tuple[Exchange, int, int]]]) -> None:
        """Write down which exchanges each client of a race made, and when each began and ended."""
        with self._lock:
            course = [
                [[self.name(exchange), *self._since_start((called, returned))] for exchange, called, returned in client]
                for client in clients
            ]
            self._write({"kind": "race", "case": self._case, "clients": course})

    def _since_start(self, span: tuple[int, int]) -> list[int]:
        return [instant - round(self._started * 1e9) for instant in span]

    def add(
        self, exchange: Exchange, to: Literal["target", "control"] = "target", dropped: Mapping[str, Any] | None = None
    ) -> None:
        """Write an exchange that has just come to its end.

        ``dropped`` says how much of the body was sent, and what was awaited, before the suite itself dropped the
        connection.
        """
        token = bearer_token(exchange.request)
        request, response, span = exchange.request, exchange.response, exchange.span
        with self._lock:
            # Read while no other thread writes: exchanges stand in the order in which they ended.
            began = time.monotonic() - self._started - exchange.elapsed
            if span is not None:
                span = (self._since_start(span)[0], self._since_start(span)[1])
                began = span[0] / 1e9
            self._count += 1
            identifier = f"{self._worker}-{self._count}"
            # The exchange is kept so that no other one gets its address while the case lasts.
            self._ids[id(exchange)] = (exchange, identifier)
            line = {
                "kind": "exchange",
                "id": identifier,
                "case": self._case,
                "to": to,
                "operation": exchange.operation,
                "principal": exchange.principal,
                "at": round(began, 6),
                "elapsed": round(exchange.elapsed, 6),
                "request": {
                    "method": request.method,
                    "target": request.url,
                    "headers": self._headers(request.headers, token, is_child=request.method == "STDIO"),
                    **self._body(request.body, token),
                },
                "answer": None
                if response is None
                else {
                    "status": response.status,
                    "reason": self._text(response.reason, token),
                    "headers": self._headers(response.headers, token),
                    **self._body(response.body if to == "target" else self._without_given(response.body), token),
                },
                "failure": None if exchange.failure is None else self._text(exchange.failure.message, token),
                "failure_kind": None if exchange.failure is None else exchange.failure.kind,
            }
            if span is not None:
                line["span"] = list(span)
            if dropped is not None:
                line["dropped"] = dict(dropped)
            self._write(line)

    def name(self, exchange: Exchange) -> str:
        """Return the id of an exchange of this case, or an empty string."""
        return self._ids.get(id(exchange), (exchange, ""))[1]

    def end(self, *, complete: bool) -> None:
        """Write the end, with the digest of all that stands before it."""
        with self._lock:
            self._file.write(line_of(footer(self._count, self._digest.hexdigest(), complete=complete)))
            self._file.close()

    def _write(self, value: Mapping[str, Any]) -> None:
        line = line_of(value)
        self._digest.update(line)
        self._file.write(line)

    def _text(self, text: str, token: str) -> str:
        return self._redaction.text(self._tokens.text(text, token))

    def _unasked_body(self, text: bytes) -> Any:
        """Return what a child said unasked, which may be anybody's: few people have children, so all are looked for."""
        shown = self._tokens.any_text(text.decode("latin-1")).encode("latin-1")
        return self._body(shown, "")["body"]

    def _headers(self, headers: Headers, token: str, *, is_child: bool = False) -> list[list[str]]:
        """Return the headers, or what the environment of a child says; a value that is not on the list is left out."""
        return [
            [
                self._text(name, token),
                self._text(value, token) if is_child or _is_written(name, value) else "(not written)",
            ]
            for name, value in headers
        ]

    def _body(self, body: bytes, token: str) -> dict[str, Any]:
        if len(body) > _MOST_BYTES:
            return {"body": {"sha256": hashlib.sha256(body).hexdigest()}, "bytes": len(body)}
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            # Tokens are ASCII: whatever surrounds them, they are found in a text of single bytes.
            shown = self._text(body.decode("latin-1"), token).encode("latin-1")
            return {"body": {"base64": base64.b64encode(shown).decode()}, "bytes": len(body)}
        return {"body": self._text(text, token), "bytes": len(body)}

    def _without_given(self, body: bytes) -> bytes:
        def named(match: re.Match[bytes]) -> bytes:
            name = self._tokens.name(match[2].decode("latin-1"))
            return match[1] + (b"$" + name.encode() if name else match[2]) + b'"'

        return _GIVEN_TOKEN.sub(named, body)


def _is_written(name: str, value: str) -> bool:
    """Tell whether the value of a header is written: it is on the list, or has private text of the suite's own."""
    return name.lower() in _HEADERS or bool(markers_in(value.encode("utf-8", "replace")))


def header(facts: RunFacts) -> dict[str, Any]:
    """Return the first line of a log."""
    names = ("suite_version", "contract", "contract_version", "seed", "profile", "transport", "started_at")
    values = {name: getattr(facts, name) for name in names}
    return {"kind": "header", "format": FORMAT, "format_version": FORMAT_VERSION, **values}


def read_header(path: Path) -> dict[str, Any]:
    """Return the first line of a log.

    Raises:
        OSError, ValueError, KeyError: there is no such file, or it is no log of this version.
    """
    with path.open("rb") as file:
        values = json.loads(file.readline())
    if (values["format"], values["format_version"]) != (FORMAT, FORMAT_VERSION):
        raise ValueError(f"it is not {FORMAT!r}, version {FORMAT_VERSION}")
    return dict(values)


def footer(count: int, digest: str, *, complete: bool) -> dict[str, Any]:
    """Return the last line of a log."""
    return {"kind": "footer", "exchanges": count, "sha256": digest, "complete": complete}


EXCHANGE: Final = b'{"kind":"exchange",'
"""How the line of an exchange begins; its id follows."""


def _exchanges(path: Path) -> Iterable[bytes]:
    with path.open("rb") as file:
        # A line without its end was cut off.
        yield from (line for line in file if line.startswith(EXCHANGE) and line.endswith(b"\n"))


def find(path: Path, wanted: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the exchanges with these ids, as far as the log has them."""
    beginnings = {f'{{"kind":"exchange","id":"{identifier}",'.encode() for identifier in wanted if identifier}
    if not beginnings or not path.is_file():
        return {}
    found = (json.loads(line) for line in _exchanges(path) if line[: line.index(b",", len(EXCHANGE)) + 1] in beginnings)
    return {each["id"]: each for each in found}


def line_of(value: Mapping[str, Any]) -> bytes:
    """Return a line of a log."""
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"
