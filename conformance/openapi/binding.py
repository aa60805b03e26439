"""The OpenAPI document of the JSON-over-HTTP binding, generated from the contract bundle alone."""

from __future__ import annotations

from typing import Any

from conformance.contract import Contract, Operation

JSON_SCHEMA_DIALECT = "http://json-schema.org/draft-07/schema#"

# The status table of contracts/TARGET_INTERFACE.md, section 1. The body of a failure is free, so none is described.
_FAILURES = {
    "400": "Invalid input.",
    "401": "Unauthenticated: the token is missing, malformed or unknown.",
    "403": "Forbidden: the token lacks the scope. Also allowed for an id that is unknown or not the caller's.",
    "404": "Not found: the id is unknown or not the caller's; the two look the same.",
    "413": "The body is too large.",
    "415": "The content type is not JSON.",
    "422": "Invalid input.",
    "429": "Too many requests; Retry-After says when to try again.",
}
_FAILURES_OF_WRITES = {
    "409": "Conflict: the expected revision is not the current one, or the mutation id was used with other arguments.",
    "412": "Conflict: the same as 409.",
    "423": "A copy of this call is being applied.",
    "425": "A copy of this call is being applied.",
}


def rest_document(contract: Contract) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of ``contract``: one POST per operation, with the bundle's schemas verbatim."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": contract.title,
            "version": contract.version,
            "description": "Generated from the contract bundle by `python -m conformance.openapi`; do not edit.",
        },
        "jsonSchemaDialect": JSON_SCHEMA_DIALECT,
        "paths": {operation.path: {"post": _post(operation)} for operation in contract.operations},
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


def _post(operation: Operation) -> dict[str, Any]:
    failures = _FAILURES | _FAILURES_OF_WRITES if operation.effect == "write" else _FAILURES
    arguments = operation.example_call["arguments"]
    return {
        "operationId": operation.name,
        "summary": operation.title,
        "description": f"The MCP tool `{operation.tool}`. Needs the scope `{operation.scope}`.",
        "security": [{"bearer": [operation.scope]}],
        "requestBody": {"required": True, "content": _json(operation.input_schema, arguments)},
        "responses": {
            "200": {"description": "The result.", "content": _json(operation.output_schema, operation.example_result)},
            **{status: {"description": failures[status]} for status in sorted(failures)},
        },
    }


def _json(schema: Any, example: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema, "examples": {"published": {"value": example}}}}
