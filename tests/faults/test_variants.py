"""No false alarm: every conforming variant of the reference server passes the whole suite.

A run of the suite takes seconds, so variants that change different parts of the server share one. What is legal apart
is legal together. ``python -m conformance serve --variant NAME`` serves one of them alone. Variants of what only MCP
has all change the same part, so each has a run of its own, of the checks that see it.
"""

from __future__ import annotations

import pytest
from suite_run import assert_readable, run_pytest

from conformance.contract import load_contract
from conformance.kill_matrix.trials import TOGETHER, transports_of
from conformance.reference.catalogue import variants
from conformance.reference.parts import Parts
from conformance.reference.server import Settings, running
from conformance.requirements import load_registry

REGISTRY = load_registry(load_contract())
OVER_MCP = tuple(name for name, each in variants().items() if "rest" not in transports_of(each, REGISTRY))
SEEN_BY = tuple(
    f"conformance/checks/test_{name}.py"
    for name in (
        "discovery", "protocol", "protocol_requests", "protocol_wrong_messages", "protocol_revisions",
        "protocol_replay", "protocol_privacy", "reads", "archive", "replay", "authentication",
    )
)  # fmt: skip
"""The checks that see what a variant of the MCP binding changes; what is called, and how often, is the same in all."""


def test_every_variant_is_run() -> None:
    """Each variant stands in exactly one of the groups, or is one of MCP's own."""
    assert sorted(variants()) == sorted([*OVER_MCP, *(name for names in TOGETHER for name in names)])


@pytest.mark.thorough
@pytest.mark.parametrize("name", OVER_MCP)
def test_conforming_variants_of_mcp_conform(name: str) -> None:
    """So it is over MCP."""
    parts = variants()[name].applied_to(Parts())
    with running(Settings(parts=parts)) as server:
        options = ("-q", "--profile=quick", "--seed=3", f"--target-url={server.mcp}", f"--control-url={server.control}")
        ended = run_pytest(*options, *SEEN_BY)
    assert_readable(ended)
    assert "nonconforming" not in ended.output, ended.last_words
    assert 0 == ended.status, ended.last_words


_THOROUGH = [pytest.param(names, marks=pytest.mark.thorough) for names in TOGETHER[3:]]


@pytest.mark.parametrize("names", [*TOGETHER[:3], *_THOROUGH], ids="+".join)
def test_conforming_variants_conform(names: tuple[str, ...]) -> None:
    """What the contract leaves open is never a failure, however a server decides it."""
    parts = Parts()
    for name in names:
        parts = variants()[name].applied_to(parts)
    with running(Settings(parts=parts)) as server:
        ended = run_pytest(
            "-q", "--profile=quick", "--seed=3", f"--target-url={server.target}", f"--control-url={server.control}"
        )
    assert_readable(ended)
    assert "verdict: conforms" in ended.output, ended.last_words
    assert 0 == ended.status
