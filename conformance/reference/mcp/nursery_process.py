"""Starts a nursery beside a server, and ends it with the server."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.errors import UsageProblem
from conformance.reference.mcp.endpoint import is_offered

_LONGEST_FOLDER = 60
"""Bytes in the name of the folder for temporary files: with what is added, the socket's stays below a limit of 104."""
_STOP_SECONDS = 2.0


def require_nursery(database: Path | None) -> Path:
    """Return the file on which the children of a nursery are to serve.

    Raises:
        UsageProblem: there is no file, or there can be no nursery here.
    """
    if not (hasattr(os, "fork") and hasattr(socket, "AF_UNIX") and hasattr(socket, "recv_fds")):
        raise UsageProblem("this system cannot fork", "--nursery", "Leave it out: children then start by themselves.")
    if not is_offered():
        raise UsageProblem("the MCP SDK is not installed", "--nursery", "pip install 'sosoapi-conformance[reference]'")
    if database is None:
        raise UsageProblem("a file is needed, which the processes share", "--nursery", "Give no --database, or a path.")
    return database


@contextlib.contextmanager
def nursery(database: Path, options: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Run a nursery for the length of a ``with`` block, and give the command of its door.

    ``options`` are those of ``serve`` with which its children serve, beside ``--stdio`` and ``--database``. The command
    can be used at once: a door waits until the nursery has loaded everything.
    """
    usual = tempfile.gettempdir()
    place = usual if len(os.fsencode(usual)) <= _LONGEST_FOLDER else "/tmp"  # noqa: S108  mkdtemp makes it private
    folder = Path(tempfile.mkdtemp(prefix="sosoapi-nursery-", dir=place))
    try:
        address = folder / "door"
        process = _started(address, ["--stdio", "--database", str(database), *options])
        try:
            # Without site packages and the environment's say the interpreter starts in half the time.
            yield (sys.executable, "-I", "-S", str(Path(__file__).with_name("door.py")), str(address))
        finally:
            _stop(process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(address: Path, options: Sequence[str]) -> subprocess.Popen[bytes]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(address))
        listener.listen(128)
        command = [sys.executable, "-m", "conformance.reference.mcp.nursery", str(listener.fileno()), *options]
        # A session of its own keeps Ctrl-C away from it: it ends with its input, when the server says so.
        return subprocess.Popen(  # noqa: S603  our own interpreter and module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
