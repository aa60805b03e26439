"""The ``rest`` binding: one POST per call, JSON in and out, the error kind read from the status."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.contract import Operation
from conformance.transport.exchange import (
    Answer,
    Call,
    Credential,
    ErrorKind,
    Exchange,
    Failure,
    Headers,
    Observer,
    Outcome,
    Request,
    Response,
)
from conformance.transport.patience import patiently
from conformance.transport.prepared import Prepared
from conformance.transport.wire import Wire, WireFault

STATUS_KINDS: Mapping[int, frozenset[ErrorKind]] = {
    400: frozenset({"invalid_input"}),
    401: frozenset({"unauthenticated"}),
    403: frozenset({"forbidden", "not_found"}),
    404: frozenset({"not_found"}),
    409: frozenset({"conflict", "in_progress"}),
    412: frozenset({"conflict"}),
    422: frozenset({"invalid_input"}),
    423: frozenset({"in_progress"}),
    425: frozenset({"in_progress"}),
    429: frozenset({"rate_limited", "in_progress"}),
}
"""The kinds of failure that each status may stand for, from the target interface."""


@dataclass(frozen=True)
class RestBinding:
    """What a target may override: paths by operation name, method, header and scheme of the token, status table."""

    paths: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"
    token_header: str = "Authorization"  # noqa: S105 - the name of a header, not a token
    status_kinds: Mapping[int, frozenset[ErrorKind]] = field(default_factory=lambda: STATUS_KINDS)


class RestTransport:
    """Calls operations over JSON/HTTP."""

    name = "rest"

    def __init__(self, wire: Wire, binding: RestBinding, observer: Observer) -> None:
        self.wire = wire
        self.binding = binding
        self.observe = observer

    def path(self, operation: Operation) -> str:
        """The request path of an operation on this target, prefix included."""
        return self.wire.origin.prefix + self.binding.paths.get(operation.name, operation.path)

    def call(self, call: Call) -> Answer:
        """Send one call. A 429 is waited for as Retry-After says, a bounded number of times."""
        return self.call_with_headers(call, {})

    def call_with_headers(self, call: Call, more: Mapping[str, str]) -> Answer:
        """Send one call with more headers."""
        path = self.path(call.operation)
        headers = (*self.headers(call.credential, call.arguments), *more.items())
        exchange = self.send_patiently(
            self.binding.method, path, headers, call.arguments, call.operation.name, call.credential.label
        )
        return self._answer(call, exchange)

    def prepare(self, call: Call) -> Prepared:
        """Return the call's request, for whoever sends it in a way of their own."""
        path, headers = self.path(call.operation), self.headers(call.credential, call.arguments)
        origin = self.wire.origin
        request = Request(self.binding.method, f"{origin.scheme}://{origin.authority}{path}", headers, call.arguments)

        def finish(response: Response | None, failure: Failure | None, elapsed: float) -> Answer:
            label = call.credential.label
            return self._answer(call, Exchange(call.operation.name, label, request, response, failure, elapsed))

        return Prepared(self.wire, path, request, finish)

    def send_patiently(
        self, method: str, path: str, headers: Headers, body: bytes, operation: str, label: str
    ) -> Exchange:
        """Send one request as given, again after a 429 as for a call, and return the last exchange."""
        return patiently(
            lambda: self.send(method, path, headers, body, operation, label), lambda exchange: exchange, self.wire.wait
        )

    def headers(self, credential: Credential, body: bytes, content_type: str | None = "application/json") -> Headers:
        """The headers of an ordinary call, in a fixed order."""
        headers = [("Host", self.wire.origin.authority), ("Accept", "application/json")]
        headers.append(("Accept-Encoding", "identity"))
        if content_type is not None:
            headers.append(("Content-Type", content_type))
        headers.append(("Content-Length", str(len(body))))
        if credential.header is not None:
            headers.append((self.binding.token_header, credential.header))
        return tuple(headers)

    def send(self, method: str, path: str, headers: Headers, body: bytes, operation: str, label: str) -> Exchange:
        """Send one request as given and return the exchange; a failure to answer is part of it."""
        origin = self.wire.origin
        request = Request(method, f"{origin.scheme}://{origin.authority}{path}", headers, body)
        started = time.perf_counter()
        response: Response | None = None
        failure: Failure | None = None
        try:
            response = self.wire.send(request, path)
        except WireFault as fault:
            failure = fault.failure
        exchange = Exchange(operation, label, request, response, failure, time.perf_counter() - started)
        self.observe(exchange)
        return exchange

    def _answer(self, call: Call, exchange: Exchange) -> Answer:
        response = exchange.response
        if response is None:
            return Answer(call, exchange, "no-answer", frozenset(), None)
        if response.status == 200:
            return Answer(call, exchange, "success", frozenset(), response.body)
        kinds = self.binding.status_kinds.get(response.status)
        return Answer(call, exchange, _outcome(response.status, kinds), kinds or frozenset(), None)

    def can_carry(self, arguments: bytes) -> bool:  # noqa: ARG002 - the protocol's parameter
        """Tell that a body can be any bytes."""
        return True

    def close(self) -> None:
        """Close all connections."""
        self.wire.close()


def _outcome(status: int, kinds: frozenset[ErrorKind] | None) -> Outcome:
    if status >= 500:
        return "server-error"
    return "refused" if kinds is not None or status >= 400 else "unexpected"
