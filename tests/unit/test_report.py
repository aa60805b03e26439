"""``report.json`` keeps its published schema, and the schema says exactly what the code can write."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import jsonschema
import jsonschema_rs
import pytest

from conformance.contract import load_contract
from conformance.control.interface import CAPABILITIES
from conformance.embedded import start_reference_server
from conformance.errors import ExitStatus
from conformance.report.json_report import REPORT_VERSION
from conformance.requirements import BASES, LEVELS, load_registry
from conformance.resources import data_folder
from conformance.session import PROFILES
from conformance.target import TRANSPORTS, Tier
from conformance.verdict import ClaimLevel, Outcome, Overall

REPORTS = data_folder("reports")
SCHEMA: dict[str, Any] = json.loads((REPORTS / "report.schema.json").read_text(encoding="utf-8"))
GOLDEN: dict[str, Any] = json.loads((REPORTS / "golden" / "report.json").read_text(encoding="utf-8"))
CHECKOUT = Path(__file__).parents[2]


def violations(document: Any) -> list[str]:
    """Return what is wrong with a report."""
    validator = jsonschema_rs.Draft202012Validator(SCHEMA, validate_formats=True)
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(document)]


def run_suite(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the suite as a command of its own; return its exit status and its report."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--seed", "7", "--profile", "quick"]
    ended = subprocess.run(  # noqa: S603  our own command
        [*command, f"--report-dir={folder}", *arguments, "conformance/checks"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_schema_is_a_schema() -> None:
    """The published schema keeps its own meta-schema."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_golden_report_keeps_the_schema() -> None:
    """The published example is a report of a run that conforms."""
    assert [] == violations(GOLDEN)
    assert GOLDEN["verdict"] == "conforms"


def test_report_of_a_real_run_keeps_the_schema(tmp_path: Path) -> None:
    """A quick run against the reference server conforms, and names every requirement of its set."""
    status, report = run_suite(tmp_path)
    assert [] == violations(report)
    assert (ExitStatus.CONFORMS, "conforms", 7) == (status, report["verdict"], report["seed"])
    registry = load_registry(load_contract())
    frozen = registry.requirement_set(report["requirement_set"]).requirements
    assert frozen == {entry["id"] for entry in report["requirements"]}


def test_report_with_findings_keeps_the_schema(tmp_path: Path) -> None:
    """A server with a fault gets a report with evidence that the schema describes."""
    server = start_reference_server("--fault", "input-unknown-field-ignored")
    try:
        target = ("--target-url", server.url, "--control-url", server.control_url)
        status, report = run_suite(tmp_path, *target, "-k", "INPUT-UNKNOWN-FIELD")
    finally:
        server.stop()
    assert [] == violations(report)
    assert (ExitStatus.DOES_NOT_CONFORM, "does not conform") == (status, report["verdict"])
    assert {"INPUT-UNKNOWN-FIELD"} == {
        finding["requirement"] for finding in report["findings"] if finding["requirement"] != "INPUT-REFUSED-UNCHANGED"
    }
    assert all(finding["exchanges"] for finding in report["findings"])


def test_report_of_an_empty_run_keeps_the_schema(tmp_path: Path) -> None:
    """A run in which nothing is selected says so, and is a report too."""
    status, report = run_suite(tmp_path, "-k", "no_such_check")
    assert [] == violations(report)
    assert (ExitStatus.NOTHING_EXECUTED, "not run") == (status, report["verdict"])


def _without_seed(report: dict[str, Any]) -> None:
    del report["seed"]


def _with_more(report: dict[str, Any]) -> None:
    report["target"]["colour"] = "blue"


def _with_other_verdict(report: dict[str, Any]) -> None:
    report["verdict"] = "passed"


def _with_other_version(report: dict[str, Any]) -> None:
    report["report_version"] = 3


def _with_impossible_day(report: dict[str, Any]) -> None:
    report["waivers"] = [
        {"requirement": "READ-UNCHANGED", "reason": "r", "owner": "o", "until": "2026-02-30", "state": "used"}
    ]


@pytest.mark.parametrize(
    "damage", [_without_seed, _with_more, _with_other_verdict, _with_other_version, _with_impossible_day]
)
def test_schema_is_strict(damage: Callable[[dict[str, Any]], None]) -> None:
    """One thing missing, added or misspelt is one violation."""
    report = copy.deepcopy(GOLDEN)
    damage(report)
    assert len(violations(report)) == 1


def _schemas(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from _schemas(inner, f"{path}/{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from _schemas(schema[keyword], f"{path}/{keyword}")


def test_every_key_is_described_and_every_object_closed() -> None:
    """Readers find out what each key means, and nothing unannounced can appear."""
    assert [] == [path for path, schema in _schemas(SCHEMA) if not schema.get("description")]
    closed = [schema for _, schema in _schemas(SCHEMA) if "properties" in schema]
    assert [] == [schema for schema in closed if schema["additionalProperties"] is not False]
    assert [] == [schema for schema in closed if sorted(schema["required"]) != sorted(schema["properties"])]


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/verdict", get_args(Overall)),
        ("/level", get_args(ClaimLevel)),
        ("/tier", get_args(Tier)),
        ("/transport", TRANSPORTS),
        ("/profile", tuple(PROFILES)),
        ("/capabilities/items", tuple(CAPABILITIES)),
        ("/requirements/items/level", LEVELS),
        ("/requirements/items/basis", BASES),
        ("/requirements/items/outcome", get_args(Outcome)),
    ],
)
def test_enumerations_are_those_of_the_code(path: str, known: tuple[str, ...]) -> None:
    """A new word in the code needs a new word in the schema."""
    assert sorted(known) == sorted(dict(_schemas(SCHEMA))[path]["enum"])


def test_version_is_that_of_the_code() -> None:
    """The schema describes the version that the code writes."""
    assert SCHEMA["properties"]["report_version"]["const"] == REPORT_VERSION
