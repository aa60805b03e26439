"""``cases.jsonl``: the stored result of a run, written as the run goes. All other reports can be made from it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from conformance.errors import UsageProblem
from conformance.ledger import CaseRecord, Ledger
from conformance.run import RunFacts

NAME: Final = "cases.jsonl"
FORMAT: Final = "sosoapi-conformance cases"
FORMAT_VERSION: Final = 1


class CaseLog:
    """Writes a line for the facts of the run, one for each case, and one for the end. Every line is written at once."""

    def __init__(self, folder: Path, facts: RunFacts) -> None:
        """Begin the file.

        Raises:
            OSError: it cannot be written.
        """
        self._file: IO[str] = (folder / NAME).open("w", encoding="utf-8", newline="\n")
        self._write({"kind": "header", "format": FORMAT, "format_version": FORMAT_VERSION, "facts": facts.to_json()})

    def add(self, record: CaseRecord) -> None:
        """Write what a case came to."""
        self._write({"kind": "case", **record.to_json()})

    def end(self, facts: RunFacts, *, complete: bool) -> None:
        """Write the facts as they are at the end; ``complete`` is false for a run that was interrupted."""
        self._write({"kind": "footer", "complete": complete, "facts": facts.to_json()})
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()


@dataclass(frozen=True)
class StoredRun:
    """A run as it was stored; ``complete`` is false for one that was interrupted or cut off."""

    folder: Path
    facts: RunFacts
    ledger: Ledger
    complete: bool


def read_run(folder: Path) -> StoredRun:
    """Read what a run has stored; a last line that was cut off is left out.

    Raises:
        UsageProblem: there is no such file, or it is another one.
    """
    path = folder / NAME
    remedy = f"Name a folder that `pytest --report-dir` wrote; it has a {NAME}."
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageProblem(f"{path} cannot be read ({reason})", str(folder), remedy) from None
    values = [_line(text, path, number, is_last=number == len(lines)) for number, text in enumerate(lines, 1)]
    header, *others = [each for each in values if each is not None] or [{}]
    if (header.get("format"), header.get("format_version")) != (FORMAT, FORMAT_VERSION):
        raise UsageProblem(f"{path} is not {FORMAT!r}, version {FORMAT_VERSION}", str(folder), remedy)
    footer = next((each for each in others if each["kind"] == "footer"), None)
    ledger = Ledger()
    try:
        for each in others:
            if each["kind"] == "case":
                ledger.add(CaseRecord.from_json({name: value for name, value in each.items() if name != "kind"}))
        facts = RunFacts.from_json((footer or header)["facts"])
    except (KeyError, TypeError, ValueError) as error:
        raise UsageProblem(f"{path} lacks something or has too much ({error})", str(folder), remedy) from None
    return StoredRun(folder, facts, ledger, bool(footer and footer["complete"]))


def _line(text: bytes, path: Path, number: int, *, is_last: bool) -> dict[str, Any] | None:
    if not text:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict) and isinstance(value.get("kind"), str):
        return value
    if is_last:
        return None
    raise UsageProblem(
        f"line {number} of {path} cannot be read", str(path.parent), "The file was changed after the run."
    )
