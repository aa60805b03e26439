"""Writes a request as a command that can be pasted into a shell, with the token as an environment variable."""

from __future__ import annotations

import shlex
from dataclasses import replace

from conformance.transport.exchange import Headers, Request

TOKEN_VARIABLE = "SOSOAPI_TOKEN"  # noqa: S105 - the name of a variable, not a token
_LEFT_TO_CURL = frozenset({"host", "content-length", "accept-encoding"})
_LONGEST_BODY = 8000
_SESSION = "mcp-session-id"
_SESSION_OF_ANSWER = "tr -d '\\r' | sed -n 's/^[Mm][Cc][Pp]-[Ss]ession-[Ii][Dd]: *//p'"


def curl_command(request: Request) -> str:
    """Return a shell command that sends the same method, headers and body bytes.

    A bearer token is written as ``$SOSOAPI_TOKEN``. A body that is not printable ASCII is fed through ``printf``; one
    that is longer than a command line should be is left out, and the comment says so. A request that belongs to a
    session of MCP comes after those that open one, and over stdio the command is that of the child.
    """
    if request.method == "STDERR":
        return "(what the child wrote to stderr by itself)"
    if request.method == "STDIO":
        return _child_command(request)
    if not request.opening:
        return _curl(request)
    # The session of the run is over by the time that somebody reads this: open another one.
    opening, *further = [replace(request, headers=_without_session(request.headers), body=b) for b in request.opening]
    named = [replace(each, headers=request.headers) for each in further]
    steps = [f"SESSION=$({_curl(opening)} | {_SESSION_OF_ANSWER})", *(f"{_curl(each)} >/dev/null" for each in named)]
    return "; ".join((*steps, _curl(request)))


def bearer_token(request: Request) -> str:
    """Return the token that a request carries, or an empty string."""
    if request.method == "STDIO":
        return next((value for _, value in request.headers), "")
    values = (value.partition(" ") for _, value in request.headers)
    return next((token.strip() for scheme, _, token in values if scheme.lower() == "bearer"), "")


def _curl(request: Request) -> str:
    words = ["curl", "-sS", "-i", "-X", request.method, shlex.quote(request.url)]
    for name, value in request.headers:
        if name.lower() not in _LEFT_TO_CURL and (name.lower(), value) != ("accept", "application/json"):
            words += ["-H", _header(name, value)]
    if not request.body:
        # Without data curl leaves out the length, which some servers insist on.
        return " ".join(words if request.method in ("GET", "HEAD") else [*words, "--data-binary", "''"])
    if not any(name.lower() == "content-type" for name, _ in request.headers):
        words += ["-H", "'Content-Type:'"]
    if len(request.body) > _LONGEST_BODY:
        return " ".join([*words, "--data-binary", "@body", f"# a body of {len(request.body)} bytes"])
    if _is_plain(request.body) and not request.body.startswith(b"@"):
        return " ".join([*words, "--data-binary", shlex.quote(request.body.decode("ascii"))])
    return f"printf {_octets(request.body)} | " + " ".join([*words, "--data-binary", "@-"])


def _child_command(request: Request) -> str:
    """Return a command that starts the child and gives it the messages; it keeps stdin open until it has answered."""
    variables = "".join(f'{name}="${TOKEN_VARIABLE}" ' for name, _ in request.headers)
    if len(request.body) > _LONGEST_BODY:
        return f"{variables}{request.url} < message  # a message of {len(request.body)} bytes"
    messages = [*request.opening, request.body]
    printed = "; ".join(_printed_line(message) for message in messages)
    return f"({printed}; sleep 1) | {variables}{request.url}"


def _printed_line(message: bytes) -> str:
    if _is_plain(message):
        return f"printf '%s\\n' {shlex.quote(message.decode('ascii'))}"
    return f"printf {_octets(message + bytes((10,)))}"


def _is_plain(text: bytes) -> bool:
    return all(0x20 <= byte < 0x7F for byte in text)


def _octets(text: bytes) -> str:
    """Return the quoted format with which ``printf`` writes these bytes."""
    octets = "".join(f"\\{byte:03o}" if not 0x20 <= byte < 0x7F or byte in b"\\%'" else chr(byte) for byte in text)
    # A leading hyphen would be an option of printf.
    octets = octets if not octets.startswith("-") else f"\\055{octets[1:]}"
    return f"'{octets.replace('%', '%%')}'"


def _without_session(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name.lower() not in (_SESSION, "mcp-protocol-version"))


def _header(name: str, value: str) -> str:
    if name.lower() == _SESSION:
        return f'"{name}: $SESSION"'
    scheme, _, token = value.partition(" ")
    # A real token is sent behind Basic too, to see that it is refused there.
    if token and scheme.lower() in ("bearer", "basic"):
        return f'"{name}: {scheme} ${TOKEN_VARIABLE}"'
    return shlex.quote(f"{name}: {value}")
