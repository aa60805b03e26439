"""The suite's own reference server as a child process, for runs that name no target."""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
from dataclasses import dataclass

from conformance.errors import SuiteFault

_START_SECONDS = 20.0
_STOP_SECONDS = 5.0


@dataclass
class EmbeddedServer:
    """A running reference server. It ends when its standard input does, so it cannot outlive this process."""

    process: subprocess.Popen[str]
    url: str
    control_url: str

    def stop(self) -> None:
        """Stop the server and wait for it."""
        atexit.unregister(self.stop)
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


def start_reference_server(*arguments: str) -> EmbeddedServer:
    """Start the reference server on free loopback ports; ``arguments`` are further ones of its ``serve`` command.

    Raises:
        SuiteFault: it does not start.
    """
    command = [sys.executable, "-m", "conformance.reference.serve", "--stop-with-parent", *arguments]
    # A session of its own keeps Ctrl-C away from the server until the run has had its last word with it.
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    watchdog = threading.Timer(_START_SECONDS, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().split() for _ in range(2)]
    finally:
        watchdog.cancel()
    addresses = {line[0]: line[1] for line in lines if len(line) == 2}
    if set(addresses) != {"target", "control"}:
        process.kill()
        process.wait()
        raise SuiteFault(f"the reference server did not start (exit status {process.returncode})")
    server = EmbeddedServer(process, addresses["target"], addresses["control"])
    atexit.register(server.stop)
    return server
