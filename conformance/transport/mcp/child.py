"""A server as a child process: lines in, lines out, and whatever it does it is gone in the end."""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from conformance.transport.exchange import Failure, FailureKind
from conformance.transport.mcp.frames import Frame, Identifier, read_frame
from conformance.transport.wire import WireLimits

_READ_SIZE: Final = 65536
_STDERR_BYTES: Final = 64 * 1024
_STDERR_OVERLAP: Final = 256
_ENDING_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 0.5
"""How long a child may take to end after its input was closed, and again after it was asked to terminate."""


@dataclass(eq=False)
class Awaited:
    """An answer that is waited for. ``frame`` or ``failure`` is set when ``done`` is."""

    identifier: Identifier | None
    method: str
    done: threading.Event = field(default_factory=threading.Event)
    frame: Frame | None = None
    id_echoed: bool = False
    failure: Failure | None = None
    arrived: int = 0


class ChildListener:
    """What a child tells of itself, from a thread of its own. Each method may be called at any time."""

    def heard(self, frame: Frame, answers: str) -> None:
        """Take a message; ``answers`` is the method that it answers, if it answers one of ours."""

    def stray(self, reason: str, text: bytes) -> None:
        """Take a line that is no message, or an answer that nobody awaits."""

    def stderr(self, text: bytes) -> None:
        """Take the next bytes of the standard error stream; the beginning of their line comes again with them."""


class Child:
    """One child process. Safe to use from several threads.

    ``opened`` is for the session that uses the child: whether it is open.

    Raises:
        ChildFault: the command cannot be started.
    """

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], limits: WireLimits, listener: ChildListener
    ) -> None:
        self.opened = False
        self.retired = False
        self._limits = limits
        self._listener = listener
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._awaited: list[Awaited] = []
        self._answered: set[Identifier] = set()
        self._failure: Failure | None = None
        self._unasked_bytes = 0
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._stderr = bytearray()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the target's own command, without a shell
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
                bufsize=0,
                # A group of its own, so that whatever the child starts can be ended with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise ChildFault("unreachable", f"the command cannot be started ({reason})") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._input = self._process.stdin.fileno()
        self._output = self._process.stdout.fileno()
        self._errors = self._process.stderr.fileno()
        for descriptor in (self._input, self._output, self._errors):
            os.set_blocking(descriptor, False)
        self._wake, self._wake_up = os.pipe()
        self._ended = threading.Event()
        self._is_closed = False
        _ALIVE.add(self)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def usable(self) -> bool:
        """Whether another message can be sent: the child runs, listens, and has not been given up."""
        return not self.retired and self._failure is None and not self._ended.is_set()

    @property
    def is_busy(self) -> bool:
        """Whether answers are waited for."""
        return bool(self._awaited)

    @property
    def has_ended(self) -> bool:
        """Whether the child has closed its output, as it does when it ends."""
        return self._ended.is_set()

    @property
    def last_stderr(self) -> bytes:
        """The end of what the child has written to its standard error stream, at most 64 kB."""
        return bytes(self._stderr)

    def answered_before(self, identifiers: Collection[Identifier]) -> None:
        """Take these for ids of messages that were answered, so that a further answer to one is nobody's."""
        with self._lock:
            self._answered.update(identifiers)

    def begin(self, lines: bytes, awaited: Sequence[Awaited], deadline: float) -> None:
        """Write whole lines in one piece, as far as the system allows, and let answers be waited for."""
        with self._lock:
            failure = self._failure
            if failure is None:
                self._awaited += awaited
                self._unasked_bytes = 0
        if failure is None:
            failure = self._write(lines, deadline)
        if failure is not None:
            for each in awaited:
                self._settle(each, failure=failure)

    def wait(self, awaited: Awaited, deadline: float) -> None:
        """Wait until an answer has come, or the child has failed, or the deadline has passed.

        A child that has not answered in time is not asked again: another one takes its place.
        """
        if not awaited.done.wait(max(0.0, deadline - time.monotonic())):
            self.retired = True
            message = f"no answer within {self._limits.seconds:g} s"
            self._settle(awaited, failure=Failure("timeout", message))

    def write_quietly(self, line: bytes) -> None:
        """Write a line to which no answer is expected, if the child takes it at once."""
        self._write(line, time.monotonic() + _PATIENCE_SECONDS)

    def hang_up(self) -> None:
        """Close the child's standard input, which asks it to end."""
        assert self._process.stdin is not None
        with self._write_lock, suppress(OSError):
            self._is_closed = True
            self._process.stdin.close()

    def close(self, *, kindly: bool = True) -> None:
        """End the child and all that it has started, within about a second; may be called again.

        Kindly means to hang up, then to ask it to terminate, and only then to end it by force.
        """
        self.hang_up()
        if kindly and not self._ended.wait(_PATIENCE_SECONDS):
            self._signal(signal.SIGTERM)
            self._ended.wait(_PATIENCE_SECONDS)
        # The leader is not collected yet, so the number of the group is still its own.
        self.kill()
        self._process.wait()
        with self._lock:
            if self not in _ALIVE:
                return
            _ALIVE.discard(self)
        os.write(self._wake_up, b"x")
        self._reader.join()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        os.close(self._wake)
        os.close(self._wake_up)
        self._fail(Failure("closed", "the suite has ended the child"))

    def kill(self) -> None:
        """End the child and all that it has started at once; ``close`` is still due."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _write(self, data: bytes, deadline: float) -> Failure | None:
        if not self._write_lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            return Failure("timeout", "the child does not read what is sent to it")
        try:
            return self._write_all(data, deadline)
        except (OSError, ValueError):
            self._ended.wait(_PATIENCE_SECONDS)
            return self._failure or Failure("closed", "the child has closed its standard input")
        finally:
            self._write_lock.release()

    def _write_all(self, data: bytes, deadline: float) -> Failure | None:
        if self._is_closed:
            return Failure("closed", "the suite has ended the child")
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:
                _, writable, _ = select.select([], [self._input], [], max(0.0, deadline - time.monotonic()))
                if not writable:
                    # Half a line has been written: nothing can follow it.
                    self.retired = True
                    return Failure("timeout", "the child does not read what is sent to it")
        return None

    def _read(self) -> None:
        open_streams = [self._output, self._errors]
        while open_streams:
            readable, _, _ = select.select([*open_streams, self._wake], [], [])
            if self._wake in readable:
                break
            # What was written to stderr before an answer is heard before it.
            for stream, take in ((self._errors, self._take_errors), (self._output, self._take_output)):
                if stream in open_streams and (stream in readable or stream == self._errors):
                    data = _read_now(stream)
                    if data == b"":
                        open_streams.remove(stream)
                        if stream == self._output:
                            self._output_ended()
                    elif data is not None:
                        take(data)
        self._ended.set()

    def _output_ended(self) -> None:
        if self._line:
            self._listener.stray("a line without an end", b"".join(self._line))
        status = self._exit_status()
        ending = "has closed its output"
        if status is not None:
            how = "with status" if status.si_code == os.CLD_EXITED else "by signal"
            ending = f"has ended {how} {status.si_status}"
        self._ended.set()
        self._fail(Failure("closed", f"the child {ending} without an answer"))

    def _exit_status(self) -> os.waitid_result | None:
        """Return how the child has ended, without collecting it; its output is closed a little before that is known."""
        deadline = time.monotonic() + _ENDING_SECONDS
        with suppress(ChildProcessError):
            while True:
                status = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if status is not None or time.monotonic() > deadline:
                    return status
                time.sleep(_ENDING_SECONDS / 20)
        return None

    def _take_errors(self, data: bytes) -> None:
        # A word may come in two parts. What stands in whole lines has been heard, and may have become private since.
        overlap = bytes(self._stderr[-_STDERR_OVERLAP:]).rpartition(b"\n")[2]
        self._stderr += data
        del self._stderr[:-_STDERR_BYTES]
        self._listener.stderr(overlap + data)

    def _take_output(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._line.append(line)
            whole = b"".join(self._line)
            self._line, self._line_bytes = [], 0
            self._take_line(whole)
        if rest:
            self._line.append(rest)
            self._line_bytes += len(rest)
        self._unasked_bytes += len(data)
        if max(self._line_bytes, self._unasked_bytes) > self._limits.body_bytes:
            self._fail(Failure("too-large", f"more than {self._limits.body_bytes} bytes of output without an answer"))
            self._line, self._line_bytes = [], 0
            self.kill()

    def _take_line(self, line: bytes) -> None:
        frame = read_frame(line)
        if frame is None or frame.kind == "other":
            self._listener.stray("no message", line)
        elif frame.is_answer:
            self._take_answer(frame)
        else:
            self._listener.heard(frame, "")

    def _take_answer(self, frame: Frame) -> None:
        with self._lock:
            awaited = self._whose(frame)
            self._unasked_bytes = 0 if awaited is not None else self._unasked_bytes
        if awaited is None:
            self._listener.heard(frame, "")
            # An error without an id may follow a message that could not be read.
            if frame.kind != "error" or frame.identifier is not None:
                self._listener.stray("an answer that nobody awaits", frame.raw)
            return
        self._listener.heard(frame, awaited.method)
        self._settle(awaited, frame=frame)

    def _whose(self, frame: Frame) -> Awaited | None:
        """Return what is waited for that the answer belongs to.

        One whose id is nobody's, neither now nor before, belongs to the only one that is waited for; but an error
        without an id only to a message that has none.
        """
        for awaited in self._awaited:
            if awaited.identifier == frame.identifier and (awaited.identifier is not None or frame.kind == "error"):
                return awaited
        if frame.kind == "error" and frame.identifier is None:
            return None
        if len(self._awaited) == 1 and frame.identifier not in self._answered:
            return self._awaited[0]
        return None

    def _settle(self, awaited: Awaited, frame: Frame | None = None, failure: Failure | None = None) -> None:
        with self._lock:
            if awaited in self._awaited:
                self._awaited.remove(awaited)
            if awaited.identifier is not None:
                self._answered.add(awaited.identifier)
            if awaited.done.is_set():
                return
            awaited.arrived = time.monotonic_ns()
            awaited.frame, awaited.failure = frame, failure
            awaited.id_echoed = frame is not None and frame.identifier == awaited.identifier is not None
            awaited.done.set()

    def _fail(self, failure: Failure) -> None:
        """Give up the child, and with it all that is waited for."""
        with self._lock:
            self._failure = self._failure or failure
            left = list(self._awaited)
        for awaited in left:
            self._settle(awaited, failure=self._failure)


class ChildFault(Exception):
    """A child that could not be started."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message)


def _read_now(descriptor: int) -> bytes | None:
    """Return what can be read at once: nothing (``None``), or no bytes at the end of the stream."""
    try:
        return os.read(descriptor, _READ_SIZE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


_ALIVE: Final[weakref.WeakSet[Child]] = weakref.WeakSet()


@atexit.register
def _kill_all() -> None:
    for child in list(_ALIVE):
        child.kill()
