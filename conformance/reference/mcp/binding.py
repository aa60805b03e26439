"""What an MCP client is shown and answered. It makes JSON objects and knows nothing of the SDK that carries them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from starlette.types import ASGIApp, Receive, Scope, Send

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.refusals import Refusal
from conformance.reference.rest import Collaborators
from conformance.reference.service import Arguments

Profile = Literal["core", "full"]
Result = dict[str, Any]


@dataclass(frozen=True)
class View:
    """What a client chose to see. It changes what is listed, never what is permitted."""

    profile: Profile = "full"
    output_schemas: bool = False


# The paths of the HTTP endpoint, so that a target file can name a view by its URL.
VIEWS: Final[Mapping[str, View]] = {
    "/mcp": View(),
    "/mcp/core": View(profile="core"),
    "/mcp/output-schemas": View(output_schemas=True),
}


class UnknownTool(Exception):
    """A call names a tool that the contract does not have."""


class McpBinding:
    """Lists the tools and answers calls of them, the same on every transport and in every revision."""

    # Over HTTP an answer is one JSON text, or, where this is false, an event on a stream. Both are MCP.
    json_answers: ClassVar[bool] = True

    def __init__(self, server: Collaborators) -> None:
        self.server = server
        self._operations = {operation.tool: operation for operation in server.contract.operations}

    def tools(self, view: View) -> list[Result]:
        """Return the tools that this view lists, schemas and annotations as the contract writes them."""
        return [
            self.tool(operation, view)
            for operation in self.server.contract.operations
            if view.profile in operation.profiles
        ]

    def tool(self, operation: Operation, view: View) -> Result:
        """Return one listed tool."""
        tool: Result = {
            "name": operation.tool,
            "description": operation.title,
            "inputSchema": operation.input_schema,
            "annotations": operation.annotations,
        }
        if view.output_schemas:
            tool["outputSchema"] = operation.output_schema
        return tool

    def page(self, view: View, cursor: str | None, authorization: Sequence[str]) -> Result:
        """Return a page of the list: ``tools``, and ``nextCursor`` where there is another one; here all is on one.

        ``authorization`` are the Authorization headers: who asks makes no difference.
        """
        del cursor, authorization
        return {"tools": self.tools(view)}

    async def call(self, name: str, arguments: Any, authorization: Sequence[str]) -> Result:
        """Return the result of a tool call, be it a success or a refusal.

        ``arguments`` is the decoded JSON value as the client sent it; ``authorization`` the Authorization headers.

        Raises:
            UnknownTool: there is no such tool.
        """
        operation = self._operations.get(name)
        if operation is None:
            raise UnknownTool
        try:
            caller = self.server.authenticator.identify(authorization)
            self.server.authenticator.authorise(caller, operation)
            checked = self.server.validator.check(operation, arguments)
            result = await self.perform(operation, caller, checked)
        except Refusal as refusal:
            return self.refuse(operation, refusal)
        return self.answer(operation, result)

    async def perform(self, operation: Operation, caller: Caller, arguments: Arguments) -> dict[str, Any]:
        """Let the service do it. It is a coroutine only so that a seeded race can wait inside."""
        return self.server.service.perform(operation.name, caller, arguments)

    def answer(self, operation: Operation, result: dict[str, Any]) -> Result:
        """Return a success: the output, and the same as JSON text."""
        shaped = self.server.presenter.shape(operation, result)
        text = self.server.presenter.encode(shaped).decode("utf-8", errors="replace")
        return {"content": [{"type": "text", "text": text}], "structuredContent": shaped, "isError": False}

    def refuse(self, operation: Operation, refusal: Refusal) -> Result:
        """Return a failure. Refusals of one kind and message are the same to the byte."""
        del operation
        return {
            "content": [{"type": "text", "text": str(refusal)}],
            "isError": True,
            "_meta": {"error_kind": refusal.kind},
        }

    def finish(self, method: str, view: View, result: Result) -> Result:
        """Return a result as it goes out, after the SDK has brought it into the form of the revision in use.

        The SDK writes the keys of a schema in an order of its own; here the tools are put back as they were.
        """
        if method != "tools/list":
            return result
        as_they_were = {tool["name"]: tool for tool in self.tools(view)}
        return {**result, "tools": [as_they_were[tool["name"]] for tool in result["tools"]]}

    def take_streams(self) -> None:
        """Take the standard streams of a child before they are read or written; there is nothing to do with them."""

    async def respond(self, application: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request that carries a usable token; the application is the SDK's."""
        await application(scope, receive, send)
