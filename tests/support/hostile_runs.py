"""Runs the suite on hostile servers, and sees to what holds for every such run."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

from hostile_servers import TOKEN, TOKEN_FORMS
from suite_run import CHECKOUT, Ended, assert_readable, clean_environment, command

_MOST_KILOBYTES = 600 * 1024
_SECONDS = 30
"""Three times as long as any of these runs takes on a machine with nothing else to do."""


def run_on(folder: Path, *arguments: str) -> Ended:
    """Run the suite with short waits, and see that it ended with a verdict or a reason and gave nothing away."""
    (folder / "hostile.toml").write_text("[limits]\ncall_seconds = 1\nbody_bytes = 1000000\n", encoding="utf-8")
    reports = folder / "report"
    words = command("-q", "-p", "no:xdist", "--seed=1", f"--target-config={folder / 'hostile.toml'}")
    ended, kilobytes = _run([*words, f"--report-dir={reports}", *arguments], folder / "output")
    _assert_told(ended)
    _assert_harmless(ended, reports)
    assert kilobytes < _MOST_KILOBYTES
    return ended


def _run(words: list[str], output: Path) -> tuple[Ended, int]:
    """Run a command for a bounded time; return how it ended, and the largest amount of memory that it had."""
    with output.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - our own command
            words, cwd=CHECKOUT, env=clean_environment(SOSOAPI_TOKEN=TOKEN), stdout=file, stderr=file
        )
        timer = threading.Timer(_SECONDS, process.kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        # Collected above, for the sake of what it used.
        process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(process.returncode, output.read_bytes().decode("utf-8", "backslashreplace")), used.ru_maxrss


def _assert_told(ended: Ended) -> None:
    """See that the server did not pass, and that the run says why in words of a length that people read."""
    assert ended.status in (0, 1, 6), ended.last_words
    lines = ended.output.splitlines()
    assert [] == [line for line in lines if line.startswith("verdict: conforms")]
    if ended.status == 1:
        assert any(line.startswith("verdict: does not conform") for line in lines), ended.last_words
        assert any("repeat:" in line for line in lines), ended.last_words
    elif ended.status == 0:
        assert any(line.startswith("verdict: incomplete") for line in lines), ended.last_words
    else:
        assert "could not run: " in ended.output, ended.last_words
    assert max(map(len, lines)) < 12_000
    assert len(ended.output) < 200_000


def _assert_harmless(ended: Ended, reports: Path) -> None:
    """See that neither terminal nor reports show what they must not."""
    assert_readable(ended)
    forms = ["s3cret", *(form(TOKEN) for form in TOKEN_FORMS.values())]
    assert not [form for form in forms if form in ended.output], ended.last_words
    for path in reports.iterdir():
        text = path.read_text(encoding="utf-8")
        # Escapes are escaped once more where a text is written as JSON.
        assert not [form for form in forms if form in text or form in text.replace("\\\\", "\\")], path.name
        assert "\x1b" not in text, path.name
        assert "\x9b" not in text, path.name
        assert path.suffix != ".html" or "<script>alert" not in text, path.name
