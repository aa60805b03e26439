"""Where the state of the reference server lives: a temporary file, a given file, or memory."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import uuid
from pathlib import Path

from conformance.errors import UsageProblem


class Database:
    """A place for SQLite state that outlives every connection to it, until ``close``.

    ``option`` is a path, ``memory``, or None for a temporary file that ``close`` removes.
    """

    def __init__(self, option: str | None = None) -> None:
        # Where other processes find it; None in memory.
        self.path: Path | None = None
        self._folder: Path | None = None
        self._anchor: sqlite3.Connection | None = None
        if option == "memory":
            self._location = f"file:reference-{uuid.uuid4()}?mode=memory&cache=shared"
            # SQLite drops a memory database with its last connection; a restart must not.
            self._anchor = sqlite3.connect(self._location, uri=True)
            return
        if option is None:
            self._folder = Path(tempfile.mkdtemp(prefix="sosoapi-reference-"))
            path = self._folder / "state.sqlite"
        else:
            path = Path(option).absolute()
        self.path = path
        self._location = path.as_uri()

    def connect(self) -> sqlite3.Connection:
        """Open a connection in which transactions begin and end only where the code says so.

        Raises:
            UsageProblem: the file cannot be opened or is no SQLite database.
        """
        try:
            connection = sqlite3.connect(self._location, uri=True, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error as error:
            raise UsageProblem(
                f"cannot be used as a database ({error})", self._location, "Give a writable path, or memory."
            ) from None
        return connection

    def close(self) -> None:
        """Let go of memory and of the temporary file."""
        if self._anchor is not None:
            self._anchor.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
