"""The reference server as a target: what a target file would say of it."""

from __future__ import annotations

from dataclasses import replace

from conformance.errors import CouldNotRun
from conformance.target import Target
from conformance.transport.mcp.binding import CORE, McpProfile


def embedded_at(target: Target, url: str, control_url: str, mcp_url: str | None, command: str | None) -> Target:
    """Return an embedded target with the address of its transport, and how to choose a profile and the switch there.

    Raises:
        CouldNotRun: the reference server lacks what it takes to speak MCP.
    """
    target = replace(target, control_url=control_url)
    if target.transport == "rest":
        return replace(target, url=url)
    if mcp_url is None or command is None:
        raise CouldNotRun(
            "the reference server speaks MCP only with the MCP SDK, which is not installed",
            "Run: pip install 'sosoapi-conformance[reference]'.",
        )
    if target.transport == "mcp-stdio":
        core = McpProfile(environment={"SOSOAPI_PROFILE": CORE})
        return replace(target, command=command, mcp=replace(target.mcp, profiles={CORE: core}))
    views = replace(
        target.mcp,
        profiles={CORE: McpProfile(url=f"{mcp_url}/core")},
        output_schemas_url=f"{mcp_url}/output-schemas",
    )
    return replace(target, url=mcp_url, mcp=views)
