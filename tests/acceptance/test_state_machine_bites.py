"""The state machine finds seeded faults, tells the shortest story of each, and its script repeats that story."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from suite_run import assert_readable, run_pytest

from conformance.embedded import start_reference_server

STORIES = "conformance/checks/test_state_machine.py"

FAULTS = {
    "archive-applied-on-conflict": ("REVISION-CONFLICT-UNCHANGED", 3),
    "replay-applied-twice": ("REPLAY-APPLIED-ONCE", 4),
    "expiry-after-instant": ("EXPIRY-AT-INSTANT", 3),
    "late-result-reopens": ("LATE-AFTER-ARCHIVE", 4),
}
"""Seeded faults, the requirement that each must be found to break, and the steps of its shortest story."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_as_its_shortest_story(fault: str, tmp_path: Path) -> None:
    """The finding stands under the right requirement, and nothing can be left out of the story."""
    requirement, steps = FAULTS[fault]
    server = start_reference_server("--fault", fault)
    try:
        ended = run_pytest(
            "-q", "--seed", "1", "--target-url", server.url, "--control-url", server.control_url,
            f"--report-dir={tmp_path}", STORIES,
        )  # fmt: skip
    finally:
        server.stop()
    assert 1 == ended.status, ended.last_words
    assert_readable(ended)
    assert ended.report is not None
    findings = {finding["requirement"]: finding for finding in ended.report["findings"]}
    assert requirement in findings
    told, _, script = findings[requirement]["story"].partition("script, for a server that has none of these ids yet:")
    assert steps == sum(line[:1].isdigit() for line in told.splitlines())
    assert "allowed: " in told
    assert "story:    1. Conversation 1 of Ann is stored" in ended.output
    assert "$ANN" in script


@pytest.mark.skipif(shutil.which("curl") is None, reason="the script is made of curl lines")
def test_the_script_repeats_the_story(tmp_path: Path) -> None:
    """Run by a shell against the same server without the data, the script gets the same wrong answer."""
    server = start_reference_server("--fault", "replay-applied-twice")
    arguments = ("--target-url", server.url, "--control-url", server.control_url, f"--report-dir={tmp_path}")
    try:
        ended = run_pytest("-q", "--seed", "1", *arguments, STORIES)
        assert ended.report is not None
        story = ended.report["findings"][0]["story"]
        script = story.partition("script, for a server that has none of these ids yet:")[2]
        reset = f"curl -sS -X POST '{server.control_url}/reset'\n"
        shell = subprocess.run(
            ["/bin/sh", "-e"], input=(reset + script).encode(), capture_output=True, check=False, timeout=60
        )
    finally:
        server.stop()
    assert (0, b"") == (shell.returncode, shell.stderr)
    last = shell.stdout.decode().rpartition("HTTP/1.1 ")[2]
    assert last.startswith("200")
    shown = story.partition("script, ")[0].splitlines()[-2]
    revision = shown.partition("revision ")[2].partition(",")[0]
    assert f'"revision":{revision}' in last.replace(" ", "")
