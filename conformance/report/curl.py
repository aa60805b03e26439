"""Writes a request as a curl command that can be pasted into a shell, with the token as an environment variable."""

from __future__ import annotations

import shlex

from conformance.transport.exchange import Request

TOKEN_VARIABLE = "SOSOAPI_TOKEN"  # noqa: S105 - the name of a variable, not a token
_LEFT_TO_CURL = frozenset({"host", "content-length", "accept-encoding", "accept"})
_LONGEST_BODY = 8000


def curl_command(request: Request) -> str:
    """Return a shell command that sends the same method, headers and body bytes.

    A bearer token is written as ``$SOSOAPI_TOKEN``. A body that is not printable ASCII is fed through ``printf``; one
    that is longer than a command line should be is left out, and the comment says so.
    """
    words = ["curl", "-sS", "-i", "-X", request.method, shlex.quote(request.url)]
    for name, value in request.headers:
        if name.lower() not in _LEFT_TO_CURL:
            words += ["-H", _header(name, value)]
    if not request.body:
        # Without data curl leaves out the length, which some servers insist on.
        return " ".join(words if request.method in ("GET", "HEAD") else [*words, "--data-binary", "''"])
    if not any(name.lower() == "content-type" for name, _ in request.headers):
        words += ["-H", "'Content-Type:'"]
    if len(request.body) > _LONGEST_BODY:
        return " ".join([*words, "--data-binary", "@body", f"# a body of {len(request.body)} bytes"])
    if all(0x20 <= byte < 0x7F for byte in request.body) and not request.body.startswith(b"@"):
        return " ".join([*words, "--data-binary", shlex.quote(request.body.decode("ascii"))])
    octets = "".join(
        f"\\{byte:03o}" if not 0x20 <= byte < 0x7F or byte in b"\\%'" else chr(byte) for byte in request.body
    )
    # A leading hyphen would be an option of printf.
    octets = octets if not octets.startswith("-") else f"\\055{octets[1:]}"
    return f"printf '{octets.replace('%', '%%')}' | " + " ".join([*words, "--data-binary", "@-"])


def bearer_token(request: Request) -> str:
    """Return the bearer token that a request carries, or an empty string."""
    values = (value.partition(" ") for _, value in request.headers)
    return next((token.strip() for scheme, _, token in values if scheme.lower() == "bearer"), "")


def _header(name: str, value: str) -> str:
    scheme, _, token = value.partition(" ")
    # A real token is sent behind Basic too, to see that it is refused there.
    if token and scheme.lower() in ("bearer", "basic"):
        return f'"{name}: {scheme} ${TOKEN_VARIABLE}"'
    return shlex.quote(f"{name}: {value}")
