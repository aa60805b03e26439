# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in what an MCP client is shown. They show on every MCP transport, and in no answer over plain HTTP."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from conformance.contract import Operation
from conformance.reference.faults.family import Family, Fault, summary_of
from conformance.reference.mcp.binding import McpBinding, Result, View
from conformance.reference.refusals import Refusal
from conformance.reference.rest import Collaborators

family = Family()

ChangeTool = Callable[[Result], None]

GET: Final = "conversations_get"
STATUS: Final = "sentiment_status"
ARCHIVE: Final = "conversations_archive"


def _listed(
    name: str,
    *breaks: str,
    operation: str = "",
    part: str = "",
    observable: str = "",
    reports: tuple[str, ...] = (),
) -> Callable[[ChangeTool], ChangeTool]:
    """Declare the decorated function as a fault: it changes a copy of a listed tool, or of that ``part`` of it.

    With ``operation`` it changes the tool of that one alone; a tool without the part stays as it is.
    """
    only = operation

    def declare(change: ChangeTool) -> ChangeTool:
        class Changed(McpBinding):
            def tool(self, operation: Operation, view: View) -> Result:
                tool = copy.deepcopy(super().tool(operation, view))
                if only in ("", operation.name) and (not part or part in tool):
                    change(tool[part] if part else tool)
                return tool

        family.faults.append(Fault(name, summary_of(change), (Changed,), breaks, observable, reports=reports))
        return change

    return declare


def _input(name: str, operation: str = "") -> Callable[[ChangeTool], ChangeTool]:
    return _listed(
        name, "DISCOVERY-INPUT-SCHEMA", operation=operation, part="inputSchema", observable="the listed input schema"
    )


def _output(
    name: str, operation: str = "", *, breaks: str = "DISCOVERY-OUTPUT-SCHEMA", reports: tuple[str, ...] = ()
) -> Callable[[ChangeTool], ChangeTool]:
    return _listed(
        name,
        breaks,
        operation=operation,
        part="outputSchema",
        observable="the output schema, listed with the switch",
        reports=reports,
    )


def _hints(
    name: str, operation: str = "", *also: str, reports: tuple[str, ...] = ()
) -> Callable[[ChangeTool], ChangeTool]:
    return _listed(
        name,
        "DISCOVERY-ANNOTATIONS",
        *also,
        operation=operation,
        part="annotations",
        observable="the listed annotations",
        reports=reports,
    )


def _is_archive(tool: Result) -> bool:
    return str(tool["name"]).endswith("_archive")


# Which tools


@family.part("discovery-tool-not-listed", "DISCOVERY-TOOLS-FULL", observable="a listing in full")
class ToolNotListed(McpBinding):
    """Archive can be called and is not listed: it was left out of the registry."""

    def tools(self, view: View) -> list[Result]:
        return [tool for tool in super().tools(view) if not _is_archive(tool)]


@_listed("discovery-name-with-dashes", "DISCOVERY-TOOLS-FULL", operation=STATUS, observable="a listing in full")
def _name_with_dashes(tool: Result) -> None:
    """A name is listed with dashes, and answers under its right name only."""
    tool["name"] = tool["name"].replace("_", "-")


@_listed("discovery-name-in-camel-case", "DISCOVERY-TOOLS-FULL", operation=GET, observable="a listing in full")
def _name_in_camel_case(tool: Result) -> None:
    """A name is listed in camel case, and answers under its right name only."""
    first, *others = tool["name"].split("_")
    tool["name"] = first + "".join(word.capitalize() for word in others)


@family.part("discovery-profile-ignored", "DISCOVERY-TOOLS-CORE", observable="a listing in core")
class ProfileIgnored(McpBinding):
    """The profile is ignored: core lists what full does."""

    def tools(self, view: View) -> list[Result]:
        return super().tools(View("full", output_schemas=view.output_schemas))


@family.part("discovery-core-shows-reads", "DISCOVERY-TOOLS-CORE", observable="a listing in core")
class CoreShowsReads(McpBinding):
    """What only reads is taken to be harmless and listed in core, too."""

    def tools(self, view: View) -> list[Result]:
        reads = (operation for operation in self.server.contract.operations if operation.effect == "read")
        return super().tools(view) or [self.tool(operation, view) for operation in reads]


@family.part(
    "discovery-core-skips-scope", "DISCOVERY-PROFILE-PERMISSIONS", observable="a token without the scope in core"
)
class CoreSkipsScope(McpBinding):
    """In core, where no such tool is listed, nobody asks for the scope."""

    forbidden: tuple[Operation, Any, Sequence[str]] | None = None

    async def call(self, name: str, arguments: Any, authorization: Sequence[str]) -> Result:
        result = await super().call(name, arguments, authorization)
        is_forbidden = result.get("_meta", {}).get("error_kind") == "forbidden"
        self.forbidden = (self._operations[name], arguments, authorization) if is_forbidden else None
        return result

    def finish(self, method: str, view: View, result: Result) -> Result:
        forbidden, self.forbidden = self.forbidden, None
        if method != "tools/call" or view.profile != "core" or forbidden is None:
            return super().finish(method, view, result)
        operation, arguments, authorization = forbidden
        try:
            caller = self.server.authenticator.identify(authorization)
            checked = self.server.validator.check(operation, arguments)
            shown = self.server.service.perform(operation.name, caller, checked)
        except Refusal:
            return super().finish(method, view, result)
        return {**result, "_meta": {}, **self.answer(operation, shown)}


# Pages


class _Paged(McpBinding):
    """Lists one tool on each page."""

    def page(self, view: View, cursor: str | None, authorization: Sequence[str]) -> Result:
        tools = super().page(view, cursor, authorization)["tools"]
        number = int(cursor or 0)
        page: Result = {"tools": tools[number : number + 1]}
        return page if self.is_last(number, len(tools)) else {**page, "nextCursor": self.following(number, len(tools))}

    def is_last(self, number: int, count: int) -> bool:
        return number >= count - 1

    def following(self, number: int, count: int) -> str:
        del count
        return str(number + 1)


@family.part("discovery-cursor-for-ever", "DISCOVERY-PAGING-ENDS", observable="every page of a listing")
class CursorForEver(_Paged):
    """After the last tool empty pages follow, each with another cursor."""

    def is_last(self, number: int, count: int) -> bool:
        del number, count
        return False


@family.part("discovery-cursor-in-a-circle", "DISCOVERY-PAGING-ENDS", observable="every page of a listing")
class CursorInACircle(_Paged):
    """The last page leads back to the first one."""

    def is_last(self, number: int, count: int) -> bool:
        del number
        return count == 0

    def following(self, number: int, count: int) -> str:
        return str((number + 1) % count)


@family.part("discovery-cursor-is-a-number", "DISCOVERY-PAGING-ENDS", observable="the first page of a listing")
class CursorIsANumber(McpBinding):
    """All tools are on one page, which names the place of the next one as a number."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        return {**finished, "nextCursor": len(finished["tools"])} if method == "tools/list" else finished


@family.part(
    "discovery-cursor-the-same",
    "DISCOVERY-PAGING-ENDS",
    observable="every page of a listing",
    reports=("https://github.com/DeusData/codebase-memory-mcp/issues/1247",),
)
class CursorTheSame(McpBinding):
    """All tools are on one page, which names a next one; that is the same again, with the same cursor."""

    def page(self, view: View, cursor: str | None, authorization: Sequence[str]) -> Result:
        return {**super().page(view, cursor, authorization), "nextCursor": "bmV4dA=="}


@family.part("discovery-pages-overlap", "DISCOVERY-PAGING-ENDS", observable="every page of a listing")
class PagesOverlap(_Paged):
    """Each page begins with the tool that ended the one before."""

    def page(self, view: View, cursor: str | None, authorization: Sequence[str]) -> Result:
        number = int(cursor or 0)
        page = super().page(view, cursor, authorization)
        return {**page, "tools": self.tools(view)[max(0, number - 1) : number + 1]}


# The same again


class _Cached(McpBinding):
    """Has a cache for whoever has listed the same tools twice."""

    from_cache = False

    def __init__(self, server: Collaborators) -> None:
        super().__init__(server)
        self._asked: Counter[tuple[View, str]] = Counter()

    def page(self, view: View, cursor: str | None, authorization: Sequence[str]) -> Result:
        who = view, "".join(authorization)
        self._asked[who] += 1
        self.from_cache = self._asked[who] > 2
        return super().page(view, cursor, authorization)


@family.part("discovery-listed-once", "DISCOVERY-STABLE", observable="the third of the same listings")
class ListedOnce(_Cached):
    """From the third time on the list comes from a cache that has no write in it."""

    def page(self, view: View, cursor: str | None, authorization: Sequence[str]) -> Result:
        page = super().page(view, cursor, authorization)
        return {"tools": [tool for tool in page["tools"] if not self.from_cache or not _is_archive(tool)]}


@family.part("discovery-hints-forgotten", "DISCOVERY-STABLE", observable="the third of the same listings")
class HintsForgotten(_Cached):
    """From the third time on the list comes from a cache that keeps names and schemas alone."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        if method != "tools/list" or not self.from_cache:
            return finished
        kept = [{key: value for key, value in tool.items() if key != "annotations"} for tool in finished["tools"]]
        return {**finished, "tools": kept}


@family.part("discovery-listed-by-membership", "DISCOVERY-STABLE", observable="a listing of another user")
class ListedByMembership(McpBinding):
    """Archive is listed only to members of several workspaces, who are taken for administrators."""

    def page(self, view: View, cursor: str | None, authorization: Sequence[str]) -> Result:
        page = super().page(view, cursor, authorization)
        if len(self.server.authenticator.identify(authorization).workspaces) > 1:
            return page
        return {"tools": [tool for tool in page["tools"] if not _is_archive(tool)]}


# Input schemas


@_input("discovery-input-additional-properties-lost", STATUS)
def _input_additional_properties_lost(schema: Result) -> None:
    """The listed input schema is open: additionalProperties got lost."""
    del schema["additionalProperties"]


@_input("discovery-input-format-lost", STATUS)
def _input_format_lost(schema: Result) -> None:
    """An id of the listed input schema is any text: its format got lost."""
    del schema["properties"]["run_id"]["format"]


@_input("discovery-input-maximum-lost", ARCHIVE)
def _input_maximum_lost(schema: Result) -> None:
    """The revision has no upper bound in the listed input schema."""
    del schema["properties"]["expected_revision"]["maximum"]


@_input("discovery-input-minimum-shifted", ARCHIVE)
def _input_minimum_shifted(schema: Result) -> None:
    """The exclusive lower bound of the revision is listed as an inclusive one, so that 0 is allowed."""
    revision = schema["properties"]["expected_revision"]
    revision["minimum"] = revision.pop("exclusiveMinimum")


@_input("discovery-input-integer-widened", ARCHIVE)
def _input_integer_widened(schema: Result) -> None:
    """The revision is listed as any number."""
    schema["properties"]["expected_revision"]["type"] = "number"


@_input("discovery-input-maximum-of-32-bits", ARCHIVE)
def _input_maximum_of_32_bits(schema: Result) -> None:
    """The revision is listed with the greatest number of 32 bits."""
    schema["properties"]["expected_revision"]["maximum"] = 2**31 - 1


@_input("discovery-input-required-lost", ARCHIVE)
def _input_required_lost(schema: Result) -> None:
    """The mutation id is listed as optional."""
    schema["required"].remove("mutation_id")


@_input("discovery-input-nullable", GET)
def _input_nullable(schema: Result) -> None:
    """A workspace is listed as text or null."""
    schema["properties"]["workspace_id"]["type"] = ["string", "null"]


@_input("discovery-input-field-added", GET)
def _input_field_added(schema: Result) -> None:
    """An optional field is listed that the contract does not have."""
    schema["properties"]["locale"] = {"type": "string"}


@_input("discovery-input-version-4-only", GET)
def _input_version_4_only(schema: Result) -> None:
    """The ids of the listed input schema have a pattern for version 4 alone."""
    pattern = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
    schema["properties"]["conversation_id"]["pattern"] = pattern


@_input("discovery-input-remote-reference", STATUS)
def _input_remote_reference(schema: Result) -> None:
    """The listed input schema refers to a schema of the vendor that a client would have to fetch."""
    schema["properties"]["run_id"] = {"$ref": "https://schemas.example/research/ids.json#/definitions/run_id"}


@_input("discovery-input-dangling-reference", GET)
def _input_dangling_reference(schema: Result) -> None:
    """The listed input schema refers to definitions that were cut off."""
    schema["properties"]["conversation_id"] = {"$ref": "#/definitions/Uuid"}


@_input("discovery-input-malformed-reference", ARCHIVE)
def _input_malformed_reference(schema: Result) -> None:
    """The listed input schema refers to a host whose address was put together wrong, so that it is no URI."""
    schema["properties"]["mutation_id"] = {"$ref": "https://[schemas.example/ids.json"}


@_input("discovery-input-draft-04-bound", ARCHIVE)
def _input_draft_04_bound(schema: Result) -> None:
    """The lower bound is written as draft-04 has it, which no later draft can read."""
    schema["properties"]["expected_revision"].update(minimum=0, exclusiveMinimum=True)


@_input("discovery-input-empty")
def _input_empty(schema: Result) -> None:
    """Every tool is listed with an object of which nothing is said."""
    schema.clear()
    schema["type"] = "object"


# Output schemas


@family.part("discovery-switch-ignored", "DISCOVERY-OUTPUT-SCHEMA", observable="a listing with the switch")
class SwitchIgnored(McpBinding):
    """The switch is ignored: no output schemas are listed."""

    def tools(self, view: View) -> list[Result]:
        return super().tools(View(view.profile))


@_listed("discovery-output-of-archive-missing", "DISCOVERY-OUTPUT-SCHEMA", operation=ARCHIVE, observable="the switch")
def _output_of_archive_missing(tool: Result) -> None:
    """The switch is only for reads: archive lists no output schema."""
    tool.pop("outputSchema", None)


@_output("discovery-output-of-another-tool", STATUS)
def _output_of_another_tool(schema: Result) -> None:
    """The status lists an output schema that has its run wrapped in a list."""
    schema["properties"]["run"] = {"type": "array", "items": schema["properties"]["run"]}


@_output("discovery-output-additional-properties-lost", GET)
def _output_additional_properties_lost(schema: Result) -> None:
    """One nested object of the listed output schema is open."""
    del schema["properties"]["conversation"]["properties"]["context"]["additionalProperties"]


@_output("discovery-output-null-lost", GET)
def _output_null_lost(schema: Result) -> None:
    """The title is listed as nullable in the way of OpenAPI, which JSON Schema does not know."""
    title = schema["properties"]["conversation"]["properties"]["title"]
    title.update({**title.pop("anyOf")[0], "nullable": True})


@_output("discovery-output-pattern-lost", STATUS)
def _output_pattern_lost(schema: Result) -> None:
    """A time of the listed output schema has its format and no pattern."""
    del schema["properties"]["run"]["properties"]["created_at"]["pattern"]


@_output(
    "discovery-output-pattern-of-digits",
    GET,
    reports=("https://github.com/validatorjs/validator.js/pull/2841",),
)
def _output_pattern_of_digits(schema: Result) -> None:
    """The pattern of a time in the listed output schema is one of digits, which any 30 February fits."""
    created_at = schema["properties"]["conversation"]["properties"]["created_at"]
    created_at["pattern"] = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$"
    del created_at["format"]


@_output("discovery-output-format-lost", ARCHIVE)
def _output_format_lost(schema: Result) -> None:
    """The ids of messages are any text in the listed output schema."""
    del schema["properties"]["messages"]["items"]["properties"]["run_id"]["format"]


@_output("discovery-output-maximum-lost", STATUS)
def _output_maximum_lost(schema: Result) -> None:
    """The generation of a run has no upper bound in the listed output schema."""
    del schema["properties"]["run"]["properties"]["generation"]["maximum"]


@_output("discovery-output-integer-widened", GET)
def _output_integer_widened(schema: Result) -> None:
    """The revision of evidence is listed as any number."""
    evidence = schema["properties"]["conversation"]["properties"]["context"]["properties"]["evidence"]
    evidence["items"]["properties"]["revision"]["type"] = "number"


@_output("discovery-output-enum-longer", ARCHIVE)
def _output_enum_longer(schema: Result) -> None:
    """A status of runs is listed that the contract does not have."""
    schema["properties"]["runs"]["items"]["properties"]["status"]["enum"].append("archived")


@_output("discovery-output-enum-shorter", GET)
def _output_enum_shorter(schema: Result) -> None:
    """One availability is missing in the listed output schema."""
    schema["properties"]["conversation"]["properties"]["availability"]["enum"].remove("source_unavailable")


@_output("discovery-output-items-limit-lowered", GET)
def _output_items_limit_lowered(schema: Result) -> None:
    """The list of messages is listed with half its limit."""
    schema["properties"]["messages"]["maxItems"] = 20


@_output("discovery-output-length-lost", STATUS)
def _output_length_lost(schema: Result) -> None:
    """The question has no limit in the listed output schema."""
    message = schema["properties"]["message"]["anyOf"][0]
    del message["properties"]["question"]["anyOf"][0]["maxLength"]


@_output("discovery-output-const-lost", GET)
def _output_const_lost(schema: Result) -> None:
    """The hours of retention are any number in the listed output schema."""
    del schema["properties"]["availability"]["properties"]["retention_hours"]["const"]


@_output("discovery-output-required-lost", GET)
def _output_required_lost(schema: Result) -> None:
    """The failure code of a run is listed as optional, because it is mostly null."""
    schema["properties"]["runs"]["items"]["required"].remove("failure_code")


@_output("discovery-output-field-added", STATUS)
def _output_field_added(schema: Result) -> None:
    """The listed output schema has a field that the contract does not have."""
    schema["properties"]["run"]["properties"]["progress"] = {"type": "number"}


@_output("discovery-output-dialect-dropped", breaks="DISCOVERY-OUTPUT-DIALECT")
def _output_dialect_dropped(schema: Result) -> None:
    """The listed output schemas have lost their $schema."""
    del schema["$schema"]


@_output("discovery-output-dialect-replaced", ARCHIVE, breaks="DISCOVERY-OUTPUT-DIALECT")
def _output_dialect_replaced(schema: Result) -> None:
    """The listed output schema calls itself 2020-12."""
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"


# Results


@family.part(
    "discovery-structured-only-with-switch",
    "DISCOVERY-RESULTS-EITHER-WAY",
    "PROTOCOL-STRUCTURED-CONTENT",
    observable="a call without the switch",
)
class StructuredOnlyWithSwitch(McpBinding):
    """Without the switch a result is text alone."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        if method == "tools/call" and not view.output_schemas:
            finished = {key: value for key, value in finished.items() if key != "structuredContent"}
        return finished


@family.part(
    "discovery-structured-only-without-switch", "DISCOVERY-RESULTS-EITHER-WAY", observable="a call with the switch"
)
class StructuredOnlyWithoutSwitch(McpBinding):
    """With the switch, where the schema tells what is in it, a result is text alone."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        if method == "tools/call" and view.output_schemas:
            finished = {key: value for key, value in finished.items() if key != "structuredContent"}
        return finished


@family.part("discovery-wrapped-with-switch", "DISCOVERY-RESULTS-EITHER-WAY", observable="a call with the switch")
class WrappedWithSwitch(McpBinding):
    """With the switch a framework wraps the result in an object of one member."""

    def finish(self, method: str, view: View, result: Result) -> Result:
        finished = super().finish(method, view, result)
        if method == "tools/call" and view.output_schemas and "structuredContent" in finished:
            finished = {**finished, "structuredContent": {"result": finished["structuredContent"]}}
        return finished


# Annotations


@_hints(
    "discovery-false-hints-dropped",
    reports=("https://github.com/envoyproxy/ai-gateway/issues/2521",),
)
def _false_hints_dropped(annotations: Result) -> None:
    """Hints that are false are not listed, as if false were what is assumed without them."""
    for name in [name for name, value in annotations.items() if value is False]:
        del annotations[name]


@_listed("discovery-annotations-missing", "DISCOVERY-ANNOTATIONS", operation=GET, observable="the listed annotations")
def _annotations_missing(tool: Result) -> None:
    """A tool lists no annotations at all."""
    del tool["annotations"]


@_hints("discovery-destructive-hint-false", ARCHIVE)
def _destructive_hint_false(annotations: Result) -> None:
    """Archive is listed as not destructive."""
    annotations["destructiveHint"] = False


@_hints("discovery-open-world-hint-false", STATUS)
def _open_world_hint_false(annotations: Result) -> None:
    """The status is listed as closed to the world."""
    annotations["openWorldHint"] = False


@_hints("discovery-hints-as-text", GET)
def _hints_as_text(annotations: Result) -> None:
    """The hints of a tool are listed as text."""
    annotations.update({name: str(value).lower() for name, value in annotations.items()})


@_hints("discovery-archive-listed-read-only", ARCHIVE, "DISCOVERY-ANNOTATIONS-TRUE")
def _archive_listed_read_only(annotations: Result) -> None:
    """Archive is listed as if it were a read, from which it was copied."""
    annotations.update(readOnlyHint=True, destructiveHint=False)
