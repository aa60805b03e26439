# ruff: noqa: D102  the docstring of each class says what its methods do wrong
"""Faults of what a tool's result or refusal looks like over MCP. Over plain HTTP none of them shows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Family
from conformance.reference.mcp.binding import McpBinding, Result, UnknownTool, View
from conformance.reference.refusals import Conflict, InvalidInput, NotFound, Refusal
from conformance.reference.rest import Collaborators
from conformance.reference.service import Arguments

family = Family()

INVALID_PARAMS = -32602


def rpc_error(code: int, message: str, data: Any = None) -> Exception:
    """Return what makes the SDK answer with a JSON-RPC error."""
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415  it loads the SDK

    return MCPError(code, message, data)


class _Finished(McpBinding):
    """Spoils results of tools after the SDK has done with them, which would not let all of this pass."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        if method == "tools/call":
            self.spoil(finished)
        return finished

    def spoil(self, result: Result) -> None:
        raise NotImplementedError


def _is_archived(result: Result) -> bool:
    conversation = result.get("structuredContent", {}).get("conversation", {})
    return bool(conversation.get("archived"))


def _is_refusal(result: Result) -> bool:
    return result.get("isError") is True


def _kind(result: Result) -> str:
    return str(result.get("_meta", {}).get("error_kind", ""))


@family.part(
    "mcp-status-without-structured-content",
    "PROTOCOL-STRUCTURED-CONTENT",
    observable="a run's status over MCP",
    reports=("https://github.com/routecraftjs/routecraft/issues/408",),
)
class StatusWithoutStructuredContent(_Finished):
    """The status of a run has its result in the text alone."""

    def spoil(self, result: Result) -> None:
        if "run" in result.get("structuredContent", {}):
            del result["structuredContent"]


@family.part(
    "mcp-archived-as-text",
    "PROTOCOL-STRUCTURED-CONTENT",
    observable="an archived conversation over MCP",
)
class ArchivedAsText(_Finished):
    """The structured content of an archived conversation is its JSON text."""

    def spoil(self, result: Result) -> None:
        if _is_archived(result):
            result["structuredContent"] = json.dumps(result["structuredContent"])


class _Texts(McpBinding):
    """Writes another JSON text beside a result."""

    def text(self, result: dict[str, Any]) -> str:
        raise NotImplementedError

    def answer(self, operation: Operation, result: dict[str, Any]) -> Result:
        answer = super().answer(operation, result)
        return {**answer, "content": [{"type": "text", "text": self.text(result)}]}


@family.part("mcp-text-with-text-numbers", "PROTOCOL-CONTENT-MIRROR", observable="the content of any result over MCP")
class TextWithTextNumbers(_Texts):
    """Whole numbers are strings in the JSON text."""

    def text(self, result: dict[str, Any]) -> str:
        return json.dumps(json.loads(json.dumps(result), parse_int=str))


@family.part("mcp-text-without-runs", "PROTOCOL-CONTENT-MIRROR", observable="a conversation with runs over MCP")
class TextWithoutRuns(_Texts):
    """The JSON text of a conversation leaves the runs out."""

    def text(self, result: dict[str, Any]) -> str:
        return json.dumps({name: value for name, value in result.items() if name != "runs"})


@family.part(
    "mcp-archive-without-content", "PROTOCOL-CONTENT", "PROTOCOL-FRAME-SCHEMA", observable="an archive over MCP"
)
class ArchiveWithoutContent(_Finished):
    """What is archived has structured content and no other."""

    def spoil(self, result: Result) -> None:
        if _is_archived(result):
            del result["content"]


@family.part("mcp-refusal-content-object", "PROTOCOL-CONTENT", "PROTOCOL-FRAME-SCHEMA", observable="a refusal over MCP")
class RefusalContentObject(_Finished):
    """The content of a refusal is one block, without a list around it."""

    def spoil(self, result: Result) -> None:
        if _is_refusal(result):
            result["content"] = result["content"][0]


@family.part(
    "mcp-conflict-unmarked",
    "PROTOCOL-ERROR-MARKED",
    "REVISION-STALE-REFUSED",
    observable="a conflict over MCP",
    reports=("https://github.com/homeassistant-ai/ha-mcp/issues/518",),
)
class ConflictUnmarked(_Finished):
    """A conflict is told in words and not marked as an error."""

    def spoil(self, result: Result) -> None:
        if _kind(result) == "conflict":
            result["isError"] = False


@family.part("mcp-unknown-id-unmarked", "PROTOCOL-ERROR-MARKED", "READ-UNKNOWN-ID", observable="an unknown id over MCP")
class UnknownIdUnmarked(McpBinding):
    """What is not found is a success without a result."""

    def refuse(self, operation: Operation, refusal: Refusal) -> Result:
        refused = super().refuse(operation, refusal)
        if not isinstance(refusal, NotFound):
            return refused
        return {"content": refused["content"], "structuredContent": {}}


@family.part("mcp-is-error-text", "PROTOCOL-IS-ERROR-BOOLEAN", "PROTOCOL-FRAME-SCHEMA", observable="a refusal over MCP")
class IsErrorText(_Finished):
    """The mark of an error is the text "true"."""

    def spoil(self, result: Result) -> None:
        if _is_refusal(result):
            result["isError"] = "true"


@family.part(
    "mcp-is-error-zero", "PROTOCOL-IS-ERROR-BOOLEAN", "PROTOCOL-FRAME-SCHEMA", observable="an archive over MCP"
)
class IsErrorZero(_Finished):
    """A success with an archived conversation has 0 where false belongs."""

    def spoil(self, result: Result) -> None:
        if _is_archived(result):
            result["isError"] = 0


@family.part("mcp-archived-marked", "PROTOCOL-SUCCESS-UNMARKED", "ARCHIVE-ACCEPTED", "READ-AVAILABLE",
             observable="an archive over MCP")  # fmt: skip
class ArchivedMarked(_Finished):
    """A result that shows an archived conversation is marked as an error, as if there were nothing to show."""

    def spoil(self, result: Result) -> None:
        if _is_archived(result):
            result["isError"] = True


@family.part("mcp-priority-out-of-range", "PROTOCOL-FRAME-SCHEMA", observable="the content of any result over MCP")
class PriorityOutOfRange(_Finished):
    """Blocks of content say that they matter with the priority 10, where 1 is the most."""

    def spoil(self, result: Result) -> None:
        for block in result["content"]:
            block["annotations"] = {"priority": 10}


@family.part("mcp-refusal-meta-list", "PROTOCOL-FRAME-SCHEMA", observable="a refusal over MCP")
class RefusalMetaList(_Finished):
    """The _meta of a refusal is a list."""

    def spoil(self, result: Result) -> None:
        if _is_refusal(result):
            result["_meta"] = [result["_meta"]]


@family.part(
    "mcp-refusals-forced-through-schema",
    "REVISION-CONFLICT-KIND",
    "REPLAY-CONFLICT-KIND",
    "READ-UNKNOWN-ID",
    "AUTH-SCOPE-MISSING",
    observable="a refusal over MCP",
    reports=("https://github.com/IBM/mcp-context-forge/issues/4135",),
)
class RefusalsForcedThroughSchema(McpBinding):
    """A layer between holds refusals against the output schema, and says instead that what was sent is invalid."""

    def refuse(self, operation: Operation, refusal: Refusal) -> Result:
        refused = super().refuse(operation, refusal)
        told = "output validation error: 'conversation' is a required property"
        return {**refused, "content": [{"type": "text", "text": told}], "_meta": {"error_kind": "invalid_input"}}


@family.part("mcp-unknown-tool-accepted", "PROTOCOL-UNKNOWN-TOOL", observable="a tool that does not exist")
class UnknownToolAccepted(McpBinding):
    """A call of a tool that does not exist is a success that says so."""

    async def call(self, name: str, arguments: Any, authorization: Sequence[str]) -> Result:
        try:
            return await super().call(name, arguments, authorization)
        except UnknownTool:
            return {"content": [{"type": "text", "text": "unknown tool"}], "structuredContent": {}}


@family.part("mcp-tool-by-beginning", "PROTOCOL-UNKNOWN-TOOL", observable="a tool with a longer name")
class ToolByBeginning(McpBinding):
    """A tool is found by the beginning of the name that is called."""

    async def call(self, name: str, arguments: Any, authorization: Sequence[str]) -> Result:
        tools = (operation.tool for operation in self.server.contract.operations)
        return await super().call(next((tool for tool in tools if name.startswith(tool)), name), arguments,
                                  authorization)  # fmt: skip


@family.part("mcp-unknown-tool-in-result", "PROTOCOL-UNKNOWN-TOOL-CODE", observable="a tool that does not exist")
class UnknownToolInResult(McpBinding):
    """A call of a tool that does not exist is refused as an error of a tool."""

    async def call(self, name: str, arguments: Any, authorization: Sequence[str]) -> Result:
        try:
            return await super().call(name, arguments, authorization)
        except UnknownTool:
            return {"content": [{"type": "text", "text": "unknown tool"}], "isError": True}


@family.part("mcp-invalid-arguments-told", "PROTOCOL-INVALID-ARGUMENTS", "PROTOCOL-ERROR-MARKED",
    "PROTOCOL-INVALID-REQUEST",
             observable="invalid arguments over MCP")  # fmt: skip
class InvalidArgumentsTold(McpBinding):
    """Invalid arguments are answered with friendly text, as a success."""

    def refuse(self, operation: Operation, refusal: Refusal) -> Result:
        refused = super().refuse(operation, refusal)
        return {"content": refused["content"]} if isinstance(refusal, InvalidInput) else refused


@family.part("mcp-invalid-arguments-rpc-error", "PROTOCOL-INVALID-ARGUMENTS-CHANNEL",
             observable="invalid arguments over MCP, since 2025-11-25")  # fmt: skip
class InvalidArgumentsRpcError(McpBinding):
    """Invalid arguments are an error of the protocol, as they could be before 2025-11-25."""

    def refuse(self, operation: Operation, refusal: Refusal) -> Result:
        if isinstance(refusal, InvalidInput):
            raise rpc_error(INVALID_PARAMS, str(refusal), {"kind": refusal.kind})
        return super().refuse(operation, refusal)


@family.part("mcp-discover-without-tools", "PROTOCOL-SERVER-DISCOVER", observable="server/discover")
class DiscoverWithoutTools(McpBinding):
    """The server does not tell that it offers tools."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        return {**finished, "capabilities": {}} if method == "server/discover" else finished


@family.part(
    "mcp-discover-without-revisions",
    "PROTOCOL-SERVER-DISCOVER",
    "PROTOCOL-REVISION-NEGOTIATED",
    "PROTOCOL-FRAME-SCHEMA",
    revision="2026-07-28",
    observable="server/discover",
)
class DiscoverWithoutRevisions(McpBinding):
    """The server does not tell which revisions it speaks."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        if method == "server/discover":
            del finished["supportedVersions"]
        return finished


def _questions(document: Any) -> Iterator[str]:
    return (message["question"] for message in document.get("messages", ()) if message["question"])


@family.part("mcp-content-of-before", "PRIVACY-MCP-CONTENT", observable="what is archived or withheld, read before")
class ContentOfBefore(McpBinding):
    """The text of a conversation is made once, and shown again with each later result."""

    def __init__(self, server: Collaborators) -> None:
        super().__init__(server)
        self._texts: dict[str, Any] = {}

    def answer(self, operation: Operation, result: dict[str, Any]) -> Result:
        answer = super().answer(operation, result)
        if "conversation" in result:
            answer["content"] = self._texts.setdefault(result["conversation"]["id"], answer["content"])
        return answer


class _SeesWithheld(McpBinding):
    """Has the questions that are stored at hand when a call conflicts."""

    def tell(self, question: str) -> None:
        raise NotImplementedError

    async def perform(self, operation: Operation, caller: Caller, arguments: Arguments) -> dict[str, Any]:
        try:
            return await super().perform(operation, caller, arguments)
        except Conflict:
            stored = self.server.service.find(caller, arguments)
            self.tell(next(_questions(stored.document), ""))
            raise


@family.part(
    "mcp-conflict-data-quotes",
    "PRIVACY-RPC-ERROR-DATA",
    observable="a conflict where the text is withheld",
    reports=("https://github.com/modelcontextprotocol/ruby-sdk/issues/485",),
)
class ConflictDataQuotes(_SeesWithheld):
    """A conflict is a JSON-RPC error whose data says which conversation it is about, by its first question."""

    def tell(self, question: str) -> None:
        raise rpc_error(409, "conflict", {"kind": "conflict", "about": question})


class _Logs(McpBinding):
    """Writes to the standard error stream of a child."""

    is_child = False

    def take_streams(self) -> None:
        self.is_child = True
        super().take_streams()

    def log(self, line: str) -> None:
        if self.is_child:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


@family.part("mcp-conflict-logged", "PRIVACY-STDERR", observable="a conflict where the text is withheld, over stdio")
class ConflictLogged(_SeesWithheld, _Logs):
    """A conflict is logged to stderr, with the question as it is stored."""

    def tell(self, question: str) -> None:
        self.log(f"conflict: {question}")


@family.part(
    "mcp-token-logged",
    "PRIVACY-STDERR",
    observable="an unknown tool over stdio",
    reports=("https://github.com/baruchiro/paperless-mcp/issues/113",),
)
class TokenLogged(_Logs):
    """A call of a tool that does not exist is logged to stderr, with what the client sent as its authorisation."""

    async def call(self, name: str, arguments: Any, authorization: Sequence[str]) -> Result:
        try:
            return await super().call(name, arguments, authorization)
        except UnknownTool:
            self.log(f"unknown tool {name} ({authorization[0]})")
            raise
