"""The suite's own reference server as a child process, for runs that name no target."""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.errors import SuiteFault

_START_SECONDS = 20.0
_STOP_SECONDS = 5.0


@dataclass
class EmbeddedServer:
    """A running reference server. It ends when its standard input does, so it cannot outlive this process.

    ``mcp_url`` and ``stdio_command``, the command of a child process on the same stored state, are None where the MCP
    SDK is not installed; so is the command on a database in memory.
    """

    process: subprocess.Popen[str]
    url: str
    control_url: str
    mcp_url: str | None = None
    stdio_command: str | None = None

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
        addresses = _announced(process.stdout)
    finally:
        watchdog.cancel()
    if not addresses.keys() >= {"target", "control"}:
        process.kill()
        process.wait()
        raise SuiteFault(f"the reference server did not start (exit status {process.returncode})")
    server = EmbeddedServer(
        process, addresses["target"], addresses["control"], addresses.get("mcp"), addresses.get("stdio")
    )
    atexit.register(server.stop)
    return server


def _announced(lines: Iterable[str]) -> dict[str, str]:
    """Return what the server says of itself, up to the line about test control, which is the last."""
    said: dict[str, str] = {}
    for line in lines:
        name, _, rest = line.partition(" ")
        said[name] = rest.strip()
        if name == "control":
            break
    return said
