"""The figures of mutation testing by module: as a table, and kept as ``mutation.json`` and ``README.md``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

_INTRODUCTION: Final = """# Mutation testing of the judge

Every rule in `conformance/judge/` is switched off, turned round or moved by one, one at a time, and the unit tests of
the judge must notice. A mutant that changes no verdict (it only changes words or speed, or nothing at all) is listed
with the reason in `tests/mutation/equivalent.toml`; one in a function that only makes words is not tried. `tox -e
mutation` tries all of them and fails when a mutant survives that is not listed, and also when one that is listed does
not. `tox -e mutation -- --module NAME --out reports/mutation` tries one module and renews its row here and its entry in
`mutation.json`, which also holds the names of survivors, and the SHA-256 of the module's text that was measured.

"""


@dataclass(frozen=True)
class Figures:
    """How many mutants of a module there are and what became of them; ``survivors`` are their names."""

    mutants: int
    killed: int
    by_time: int
    survivors: tuple[str, ...] = ()

    @property
    def equivalent(self) -> int:
        """How many survive that are listed as changing no verdict."""
        return self.mutants - self.killed - self.by_time - len(self.survivors)

    @property
    def row(self) -> tuple[int, ...]:
        """The figures in the order of the table's columns."""
        return self.mutants, self.killed, self.by_time, self.equivalent, len(self.survivors)


def table(figures: Mapping[str, Figures]) -> list[str]:
    """Return the lines of a Markdown table, with a sum."""
    rows = {f"`{module}`": figures[module].row for module in sorted(figures)}
    rows["all"] = tuple(map(sum, zip(*rows.values(), strict=True)))
    return [
        "| module | mutants | killed | by time | equivalent | survivors |",
        "|---|--:|--:|--:|--:|--:|",
        *(f"| {name} | {' | '.join(map(str, row))} |" for name, row in rows.items()),
    ]


def write(folder: Path, figures: Mapping[str, Figures], paths: Mapping[str, Path]) -> None:
    """Renew the entries of these modules in the folder's files; those of modules that are gone are dropped."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mutation.json"
    kept: dict[str, Any] = json.loads(path.read_text("utf-8"))["modules"] if path.exists() else {}
    for module, each in figures.items():
        digest = hashlib.sha256(paths[module].read_bytes()).hexdigest()
        kept[module] = {"source_sha256": digest, "equivalent": each.equivalent, **asdict(each)}
    modules = {module: kept[module] for module in sorted(kept) if module in paths}
    path.write_text(json.dumps({"format": 1, "modules": modules}, indent=2) + "\n", encoding="utf-8")
    columns = ("mutants", "killed", "by_time", "survivors")
    read = {module: Figures(**{name: entry[name] for name in columns}) for module, entry in modules.items()}
    (folder / "README.md").write_text(_INTRODUCTION + "\n".join(table(read)) + "\n", encoding="utf-8")
