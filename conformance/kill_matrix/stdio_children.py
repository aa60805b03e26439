"""Children over stdio for a trial, forked from the trial's own process: nothing has to be loaded again."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance.reference import serve
from conformance.reference.mcp import door
from conformance.reference.mcp.nursery import Nursery, take_over


@dataclass(frozen=True)
class StdioChildren:
    """The file of the stored state that children serve on, and the command that fetches one of them."""

    database: Path
    command: tuple[str, ...]


@contextmanager
def stdio_children(options: Sequence[str]) -> Iterator[StdioChildren]:
    """Fork a nursery for the length of a ``with`` block; ``options`` are further ones of ``serve``.

    To be entered before this process has a second thread.
    """
    # A socket's address must be short.
    folder = Path(tempfile.mkdtemp(prefix="km-", dir="/tmp"))
    database, address = folder / "state.sqlite", folder / "door"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(address))
            listener.listen(128)
            process, lifeline = _fork(listener, ["--stdio", "--database", str(database), *options])
        try:
            yield StdioChildren(database, (sys.executable, "-I", "-S", door.__file__, str(address)))
        finally:
            os.close(lifeline)
            os.waitpid(process, 0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fork(listener: socket.socket, options: Sequence[str]) -> tuple[int, int]:
    """Return the nursery's process, and the descriptor whose closing ends it."""
    reading, lifeline = os.pipe()
    process = os.fork()
    if process:
        os.close(reading)
        return process, lifeline
    status = 1
    try:
        os.close(lifeline)
        os.dup2(reading, 0)
        os.close(reading)
        parser = argparse.ArgumentParser()
        serve.add_arguments(parser)
        namespace = parser.parse_args(options)
        take_over(Nursery(listener).attend())
        status = serve.run(namespace)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001  whatever it was must be seen, and this process must not go on
        traceback.print_exc()
    finally:
        os._exit(status)
