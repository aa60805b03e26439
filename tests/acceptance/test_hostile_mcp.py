"""Servers that speak MCP and then do whatever hurts: a verdict in bounded time and memory, and nothing leaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_children import HOSTILE_CHILDREN
from hostile_mcp_servers import HOSTILE_MCP, in_answer_to
from hostile_runs import run_on
from mcp_servers import child_command
from raw_server import raw_server, response, sending

CHECKS = "conformance/checks"
CALLED = (
    f"{CHECKS}/test_input.py::test_invalid_input_is_refused[INPUT-UNKNOWN-FIELD-conversations_get-input-unknown-null]",
    f"{CHECKS}/test_protocol_requests.py::test_an_answer_carries_the_id_of_its_request[PROTOCOL-ID-ECHOED-string]",
    f"{CHECKS}/test_protocol.py::test_every_message_obeys_the_schema_of_the_revision[PROTOCOL-FRAME-SCHEMA-so-far]",
)
LISTED = (
    CALLED[0],
    f"{CHECKS}/test_discovery.py::test_a_listing_ends_and_repeats_nothing[DISCOVERY-PAGING-ENDS-full]",
)


@pytest.mark.parametrize("name", HOSTILE_MCP)
def test_a_hostile_server_over_http(name: str, tmp_path: Path) -> None:
    """Findings, or "could not run"; no redirect is followed."""
    method, pieces = HOSTILE_MCP[name]
    with raw_server(sending(response())) as elsewhere:
        with raw_server(in_answer_to(method, pieces, elsewhere.url)) as server:
            run_on(tmp_path, *(CALLED if method == "tools/call" else LISTED), "--target-url", f"{server.url}/mcp")
        assert 0 == elsewhere.connections


@pytest.mark.parametrize("name", HOSTILE_CHILDREN)
def test_a_hostile_child(name: str, tmp_path: Path) -> None:
    """Findings, or "could not run"."""
    command = child_command(tmp_path, HOSTILE_CHILDREN[name])
    run_on(tmp_path, *(LISTED if "cursor" in name else CALLED[::2]), "--target-command", command)
