"""Standard streams as the event loop reads and writes them itself; by way of threads a message takes twice as long."""

from __future__ import annotations

import asyncio
import os
from typing import Any, cast

import anyio

_LONGEST_LINE = 16 * 1024 * 1024


class PipeInput:
    """Gives the lines that come in over standard input, until its end."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> PipeInput:
        """Return itself."""
        return self

    async def __anext__(self) -> str:
        """Return the next line.

        Raises:
            StopAsyncIteration: the input has ended.
        """
        try:
            line = await self._reader.readline()
        except ValueError:
            # A line of such a length is no message; what comes after it cannot be told from its end.
            raise StopAsyncIteration from None
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")


class PipeOutput:
    """Writes to standard output at once: there is one client, and nobody else waits."""

    async def write(self, text: str) -> None:
        """Write all of it."""
        rest = memoryview(text.encode("utf-8"))
        while rest:
            rest = rest[os.write(1, rest) :]

    async def flush(self) -> None:
        """Nothing is kept back."""


async def pipes() -> tuple[anyio.AsyncFile[str], anyio.AsyncFile[str]] | tuple[None, None]:
    """Return standard input and output in the form that the SDK asks for, or nothing where the input is no pipe."""
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    loop = asyncio.get_running_loop()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", closefd=False))
    except ValueError:
        return None, None
    # The SDK iterates over the one, and writes to and flushes the other.
    return cast("Any", PipeInput(reader)), cast("Any", PipeOutput())
