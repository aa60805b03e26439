"""Operations, exchanges and answers made by hand, for tests of what is done with them."""

from __future__ import annotations

from conformance.contract import Contract, Operation, load_contract
from conformance.transport.exchange import (
    Answer,
    Call,
    Credential,
    ErrorKind,
    Exchange,
    Failure,
    Headers,
    Outcome,
    Request,
    Response,
)

CONTRACT: Contract = load_contract()
GET: Operation = CONTRACT.operation("conversations_get")
ARCHIVE: Operation = CONTRACT.operation("conversations_archive")
STATUS: Operation = CONTRACT.operation("sentiment_status")

OWNER = Credential.bearer("owner", "planted-token")


def request(body: bytes = b"{}", *headers: tuple[str, str], method: str = "POST") -> Request:
    """Return a request; without headers, those of an ordinary call."""
    given: Headers = headers or (
        ("Host", "127.0.0.1:8000"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Authorization", "Bearer planted-token"),
    )
    return Request(method, "http://127.0.0.1:8000/research-api/conversations/get", given, body)


def exchange(status: int = 200, body: bytes = b"{}", *headers: tuple[str, str], reason: str = "") -> Exchange:
    """Return an exchange with this answer."""
    given = headers or (("Content-Type", "application/json"),)
    return Exchange(GET.name, "owner", request(), Response(status, reason, given, body), None, 0.01)


def silence() -> Exchange:
    """Return an exchange without an answer."""
    failure = Failure("timeout", "no complete answer within 1 s")
    return Exchange(GET.name, "owner", request(), None, failure, 1.0)


def answer(
    outcome: Outcome, kinds: frozenset[ErrorKind] | None = frozenset(), *, shown: Exchange | None = None
) -> Answer:
    """Return an answer that came to ``outcome``."""
    made = shown or exchange(200 if outcome == "success" else 400)
    return Answer(Call(GET, b"{}", OWNER), made, outcome, kinds, b"{}" if outcome == "success" else None)
