# ruff: noqa: D102  the docstring of each class says what its methods do differently
"""Faults of a server that is not the same over MCP as over plain HTTP."""

from __future__ import annotations

from typing import Any

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Family
from conformance.reference.mcp.binding import McpBinding, Result
from conformance.reference.service import Arguments

family = Family()


@family.part("mcp-keys-of-its-own", "PROTOCOL-EQUIVALENCE", observable="an archive over HTTP and its copy over MCP")
class McpKeysOfItsOwn(McpBinding):
    """Mutation ids that came over MCP are another space than those of plain HTTP: a copy there conflicts."""

    async def perform(self, operation: Operation, caller: Caller, arguments: Arguments) -> dict[str, Any]:
        if "mutation_id" in arguments:
            head, _, tail = arguments["mutation_id"].partition("-")
            arguments = {**arguments, "mutation_id": f"{head[::-1]}-{tail}"}
        return await super().perform(operation, caller, arguments)


@family.part("mcp-refusals-of-one-kind", "PROTOCOL-EQUIVALENCE", "REVISION-CONFLICT-KIND", "REPLAY-CONFLICT-KIND",
             "RACE-LOSERS-CONFLICT", "RACE-COPY-ANSWER", observable="a stale revision over MCP")  # fmt: skip
class McpRefusalsOfOneKind(McpBinding):
    """Over MCP a conflict is reported as invalid input."""

    def refuse(self, operation: Operation, refusal: Any) -> Result:
        refused = super().refuse(operation, refusal)
        if refused["_meta"]["error_kind"] == "conflict":
            refused["_meta"]["error_kind"] = "invalid_input"
        return refused


@family.part("mcp-titles-shortened", "PROTOCOL-EQUIVALENCE", "IDENTITY-SEEDED-CONTENT",
             observable="a title of more than 20 characters over MCP")  # fmt: skip
class McpTitlesShortened(McpBinding):
    """Over MCP a title is cut after 20 characters, to spare the model's context."""

    def answer(self, operation: Operation, result: dict[str, Any]) -> Result:
        conversation = result.get("conversation")
        if conversation and conversation["title"]:
            result = {**result, "conversation": {**conversation, "title": conversation["title"][:20]}}
        return super().answer(operation, result)
