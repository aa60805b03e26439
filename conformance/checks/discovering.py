"""Lists tools for the checks of discovery, and judges one listed tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import pytest

from conformance.contract import Operation
from conformance.judge.decode import DecodeFault
from conformance.judge.finding import Finding
from conformance.judge.json_values import json_equal
from conformance.judge.listed_schema import DRAFT_07, DRAFT_2020_12, ListedSchema
from conformance.judge.schema import SchemaJudge
from conformance.judge.schema_form import normal_form
from conformance.judge.schema_meaning import Example, disagreements
from conformance.judge.schema_references import SchemaNotJudged, SchemaUnusable
from conformance.session import Session
from conformance.transport.exchange import Credential, Exchange
from conformance.transport.mcp.binding import FULL
from conformance.transport.mcp.discovery import ListedTool, Listing

_MOST_FINDINGS: Final = 5
_WITHOUT_DEFAULT_DIALECT: Final = ("2025-06-18",)
"""Revisions that do not say how a schema without ``$schema`` is read; the contract's own dialect is taken then."""

_COMPARED: Final = ("inputSchema", "outputSchema", "annotations")


@dataclass
class Listings:
    """The listings of one run, each asked for once."""

    session: Session
    _seen: dict[tuple[str, bool], Listing] = field(default_factory=dict)
    _credential: Credential | None = None

    @property
    def credential(self) -> Credential:
        """The credential of somebody who has the contract's scope."""
        if self._credential is None:
            stage = self.session.stage
            self._credential = stage.principal(
                self.session.random("discovery", self.session.settings.worker)
            ).credential
        return self._credential

    def of(self, profile: str = FULL, *, output_schemas: bool = False) -> Listing:
        """Return the listing of a profile, with output schemas asked for or not."""
        key = profile, output_schemas
        if key not in self._seen:
            mcp = self.session.mcp
            self._seen[key] = mcp.list_tools(self.credential, profile=profile, output_schemas=output_schemas)
        return self._seen[key]

    def with_output_schemas(self) -> Listing:
        """Return the listing that must show output schemas, or leave the case out where nobody says how to get it."""
        if no_switch(self.session) and not any("outputSchema" in (entry(tool) or {}) for tool in self.of().tools):
            pytest.skip(no_switch(self.session))
        return self.of(output_schemas=not no_switch(self.session))


def no_switch(session: Session) -> str:
    """Return why output schemas cannot be asked for, empty where they can."""
    if session.target.transport == "mcp-stdio" or session.mcp.binding.output_schemas_url:
        return ""
    return "the target file does not say where output schemas are listed over HTTP (mcp.output_schemas_url)"


def entry(tool: ListedTool) -> dict[str, Any] | None:
    """Return the entry of a listed tool, or ``None`` where it is no strict JSON object."""
    try:
        value = tool.decoded()
    except DecodeFault:
        return None
    return value if isinstance(value, dict) else None


def shown_in(listing: Listing) -> tuple[Exchange, ...]:
    """Return the exchanges of a listing that are worth showing: those of its last pages."""
    return tuple(page.received.exchange for page in listing.pages[-2:])


def breaks_off(listing: Listing) -> bool:
    """Tell whether a listing has a fault that lies in its paging, and not in its first page."""
    first = listing.pages[0].received.answer
    return bool(listing.problem) and first is not None and first.elements("result", "tools") is not None


def named(listing: Listing, operation: Operation) -> ListedTool | None:
    """Return the listed tool of an operation, the first of its name."""
    return next((tool for tool in listing.tools if tool.name == operation.tool), None)


def needed(listing: Listing, operation: Operation) -> ListedTool:
    """Return the listed tool of an operation, or leave the case out where ``DISCOVERY-TOOLS-FULL`` has to tell."""
    tool = named(listing, operation)
    if tool is None:
        pytest.skip(f"{operation.tool} is not listed: see DISCOVERY-TOOLS-FULL")
    return tool


def needed_entry(
    listing: Listing, operation: Operation, requirement: str
) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """Return the entry of an operation's tool, and a finding where it is no strict JSON object."""
    value = entry(needed(listing, operation))
    if value is not None:
        return value, ()
    summary = "The listed tool is no strict JSON object"
    return {}, (Finding(requirement, operation.name, summary, operation.tool).shown_by(*shown_in(listing)),)


def schema_findings(
    session: Session,
    listing: Listing,
    operation: Operation,
    entry_key: str,
    requirement: str,
    judge: SchemaJudge,
    examples: Callable[[Operation, Mapping[str, Any]], Iterable[Example]],
) -> Iterator[Finding]:
    """Yield findings where the schema that a tool lists does not mean the same as the contract's."""
    value, findings = needed_entry(listing, operation, requirement)
    yield from findings
    if findings:
        return
    exchanges = shown_in(listing)
    if entry_key not in value:
        yield Finding(
            requirement,
            operation.name,
            f"The tool lists no {entry_key}",
            entry_key,
            "a JSON Schema",
            "nothing",
            exchanges,
        )
        return
    default = DRAFT_07 if session.mcp_revision in _WITHOUT_DEFAULT_DIALECT else DRAFT_2020_12
    try:
        listed = ListedSchema(value[entry_key], default)
    except SchemaNotJudged as unknown:
        pytest.skip(
            f"the suite cannot judge the listed {entry_key}: {unknown.reason} (at {unknown.place or 'its top'})"
        )
    except SchemaUnusable as unusable:
        yield Finding(
            requirement,
            operation.name,
            f"The listed {entry_key} cannot be used",
            f"{entry_key}{ascii(unusable.place)[1:-1]}",
            "a JSON Schema that is complete in itself",
            unusable.reason,
            exchanges,
        )
        return
    for each in islice(disagreements(judge, listed, examples(operation, listed.plain)), _MOST_FINDINGS):
        verb = "allows what the contract refuses" if each.allows else "refuses what the contract allows"
        yield Finding(
            requirement,
            operation.name,
            f"The listed {entry_key} {verb}",
            f"{entry_key}{ascii(each.place)[1:-1]}",
            each.contract_says,
            f"{each.listed_says}; example: {ascii(each.example)[1:-1]}"[:300],
            exchanges,
        )


def same_tools(first: Listing, again: Listing, requirement: str, what: str) -> Iterator[Finding]:
    """Yield findings where a second listing does not show the tools of the first; ``what`` describes the second.

    Titles and descriptions may differ, and so may all orders: that of the tools, too.
    """
    exchanges = (*shown_in(first)[-1:], *shown_in(again)[-1:])
    before, now = _by_name(first), _by_name(again)
    for name in sorted(before.keys() ^ now.keys()):
        expected, found = ("listed", "not listed") if name in before else ("not listed", "listed")
        yield Finding(
            requirement, "", f"{what} does not show the same tools", ascii(name)[1:-1][:100], expected, found, exchanges
        )
    for name in sorted(before.keys() & now.keys()):
        for member in _COMPARED:
            if not json_equal(_form(before[name].get(member)), _form(now[name].get(member))):
                yield Finding(
                    requirement,
                    "",
                    f"{what} shows a tool otherwise",
                    f"{member} of {ascii(name)[1:-1][:100]}",
                    ascii(before[name].get(member, "nothing"))[:200],
                    ascii(now[name].get(member, "nothing"))[:200],
                    exchanges,
                )


def _by_name(listing: Listing) -> dict[str, dict[str, Any]]:
    return {tool.name: entry(tool) or {} for tool in listing.tools if tool.name is not None}


def _form(value: Any) -> Any:
    """Return a schema or annotations without regard to the order of lists that are sets."""
    if isinstance(value, dict) and "type" in value:
        return normal_form(value)
    return value
