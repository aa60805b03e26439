"""One log of exchanges from those of several workers, or of several runs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from conformance.report.exchange_log import EXCHANGE, footer, header, line_of, read_header
from conformance.run import RunFacts

_RACE: Final = b'{"kind":"race",'
_ENDS: Final = (b'{"kind":"header",', b'{"kind":"footer",')
_FIRST_OF_A_LIST: Final = re.compile(rb'\["(?=[^"])')
"""In the line of a race the only texts that stand first in a list are ids."""


def put_together(
    path: Path, parts: Sequence[Path], facts: RunFacts, *, complete: bool, names: Sequence[str] = ()
) -> None:
    """Write one log from several, which are taken in this order.

    Workers of a run give their exchanges ids that differ. Runs do not, so a name for each is put before its ids.

    Raises:
        OSError: a file cannot be read or written.
    """
    description = read_header(parts[0])["target"] if parts else None
    named = zip(parts, names or [""] * len(parts), strict=True)
    lines = (_named(line, name) if name else line for part, name in named for line in _all(part))
    digest, count = hashlib.sha256(), 0
    with path.open("wb") as file:
        for line in chain([line_of({**header(facts), "target": description})], lines):
            count += line.startswith(EXCHANGE)
            digest.update(line)
            file.write(line)
        file.write(line_of(footer(count, digest.hexdigest(), complete=complete)))


def named_id(identifier: str, name: str) -> str:
    """Return the id that an exchange of a run has in a log of several; what is in no log has none."""
    return f"{name}-{identifier}" if identifier else ""


def _named(line: bytes, name: str) -> bytes:
    before = name.encode() + b"-"
    if line.startswith(EXCHANGE):
        return line.replace(b'"id":"', b'"id":"' + before, 1)
    return _FIRST_OF_A_LIST.sub(b'["' + before, line) if line.startswith(_RACE) else line


def _all(path: Path) -> Iterable[bytes]:
    """Yield the lines of a part but for its own beginning and end."""
    with path.open("rb") as file:
        yield from (line for line in file if line.endswith(b"\n") and not line.startswith(_ENDS))
