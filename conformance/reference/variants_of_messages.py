# ruff: noqa: D102  the docstring of each class says what its methods do differently
"""Conforming variants of how results, refusals and messages travel over MCP. To fail one of them is a false alarm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from conformance.contract import Operation
from conformance.reference.faults.mcp import INVALID_PARAMS, rpc_error
from conformance.reference.faults.mcp_messages import decoded, encoded
from conformance.reference.mcp.binding import McpBinding, Result, View
from conformance.reference.mcp.rewriting import RewritingBinding
from conformance.reference.refusals import InvalidInput, Refusal
from conformance.reference.variants import variant

_REFUSED = 1001
"""A code outside of the range that JSON-RPC keeps for itself."""


@variant("event-streams")
class EventStreams(McpBinding):
    """Over HTTP the answer to a request is an event on a stream."""

    json_answers = False


@variant("kinds-untold", "OPEN-MCP-ERROR-KIND")
class KindsUntold(McpBinding):
    """A refusal does not say of what kind it is."""

    def refuse(self, operation: Operation, refusal: Refusal) -> Result:
        refused = super().refuse(operation, refusal)
        return {"content": refused["content"], "isError": True}


@variant("refusals-as-errors")
class RefusalsAsErrors(McpBinding):
    """A refusal is a JSON-RPC error that says its kind, but for invalid arguments, which revisions treat apart."""

    def refuse(self, operation: Operation, refusal: Refusal) -> Result:
        if isinstance(refusal, InvalidInput):
            return super().refuse(operation, refusal)
        raise rpc_error(_REFUSED, str(refusal), {"kind": refusal.kind})


@variant("invalid-arguments-as-errors")
class InvalidArgumentsAsErrors(RewritingBinding):
    """Invalid arguments are a JSON-RPC error in revisions before 2025-11-25, where either way is right."""

    # Until a client says otherwise: over HTTP one process serves all revisions, and each request says which.
    revision = "2025-06-18"

    def hears(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        params = value.get("params") if isinstance(value, dict) else None
        if isinstance(params, dict):
            meta = params.get("_meta") or {}
            self.revision = str(
                params.get("protocolVersion")
                or meta.get("io.modelcontextprotocol/protocolVersion")
                or self.revision
            )  # fmt: skip
        return [message]

    def refuse(self, operation: Operation, refusal: Refusal) -> Result:
        if isinstance(refusal, InvalidInput) and self.revision < "2025-11-25":
            raise rpc_error(INVALID_PARAMS, str(refusal), {"kind": refusal.kind})
        return super().refuse(operation, refusal)


@variant("results-in-sentences")
class ResultsInSentences(McpBinding):
    """The content of a result is a sentence for people, and a link; the result itself is structured."""

    def answer(self, operation: Operation, result: dict[str, Any]) -> Result:
        link = {"type": "resource_link", "uri": "https://research.example/conversations", "name": "conversations"}
        answer = super().answer(operation, result)
        return {**answer, "content": [{"type": "text", "text": "Here is what you asked for."}, link]}


@variant("results-in-blocks")
class ResultsInBlocks(McpBinding):
    """Before the JSON text comes a sentence, after it another JSON text about the first; success is not marked."""

    def answer(self, operation: Operation, result: dict[str, Any]) -> Result:
        answer = super().answer(operation, result)
        text = answer["content"][0]
        shown = {**text, "annotations": {"audience": ["assistant"], "priority": 1}}
        about = {"type": "text", "text": json.dumps({"format": "json", "length": len(text["text"])})}
        content = [{"type": "text", "text": "The result:"}, shown, about]
        return {"content": content, "structuredContent": answer["structuredContent"]}

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        return {name: value for name, value in finished.items() if name != "isError" or value is True}


@variant("results-without-content-blocks")
class ResultsWithoutContentBlocks(McpBinding):
    """The list of content is empty, and success is written out."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        return {"isError": False, **finished, "content": []} if method == "tools/call" else finished


@variant("notifies-before-it-answers")
class NotifiesBeforeItAnswers(RewritingBinding):
    """In revisions with sessions a message for the log comes before each answer to a call."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        if method == "initialize":
            finished["capabilities"] = {**finished["capabilities"], "logging": {}}
        return finished

    def says(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        result = value.get("result") if isinstance(value, dict) else None
        if not isinstance(result, dict) or "content" not in result or "resultType" in result:
            return [message]
        note = {"level": "info", "data": "a tool was called"}
        return [encoded({"jsonrpc": "2.0", "method": "notifications/message", "params": note}), message]
