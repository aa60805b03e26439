# ruff: noqa: D102  the docstring of each class says what its methods do differently
"""Conforming variants of what an MCP client is shown. To fail one of them is a false alarm."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Final

from conformance.contract import Operation
from conformance.reference.mcp.binding import McpBinding, Result, View
from conformance.reference.variants import variant

_PUBLISHED_UUID: Final = (
    "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}"
    "|0{8}-0{4}-0{4}-0{4}-0{12}|[fF]{8}-[fF]{4}-[fF]{4}-[fF]{4}-[fF]{12})$"
)
_SCHEMAS: Final = ("inputSchema", "outputSchema")


def _each_schema(schema: Any, change: Callable[[Result], Result]) -> Any:
    """Return a copy of a schema of the contract in which it and each schema in it are changed, inner ones first."""
    inner = dict(schema)
    if "properties" in inner:
        inner["properties"] = {name: _each_schema(child, change) for name, child in inner["properties"].items()}
    if "items" in inner:
        inner["items"] = _each_schema(inner["items"], change)
    if "anyOf" in inner:
        inner["anyOf"] = [_each_schema(branch, change) for branch in inner["anyOf"]]
    return change(inner)


class _Rewritten(McpBinding):
    """Lists schemas that are written otherwise."""

    def rewrite(self, schema: Result) -> Result:
        raise NotImplementedError

    def tool(self, operation: Operation, view: View) -> Result:
        tool = super().tool(operation, view)
        return {**tool, **{name: self.rewrite(copy.deepcopy(tool[name])) for name in _SCHEMAS if name in tool}}


@variant("tools-in-pages-of-one")
class ToolsInPagesOfOne(McpBinding):
    """The list of tools comes in pages of one, the last one empty."""

    def page(self, view: View, cursor: str | None, authorization: Sequence[str]) -> Result:
        tools = super().page(view, cursor, authorization)["tools"]
        place = len(cursor or "")
        page = {"tools": tools[place : place + 1]}
        return page if place >= len(tools) else {**page, "nextCursor": "\u2028" * (place + 1)}


@variant("schemas-in-another-order")
class SchemasInAnotherOrder(_Rewritten):
    """Schemas are listed with members, required names and choices in another order, titles and descriptions added."""

    def rewrite(self, schema: Result) -> Result:
        def turned(each: Result) -> Result:
            for name in ("required", "enum", "anyOf"):
                if name in each:
                    each[name] = each[name][::-1]
            return {
                "description": "as the page has it",
                **dict(reversed(each.items())),
                "title": "a part",
                "x-order": 1,
            }

        return {"$comment": "generated", **_each_schema(schema, turned)}

    def tools(self, view: View) -> list[Result]:
        return [
            {**tool, "title": "A tool", "annotations": {**tool["annotations"], "title": "A tool"}}
            for tool in reversed(super().tools(view))
        ]


@variant("schemas-with-uuid-patterns", "OPEN-UUID-VERSION")
class SchemasWithUuidPatterns(_Rewritten):
    """Ids are listed with a pattern for the UUIDs of RFC 9562, the nil and the max UUID among them."""

    def rewrite(self, schema: Result) -> Result:
        def patterned(each: Result) -> Result:
            return {**each, "pattern": _PUBLISHED_UUID} if each.get("format") == "uuid" else each

        return dict(_each_schema(schema, patterned))


@variant("output-schemas-unasked", "OPEN-OUTPUT-SCHEMAS-UNASKED")
class OutputSchemasUnasked(McpBinding):
    """Output schemas are listed without the switch, too."""

    def tools(self, view: View) -> list[Result]:
        return super().tools(View(view.profile, output_schemas=True))


@variant("schemas-with-references")
class SchemasWithReferences(_Rewritten):
    """Ids, times and answers are defined once in each schema, which has an $id, and are referred to."""

    def rewrite(self, schema: Result) -> Result:
        keyword = "definitions" if "$schema" in schema else "$defs"
        definitions: dict[str, Any] = {}

        def referring(each: Result) -> Result:
            name = each.get("format", "answer" if "method_version" in each.get("properties", {}) else "")
            if not name:
                return each
            definitions[name] = each
            return {"$ref": f"#/{keyword}/{name}"}

        rewritten = _each_schema(schema, referring)
        return {"$id": "https://schemas.example/research/tool.json", **rewritten, keyword: definitions}


@variant("schemas-in-other-words")
class SchemasInOtherWords(_Rewritten):
    """Schemas say the same otherwise: lists of types, choices of one, inclusive bounds, exactly-one-of."""

    def rewrite(self, schema: Result) -> Result:
        def said(each: Result) -> Result:
            if "const" in each:
                each["enum"] = [each.pop("const")]
            if "exclusiveMinimum" in each:
                each["minimum"] = each.pop("exclusiveMinimum") + 1
            if "anyOf" in each and each["anyOf"][0].get("type") == "string" and "enum" not in each["anyOf"][0]:
                return {**each["anyOf"][0], "type": ["string", "null"]}
            if "anyOf" in each:
                each["oneOf"] = each.pop("anyOf")
            return {**each, "allOf": [{"type": each["type"]}]} if "enum" in each else each

        return dict(_each_schema(schema, said))
