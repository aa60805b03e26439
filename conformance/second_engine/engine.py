"""Schemathesis as a library: generates cases for one operation and says which of its checks an answer fails.

It sends nothing, prints nothing and keeps nothing: cases are drawn first and sent by the caller, and an answer is
handed to its checks as if it had come by its own transport. No configuration file of the working directory is read.

The draws depend on the seed, the version of Schemathesis and that of Hypothesis, and on the constants that Hypothesis
collects from the modules that happen to be loaded. Two runs with one seed may therefore send different inputs.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

import hypothesis
import requests
import schemathesis
import schemathesis.checks
from hypothesis import Phase
from schemathesis import Case, GenerationMode
from schemathesis.core.failures import FailureGroup

from conformance.cases.drawing import drawing, undisturbed
from conformance.contract import Contract, Operation
from conformance.openapi.binding import rest_document
from conformance.transport.exchange import ErrorKind, Exchange

Mode = Literal["positive", "negative"]
CheckName = Literal[
    "not_a_server_error",
    "status_code_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "positive_data_acceptance",
]

CHECKS: Final[tuple[CheckName, ...]] = (
    "not_a_server_error",
    "status_code_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "positive_data_acceptance",
)
"""The checks of Schemathesis that are used. Its others send requests of their own (``ignored_auth``,
``use_after_free``, ..) or judge what the contract does not fix: headers, content types, other methods."""

StatusKinds = Mapping[int, frozenset[ErrorKind]]

_HEADER: Final = "Authorization"


class SecondEngine:
    """Cases for one operation, served at ``path``, with ``arguments`` as the example of its document."""

    def __init__(
        self,
        contract: Contract,
        operation: Operation,
        arguments: Mapping[str, Any],
        *,
        path: str,
        method: str,
        status_kinds: StatusKinds,
    ) -> None:
        document = _document(contract, operation, arguments, path, method, status_kinds)
        # Without security parameters nothing but the body varies; the credentials have a schema of their own.
        self._bodies = _load(document, status_kinds, with_credentials=False)[path][method]
        self._credentials = _load(_without_results(document), status_kinds, with_credentials=True)[path][method]
        self._arguments = dict(arguments)

    def example(self) -> Case[Any]:
        """Return the case of the example."""
        return self._draw(self._bodies.as_strategy(body=self._arguments), seed=0, count=1)[0]

    def cases(self, mode: Mode, seed: int, count: int) -> tuple[Case[Any], ...]:
        """Return about ``count`` cases with different bodies, right or wrong as Schemathesis sees it."""
        return self._draw(self._bodies.as_strategy(generation_mode=GenerationMode(mode)), seed, count)

    def authorizations(self, seed: int, count: int) -> tuple[str | None, ...]:
        """Return at most ``count`` different values of the authorisation header, ``None`` for none at all."""
        strategies = [
            self._credentials.as_strategy(generation_mode=mode, body=self._arguments) for mode in GenerationMode
        ]
        values: dict[str | None, None] = {None: None}
        for strategy in strategies:
            values |= {case.headers.get(_HEADER): None for case in self._draw(strategy, seed, count)}
        return tuple(value for value in values if value is None or _can_be_sent(value))[:count]

    @staticmethod
    def text(case: Case[Any]) -> bytes:
        """Return the bytes of the case's body: JSON, or what stands there for the sake of being none."""
        if isinstance(case.body, bytes):
            return case.body
        return b"" if case.media_type is None else json.dumps(case.body).encode()

    def failed_checks(self, case: Case[Any], exchange: Exchange) -> tuple[CheckName, ...]:
        """Return which of its checks Schemathesis says that the answer to ``case`` fails."""
        answer = _response(exchange)
        return tuple(name for name in CHECKS if _fails(case, answer, name))

    @staticmethod
    def _draw(strategy: Any, seed: int, count: int) -> tuple[Case[Any], ...]:
        found: dict[tuple[bytes, str | None], Case[Any]] = {}

        @hypothesis.seed(seed)
        @drawing(max_examples=count, phases=[Phase.generate])
        @hypothesis.given(strategy)
        def draw(case: Case[Any]) -> None:
            found.setdefault((SecondEngine.text(case), case.headers.get(_HEADER)), case)

        with undisturbed():
            draw()
        return tuple(found.values())


def _document(
    contract: Contract,
    operation: Operation,
    arguments: Mapping[str, Any],
    path: str,
    method: str,
    status_kinds: StatusKinds,
) -> dict[str, Any]:
    """Return the OpenAPI document as this target serves the operation: its path, its method, its statuses."""
    document = copy.deepcopy(rest_document(dataclasses.replace(contract, operations=(operation,))))
    served = document["paths"][operation.path]["post"]
    served["requestBody"]["content"]["application/json"]["examples"] = {"seeded": {"value": dict(arguments)}}
    for status in status_kinds:
        served["responses"].setdefault(str(status), {"description": "A failure of this target's table."})
    document["paths"] = {path: {method.lower(): served}}
    return document


def _without_results(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without its answers, which are most of it and do not matter to what is generated."""
    paths = {
        path: {method: {**served, "responses": {"200": {"description": "Success."}}} for method, served in item.items()}
        for path, item in document["paths"].items()
    }
    return {**document, "paths": paths}


def _load(document: Mapping[str, Any], status_kinds: StatusKinds, *, with_credentials: bool) -> Any:
    """Load the document with every freedom of the contract configured away."""
    invalid = {status for status, kinds in status_kinds.items() if "invalid_input" in kinds}
    configuration = schemathesis.Config.from_dict(
        {
            "generation": {"with-security-parameters": with_credentials},
            "checks": {
                # 5xx is the business of not_a_server_error alone.
                "negative_data_rejection": {"expected-statuses": [*map(str, sorted(invalid)), "5xx"]},
                "positive_data_acceptance": {
                    "expected-statuses": [str(status) for status in range(100, 600) if status not in invalid]
                },
            },
        }
    )
    return schemathesis.openapi.from_dict(copy.deepcopy(dict(document)), config=configuration)


def _response(exchange: Exchange) -> schemathesis.Response:
    """Return our exchange, which has a response, as Schemathesis would have seen it."""
    request, response = exchange.request, exchange.response
    assert response is not None
    headers: dict[str, list[str]] = {}
    for name, value in response.headers:
        headers.setdefault(name.lower(), []).append(value)
    # The contract does not fix the content type of an answer, and Schemathesis reads no schema without one.
    headers["content-type"] = ["application/json"]
    return schemathesis.Response(
        status_code=response.status,
        headers=headers,
        content=response.body,
        request=requests.Request(request.method, request.url, dict(request.headers), data=request.body).prepare(),
        elapsed=exchange.elapsed,
        verify=True,
        message=response.reason,
    )


def _fails(case: Case[Any], answer: schemathesis.Response, name: CheckName) -> bool:
    try:
        case.validate_response(answer, checks=[getattr(schemathesis.checks, name)])
    except FailureGroup:
        return True
    return False


def _can_be_sent(value: str) -> bool:
    """Tell whether the value can stand in a header line as it is."""
    return bool(value) and value.isascii() and value.isprintable() and value == value.strip()
