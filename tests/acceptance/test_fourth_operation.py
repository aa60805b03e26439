"""A new operation is a new folder: the suite judges it without a line of Python of its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from note_server import TOKEN, note_server
from suite_run import Ended, assert_readable, run_pytest

from conformance.contract import Contract, load_contract
from conformance.resources import data_folder


@pytest.fixture
def grown_contract(tmp_path: Path) -> Contract:
    """Return a bundle that holds the made-up operation and the published requirements."""
    folder = tmp_path / "contract"
    shutil.copytree(data_folder("fixtures") / "contracts" / "fourth-operation", folder)
    published = data_folder("contracts") / "research"
    shutil.copy(published / "contract.toml", folder)
    for name in ("requirements", "requirement-sets"):
        shutil.copytree(published / name, folder / name)
    return load_contract(folder)


def run_suite(
    contract: Contract, result: dict[str, Any], tmp_path: Path, ignored: frozenset[str] = frozenset()
) -> Ended:
    """Run the quick profile against a note server that answers with ``result``."""
    with note_server(contract, result, ignored) as url:
        options = ("-q", "--profile=quick", "--seed=1", f"--contract-dir={contract.folder}")
        ended = run_pytest(
            *options,
            f"--target-url={url}",
            f"--report-dir={tmp_path / 'report'}",
            SOSOAPI_TOKEN=TOKEN,
        )
    assert_readable(ended)
    return ended


def outcomes(ended: Ended) -> dict[str, str]:
    """Return what became of each requirement."""
    assert ended.report is not None, ended.last_words
    return {each["id"]: each["outcome"] for each in ended.report["requirements"]}


def test_a_server_that_keeps_a_new_operation_passes_every_schema_check(
    grown_contract: Contract, tmp_path: Path
) -> None:
    """Strictness of input at every depth, output, tokens and manners are judged, and hold."""
    operation = grown_contract.operations[0]
    ended = run_suite(grown_contract, dict(operation.example_result), tmp_path)
    assert 0 == ended.status, ended.last_words
    found = outcomes(ended)
    for identifier in (
        "INPUT-UNKNOWN-FIELD", "INPUT-TYPE", "INPUT-REQUIRED-FIELD", "INPUT-INTEGER-RANGE", "INPUT-UUID-FORMAT",
        "INPUT-WELL-FORMED", "INPUT-VALID-ACCEPTED", "OUTPUT-UNKNOWN-FIELD", "OUTPUT-CONST", "AUTH-TOKEN-MISSING",
        "AUTH-TOKEN-UNKNOWN", "HTTP-WRONG-METHOD", "HTTP-OVERSIZED-BODY",
    ):  # fmt: skip
        assert "pass" == found[identifier], identifier


def test_a_server_that_overlooks_an_unknown_field_of_a_new_operation_fails(
    grown_contract: Contract, tmp_path: Path
) -> None:
    """One unknown field at the top level is enough."""
    ended = run_suite(
        grown_contract, dict(grown_contract.operations[0].example_result), tmp_path, frozenset({"zz_unknown"})
    )
    assert 1 == ended.status, ended.last_words
    assert "fail" == outcomes(ended)["INPUT-UNKNOWN-FIELD"]


def test_a_result_that_breaks_the_output_schema_of_a_new_operation_fails(
    grown_contract: Contract, tmp_path: Path
) -> None:
    """An extra member deep in the result is found."""
    result = {**grown_contract.operations[0].example_result, "neighbours": [{"rank": 1, "extra": True}]}
    ended = run_suite(grown_contract, result, tmp_path)
    assert 1 == ended.status, ended.last_words
    assert "fail" == outcomes(ended)["OUTPUT-UNKNOWN-FIELD"]
