"""One run in several parts: shards, workers and what is put together say the same as one run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from suite_run import clean_environment, run_pytest

from conformance.embedded import start_reference_server

CASES = ("-q", "--seed=5", "-k", "INPUT-UNKNOWN-FIELD or READ-UNCHANGED or AUTH-TOKEN")
FAULT = "input-unknown-field-ignored"


def told(report: Any) -> dict[str, Any]:
    """Return of a report what must not depend on how the run was shared out."""
    names = ("verdict", "level", "requirements", "cases", "left_open", "exit_status", "complete")
    findings = [(each["requirement"], each["operation"], each["summary"], each["cases"]) for each in report["findings"]]
    return {**{name: report[name] for name in names}, "findings": findings}


def command(*arguments: str) -> tuple[int, str]:
    """Run the suite's own command."""
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "conformance", *arguments], capture_output=True, text=True, check=False,
        env=clean_environment(), timeout=60,
    )  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "fault", [pytest.param(None, marks=pytest.mark.thorough, id="conforming"), pytest.param(FAULT, id="faulty")]
)
def test_shards_and_workers_say_what_one_run_says(fault: str | None, tmp_path: Path) -> None:
    """The same verdict, findings and counts; a missing shard leaves the whole incomplete, and is named."""
    server = start_reference_server(*(("--fault", fault) if fault else ()))
    try:
        target = (f"--target-url={server.url}", f"--control-url={server.control_url}", *CASES)
        one = run_pytest(*target, f"--report-dir={tmp_path / 'one'}")
        several = run_pytest(*target, "-n", "2", f"--report-dir={tmp_path / 'several'}")
        for number in (1, 2, 3):
            run_pytest(*target, f"--shard={number}/3", f"--report-dir={tmp_path / str(number)}")
    finally:
        server.stop()
    folders = [str(tmp_path / str(number)) for number in (1, 2, 3)]
    status, output = command("merge", *folders, "--out", str(tmp_path / "whole"))
    whole = json.loads((tmp_path / "whole" / "report.json").read_text(encoding="utf-8"))
    assert one.report is not None
    assert told(one.report) == told(several.report)
    assert told(one.report) == told(whole)
    assert ({"of": 3, "present": [1, 2, 3]}, one.status) == (whole["shards"], status), output
    for folder in ("one", "several", "whole"):
        lines = (tmp_path / folder / "exchanges.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(lines[-1])["exchanges"] == sum(json.loads(line)["kind"] == "exchange" for line in lines)
    status, output = command("merge", *folders[:2], "--out", str(tmp_path / "part"))
    assert (1, True) == (status, "Shard 3/3 over rest is missing" in output)
    again, _ = command("report", str(tmp_path / "part"))
    assert status == again
    assert "incomplete" in output or fault


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--shard=0/3",), "'0/3' is no part of a run"),
        (("--shard=4/3",), "'4/3' is no part of a run"),
        (("--shard=one",), "Write 1/3"),
        (("--shard=1/2", "--require=full"), "sosoapi-conformance merge"),
        (("--baseline=no-such-file.json",), "cannot be read"),
    ],
)
def test_wrong_options_are_named(arguments: tuple[str, ...], said: str) -> None:
    """With status 4, before anything is started."""
    ended = run_pytest(*CASES, *arguments)
    assert 4 == ended.status, ended.last_words
    assert said in ended.output


def test_a_part_cannot_be_given_twice(tmp_path: Path) -> None:
    """Nor can runs that do not belong together be put together."""
    for name, seed in (("a", "5"), ("b", "6")):
        run_pytest("-q", f"--seed={seed}", "-k", "READ-UNCHANGED-fifty", f"--report-dir={tmp_path / name}")
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    status, output = command("merge", first, first, "--out", str(tmp_path / "out"))
    assert (4, True) == (status, "same part" in output)
    status, output = command("merge", first, second, "--out", str(tmp_path / "out"))
    assert (4, True) == (status, "its seed is not that of" in output)
    status, output = command("merge", first, "--out", first)
    assert (4, True) == (status, "would overwrite" in output)


def test_an_interrupted_run_leaves_a_report_that_says_so(tmp_path: Path) -> None:
    """Also one that was cut off: what was found until then can be reported."""
    ended = run_pytest("-q", "--seed=5", "-k", "READ-UNCHANGED", "-x", f"--report-dir={tmp_path}")
    assert 0 == ended.status
    stored = tmp_path / "cases.jsonl"
    stored.write_bytes(stored.read_bytes()[:-40])
    (tmp_path / "report.json").unlink()
    status, output = command("report", str(tmp_path))
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert not report["complete"]
    assert "interrupted or cut off" in output
    assert "incomplete" == report["verdict"], status
