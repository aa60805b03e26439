"""Children over stdio for a trial, forked from the trial's own process: nothing has to be loaded again."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from conformance.reference import serve
from conformance.reference.mcp import door
from conformance.reference.mcp.nursery import Nursery, take_over


def stdio_command(folder: Path, database: Path, options: Sequence[str]) -> tuple[str, ...]:
    """Fork a nursery, and return the command that fetches one of its children; it ends with this process.

    The children serve on ``database``; ``options`` are further ones of ``serve``. ``folder`` must have a short name.
    To be called before this process has a second thread.
    """
    address = folder / "door"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(address))
        listener.listen(128)
        _fork(listener, ["--stdio", "--database", str(database), *options])
    return sys.executable, "-I", "-S", door.__file__, str(address)


def _fork(listener: socket.socket, options: Sequence[str]) -> None:
    reading, lifeline = os.pipe()  # the nursery ends when this process has: nobody else has the other end
    if os.fork():
        os.close(reading)
        return
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
