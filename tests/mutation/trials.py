"""Runs tests against mutants: a pytest plugin that takes the place of a test run.

The process collects nothing itself. It forks a child that runs all tests once, to learn which lines of the mutated
package each of them reaches. Then each mutant is tried in a child of its own, which runs the tests that can tell until
one fails, in two rounds:

- The quick round forks from a process that has collected all tests, and puts the mutated code into the functions in
  place. What was computed before stays as it was, so it does not decide that a mutant survives which is reached while
  modules are imported and tests are collected.
- Such mutants, and those of code outside of functions, are tried anew in a child that imports everything itself, the
  mutated module instead of the real one.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import pickle
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, Final, Literal, TypeVar

import hypothesis
import pytest
from in_place import Functions
from operators import Mutant, mutated

Fate = Literal["killed", "killed by time", "survived", "undecided", "reached by no test"]

_FATES: Final[dict[int, Fate]] = {0: "survived", 1: "killed", 2: "undecided"}
_IMPORT: Final = "import"
_MEMORY: Final = 4 << 30
_LEAST_SECONDS: Final = 4.0
_WALL_SECONDS: Final = 180


@dataclass(frozen=True)
class Source:
    """The package whose modules are mutated: its folder, and the name it is imported by."""

    folder: Path
    package: str

    def path(self, module: str) -> Path:
        """Return the file of a module."""
        return self.folder / f"{module}.py"

    def full_name(self, module: str) -> str:
        """Return the name under which a module is imported."""
        return f"{self.package}.{module}" if self.package else module

    @property
    def modules(self) -> list[str]:
        """Every module that can hold a mutant."""
        return sorted(path.stem for path in self.folder.glob("*.py") if path.stem != "__init__")


@dataclass
class Known:
    """What the run without a mutant has shown: seconds by test, and the tests and files that reach a line.

    ``concerned`` names the test files that concern a module; for one that it does not name all do.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    reached_by: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    concerned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)

    def tests(self, mutant: Mutant) -> dict[str, list[str]]:
        """Return the tests that can tell a mutant, by file, the cheapest file and the most special test first."""
        reached = self._reaching(mutant)
        if not self.is_quick(mutant):
            reached |= {name for line, names in self.reached_by.items() if line[0] == mutant.module for name in names}
            # A table is read without any line of its module being carried out.
            reached |= {name.partition("::")[0] for name in reached} | set(self.concerned.get(mutant.module, ()))
        files = {name for name in reached if "::" not in name}
        reached |= {name for name in self.seconds if name.partition("::")[0] in files}
        concerned = tuple(self.concerned.get(mutant.module, ("",)))
        reached = {name for name in reached if name.startswith(concerned)}
        by_file: dict[str, list[str]] = defaultdict(list)
        for name in sorted(reached & self.seconds.keys(), key=lambda name: (self.seconds[name], name)):
            by_file[name.partition("::")[0]].append(name)
        return dict(sorted(by_file.items(), key=lambda each: sum(self.seconds[name] for name in each[1])))

    def is_quick(self, mutant: Mutant) -> bool:
        """Tell whether nothing that is computed when modules are imported and tests are collected depends on it."""
        return bool(mutant.lines) and all("::" in name for name in self._reaching(mutant))

    def _reaching(self, mutant: Mutant) -> set[str]:
        return {name for line in mutant.lines for name in self.reached_by.get((mutant.module, line), ())}


class Trials:
    """The plugin. ``wanted`` are the mutants to try; ``fates`` says afterwards what became of each."""

    def __init__(
        self,
        source: Source,
        wanted: Sequence[Mutant],
        concerned: Mapping[str, Sequence[str]],
        processes: int,
        told: Callable[[Mutant, Fate], None],
    ) -> None:
        self._source = source
        self._concerned = concerned
        self._wanted = wanted
        self._processes = processes
        self._told = told
        self._failed = False
        self.fates: dict[Mutant, Fate] = {}
        self.failed_without_mutant: list[str] = []

    def pytest_configure(self) -> None:
        """Make random tests repeatable, and let them stop at the first failure without looking for a smaller one."""
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile(
            "mutation", derandomize=True, database=None, deadline=None, phases=phases, print_blob=False
        )
        hypothesis.settings.load_profile("mutation")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Try all mutants instead of collecting tests."""
        session.items = []
        files = _test_files(session.config)
        known = _in_child(lambda: self._learn(session, files))
        self.failed_without_mutant = known.failed
        if known.failed:
            return True
        tests = {mutant: known.tests(mutant) for mutant in self._wanted}
        reached = [mutant for mutant in self._wanted if tests[mutant]]
        inside = [mutant for mutant in reached if mutant.lines]
        quick = _in_child(lambda: self._quick_round(session, files, inside, tests, known))
        for mutant in self._wanted:
            if not tests[mutant]:
                self._end(mutant, "reached by no test")
            elif (fate := quick.get(mutant, "undecided")).startswith("killed") or (
                fate == "survived" and known.is_quick(mutant)
            ):
                self._end(mutant, fate)
        for name in known.imported:
            _import_quietly(name)

        def anew(mutant: Mutant) -> int:
            path = self._source.path(mutant.module)
            code = mutated(path.read_text(encoding="utf-8"), mutant.number, str(path))
            sys.meta_path.insert(0, _Finder(self._source.full_name(mutant.module), path, code))
            return self._notices(session, tests[mutant], known)

        self._each([mutant for mutant in reached if mutant not in self.fates], anew, self._end)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self._failed = self._failed or report.failed

    def _end(self, mutant: Mutant, fate: Fate) -> None:
        self.fates[mutant] = fate
        self._told(mutant, fate)

    def _each(
        self, wanted: Sequence[Mutant], is_noticed: Callable[[Mutant], int], ended: Callable[[Mutant, Fate], None]
    ) -> None:
        """Try each mutant in a child of its own, some at a time."""
        running: dict[int, Mutant] = {}
        for mutant in wanted:
            if len(running) == self._processes:
                _wait(running, ended)
            running[_start(mutant, is_noticed)] = mutant
        while running:
            _wait(running, ended)

    # In the children

    def _quick_round(
        self,
        session: pytest.Session,
        files: Sequence[str],
        wanted: Sequence[Mutant],
        tests: Mapping[Mutant, Mapping[str, Sequence[str]]],
        known: Known,
    ) -> dict[Mutant, Fate]:
        items: dict[str, pytest.Item] = {}
        for file in files:
            session.perform_collect([file])
            items |= {item.nodeid: item for item in session.items}
        functions = Functions(self._source.folder, self._source.package.partition(".")[0])

        def in_place(mutant: Mutant) -> int:
            path = self._source.path(mutant.module)
            if not functions.put(mutated(path.read_text(encoding="utf-8"), mutant.number, str(path))):
                return 2
            return any(self._one_fails([items[name] for name in names], known) for names in tests[mutant].values())

        fates: dict[Mutant, Fate] = {}
        self._each(wanted, in_place, fates.__setitem__)
        return fates

    def _notices(self, session: pytest.Session, tests: dict[str, list[str]], known: Known) -> bool:
        """Run tests file by file; tell whether one fails. A test that only the mutant brings about is run too."""
        for file, names in tests.items():
            _limit(20)
            session.perform_collect([file])
            if session.testsfailed:
                return True
            by_name = {item.nodeid: item for item in session.items}
            new = [name for name in by_name if name not in known.seconds]
            if self._one_fails([by_name[name] for name in (*names, *new) if name in by_name], known):
                return True
        return False

    def _one_fails(self, chosen: Sequence[pytest.Item], known: Known) -> bool:
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            _limit(_LEAST_SECONDS + 10 * known.seconds.get(item.nodeid, 1.0))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                return True
        return False

    def _learn(self, session: pytest.Session, files: Sequence[str]) -> Known:
        known = Known(concerned=self._concerned)
        with _traced(self._source, known, _IMPORT):
            for module in self._source.modules:
                importlib.import_module(self._source.full_name(module))
        # Each test has to reach what it depends on, though another has left the result in a cache.
        caches = Functions(self._source.folder, self._source.package)
        for file in files:
            caches.forget()
            with _traced(self._source, known, file):
                session.perform_collect([file])
            if session.testsfailed:
                known.failed.append(file)
                return known
            items = list(session.items)
            for item, following in zip(items, [*items[1:], None], strict=True):
                caches.forget()
                began = time.process_time()
                with _traced(self._source, known, item.nodeid):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                known.seconds[item.nodeid] = time.process_time() - began
                if self._failed:
                    known.failed.append(item.nodeid)
                    self._failed = False
        known.reached_by = dict(known.reached_by)
        known.imported = _libraries(self._source)
        return known


def _test_files(config: pytest.Config) -> list[str]:
    found: list[str] = []
    for argument in config.args:
        path = Path(config.invocation_params.dir, argument)
        files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        found += [str(each.relative_to(config.rootpath)) for each in files]
    return found


def _start(mutant: Mutant, is_noticed: Callable[[Mutant], int]) -> int:
    process = os.fork()
    if process == 0:
        status = 1
        try:
            _silence()
            # Without a handler these signals end the process: a mutant that does not come to an end is noticed.
            signal.alarm(_WALL_SECONDS)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            status = int(is_noticed(mutant))
        finally:
            os._exit(status)
    return process


def _wait(running: dict[int, Mutant], ended: Callable[[Mutant, Fate], None]) -> None:
    process, status = os.wait()
    fate: Fate = "killed by time" if os.WIFSIGNALED(status) else _FATES.get(os.WEXITSTATUS(status), "killed")
    ended(running.pop(process), fate)


Outcome = TypeVar("Outcome")


def _in_child(work: Callable[[], Outcome]) -> Outcome:
    """Return what ``work`` returns in a child process."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            _silence()
            with os.fdopen(writing, "wb") as stream:
                pickle.dump(work(), stream)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        told = stream.read()
    os.waitpid(process, 0)
    outcome: Outcome = pickle.loads(told)  # noqa: S301 - our own child wrote it
    return outcome


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _limit(seconds: float) -> None:
    """End this process once it has computed for so long."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


@contextmanager
def _traced(source: Source, known: Known, name: str) -> Iterator[None]:
    """Note which lines of the package are carried out."""
    folder = f"{source.folder}{os.sep}"
    lines: set[tuple[str, int]] = set()

    def enters(frame: FrameType, _event: str, _argument: Any) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(folder):
            return None
        module = path[len(folder) :].removesuffix(".py")

        def steps(frame: FrameType, event: str, _argument: Any) -> Any:
            if event == "line":
                lines.add((module, frame.f_lineno))
            return steps

        return steps

    before = sys.gettrace()
    sys.settrace(enters)
    try:
        yield
    finally:
        sys.settrace(before)
    for line in lines:
        known.reached_by[line].add(name)


def _libraries(source: Source) -> list[str]:
    """Return the names of imported modules that are neither the project's nor a test: they need not come anew."""
    top = source.package.partition(".")[0]
    installed = tuple(str(Path(module.__file__ or "").parents[1]) for module in (pytest, hypothesis))
    return [
        name
        for name, module in sys.modules.items()
        if name.partition(".")[0] != top and (getattr(module, "__file__", None) or "").startswith(installed)
    ]


def _import_quietly(name: str) -> None:
    try:
        importlib.import_module(name)
    except Exception:  # noqa: BLE001 - it is only imported to save time
        return


class _Finder:
    """Finds one module, mutated, before anything else does."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name = name
        self._path = path
        self._code = code

    def find_spec(self, name: str, _path: Any = None, _target: ModuleType | None = None) -> Any:
        """Return the mutated module's specification, or ``None`` for any other module."""
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=_Loader(name, self._path, self._code))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        super().__init__(name, str(path))
        self._mutated = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the interface has it
        return self._mutated
