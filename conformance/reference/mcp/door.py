"""The door to a nursery: a program that stands in for a child which the nursery forks, and weighs next to nothing.

It runs as ``python -I -S door.py SOCKET``, hands its standard streams and its environment over to the child, and lasts
as long as the child does. It imports nothing but two modules that are built into the interpreter, since starting it
is most of what such a child costs.
"""

import _socket
import sys
from posix import _exit, dup2, environ, getpid, kill
from posix import open as open_file

_COULD_NOT_RUN = 6
"""The exit status of the suite for a target that cannot be used; importing it would cost as much as the door."""

SIZE_BYTES = 4
STATUS_BYTES = 4


def packed(environment: dict[bytes, bytes]) -> bytes:
    """Return an environment as the nursery's child reads it: its size in 4 bytes, then NAME=VALUE ended by NUL."""
    text = b"".join(name + b"=" + value + b"\0" for name, value in environment.items())
    return len(text).to_bytes(SIZE_BYTES, "big") + text


def hand_over(address: str) -> _socket.socket:
    """Give the standard streams and the environment to a child of the nursery at ``address``.

    Raises:
        OSError: there is no nursery, or it is ending.
    """
    nursery = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    nursery.connect(address)
    streams = b"".join(descriptor.to_bytes(4, sys.byteorder) for descriptor in (0, 1, 2))
    message = packed(environ)
    sent = nursery.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    # Even of nothing it would send something once, which fails where the child has ended already.
    if sent < len(message):
        nursery.sendall(message[sent:])
    return nursery


def let_go() -> None:
    """Keep none of the streams: their other ends must see the child end, or close one of them, at once."""
    nothing = open_file("/dev/null", 2)  # os.O_RDWR everywhere
    for descriptor in (0, 1, 2):
        dup2(nothing, descriptor)


def end_as(report: bytes) -> None:
    """End as the child has ended: with its exit status, or by its signal, whose number the report has negated."""
    if len(report) < STATUS_BYTES:
        _exit(_COULD_NOT_RUN)
    status = int.from_bytes(report, "big", signed=True)
    if status < 0:
        kill(getpid(), -status)
    _exit(status)


def main() -> None:
    """Stand in for a child."""
    try:
        nursery = hand_over(sys.argv[1])
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]}: there is no nursery ({error}). Start the server again.\n")
        sys.exit(_COULD_NOT_RUN)
    let_go()
    try:
        report = nursery.recv(STATUS_BYTES, _socket.MSG_WAITALL)
    except OSError:
        report = b""
    end_as(report)


if __name__ == "__main__":
    main()
