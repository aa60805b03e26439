"""The main job: the suite against its own reference server, as the README's first command runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from suite_run import Ended, assert_readable, run_pytest

from conformance.contract import load_contract
from conformance.requirements import load_registry

READS = ("conversations_get", "sentiment_status")

NOT_OBSERVED = frozenset(
    {
        # Several faults in one request are never sent.
        "OPEN-CHECK-ORDER",
        # Seeded text keeps to the limits in code points and in UTF-16 units.
        "OPEN-LENGTH-UNIT",
        # Seeded times have milliseconds at most.
        "OPEN-TIME-PRECISION",
        # Only MCP has discovery and error kinds of its own.
        "OPEN-OUTPUT-SCHEMAS-UNASKED",
        "OPEN-MCP-ERROR-KIND",
    }
)
"""Freedoms of which no run over plain HTTP within the rules of the target interface can see what a server chose."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Run the quick profile once; its fixed tables are those of every profile."""
    folder: Path = tmp_path_factory.mktemp("main-job")
    return run_pytest("-q", "--profile=quick", "--seed=11", f"--report-dir={folder}")


def report(ended: Ended) -> Any:
    """Return the report of the run."""
    assert ended.report is not None, ended.last_words
    return ended.report


def test_the_reference_server_conforms(ended: Ended) -> None:
    """Status 0, the verdict, and nothing that looks like an accident."""
    assert 0 == ended.status, ended.last_words
    assert "conforms" == report(ended)["verdict"]
    assert "behaviour" == report(ended)["level"]
    assert_readable(ended)


def test_every_requirement_over_plain_http_passes(ended: Ended) -> None:
    """Nothing is left out for want of something that the reference server has."""
    open_ones = {
        each["id"]: each["outcome"]
        for each in report(ended)["requirements"]
        if each["outcome"] not in ("pass", "not applicable")
    }
    assert {"PROTOCOL-EQUIVALENCE": "not assessed"} == open_ones


def test_every_point_of_the_schemas_that_seeding_reaches_is_exercised(ended: Ended) -> None:
    """Every assertion of the reads' output schemas, at its bounds and inside them."""
    missing = {each["operation"]: each["missing"] for each in report(ended)["coverage"] if each["operation"] in READS}
    assert {operation: [] for operation in READS} == missing


def test_what_is_recorded_of_the_freedoms_is_what_the_registry_offers(ended: Ended) -> None:
    """No freedom and no choice that the registry does not know."""
    freedoms = load_registry(load_contract()).freedoms_by_id
    strange = {
        (name, choice)
        for name, choices in report(ended)["left_open"].items()
        for choice in choices
        if name not in freedoms or choice not in freedoms[name].choices
    }
    assert set() == strange


def test_every_freedom_that_a_run_can_see_is_recorded(ended: Ended) -> None:
    """What the contract leaves open stands in the report with what the server chose, whatever the seed."""
    assert load_registry(load_contract()).freedoms_by_id.keys() - NOT_OBSERVED == report(ended)["left_open"].keys()
