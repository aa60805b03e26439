"""Judges messages by the published schema of a revision, in both directions.

What a tool takes and returns is judged elsewhere, by the contract: here ``arguments`` and ``structuredContent`` count
as an empty object, whatever is in them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import jsonschema_rs

from conformance.errors import SuiteFault
from conformance.judge.decode import DecodeFault, decode
from conformance.transport.mcp.frames import Frame, read_frame
from conformance.transport.mcp.revisions import REVISIONS, STATELESS

Direction: TypeAlias = Literal["client", "server"]
"""Who sent the message."""

_SCHEMAS: Final = Path(__file__).resolve().parent / "schemas"

_RESULTS: Final[Mapping[str, str]] = {
    "initialize": "InitializeResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
}
_ENVELOPES: Final[Mapping[str, frozenset[str]]] = {
    "result": frozenset({"jsonrpc", "id", "result"}),
    "error": frozenset({"jsonrpc", "id", "error"}),
    "request": frozenset({"jsonrpc", "id", "method", "params"}),
    "notification": frozenset({"jsonrpc", "method", "params"}),
}
_ERROR_KEYS: Final = frozenset({"code", "message", "data"})


@dataclass(frozen=True, slots=True)
class FrameFault:
    """What is wrong with a message: a path such as ``result/content/0``, empty for the whole, and a sentence."""

    path: str
    message: str


def judge_frame(revision: str, direction: Direction, raw: bytes, answers: str = "") -> tuple[FrameFault, ...]:
    """Return what is wrong with a message; ``answers`` is the method of the request that it answers, if it does.

    The id of an error may be absent or null: it is, where the request could not be read. A method that the schema
    does not know is judged by the envelope alone, since extensions may add some.
    """
    frame = read_frame(raw)
    if frame is None:
        return (FrameFault("", "not a JSON object"),)
    try:
        value = decode(_without_payload(frame))
    except DecodeFault as fault:
        return (FrameFault("", f"not strict JSON: {fault}"),)
    if frame.kind == "other":
        return (FrameFault("", "neither a request nor a notification nor an answer"),)
    if frame.kind == "error" and value.get("id") is None:
        # Any id will do to judge the rest.
        value["id"] = 0
    return tuple(_faults(revision, direction, frame, value, answers))


def unknown_envelope_keys(raw: bytes) -> tuple[str, ...]:
    """Return the keys of a message's envelope, and of its ``error``, that JSON-RPC does not know, sorted."""
    frame = read_frame(raw)
    if frame is None or frame.kind == "other":
        return ()
    unknown = set(frame.spans) - _ENVELOPES[frame.kind]
    error = frame.value("error")
    if frame.kind == "error" and isinstance(error, dict):
        unknown |= {f"error/{key}" for key in set(error) - _ERROR_KEYS}
    return tuple(sorted(unknown))


def _faults(revision: str, direction: Direction, frame: Frame, value: dict[str, Any], answers: str) -> list[FrameFault]:
    if frame.kind == "request" and direction == "server" and revision == STATELESS:
        return [FrameFault("method", "a server sends no requests in this revision")]
    faults = _check(revision, _envelope(revision, frame.kind), value, "")
    if "error" in value and "result" in value:
        faults.append(FrameFault("", "an answer has either a result or an error, not both"))
    if frame.kind == "result":
        faults += _check(revision, _result(value["result"], answers), value["result"], "result/")
    elif frame.kind in ("request", "notification"):
        definition = _methods(revision, direction, frame.kind).get(value["method"] if _named(value) else "")
        if definition is not None:
            faults += _check(revision, definition, value, "")
    return list(dict.fromkeys(faults))


def _named(value: Mapping[str, Any]) -> bool:
    return isinstance(value["method"], str)


def _result(result: object, answers: str) -> str:
    if answers == "tools/call" and isinstance(result, dict) and result.get("resultType") == "input_required":
        return "InputRequiredResult"
    return _RESULTS.get(answers, "Result")


def _without_payload(frame: Frame) -> bytes:
    payload = frame.text("result", "structuredContent")
    # What is no object there stays: not every revision allows it.
    if payload is not None and payload.startswith(b"{"):
        return frame.replaced("result", "structuredContent", by=b"{}")
    if frame.text("params", "arguments") is not None:
        return frame.replaced("params", "arguments", by=b"{}")
    return frame.raw


def _check(revision: str, definition: str, value: object, prefix: str) -> list[FrameFault]:
    return [
        FrameFault((prefix + "/".join(map(str, error.instance_path))).rstrip("/"), error.message)
        for error in _validator(revision, definition).iter_errors(value)
    ]


def _envelope(revision: str, kind: str) -> str:
    named = {
        "request": "JSONRPCRequest",
        "notification": "JSONRPCNotification",
        "result": "JSONRPCResultResponse",
        "error": "JSONRPCErrorResponse",
    }[kind]
    _, definitions = _schema(revision)
    # The first of the revisions has other names for the two answers.
    return named if named in definitions else {"result": "JSONRPCResponse", "error": "JSONRPCError"}[kind]


@cache
def _validator(revision: str, definition: str) -> jsonschema_rs.Validator:
    schema, _ = _schema(revision)
    keyword = "$defs" if "$defs" in schema else "definitions"
    return jsonschema_rs.validator_for({**schema, "$ref": f"#/{keyword}/{definition}"})


@cache
def _methods(revision: str, direction: Direction, kind: str) -> Mapping[str, str]:
    """Return the definition of each method that the side in question may send."""
    _, definitions = _schema(revision)
    union = {"client": "Client", "server": "Server"}[direction] + {"request": "Request"}.get(kind, "Notification")
    choices = [choice["$ref"].rpartition("/")[2] for choice in definitions.get(union, {}).get("anyOf", [])]
    return {definitions[name]["properties"]["method"]["const"]: name for name in choices}


@cache
def _schema(revision: str) -> tuple[dict[str, Any], dict[str, Any]]:
    if revision not in REVISIONS:
        raise SuiteFault(f"there is no schema of the MCP revision {revision!r}")
    schema = json.loads((_SCHEMAS / f"{revision}.schema.json").read_text(encoding="utf-8"))
    return schema, schema.get("$defs") or schema["definitions"]
