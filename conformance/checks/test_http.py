"""Manners of a server that speaks JSON over HTTP: odd requests get a 4xx, and the server still answers."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from conformance.cases.json_text import encode
from conformance.checks.declare import case, cases, needs, over
from conformance.checks.steps import call, lent_arguments, read_back, take_snapshot, unchanged
from conformance.contract import Contract, Operation
from conformance.errors import CouldNotRun
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import answered
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene
from conformance.transport.exchange import Exchange

_ALSO = ("HTTP-STILL-ANSWERS", "HTTP-NO-SERVER-ERROR")
_METHODS = ("GET", "PUT", "DELETE", "PATCH")
_CONTENT_TYPES = {
    "plain-text": "text/plain",
    "xml": "application/xml",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data; boundary=x",
    "octets": "application/octet-stream",
    "none": None,
}
_OVERSIZED_BYTES = 4 * 1024 * 1024
_NESTED_LEVELS = 5000
_CLIENT_ERRORS = frozenset(range(400, 500))


def _rows(identifier: str, names: Any) -> Any:
    def factory(contract: Contract) -> list[Any]:
        return [
            case((operation, name), identifier, f"{operation.name}-{name}", *_ALSO)
            for operation in contract.operations
            for name in names
        ]

    return factory


def _send(session: Session, operation: Operation, body: bytes, scene: Scene, **changes: Any) -> Exchange:
    """Send a request to the operation's path, with another method, path suffix, content type or coding where given."""
    transport = session.rest
    headers = transport.headers(scene.principal.credential, body, changes.get("content_type", "application/json"))
    if "coding" in changes:
        headers = (*headers, ("Content-Encoding", changes["coding"]))
    path = transport.path(operation) + changes.get("suffix", "")
    method = changes.get("method", transport.binding.method)
    exchange = transport.send_patiently(method, path, headers, body, operation.name, scene.principal.label)
    if exchange.response is not None and exchange.response.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise CouldNotRun("the target's rate limit stands in the way (429, also after waiting)", "Raise the limit.")
    return exchange


def _status_in(exchange: Exchange, allowed: frozenset[int], identifier: str, what: str) -> Iterator[Finding]:
    response = exchange.response
    if response is not None and response.status in allowed:
        return
    found = f"{response.status} {response.reason}" if response else f"no answer ({exchange.failure})"
    is_server_error = response is None or response.status >= 500
    yield Finding(
        "HTTP-NO-SERVER-ERROR" if is_server_error else identifier,
        exchange.operation,
        f"{what} is answered with another status than it should be",
        "status",
        " or ".join(map(str, sorted(allowed))) if len(allowed) < 10 else "400 to 499",
        found,
        (exchange,),
    )


def _still_answers(session: Session, scene: Scene, exchange: Exchange, what: str) -> None:
    """Judge that nothing changed and that the next ordinary read is answered as before, or at all."""
    if not scene.known:
        reads = (each for each in session.contract.operations if each.effect == "read")
        must_hold(finding for read in reads for finding in answered(call(session, scene, read)[0]))
        return
    must_hold(unchanged(session, scene, "HTTP-STILL-ANSWERS", what, exchange))


@over("rest")
@needs("token")
@cases("attempt", _rows("HTTP-WRONG-METHOD", _METHODS))
def test_a_wrong_method_is_refused(attempt: tuple[Operation, str], session: Session, record: Recorder) -> None:
    """Another method than POST is answered 404 or 405 and does nothing."""
    operation, method = attempt
    if method == session.rest.binding.method:
        pytest.skip("the target's own method")
    scene = session.shared_scene("http")
    take_snapshot(session, scene)
    # Some proxies refuse a GET with a body by themselves.
    body = b"" if method == "GET" else encode(scene.arguments(operation))
    exchange = _send(session, operation, body, scene, method=method)
    must_hold(_status_in(exchange, frozenset({404, 405}), "HTTP-WRONG-METHOD", "A wrong method"))
    assert exchange.response is not None
    record.freedom("OPEN-WRONG-METHOD-STATUS", str(exchange.response.status))
    _still_answers(session, scene, exchange, "a request with a wrong method")


@over("rest")
@needs("token")
@cases("attempt", _rows("HTTP-CONTENT-TYPE", _CONTENT_TYPES))
def test_a_wrong_content_type_is_refused_or_read_as_json(
    attempt: tuple[Operation, str], session: Session, record: Recorder
) -> None:
    """A body of another content type is refused with 400, 415 or 422, or read as JSON."""
    operation, name = attempt
    scene = session.shared_scene("http") if operation.effect == "read" else session.stage.scene(session.rng)
    take_snapshot(session, scene)
    arguments = lent_arguments(session, scene, operation)
    exchange = _send(session, operation, encode(arguments), scene, content_type=_CONTENT_TYPES[name])
    allowed = frozenset({400, 415, 422} | _read_as_json(session, operation, scene))
    must_hold(_status_in(exchange, allowed, "HTTP-CONTENT-TYPE", "A wrong content type"))
    assert exchange.response is not None
    refused = exchange.response.status in (400, 415, 422)
    record.freedom("OPEN-CONTENT-TYPE", "refuses" if refused else "accepts")
    if refused or operation.effect == "read":
        _still_answers(session, scene, exchange, "a request with a wrong content type")


def _read_as_json(session: Session, operation: Operation, scene: Scene) -> frozenset[int]:
    """Return the statuses of a valid call whose body was read.

    Ids that nobody knows are not found, and a prepared run need not be one whose status is shown.
    """
    is_plain_read = operation.effect == "read" and operation.result == "conversation"
    acted = scene.known and (is_plain_read or session.stage.tier == "control")
    return frozenset({200}) if acted else frozenset({200, 403, 404})


_CODINGS = {
    "gzip": ("gzip", True, "gzip"),
    "gzip-not-compressed": ("gzip", False, "a plain body called gzip"),
    "identity": ("identity", False, "identity"),
    "unknown": ("x-none", False, "an unknown coding"),
}
"""The value of the header, whether the body is compressed with gzip, and what the freedom calls it."""


def _coded(contract: Contract) -> list[Any]:
    return [
        case(
            (operation, name),
            "HTTP-NO-SERVER-ERROR",
            f"{operation.name}-coding-{name}",
            "HTTP-STILL-ANSWERS",
            *(["ARCHIVE-READ-BACK"] if _archives(operation) else []),
        )
        for operation in contract.operations
        for name in _CODINGS
    ]


def _archives(operation: Operation) -> bool:
    return operation.effect == "write" and operation.result == "conversation"


@over("rest")
@needs("token")
@cases("attempt", _coded)
def test_a_content_coding_is_refused_or_understood(
    attempt: tuple[Operation, str], session: Session, record: Recorder
) -> None:
    """A valid call whose body has a Content-Encoding is carried out, or refused without effect; nothing fails by it."""
    operation, name = attempt
    coding, is_compressed, called = _CODINGS[name]
    scene = session.shared_scene("http") if operation.effect == "read" else session.stage.scene(session.rng)
    take_snapshot(session, scene)
    body = encode(lent_arguments(session, scene, operation))
    if is_compressed:
        # Without a time in it, the same bytes each time.
        body = gzip.compress(body, mtime=0)
    exchange = _send(session, operation, body, scene, coding=coding)
    response = exchange.response
    if response is None or response.status >= 500:
        must_hold(_status_in(exchange, frozenset(), "HTTP-NO-SERVER-ERROR", "A body with a Content-Encoding"))
    assert response is not None
    understood = response.status in _read_as_json(session, operation, scene)
    record.freedom("OPEN-CONTENT-ENCODING", f"{'reads' if understood else 'refuses'} {called}")
    if response.status == 200 and operation.effect == "write":
        must_hold(_not_archived(session, scene, operation, exchange))
    else:
        _still_answers(session, scene, exchange, "a request with a content encoding")


def _not_archived(session: Session, scene: Scene, operation: Operation, exchange: Exchange) -> Iterator[Finding]:
    """Yield a finding where an archive that was answered with a success was not carried out."""
    if not _archives(operation) or session.stage.tier != "control":
        return
    shown, failures = read_back(session, scene)
    yield from failures
    yield from shown.findings if shown else ()
    if shown is not None and shown.value is not None and not shown.value["conversation"]["archived"]:
        yield Finding(
            "ARCHIVE-READ-BACK",
            operation.name,
            "An archive whose body has a Content-Encoding is answered with a success and was not carried out",
            "/conversation/archived",
            "true",
            "false",
            (exchange, shown.answer.exchange),
        )


@over("rest")
@needs("token")
@cases("attempt", _rows("HTTP-UNKNOWN-PATH", ("deeper", "longer", "dotted")))
def test_an_unknown_path_is_refused(attempt: tuple[Operation, str], session: Session) -> None:
    """A path that the contract does not know is answered with a 4xx."""
    operation, name = attempt
    suffix = {"deeper": "/unknown", "longer": "-unknown", "dotted": ".json.unknown"}[name]
    scene = session.shared_scene("http")
    take_snapshot(session, scene)
    exchange = _send(session, operation, encode(scene.arguments(operation)), scene, suffix=suffix)
    must_hold(_status_in(exchange, _CLIENT_ERRORS, "HTTP-UNKNOWN-PATH", "An unknown path"))
    _still_answers(session, scene, exchange, "a request to an unknown path")


@over("rest")
@needs("token")
@cases("attempt", _rows("HTTP-OVERSIZED-BODY", ("unknown-field", "white-space")))
def test_an_oversized_body_is_refused(attempt: tuple[Operation, str], session: Session, record: Recorder) -> None:
    """A body of 4 MiB is refused with 400, 413 or 422, and the server still answers.

    A server may stop reading and close: then the answer can be lost on the way, which is nobody's fault.
    """
    operation, name = attempt
    scene = session.shared_scene("http")
    take_snapshot(session, scene)
    arguments = scene.arguments(operation)
    if name == "unknown-field":
        body = encode({**arguments, "zz_unknown": "x" * _OVERSIZED_BYTES})
    else:
        body = b" " * _OVERSIZED_BYTES + encode({**arguments, "zz_unknown": 1})
    exchange = _send(session, operation, body, scene)
    closed = exchange.failure is not None and exchange.failure.kind == "closed"
    if not closed:
        must_hold(_status_in(exchange, frozenset({400, 413, 422}), "HTTP-OVERSIZED-BODY", "An oversized body"))
    record.freedom(
        "OPEN-OVERSIZED-STATUS", str(exchange.response.status) if exchange.response else "closes the connection"
    )
    _still_answers(session, scene, exchange, "an oversized body")


@over("rest")
@needs("token")
@cases("attempt", _rows("HTTP-NO-SERVER-ERROR", ("arrays", "objects")))
def test_deep_nesting_is_refused(attempt: tuple[Operation, str], session: Session) -> None:
    """A value nested 5000 deep is refused as invalid, not with a server error."""
    operation, name = attempt
    scene = session.shared_scene("http")
    take_snapshot(session, scene)
    opening, closing = ("[", "]") if name == "arrays" else ('{"a":', "}")
    value = opening * _NESTED_LEVELS + "1" + closing * _NESTED_LEVELS
    member = next(iter(operation.input_schema["properties"]))
    body = encode({**scene.arguments(operation), member: 0}).replace(b":0", b":" + value.encode(), 1)
    exchange = _send(session, operation, body, scene)
    must_hold(_status_in(exchange, _CLIENT_ERRORS, "HTTP-NO-SERVER-ERROR", "Deep nesting"))
    _still_answers(session, scene, exchange, "a deeply nested input")
