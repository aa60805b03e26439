"""Mutation testing of the judge: every rule is switched off in turn, and the unit tests must notice.

``python tests/mutation/mutate_judge.py`` exits with 0 when every mutant is killed or listed in ``equivalent.toml`` with
the reason why it changes no verdict, and with 1 when one survives, or one that is listed does not.
"""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from figures import Figures, table, write
from operators import Mutant, mutants
from trials import Fate, Source, Trials

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
JUDGE = Source(ROOT / "conformance" / "judge", "conformance.judge")
TESTS = (
    "tests/unit/judge",
    "tests/unit/test_canaries.py",
    "tests/unit/test_comparison.py",
    "tests/unit/test_invariants.py",
    "tests/unit/test_outcome.py",
    "tests/unit/test_schema_meaning.py",
    "tests/unit/test_stories.py",
)
# What nearly every test goes through has tests of its own, and those must notice.
CONCERNED = {
    "assertions": ("judge/test_assertions", "judge/test_cases", "judge/test_coverage", "judge/test_schema"),
    "decode": ("judge/test_decode", "judge/test_self_proof"),
    "formats": ("judge/test_formats", "judge/test_self_proof"),
    "json_values": ("judge/test_json_values", "judge/test_coverage", "judge/test_schema"),
    "result": ("judge/test_result", "test_invariants"),
    "schema": ("judge/test_schema", "judge/test_every_assertion"),
    "self_proof": ("judge/test_self_proof",),
}
# They only ask the same of many more examples.
LONG_TESTS = ("tests/unit/test_schema_meaning.py::test_every_lost_keyword_is_seen",)


@dataclass(frozen=True)
class Excused:
    """What ``equivalent.toml`` says: mutants that change no verdict, and functions that only make words for people."""

    mutants: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Excused:
        """Read the file; every entry must have a reason."""
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        groups = tables.get("equivalent", [])
        words = [each["function"] for each in tables.get("words", []) if each["reason"]]
        return cls(frozenset(name for group in groups if group["reason"] for name in group["mutants"]), tuple(words))

    def is_words(self, mutant: Mutant) -> bool:
        """Tell whether the mutant is in a function that only makes words."""
        where = f"{mutant.module}:{mutant.function}"
        return any(fnmatchcase(where, pattern) for pattern in self.words)


@dataclass
class Result:
    """What became of the mutants."""

    fates: dict[Mutant, Fate] = field(default_factory=dict)
    excused: Excused = field(default_factory=Excused)

    def figures(self) -> dict[str, Figures]:
        """Return what became of the mutants of each module."""
        survivors, found = set(self.survivors()), defaultdict[str, list[tuple[Mutant, Fate]]](list)
        for mutant, fate in self.fates.items():
            found[mutant.module].append((mutant, fate))
        return {
            module: Figures(
                mutants=len(each),
                killed=sum(fate == "killed" for _, fate in each),
                by_time=sum(fate == "killed by time" for _, fate in each),
                survivors=tuple(mutant.name for mutant, _ in each if mutant in survivors),
            )
            for module, each in found.items()
        }

    def survivors(self) -> list[Mutant]:
        """Return the mutants that nothing excuses and no test notices."""
        return [each for each in self.fates if not self._is_killed(each) and each.name not in self.excused.mutants]

    def stale(self, known: Sequence[Mutant]) -> list[str]:
        """Return what is wrong with the list of excuses; ``known`` are all mutants that there are."""
        names = {each.name for each in known}
        gone = [f"is listed, but does not exist: {name}" for name in sorted(self.excused.mutants - names)]
        killed = [each.name for each in self.fates if self._is_killed(each) and each.name in self.excused.mutants]
        unused = [
            f"is listed, but matches no function: {pattern}"
            for pattern in self.excused.words
            if not any(fnmatchcase(f"{each.module}:{each.function}", pattern) for each in known)
        ]
        return [*gone, *unused, *(f"is listed, but a test notices it: {name}" for name in killed)]

    def _is_killed(self, mutant: Mutant) -> bool:
        return self.fates[mutant].startswith("killed")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.out and options.only:
        parser.error("--out keeps the figures of whole modules, so it does not go with --only")
    source = Source(options.source.resolve(), options.package)
    excused = Excused.read(options.equivalent)
    known = [each for module in source.modules for each in mutants(source.path(module).read_text("utf-8"), module)]
    chosen = [each for each in known if not excused.is_words(each) and _is_wanted(each, options)]
    if options.list:
        _say(*(f"{each.place} {each.name}" for each in chosen))
        return 0
    result = Result(excused=excused)
    began = time.monotonic()

    def told(mutant: Mutant, fate: Fate) -> None:
        if not fate.startswith("killed") and mutant.name not in excused.mutants:
            _say(f"{fate}: {mutant.place} {mutant.name}")
        if options.verbose:
            _say(f"  {time.monotonic() - began:7.1f} s  {fate}: {mutant.name}")

    concerned = {module: [f"tests/unit/{name}.py" for name in names] for module, names in CONCERNED.items()}
    trials = Trials(source, chosen, concerned if source == JUDGE else {}, options.processes, told)
    deselected = [f"--deselect={test}" for test in options.without]
    quiet = ["-s", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:terminal"]
    pytest.main([*quiet, *deselected, *options.tests], plugins=[trials])
    if trials.failed_without_mutant:
        _say("these tests fail without any mutant:", *(f"  {each}" for each in trials.failed_without_mutant))
        return 1
    result.fates = dict(sorted(trials.fates.items(), key=lambda each: (each[0].module, each[0].number)))
    stale, figures = result.stale(known), result.figures()
    _say(*table(figures), *stale, f"{len(chosen)} mutants in {time.monotonic() - began:.0f} s")
    if options.out:
        write(options.out, figures, {module: source.path(module) for module in source.modules})
    return 1 if result.survivors() or stale or len(result.fates) != len(chosen) else 0


def _is_wanted(mutant: Mutant, options: argparse.Namespace) -> bool:
    if options.module and mutant.module not in options.module:
        return False
    return not options.only or any(part in mutant.name for part in options.only)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Switch off every rule of the judge in turn; the tests must notice.")
    parser.add_argument("--module", action="append", metavar="NAME", help="only mutants of this module")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only mutants whose name contains this")
    parser.add_argument("--list", action="store_true", help="show the mutants and try none")
    parser.add_argument("--verbose", action="store_true", help="tell what became of every mutant")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="how many at a time (default: 2)")
    parser.add_argument("--source", type=Path, default=JUDGE.folder, metavar="DIR", help="folder of the modules")
    parser.add_argument("--package", default=JUDGE.package, metavar="NAME", help="what they are imported under")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="keep the figures of the modules here: whole modules only"
    )
    parser.add_argument("--equivalent", type=Path, default=HERE / "equivalent.toml", metavar="FILE", help="the excuses")
    parser.add_argument("--without", action="append", default=list(LONG_TESTS), metavar="TEST", help="leave out a test")
    parser.add_argument("tests", nargs="*", default=[str(ROOT / each) for each in TESTS], help="files and folders")
    return parser


if __name__ == "__main__":
    sys.exit(main())
