"""Servers on raw sockets that answer with whatever hurts, and servers that come and go."""

from __future__ import annotations

import base64
import gzip
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

from raw_server import RawServer, Reply, dripping, response, sending

TOKEN = "s3cret-of-the-vendor"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ESCAPES = b"\x1b[2J\x1b]0;owned\x07\nverdict: conforms\xe2\x80\xae</script><script>alert(1)</script>"
_BOMB = gzip.compress(gzip.compress(b"0" * 50_000_000))


def at_the_paths(reply: Reply) -> Reply:
    """Answer so at the paths of the contract, and as unknown everywhere else."""

    def answer(server: RawServer, connection: socket.socket, request: bytes) -> bool:
        if b"which-does-not-exist" in request.partition(b"\r\n")[0]:
            connection.sendall(response(b"{}", "404 Not Found"))
            return True
        return reply(server, connection, request)

    return answer


def never(server: RawServer, _: socket.socket, __: bytes) -> bool:
    """Accept, and never answer."""
    server.stopped.wait()
    return False


def resetting(_: RawServer, connection: socket.socket, __: bytes) -> bool:
    """Break the connection instead of closing it."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def slower_and_slower(server: RawServer, connection: socket.socket, _: bytes) -> bool:
    """Take an eighth of a second longer each time."""
    server.stopped.wait(len(server.requests) / 8)
    connection.sendall(response(b"{}", "400 Bad Request"))
    return True


def previous_answer(server: RawServer, connection: socket.socket, request: bytes) -> bool:
    """Give every request the answer of the one before, on whatever connection that came."""
    before = server.requests[-2] if len(server.requests) > 1 else request
    connection.sendall(response(before.partition(b"\r\n\r\n")[2], "200 OK"))
    return True


def token_of(request: bytes) -> bytes:
    """Return the token that a request carries, or the planted one: a server may well remember it."""
    lines = [line for line in request.split(b"\r\n") if line.lower().startswith(b"authorization:")]
    return lines[0].rpartition(b" ")[2] if lines else TOKEN.encode()


def telling_the_token(reason: str, header: str, body: str, form: Callable[[str], str] = str) -> Reply:
    """Return a refusal with the caller's token, in some form, wherever there is an ``@``."""

    def reply(_: RawServer, connection: socket.socket, request: bytes) -> bool:
        token = form(token_of(request).decode("latin-1"))
        texts = (text.replace("@", token) for text in (body, reason, header))
        connection.sendall(response(next(texts).encode("latin-1"), *texts))
        return True

    return reply


TOKEN_FORMS: dict[str, Callable[[str], str]] = {
    "base64": lambda token: base64.b64encode(f"{token}".encode()).decode(),
    "base64-of-more": lambda token: base64.urlsafe_b64encode(f"user:{token}!".encode()).decode(),
    "percent": lambda token: "".join(f"%{ord(sign):02x}" for sign in token),
    "json-escapes": lambda token: "".join(f"\\u{ord(sign):04x}" for sign in token),
    "hexadecimal": lambda token: token.encode().hex(),
}
"""Ways in which a server may give a token back without saying it."""


def refusing(*headers: str) -> bytes:
    """Return a plain refusal with more headers."""
    return response(b"{}", "400 Bad Request", *headers)


HOSTILE: dict[str, Reply] = {
    "never-answers": never,
    "closes-at-once": sending(keep=False),
    "resets": resetting,
    "half-a-status-line": sending(b"HTTP/1.", keep=False),
    "half-a-head": sending(b"HTTP/1.1 200 OK\r\nContent-Ty", keep=False),
    "status-line-of-rubbish": sending(b"HELO " + ESCAPES + b"\r\n\r\n", keep=False),
    "tls-on-a-plain-port": sending(b"\x15\x03\x01\x00\x02\x02\x46", keep=False),
    "html": sending(response(b"<!doctype html><script>alert(1)</script>")),
    "empty-body": sending(response(b"")),
    "truncated-body": sending(HEAD + b"Content-Length: 1000\r\n\r\n{", keep=False),
    "length-too-small": sending(HEAD + b"Content-Length: 1\r\n\r\n" + b'{"a":1}'),
    "length-too-great": sending(HEAD + b"Content-Length: 99999999999\r\n\r\n{}"),
    "length-negative": sending(HEAD + b"Content-Length: -1\r\n\r\n{}"),
    "length-twice": sending(HEAD + b"Content-Length: 2\r\nContent-Length: 7\r\n\r\n{}     "),
    "length-of-10000-digits": sending(HEAD + b"Content-Length: " + b"9" * 10_000 + b"\r\n\r\n{}"),
    "length-and-chunks": sending(HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
    "chunk-of-no-size": sending(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", keep=False),
    "chunk-too-great": sending(HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}\r\n", keep=False),
    "chunk-never-ends": sending(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
    "chunks-of-one-byte": sending(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 300_000),
    "endless-body": dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"fff\r\n" + b"a" * 4095 + b"\r\n", 0.0001),
    "endless-until-closed": dripping(HEAD + b"Connection: close\r\n\r\n", b"[" * 65536, 0.0001),
    "one-byte-a-moment": dripping(HEAD + b"Content-Length: 1000\r\n\r\n", b" ", 0.2),
    "one-header-byte-a-moment": dripping(HEAD + b"X-Slow: ", b"a", 0.2),
    "gzip": sending(response(gzip.compress(b"{}"), "200 OK", "Content-Encoding: gzip")),
    "gzip-bomb": sending(response(_BOMB, "200 OK", "Content-Encoding: gzip, gzip")),
    "invalid-utf-8": sending(response(b'{"a":"\xff\xfe"}')),
    "wrong-charset": sending(
        HEAD.replace(b"json", b"json; charset=utf-16") + b"Content-Length: 6\r\n\r\n" + "{}".encode("utf-16")
    ),
    "deep-json": sending(response(b"[" * 100_000 + b"]" * 100_000)),
    "deep-objects": sending(response(b'{"conversation":' * 60_000 + b"1" + b"}" * 60_000)),
    "integer-of-10000-digits": sending(response(b'{"conversation":' + b"9" * 10_000 + b"}")),
    "lone-surrogates": sending(response(b'{"conversation":"\\ud800","\\udfff":"\\udc00\\ud800"}')),
    "nul-in-everything": sending(response(b"{\0}", "200 OK\0", "X-Nul: \0"), keep=False),
    "huge-header": sending(HEAD + b"X-Big: " + b"a" * 1_000_000 + b"\r\n\r\n"),
    "thousands-of-headers": sending(HEAD + b"".join(b"X-%d: a\r\n" % number for number in range(100_000)) + b"\r\n"),
    "headers-without-end": dripping(HEAD, b"X-More: " + b"a" * 1000 + b"\r\n", 0.001),
    "interim-answers-without-end": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0.001),
    "early-hints-first": sending(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + refusing()),
    "no-content-with-a-body": sending(response(b'{"a":1}', "204 No Content")),
    "switches-protocols": sending(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\x81\x02hi"),
    "status-of-999": sending(response(b"{}", "999 Odd")),
    "http-of-old": sending(b"HTTP/0.9 200 OK\r\n\r\n{}", keep=False),
    "http-2": sending(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80\0\x04\0\x01\0\0\0\x05\0\xff\xff\xff", keep=False),
    "folded-header": sending(refusing("X-Folded: a\r\n b\r\n\tc")),
    "injected-header": sending(response(b"{}", "400 Bad\rX: y", "X-A: b\rSet-Cookie: c=d", "X-B: c\nX-D: e")),
    "escape-codes": sending(
        response(ESCAPES, "400 \x1b[32mFine\x1b[0m\x9b31m</script>", "Content-Type: \x9b31m\x1b[2J", "X-\x1b: y")
    ),
    "escape-codes-in-a-reason": sending(response(ESCAPES, "400 \x1b[32mFine\x1b[0m\x9b31m")),
    "escape-codes-accepted": sending(response(ESCAPES)),
    "escape-codes-in-names": sending(response(b'{"\\u001b[2J\\u009b31m":"\\u202e","\\u2028":"\\u2066"}')),
    "too-many-requests": sending(response(b"{}", "429 Too Many Requests", "Retry-After: 0")),
    "answers-twice": sending(refusing() + refusing()),
    "answers-twice-in-time": sending(refusing(), b"", response(b'{"conversation":1}')),
    "answer-of-the-previous": previous_answer,
    "closes-without-saying-so": sending(refusing(), keep=False),
    "slower-and-slower": slower_and_slower,
    "token-in-all-texts": telling_the_token("400 Bad @", "Content-Type: text/@", '{"@":"Bearer @"}'),
    **{
        f"token-as-{name}": telling_the_token("400 Bad @", "ETag: @", '{"@":"@"}', form)
        for name, form in TOKEN_FORMS.items()
    },
    "token-in-a-result": telling_the_token("200 @", "X-@: @", '{"conversation":{"@":"@@"}}'),
    "token-in-a-broken-header": telling_the_token("400 Bad", "X @: @", "{}"),
    "token-in-a-broken-status": telling_the_token("4000 @", "X: y", "{}"),
    "token-in-a-redirect": telling_the_token("307 See @", "Location: /@", "{}"),
}
"""What is answered to every request at the contract's paths, by name."""


class MortalServer(RawServer):
    """Refuses what it is asked until it has answered ``dies_after`` requests, then is gone.

    It comes back at the same port ``back_after`` seconds later, for good, or never where that is ``None``.
    """

    def __init__(self, dies_after: int, back_after: float | None) -> None:
        self._dies_after = dies_after
        self._back_after = back_after
        self._answers = at_the_paths(sending(refusing()))
        super().__init__(self._refuse_or_die)

    def _refuse_or_die(self, server: RawServer, connection: socket.socket, request: bytes) -> bool:
        if len(self.requests) != self._dies_after:
            return self._answers(server, connection, request)
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()
        if self._back_after is not None:
            threading.Timer(self._back_after, self._come_back).start()
        return False

    def _come_back(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()


class HastyServer(RawServer):
    """Answers every connection at once, before it has been asked anything, and closes it."""

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(refusing())
            self.requests.append(connection.recv(16))
