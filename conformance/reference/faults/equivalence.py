# ruff: noqa: D102  the docstring of each class says what its methods do differently
"""Faults of a server that is not the same over MCP as over plain HTTP."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Family
from conformance.reference.faults.walking import TIMES, objects, rewrite
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


class _Rewrites(McpBinding):
    """Spoils a copy of each result that goes out over MCP; plain HTTP writes it as it should be."""

    def answer(self, operation: Operation, result: dict[str, Any]) -> Result:
        spoilt = copy.deepcopy(result)
        self.spoil(spoilt)
        return super().answer(operation, spoilt)

    def spoil(self, result: dict[str, Any]) -> None:
        raise NotImplementedError


@family.part("mcp-nulls-left-out", "PROTOCOL-EQUIVALENCE", "OUTPUT-REQUIRED-FIELD", observable="a null over MCP",
             reports=("https://github.com/maximhq/bifrost/issues/6689",))  # fmt: skip
class McpNullsLeftOut(_Rewrites):
    """Over MCP the result goes through a model that leaves out what is null."""

    def spoil(self, result: dict[str, Any]) -> None:
        for holder in objects(result):
            for name in [name for name, value in holder.items() if value is None]:
                del holder[name]


@family.part("mcp-large-numbers-as-text", "PROTOCOL-EQUIVALENCE", "OUTPUT-TYPE",
             observable="a number over 32 bits over MCP")  # fmt: skip
class McpLargeNumbersAsText(_Rewrites):
    """Over MCP whole numbers of more than 32 bits are strings, as in the JSON of protocol buffers."""

    def spoil(self, result: dict[str, Any]) -> None:
        for holder in objects(result):
            for name, value in holder.items():
                if type(value) is int and value >= 2**31:
                    holder[name] = str(value)


@family.part("mcp-times-without-offset", "PROTOCOL-EQUIVALENCE", "OUTPUT-DATE-TIME",
             observable="a time in UTC over MCP",
             reports=("https://github.com/modelcontextprotocol/csharp-sdk/issues/728",))  # fmt: skip
class McpTimesWithoutOffset(_Rewrites):
    """Over MCP times in UTC are written without an offset, as a date of no stated kind is."""

    def spoil(self, result: dict[str, Any]) -> None:
        rewrite(result, TIMES, lambda text: text.removesuffix("Z"))


@family.part("mcp-summary-added", "PROTOCOL-EQUIVALENCE", "OUTPUT-UNKNOWN-FIELD", observable="a run's status over MCP")
class McpSummaryAdded(_Rewrites):
    """Over MCP the status of a run has a sentence for the model beside it."""

    def spoil(self, result: dict[str, Any]) -> None:
        if "run" in result:
            result["summary"] = f"The run is {result['run']['status']}."


class _ArgumentsByModel(McpBinding):
    """Passes the arguments of a call through a model of the framework, which changes them."""

    async def call(self, name: str, arguments: Any, authorization: Sequence[str]) -> Result:
        operation = self._operations.get(name)
        if operation is not None and isinstance(arguments, dict):
            arguments = self.modelled(operation, arguments)
        return await super().call(name, arguments, authorization)

    def modelled(self, operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@family.part("mcp-unknown-arguments-dropped", "PROTOCOL-EQUIVALENCE", "INPUT-UNKNOWN-FIELD",
             "PROTOCOL-INVALID-ARGUMENTS", observable="an unknown argument over MCP")  # fmt: skip
class McpUnknownArgumentsDropped(_ArgumentsByModel):
    """Over MCP the framework drops arguments that the tool does not have."""

    def modelled(self, operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        known = operation.input_schema["properties"]
        return {name: value for name, value in arguments.items() if name in known}


@family.part("mcp-digits-read-as-number", "PROTOCOL-EQUIVALENCE", "INPUT-TYPE", "PROTOCOL-INVALID-ARGUMENTS",
             observable="the revision as text over MCP")  # fmt: skip
class McpDigitsReadAsNumber(_ArgumentsByModel):
    """Over MCP the framework reads "7" as 7."""

    def modelled(self, operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        del operation
        revision = arguments.get("expected_revision")
        if isinstance(revision, str) and revision.isascii() and revision.isdecimal():
            return {**arguments, "expected_revision": int(revision)}
        return arguments
