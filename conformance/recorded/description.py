"""The target and its test control as the log of a run describes them: all that shapes requests, and no secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from conformance.control.interface import Capabilities
from conformance.target import Entry, Manifest, PreparedConversation, PreparedRun, Secret, Target
from conformance.transport.mcp.binding import McpBinding, McpProfile
from conformance.transport.rest import RestBinding
from conformance.transport.wire import WireLimits

NOT_WRITTEN: Final = "(not written)"


@dataclass(frozen=True)
class Description:
    """What the header of a log says of the target; tokens are told apart by the names that stand for them."""

    target: Target
    capabilities: Capabilities
    control_token: str | None
    """The name that stands for the token of test control, where it has one."""
    libraries: Mapping[str, str]


def to_json(
    target: Target,
    tokens: Mapping[str, str],
    control_token: str,
    capabilities: Capabilities,
    libraries: Mapping[str, str],
) -> dict[str, Any]:
    """Return the description.

    ``tokens`` has the name that stands for the token of each role that has one, and ``control_token`` that of test
    control, empty where it has none.

    Values of environments and of headers, in which a secret may be, are left out.
    """
    mcp = asdict(target.mcp)
    for profile in mcp["profiles"].values():
        profile["environment"] = dict.fromkeys(profile["environment"], NOT_WRITTEN)
        profile["headers"] = [[name, NOT_WRITTEN] for name, _ in profile["headers"]]
    statuses = {str(status): sorted(kinds) for status, kinds in target.rest.status_kinds.items()}
    return {
        "transport": target.transport,
        "url": target.url,
        "command": target.command,
        "also": [{"transport": each.transport, "url": each.url, "command": each.command} for each in target.also],
        "control_url": target.control_url,
        "control_token": control_token,
        "tokens": dict(tokens),
        "manifest": None if target.manifest is None else asdict(target.manifest),
        "rest": {**asdict(target.rest), "status_kinds": statuses},
        "mcp": mcp,
        "limits": asdict(target.limits),
        "embedded": target.embedded,
        "capabilities": sorted(capabilities.names),
        "clock_scope": capabilities.clock_scope,
        "libraries": dict(libraries),
    }


def from_json(values: Mapping[str, Any]) -> Description:
    """Read what ``to_json`` returned.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    rest, mcp, manifest = dict(values["rest"]), dict(values["mcp"]), values["manifest"]
    rest["status_kinds"] = {int(status): frozenset(kinds) for status, kinds in rest["status_kinds"].items()}
    mcp["profiles"] = {
        name: McpProfile(each["environment"], each["url"], tuple((key, value) for key, value in each["headers"]))
        for name, each in mcp["profiles"].items()
    }
    target = Target(
        transport=values["transport"],
        url=values["url"],
        command=values["command"],
        also=tuple(Entry(**each) for each in values["also"]),
        control_url=values["control_url"],
        tokens={role: Secret("recorded", name) for role, name in values["tokens"].items()},
        manifest=None if manifest is None else _manifest(manifest),
        rest=RestBinding(**rest),
        mcp=McpBinding(**mcp),
        limits=WireLimits(**values["limits"]),
        embedded=values["embedded"],
    )
    capabilities = Capabilities(frozenset(values["capabilities"]), values["clock_scope"])
    return Description(target, capabilities, values["control_token"] or None, values["libraries"])


def _manifest(values: Mapping[str, Any]) -> Manifest:
    return Manifest(**{
        role: tuple(
            PreparedConversation(
                each["workspace_id"], each["conversation_id"], tuple(PreparedRun(**run) for run in each["runs"])
            )
            for each in prepared
        )
        for role, prepared in values.items()
    })  # fmt: skip
