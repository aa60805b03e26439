"""The embedded server never outlives the run, however the run ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from suite_run import CHECKOUT, SECONDS, clean_environment, command

SLOW = """
import time

def test_wait_for_the_signal():
    print("waiting", flush=True)
    time.sleep(60)
"""


def started(tmp_path: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a run that waits inside a test of the vendor's; return it and the process id of its server."""
    (tmp_path / "test_slow.py").write_text(SLOW, encoding="utf-8")
    run = subprocess.Popen(  # noqa: S603 - our own command
        command("-s", "-q", str(tmp_path / "test_slow.py"), "conformance/checks/test_http.py"),
        cwd=CHECKOUT, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert run.stdout
    while "waiting" not in (line := run.stdout.readline()):
        assert line, "the run has ended before its test began"
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="ascii").split()
    (server,) = [int(each) for each in children if "conformance.reference.serve" in command_line(int(each))]
    return run, server


def command_line(process: int) -> str:
    """Return the command line of a process, empty when it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 2), (signal.SIGKILL, -signal.SIGKILL)])
def test_no_server_is_left_behind(tmp_path: Path, number: signal.Signals, status: int) -> None:
    """After Ctrl-C the run ends with 2, says that it is not complete, and stops the server; so does a killed one."""
    run, server = started(tmp_path)
    ended = os.pidfd_open(server)
    run.send_signal(number)
    output, _ = run.communicate(timeout=SECONDS)
    assert status == run.returncode, output
    # A process file descriptor is readable once its process has ended.
    assert _is_readable(ended), "the server still runs"
    os.close(ended)
    assert "verdict: conforms" not in output


def _is_readable(descriptor: int) -> bool:
    import select  # noqa: PLC0415 - one use

    readable, _, _ = select.select([descriptor], [], [], SECONDS)
    return bool(readable)
