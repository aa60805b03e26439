"""Before anything is judged: whether the target can be reached at all, and whether it is this API that answers."""

from __future__ import annotations

from http import HTTPStatus

from conformance.cases.json_text import encode
from conformance.cases.sample import sample
from conformance.contract import Operation
from conformance.errors import CouldNotRun
from conformance.preflight_mcp import preflight_mcp
from conformance.session import Session, is_limited, rate_limited
from conformance.transport.exchange import Credential, Exchange
from conformance.transport.mcp.transport import McpTransport

_NOBODY = Credential("nobody", None)
_AUTHENTICATION = (401, 403)


def preflight(session: Session) -> None:
    """Make sure that a run makes sense.

    Raises:
        CouldNotRun: nothing answers at the target, what answers there is another web server, or it refuses the token
            or everything.
    """
    if isinstance(session.transport, McpTransport):
        preflight_mcp(session, session.transport)
    else:
        _preflight_rest(session)


def _preflight_rest(session: Session) -> None:
    first = _probe(session, session.contract.operations[0], b"{}", _NOBODY, "")
    if first.failure is not None:
        raise CouldNotRun(
            f"no usable answer from {session.target.address}: {first.failure.message}",
            "Start the server, or correct --target-url.",
        )
    if is_limited(first) and is_limited(_probe(session, session.contract.operations[0], b"{}", _caller(session), "")):
        raise rate_limited(session.target.address)
    if not any(answers_at(session, operation) for operation in session.contract.operations):
        operation = session.contract.operations[0]
        assert first.response is not None
        status = f"{first.response.status} {first.response.reason}".strip()
        raise CouldNotRun(
            f"the server at {session.target.address} answers, but not at the contract's paths: "
            f"{session.rest.binding.method} {session.rest.path(operation)} is answered like a path that "
            f"does not exist ({status})",
            "Correct the port or the path prefix of --target-url, or set [rest.paths] in the target file.",
        )
    if session.stage.tier != "control" and session.stage.lacks(("token",)) is None:
        _check_token(session)


def _check_token(session: Session) -> None:
    """See that a token which the target file gives is one that the target takes at all."""
    for operation in session.contract.operations:
        credential = session.stage.principal(session.random("preflight", operation.name)).credential
        answer = _probe(session, operation, encode(sample(operation.input_schema)), credential, "")
        if answer.response is None or answer.response.status != HTTPStatus.UNAUTHORIZED:
            return
    raise CouldNotRun(
        f"the server at {session.target.address} refuses the reader's token at every operation (401)",
        "Correct the token in the environment or in [tokens] of the target file.",
    )


def answers_at(session: Session, operation: Operation) -> bool:
    """Tell whether a path is more to the server than one that does not exist.

    The API refuses an empty input as invalid where the token is good, and any input as unauthenticated where there
    is no token; a server that treats both exactly like an unknown path has no operation there.
    """
    valid = encode(sample(operation.input_schema))
    for body, who in ((b"{}", _caller(session, operation.name)), (valid, _NOBODY)):
        here = _probe(session, operation, body, who, "")
        nowhere = _probe(session, operation, body, who, "-which-does-not-exist")
        if here.response is None or nowhere.response is None:
            return True
        if here.response.status != nowhere.response.status or here.response.status in _AUTHENTICATION:
            return True
    return False


def _caller(session: Session, *names: str) -> Credential:
    """Return a credential that should be let in, or none where the tier has none."""
    if session.stage.lacks(("token",)) is not None:
        return _NOBODY
    return session.stage.principal(session.random("preflight", *names)).credential


def _probe(session: Session, operation: Operation, body: bytes, credential: Credential, suffix: str) -> Exchange:
    transport = session.rest
    path = transport.path(operation) + suffix
    headers = transport.headers(credential, body)
    return transport.send_patiently(transport.binding.method, path, headers, body, operation.name, credential.label)
