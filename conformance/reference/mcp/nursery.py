"""The nursery: a process that has loaded everything once, and forks a child for each door that comes to its socket.

It runs beside a server as ``python -m conformance.reference.mcp.nursery LISTENER``, followed by the options of ``serve
--stdio``. LISTENER is the number of an inherited descriptor, a listening Unix socket. The nursery ends with its
standard input, and its children with it. See ``door`` for the other side of the socket.
"""

from __future__ import annotations

import argparse
import os
import selectors
import signal
import socket
import struct
import sys
import threading
from contextlib import suppress

from conformance.reference import serve
from conformance.reference.mcp.door import SIZE_BYTES
from conformance.reference.mcp.stdio import load

_INPUT = 0
_STREAMS = 3


class Nursery:
    """Forks, and sees to the end of what it has forked. One thread, no event loop: either would be torn by a fork."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._doors: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        # An ended child interrupts the wait for the next door through this pair.
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker, listener):
            end.settimeout(0)
        for watched in (listener, self._woken, _INPUT):
            self._selector.register(watched, selectors.EVENT_READ)

    def attend(self) -> socket.socket:
        """Return in each child, with the connection to its door.

        Raises:
            SystemExit: in the nursery itself, at the end of standard input, when all children have ended.
        """
        signal.set_wakeup_fd(self._waker.fileno())
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        while True:
            ready = {key.fd for key, _ in self._selector.select()}
            if _INPUT in ready and not os.read(_INPUT, 4096):
                self._end()
            if self._woken.fileno() in ready:
                self._woken.recv(4096)
                self._collect()
            if self._listener.fileno() in ready and (door := self._admit()):
                return door

    def _admit(self) -> socket.socket | None:
        """Fork a child for the door that waits; return it in the child only."""
        try:
            door, _ = self._listener.accept()
        except OSError:
            # It has gone away again.
            return None
        door.settimeout(None)
        try:
            child = os.fork()
        except OSError:
            # Too many processes: the door says that there is no child.
            door.close()
            return None
        if child:
            self._doors[child] = door
            return None
        self._leave_behind()
        return door

    def _leave_behind(self) -> None:
        """Let go, in a child, of all that is the nursery's: an inherited socket would keep another door from ending."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for inherited in (self._listener, self._woken, self._waker, *self._doors.values()):
            inherited.close()

    def _collect(self) -> None:
        """Tell the doors of ended children how they have ended."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                child, status = ended
                with self._doors.pop(child) as door, suppress(OSError):
                    door.sendall(struct.pack(">i", os.waitstatus_to_exitcode(status)))

    def _end(self) -> None:
        for child, door in self._doors.items():
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            door.close()
        sys.exit(0)


def take_over(door: socket.socket) -> None:
    """Make this process, a child just forked, what its door was started as: its streams and its environment.

    From here on it ends at once with the door, or with the server beside which the nursery runs.
    """
    head, streams, _, _ = socket.recv_fds(door, SIZE_BYTES, _STREAMS)
    if len(head) < SIZE_BYTES or len(streams) < _STREAMS:
        os._exit(1)
    size = int.from_bytes(head, "big")
    text = door.recv(size, socket.MSG_WAITALL) if size else b""
    if len(text) < size:
        os._exit(1)
    server = os.dup(_INPUT)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environb.clear()
    os.environb.update(entry.partition(b"=")[::2] for entry in text.split(b"\0") if entry)
    threading.Thread(target=_end_with, args=(door, server), daemon=True).start()


def _end_with(door: socket.socket, server: int) -> None:
    """End the process when the door or the server is gone: as neither ever speaks, that is all there is to read."""
    with selectors.DefaultSelector() as selector:
        for end in (door, server):
            selector.register(end, selectors.EVENT_READ)
        selector.select()
    os._exit(1)


def main() -> int:
    """Run as the nursery, or in a child as ``serve --stdio``."""
    parser = argparse.ArgumentParser(prog="python -m conformance.reference.mcp.nursery", description=__doc__)
    parser.add_argument("listener", type=int, help="number of the descriptor of the listening socket")
    serve.add_arguments(parser)
    namespace = parser.parse_args()
    load()
    # The children do this again, and find the modules of all faults loaded.
    serve.parts_from(namespace)
    take_over(Nursery(socket.socket(fileno=namespace.listener)).attend())
    return serve.run(namespace)


if __name__ == "__main__":
    sys.exit(main())
