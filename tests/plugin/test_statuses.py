"""Exit statuses and verdicts of whole runs against the reference server, sound and with a fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from suite_run import FEW, INPUT_CHECKS, ONE_CASE, assert_readable, run_pytest

from conformance.embedded import EmbeddedServer, start_reference_server

FAULT = "input-unknown-field-ignored"


@pytest.fixture(scope="module")
def faulty() -> Iterator[EmbeddedServer]:
    """Run a server that ignores unknown fields."""
    server = start_reference_server("--fault", FAULT)
    yield server
    server.stop()


def target(server: EmbeddedServer) -> tuple[str, ...]:
    """Return the options that name a server."""
    return "--target-url", server.url, "--control-url", server.control_url


def test_a_run_without_a_target_tests_the_reference_server(tmp_path: Path) -> None:
    """It says so, prints the seed, ends with 0, and leaves a report and a JUnit file."""
    ended = run_pytest("-k", FEW, "--seed", "11", f"--report-dir={tmp_path}")
    assert 0 == ended.status, ended.last_words
    assert "embedded reference server" in ended.output
    assert "profile standard, seed 11" in ended.output
    assert ended.report is not None
    assert (11, True, "control") == (ended.report["seed"], ended.report["target"]["embedded"], ended.report["tier"])
    assert (tmp_path / "junit.xml").read_text(encoding="utf-8").count("<testcase") == 3
    assert_readable(ended)


def test_a_run_of_a_few_cases_is_green_and_incomplete(tmp_path: Path) -> None:
    """One test id pasted back runs that case; the verdict claims no more."""
    ended = run_pytest(ONE_CASE, f"--report-dir={tmp_path}")
    assert 0 == ended.status, ended.last_words
    assert ended.report is not None
    assert ("incomplete", 1) == (ended.report["verdict"], ended.report["cases"]["passed"])


def test_the_same_seed_sends_the_same(tmp_path: Path) -> None:
    """Cases, count of exchanges, and what was sent to a fault's finding."""
    runs = [
        run_pytest("-k", FEW, "--seed", "5", f"--report-dir={tmp_path / name}", "--conformance-profile", "quick")
        for name in ("a", "b")
    ]
    reports = [run.report for run in runs]
    assert reports[0] is not None
    assert reports[1] is not None
    for key in ("seed", "cases", "exchanges", "findings", "left_open"):
        assert reports[0][key] == reports[1][key]


def test_a_fault_ends_with_status_1(faulty: EmbeddedServer, tmp_path: Path) -> None:
    """The finding names the requirement, what was sent without the token, the answer, and how to repeat it."""
    ended = run_pytest("-k", FEW, "--seed", "3", *target(faulty), f"--report-dir={tmp_path}")
    assert 1 == ended.status, ended.last_words
    assert ended.report is not None
    assert "does not conform" == ended.report["verdict"]
    assert "INPUT-UNKNOWN-FIELD" in {finding["requirement"] for finding in ended.report["findings"]}
    for text in ("Accepted a field that nobody knows", "curl -sS", "$SOSOAPI_TOKEN", "200 OK", "repeat:", "--seed 3"):
        assert text in ended.output
    assert_readable(ended)


def test_the_printed_command_repeats_a_finding(faulty: EmbeddedServer) -> None:
    """Pasted back, it runs just that case and finds the same."""
    first = run_pytest("-k", "INPUT-UNKNOWN-FIELD-sentiment_status-input-unknown-null", "--seed", "4", *target(faulty))
    line = next(line for line in first.output.splitlines() if "repeat:" in line)
    words = line.partition("pytest ")[2].replace("'", "").split()
    again = run_pytest(*words)
    assert (1, 1) == (first.status, again.status)
    assert "1 nonconforming" in again.output
    assert "seed 4)" in again.output


def test_the_first_failure_ends_a_run_with_x(faulty: EmbeddedServer) -> None:
    """``-x`` works as it does with any test."""
    ended = run_pytest("-x", "-k", "INPUT-UNKNOWN-FIELD and conversations_get", *target(faulty))
    assert 1 == ended.status
    assert "1 nonconforming" in ended.output


def test_last_failed_runs_what_failed(faulty: EmbeddedServer, tmp_path: Path) -> None:
    """``--lf`` works as it does with any test."""
    cache = ("-o", f"cache_dir={tmp_path / 'cache'}")
    first = run_pytest(INPUT_CHECKS, "-k", FEW, *cache, *target(faulty))
    again = run_pytest(INPUT_CHECKS, "--lf", *cache, *target(faulty))
    assert (1, 1) == (first.status, again.status), again.last_words
    assert "2 passed" in first.output
    assert "1 nonconforming" in again.output
    assert "2 passed" not in again.output


def test_workers_come_to_the_same_verdict(faulty: EmbeddedServer, tmp_path: Path) -> None:
    """With ``-n 2`` the same cases are counted and the same findings made."""
    alone = run_pytest("-k", FEW, "--seed", "6", *target(faulty), f"--report-dir={tmp_path / 'alone'}")
    together = run_pytest("-k", FEW, "--seed", "6", *target(faulty), f"--report-dir={tmp_path / 'both'}", "-n", "2")
    assert (1, 1) == (alone.status, together.status), together.last_words
    assert alone.report is not None
    assert together.report is not None
    for key in ("verdict", "seed", "cases", "requirements"):
        assert alone.report[key] == together.report[key], key
    assert [
        [(each["requirement"], each["operation"], each["summary"], each["cases"]) for each in report["findings"]]
        for report in (alone.report,)
    ] == [
        [
            (each["requirement"], each["operation"], each["summary"], each["cases"])
            for each in together.report["findings"]
        ]
    ]


def test_nothing_selected_ends_with_status_5() -> None:
    """It says what may be wrong with the selection."""
    ended = run_pytest("-k", "no_such_case")
    assert 5 == ended.status
    assert "No conformance check was selected" in ended.output
    assert_readable(ended)


def test_left_out_cases_leave_the_verdict_incomplete(tmp_path: Path) -> None:
    """A failing case that is deselected does not make a target conform."""
    ended = run_pytest("-k", FEW, "--deselect", ONE_CASE, f"--report-dir={tmp_path}")
    assert ended.report is not None
    assert "incomplete" == ended.report["verdict"]


def test_collecting_starts_no_server_and_calls_nobody() -> None:
    """``--collect-only`` works without a network, and lists what can be pasted back."""
    ended = run_pytest("--collect-only", "-q", "-k", FEW, "--target-url", "http://127.0.0.1:9")
    assert 0 == ended.status, ended.last_words
    assert ONE_CASE in ended.output
    embedded = run_pytest("--collect-only", "-q", "-k", FEW)
    assert ONE_CASE in embedded.output
    assert "verdict" not in embedded.output
