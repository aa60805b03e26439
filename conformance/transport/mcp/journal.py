"""Keeps what servers said, all of it or the last part: messages, stray output, and the sound of stderr."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from conformance.errors import NotReplayable

_MOST_BYTES: Final = 16 * 1024 * 1024
_FRAME_BYTES: Final = 512
"""What keeping a message costs beside its own bytes: very many short ones must not add up either."""

_MOST_STRAYS: Final = 200
_STRAY_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class SpokenFrame:
    """A message of the server: to whom it was sent, in which revision, and the method that it answers if it does."""

    number: int
    principal: str
    revision: str
    answers: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Stray:
    """Output that is nobody's: a line that is no message, or an answer that nobody awaits (any more).

    ``text`` is cut after 4096 bytes.
    """

    number: int
    principal: str
    reason: str
    text: bytes


class Journal:
    """The record of one transport, bounded in memory. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._beginning = 0
        self.told: Callable[[SpokenFrame | Stray], None] = _unheard
        self._frames: deque[SpokenFrame] = deque()
        self._frame_bytes = 0
        self._strays: deque[Stray] = deque(maxlen=_MOST_STRAYS)

    def mark(self) -> int:
        """Return a number; what is noted from now on has a higher one."""
        with self._lock:
            return self._number

    def begin_replay(self) -> None:
        """Tell from now on only what is noted from now on: what was before is not the server of now."""
        self._beginning = self.mark()

    def frames(self, since: int = 0) -> tuple[SpokenFrame, ...]:
        """Return the messages noted after a mark, oldest first; very old ones may be forgotten.

        Raises:
            NotReplayable: the mark is older than the replay.
        """
        self._must_reach(since)
        with self._lock:
            return tuple(frame for frame in self._frames if frame.number > since)

    def strays(self, since: int = 0) -> tuple[Stray, ...]:
        """Return the stray output noted after a mark, oldest first, at most the last 200.

        Raises:
            NotReplayable: the mark is older than the replay.
        """
        self._must_reach(since)
        with self._lock:
            return tuple(stray for stray in self._strays if stray.number > since)

    def _must_reach(self, since: int) -> None:
        if since < self._beginning:
            raise NotReplayable(
                "the case judges all that was said in the run, and only its own messages are sent again",
                "Run the suite again.",
            )

    def note_frame(self, principal: str, revision: str, answers: str, raw: bytes) -> None:
        """Keep a message of the server."""
        with self._lock:
            self._number += 1
            self._frames.append(SpokenFrame(self._number, principal, revision, answers, raw))
            self.told(self._frames[-1])
            self._frame_bytes += len(raw) + _FRAME_BYTES
            while self._frame_bytes > _MOST_BYTES and len(self._frames) > 1:
                self._frame_bytes -= len(self._frames.popleft().raw) + _FRAME_BYTES

    def note_stray(self, principal: str, reason: str, text: bytes) -> None:
        """Keep stray output."""
        with self._lock:
            self._number += 1
            self._strays.append(Stray(self._number, principal, reason, bytes(text[:_STRAY_BYTES])))
            self.told(self._strays[-1])


def _unheard(_: SpokenFrame | Stray) -> None:
    """Tell nobody."""
