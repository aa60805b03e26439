"""``sosoapi-conformance compare``: what changed between two runs, and whether any of it is a step back."""

from __future__ import annotations

import argparse
import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.compare_command import add_arguments, run
from conformance.errors import UsageProblem
from conformance.report.difference import Change, Fault, difference
from conformance.resources import data_folder

PUBLISHED: dict[str, Any] = json.loads((data_folder("reports") / "golden" / "report.json").read_text(encoding="utf-8"))
LATER_KEYS = (
    "case_outcomes", "complete", "problems", "baseline", "shards", "required_level", "fail_on", "started_at",
    "exit_status", "transports_offered", "left_open_statements", "left_open_evidence", "timings",
)  # fmt: skip
GOLDEN = {**{key: value for key, value in PUBLISHED.items() if key not in LATER_KEYS}, "report_version": 1}
FIRST = str(GOLDEN["requirements"][0]["id"])


def made_report(change: Callable[[dict[str, Any]], object] | None = None, /, **keys: Any) -> dict[str, Any]:
    """Return a report of version 1: the published example with these keys, changed."""
    report = {**copy.deepcopy(GOLDEN), **keys}
    if change:
        change(report)
    return report


def listed(*cases: tuple[str, str, list[str]], **keys: Any) -> dict[str, Any]:
    """Return a report of version 2 that lists these cases: id, outcome, requirements."""
    outcomes = [
        {"case": case, "outcome": outcome, "requirements": names, "seconds": 0.1, "exchanges": 1, "reason": ""}
        for case, outcome, names in cases
    ]
    return made_report(report_version=2, complete=True, case_outcomes=outcomes, **keys)


def with_outcome(outcome: str, place: int = 0) -> Callable[[dict[str, Any]], object]:
    """Return a change that gives one requirement this outcome."""
    return lambda report: report["requirements"][place].update(outcome=outcome)


def made_finding(summary: str = "Accepted true", operation: str = "conversations_get") -> dict[str, Any]:
    """Return what of a finding is compared."""
    return {"requirement": "INPUT-TYPE", "operation": operation, "summary": summary}


def compare(
    tmp_path: Path, before: Any, after: Any, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, str]:
    """Run the command on two reports in folders of their own; return its status and what it printed."""
    folders = []
    for name, report in (("before", before), ("after", after)):
        folders.append(tmp_path / name)
        folders[-1].mkdir()
        (folders[-1] / "report.json").write_text(json.dumps(report), encoding="utf-8")
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    status = run(parser.parse_args([*map(str, folders), *options]))
    return status, capsys.readouterr().out


def test_equal_runs_differ_in_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and status 0."""
    assert (0, "Nothing got worse\n") == compare(tmp_path, GOLDEN, GOLDEN, capsys)


def test_a_new_finding_is_a_step_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told apart from those that are gone and those that are still there."""
    before = made_report(findings=[made_finding("is gone"), made_finding("stays")])
    after = made_report(findings=[made_finding("stays"), made_finding("is new")])
    status, text = compare(tmp_path, before, after, capsys)
    assert 1 == status
    assert "New findings:\n  INPUT-TYPE [conversations_get]: is new\n" in text
    assert "Findings that are gone:\n  INPUT-TYPE [conversations_get]: is gone\n" in text
    assert "Findings that are still there:\n  INPUT-TYPE [conversations_get]: stays\n" in text


def test_a_fault_is_requirement_operation_and_sentence() -> None:
    """The same sentence about another operation is another fault; the same one twice is one."""
    found = difference(
        made_report(findings=[made_finding(), made_finding()]),
        made_report(findings=[made_finding(operation="conversations_archive")]),
    )
    assert (Fault("INPUT-TYPE", "conversations_archive", "Accepted true"),) == found.new
    assert (Fault("INPUT-TYPE", "conversations_get", "Accepted true"),) == found.gone


@pytest.mark.parametrize(
    ("was", "now", "worse"),
    [
        ("pass", "fail", True),
        ("pass", "warning", True),
        ("pass", "known", True),
        ("known", "fail", True),
        ("waived", "fail", True),
        ("not assessed", "fail", True),
        ("no check yet", "warning", True),
        ("pass", "not assessed", True),
        ("fail", "not assessed", True),
        ("pass", "not applicable", True),
        ("fail", "pass", False),
        ("fail", "waived", False),
        ("not assessed", "pass", False),
        ("not assessed", "no check yet", False),
    ],
)
def test_outcomes_have_an_order(was: str, now: str, *, worse: bool) -> None:
    """What is found broken, or is not judged any more, got worse; what is judged for the first time did not."""
    found = difference(made_report(with_outcome(was)), made_report(with_outcome(now)))
    assert (Change(FIRST, was, now, worse=worse),) == found.outcomes
    assert worse == bool(found.steps_back())


@pytest.mark.parametrize(
    ("key", "was", "now", "worse"),
    [
        ("verdict", "conforms", "incomplete", True),
        ("verdict", "incomplete", "does not conform", True),
        ("verdict", "does not conform", "conforms", False),
        ("level", "behaviour", "schema", True),
        ("level", "full", "behaviour", True),
        ("level", "schema", "full", False),
    ],
)
def test_verdict_and_level_have_an_order(key: str, was: str, now: str, *, worse: bool) -> None:
    """A lower level is a step back, whatever else holds."""
    found = difference(made_report(None, **{key: was}), made_report(None, **{key: now}))
    assert (Change(key, was, now, worse=worse),) == found.result
    assert worse == bool(found.steps_back())


def test_a_run_that_was_cut_off_is_a_step_back() -> None:
    """Version 1 has no word about it, since only whole runs wrote one."""
    assert ("run: came to its end before, was cut off now",) == difference(
        made_report(), made_report(complete=False)
    ).steps_back()
    assert () == difference(made_report(complete=False), made_report(complete=True)).steps_back()


def test_a_case_that_is_not_executed_any_more_is_a_step_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Left out, renamed or not run to its end is the same: the later run knows less."""
    before = listed(("a", "passed", [FIRST]), ("b", "failed", [FIRST]), ("c", "not assessed", []), ("d", "passed", []))
    after = listed(("a", "could not run", [FIRST]), ("b", "passed", [FIRST]), ("e", "passed", []))
    status, text = compare(tmp_path, before, after, capsys)
    assert (1, True) == (status, "Cases executed before and not now:\n  a\n  d\n" in text)
    assert "Cases that are new:\n  1 cases\n" in text


def test_without_lists_of_cases_their_numbers_are_compared() -> None:
    """Only where there are fewer in all: a case that failed for one requirement does not count for another."""

    def fewer(report: dict[str, Any]) -> None:
        report["requirements"][0]["cases"]["passed"] -= 3
        report["cases"]["passed"] -= 3

    def moved(report: dict[str, Any]) -> None:
        report["requirements"][0]["cases"]["passed"] -= 1

    count = GOLDEN["requirements"][0]["cases"]["passed"]
    found = difference(made_report(), made_report(fewer))
    assert Change(FIRST, f"{count} cases", f"{count - 3} cases", worse=True) == found.lost.fewer_cases[1]
    assert 1 == len(found.steps_back())
    assert () == difference(made_report(), made_report(moved)).steps_back()


def test_another_transport_does_not_miss_what_it_has_not() -> None:
    """A requirement of plain HTTP is not lost over MCP, nor are the cases that judge nothing else."""
    before = listed(("a", "passed", [FIRST]), ("b", "passed", [FIRST, "READ-UNCHANGED"]))
    after = listed(transport="mcp-http")
    with_outcome("not applicable")(after)
    found = difference(before, after)
    assert ((), ("b",)) == (found.lost.requirements, found.lost.cases)
    assert Change("transport", "rest", "mcp-http") in found.facts


def test_a_requirement_that_left_the_set_is_lost() -> None:
    """And the other set is named, since no more can be said then."""
    found = difference(made_report(), made_report(lambda report: report["requirements"].pop(0), requirement_set="2"))
    assert (Change("requirement set", "1", "2"),) == found.ground
    assert (FIRST,) == found.lost.requirements


def test_other_rules_are_said_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another contract or requirement set comes before everything that it may explain."""
    after = made_report(contract_version="2", seed=9, findings=[made_finding()])
    _, text = compare(tmp_path, GOLDEN, after, capsys)
    assert text.startswith(
        "Judged by other rules, so the rest is only part of the story:\n  contract version: 1, now 2\n"
    )


def test_facts_of_the_run_are_no_step_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Target, suite, seed, profile and transport explain a difference; what only version 2 knows is none."""
    after = made_report(
        report_version=2, suite_version="0.2.0", seed=9, profile="standard", required_level="full",
        target={**GOLDEN["target"], "address": "http://h/", "vendor": "Acme"},
    )  # fmt: skip
    status, text = compare(tmp_path, GOLDEN, after, capsys)
    assert 0 == status
    shown = [line.strip().partition(":")[0] for line in text.splitlines() if ", now " in line]
    assert ["target address", "target vendor", "suite version", "profile", "seed"] == shown


def test_freedoms_decided_otherwise_are_shown() -> None:
    """They are no step back: the contract leaves them open. How often one was seen does not matter."""
    before = made_report(left_open={"OPEN-A": {"refuses": 3}, "OPEN-B": {"409": 1}, "OPEN-C": {"kept": 1}})
    after = made_report(left_open={"OPEN-A": {"accepts": 1, "refuses": 2}, "OPEN-B": {"409": 9}})
    found = difference(before, after)
    assert (Change("OPEN-A", "refuses", "accepts and refuses"),) == found.freedoms
    assert () == found.steps_back()


def test_problems_are_shown() -> None:
    """New ones and those that are gone; they are about the gate, not about the server."""
    found = difference(made_report(problems=["a", "b"]), made_report(problems=["b", "c"]))
    assert (("c",), ("a",), ()) == (found.new_problems, found.gone_problems, found.steps_back())


def test_json_has_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every field, unbounded, and the conclusion."""
    findings = [made_finding(f"summary {number}") for number in range(80)]
    status, text = compare(tmp_path, GOLDEN, made_report(findings=findings), capsys, "--format", "json")
    value = json.loads(text)
    assert (1, True, 80) == (status, value["worse"], len(value["new"]))
    assert ["new findings: 80"] == value["steps_back"]


@pytest.mark.parametrize("format_name", ["text", "markdown"])
def test_text_is_bounded_and_does_not_act(format_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a server said reaches neither the terminal's nor a page's controls, and a list has an end."""
    hostile = "\x1b[2J\u202e</details><img src=x> [a](http://h) @octocat #1 \n# heading " + "x" * 9000
    findings = [made_finding(f"{number} {hostile}") for number in range(80)]
    _, text = compare(tmp_path, GOLDEN, made_report(findings=findings), capsys, "--format", format_name)
    assert "and 30 more" in text
    assert [] == [line for line in text.splitlines() if len(line) > 1000 or line.startswith("# ")]
    assert [] == re.findall(r"[^\n\x20-\x7e]", text)
    if format_name == "markdown":
        assert [] == re.findall(r"[<@\[]", re.sub(r"(`+).*?\1(?!`)", "", text))
        assert text.startswith("## Something got worse\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is not JSON"),
        ("[" * 100_000, "the file is not JSON"),
        ("\xff", "the file is not JSON"),
        ("[]", "the file is not a report: it has no report_version"),
        ('{"verdict": "conforms"}', "the file is not a report: it has no report_version"),
        ('{"report_version": 3}', "the report has version 3, and this suite reads versions 1 and 2"),
        ('{"report_version": true}', "the report has version True, and this suite reads versions 1 and 2"),
        ('{"report_version": {}}', "the report has version {}, and this suite reads versions 1 and 2"),
        ('{"report_version": 1}', "the file is not a whole report: verdict is missing or wrong"),
        (
            '{"report_version": 1, "verdict": "conforms", "level": "none", "requirements": [1]}',
            "the file is not a whole report: requirements is missing or wrong",
        ),
        (
            '{"report_version": 2, "verdict": "conforms", "level": "none", "requirements": [], "findings": {}}',
            "the file is not a whole report: findings is missing or wrong",
        ),
    ],
)  # fmt: skip
def test_what_is_no_report_is_named(text: str, message: str, tmp_path: Path) -> None:
    """With the file, what is wrong with it, and what to do."""
    (tmp_path / "report.json").write_text(text, encoding="latin-1")
    with pytest.raises(UsageProblem) as raised:
        run(argparse.Namespace(before=tmp_path, after=tmp_path, format="text"))
    assert str(raised.value).startswith(f"{tmp_path / 'report.json'}: {message}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """In a folder, and by itself."""
    for path, file in ((tmp_path, tmp_path / "report.json"), (tmp_path / "no.json", tmp_path / "no.json")):
        with pytest.raises(UsageProblem) as raised:
            run(argparse.Namespace(before=path, after=path, format="text"))
        assert str(raised.value).startswith(
            f"{file}: the report cannot be read (no such file or directory). Give a folder"
        )


def test_a_wrong_format_is_named(tmp_path: Path) -> None:
    """Before any file is read."""
    with pytest.raises(UsageProblem, match=r"--format: unknown value 'jsn'\. Did you mean 'json'"):
        run(argparse.Namespace(before=tmp_path, after=tmp_path, format="jsn"))
