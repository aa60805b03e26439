"""A selection of the kill matrix: for each requirement a fault that breaks it is caught for that reason."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable

import pytest

from conformance.contract import load_contract
from conformance.kill_matrix.trials import transports_of
from conformance.reference.catalogue import faults
from conformance.requirements import load_registry
from conformance.target import TransportName

REGISTRY = load_registry(load_contract())


def selection(transport: TransportName, among: Iterable[str]) -> list[str]:
    """Return few faults that together break each requirement which some fault breaks, the most telling ones first."""
    shown = {name: set(faults()[name].breaks) for name in among if transport in transports_of(faults()[name], REGISTRY)}
    left = {each for breaks in shown.values() for each in breaks if transport in REGISTRY.by_id[each].transports}
    chosen: list[str] = []
    while left:
        # A fault that breaks many requirements is caught for the first of them: those of one come first.
        name = min(shown, key=lambda each: (not shown[each] & left, len(shown[each])))
        left -= shown.pop(name)
        chosen.append(name)
    return chosen


@pytest.mark.skipif(not hasattr(os, "fork"), reason="trials are forked")
@pytest.mark.parametrize("transport", ["rest", "mcp-stdio", pytest.param("mcp-http", marks=pytest.mark.thorough)])
def test_each_requirement_has_a_fault_that_is_caught(transport: TransportName) -> None:
    """Over plain HTTP for all requirements, over MCP for those that only MCP has."""
    only_mcp = [
        name
        for name, fault in faults().items()
        if any("rest" not in REGISTRY.by_id[each].transports for each in fault.breaks)
    ]
    names = selection(transport, faults() if transport == "rest" else only_mcp)
    assert len(names) > 20
    command = [sys.executable, "-m", "conformance", "faults", *names, "--transport", transport]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - our own command
    assert 0 == ended.returncode, ended.stdout + ended.stderr
    assert f"faults killed: {len(names)} of {len(names)}" in ended.stdout
