"""Carries out trials: each in a child that is forked from a process which has collected all cases already."""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import select
import shlex
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Final, NoReturn

import pytest
from _pytest.runner import runtestprotocol

import conformance.checks
from conformance.case_selection import belongs, in_order
from conformance.embedded_target import embedded_at
from conformance.errors import SuiteFault
from conformance.kill_matrix.stdio_children import stdio_command
from conformance.kill_matrix.trials import Outcome, Result, Trial, read_result
from conformance.ledger import CaseRecord, Ledger
from conformance.reference.catalogue import build, faults
from conformance.reference.faults.family import Fault
from conformance.reference.mcp.stdio import load
from conformance.reference.server import Addresses, Settings, running
from conformance.requirements import Registry
from conformance.run_plugin import SESSION, ConformanceRun
from conformance.session import RunSettings, Session, open_control
from conformance.target import Entry, Target
from conformance.transport.mcp.binding import McpBinding

_LONGEST_SECONDS: Final = 180.0
_CHECKS: Final = Path(conformance.checks.__file__).parent


def carry_out(trials: Iterable[Trial], processes: int, keep: Callable[[Result], None], spare: int = 0) -> None:
    """Carry out trials, that many at a time, and hand over what comes of each as it ends.

    Once no trial in the order of a user's run, which is to be timed, is left, ``spare`` more go on at a time: many only
    wait for an answer that never comes.

    Raises:
        SuiteFault: the checks cannot be collected.
    """
    # Nobody reads tracebacks here, and the long ones take most of a trial's time.
    options = ["--collect-only", "--capture=no", "--seed=0", "-c", os.devnull, f"--rootdir={_CHECKS.parent.parent}"]
    for plugin in ("terminal", "cacheprovider", "schemathesis"):
        options += ["-p", f"no:{plugin}"]
    # A socket's address must be short, so this is not the system's folder for temporary files.
    with TemporaryDirectory(prefix="km-", dir="/tmp") as folder:
        loop = _Loop(list(trials), (processes, spare), keep, Path(folder))
        status = pytest.main([*options, str(_CHECKS)], [loop])
    if status != pytest.ExitCode.OK:
        raise SuiteFault(f"the checks could not be collected (pytest ended with status {int(status)})")


@dataclass
class _Child:
    process: int
    folder: Path
    pipe: int
    trial: Trial
    deadline: float
    said: bytearray


class _Loop:
    """Takes the place of pytest's own loop over the cases."""

    def __init__(
        self, trials: Sequence[Trial], processes: tuple[int, int], keep: Callable[[Result], None], folder: Path
    ) -> None:
        self._waiting = sorted(trials, key=lambda trial: not trial.natural)[::-1]
        self._processes, self._spare = processes
        self._keep = keep
        self._folder = folder
        self._cases: list[pytest.Item] = []
        self._killers: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep all cases: a run leaves out those of other transports than its own, and trials are over each."""
        self._cases = list(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork a child for each trial."""
        if any(trial.transport != "rest" for trial in self._waiting):
            # What takes long is loaded once, before the forks.
            load()
            importlib.import_module("conformance.reference.mcp.hosting")
        run = session.config.pluginmanager.get_plugin("conformance-run")
        if not isinstance(run, ConformanceRun):
            raise SuiteFault("the checks were collected without the conformance plugin")
        session.config.option.collectonly = False
        # Nobody reads tracebacks here, and the long ones would take most of a trial's time.
        session.config.option.tbstyle = "native"
        chosen = _Chosen(in_order(self._cases), run.registry)
        for transport, profile in {(trial.transport, trial.profile) for trial in self._waiting}:
            chosen.of(transport, profile)
        # What is not collected is not written to, and so stays shared with the children.
        gc.freeze()
        children: dict[int, _Child] = {}
        while self._waiting or children:
            while self._waiting and len(children) < self._most(children.values()):
                child = self._fork(run, chosen, self._waiting.pop())
                children[child.pipe] = child
            soonest = min(child.deadline for child in children.values())
            readable, _, _ = select.select(list(children), [], [], max(0.0, soonest - time.monotonic()))
            for pipe in readable:
                piece = os.read(pipe, 65536)
                children[pipe].said += piece
                if not piece:
                    result = _ended(children.pop(pipe))
                    if result.outcome == "killed":
                        self._killers[result.trial.name] = result.case
                    self._keep(result)
            for child in [each for each in children.values() if each.deadline <= time.monotonic()]:
                with suppress(ProcessLookupError):
                    os.killpg(child.process, signal.SIGKILL)
        # Here nothing was executed, and nothing was to be.
        session.config.option.collectonly = True
        return True

    def _most(self, children: Iterable[_Child]) -> int:
        is_timed = any(trial.natural for trial in (*self._waiting[-1:], *(each.trial for each in children)))
        return self._processes if is_timed else self._processes + self._spare

    def _fork(self, run: ConformanceRun, chosen: _Chosen, trial: Trial) -> _Child:
        folder = Path(mkdtemp(dir=self._folder))
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.setsid()
            os.close(reading)

            def tell(result: Result) -> NoReturn:
                # Nothing is tidied up: servers take their time to stop, and the parent ends the whole group.
                with suppress(OSError):
                    os.write(writing, json.dumps(result.to_json()).encode())
                os._exit(0)

            try:
                _try(run, chosen, trial, self._killers.get(trial.name, ""), folder, tell)
            except BaseException:  # noqa: BLE001  the parent is told of whatever it was
                tell(Result(trial, "error", detail=traceback.format_exc()))
        os.close(writing)
        return _Child(process, folder, reading, trial, time.monotonic() + _LONGEST_SECONDS, bytearray())


def _ended(child: _Child) -> Result:
    os.close(child.pipe)
    os.waitpid(child.process, 0)
    # Whatever the trial has left behind, such as a nursery, ends with it.
    with suppress(ProcessLookupError):
        os.killpg(child.process, signal.SIGKILL)
    shutil.rmtree(child.folder, ignore_errors=True)
    try:
        return read_result(json.loads(child.said))
    except ValueError:
        return Result(child.trial, "error", detail=f"no result within {_LONGEST_SECONDS:g} s, or the process died")


class _Chosen:
    """Which cases a trial takes, and in which order; worked out before the forks, once for all of them."""

    def __init__(self, cases: Sequence[pytest.Item], registry: Registry) -> None:
        self._cases = cases
        self._registry = registry
        self._tested = {case: [mark.args for mark in case.iter_markers("requirement")] for case in cases}
        self._known: dict[tuple[str, str], list[pytest.Item]] = {}

    def of(self, transport: str, profile: str) -> list[pytest.Item]:
        """Return the cases of a run, in its order."""
        if (transport, profile) not in self._known:
            cases = [case for case in self._cases if belongs(case, self._registry, transport, profile)]
            self._known[transport, profile] = cases
        return self._known[transport, profile]

    def first(self, breaks: AbstractSet[str], known: str, transport: str, profile: str) -> list[pytest.Item]:
        """Return the same cases, first one that is ``known`` to find the fault, then those of what it breaks."""

        def rank(case: pytest.Item) -> int:
            tested = self._tested[case]
            if case.nodeid == known:
                return -1
            if tested and tested[0][0] in breaks:
                return 0
            return 1 if any(not breaks.isdisjoint(arguments) for arguments in tested) else 2

        return sorted(self.of(transport, profile), key=rank)


def _try(
    run: ConformanceRun, chosen: _Chosen, trial: Trial, known: str, folder: Path, tell: Callable[[Result], NoReturn]
) -> NoReturn:
    reached = folder / "reached"
    breaks: frozenset[str] = frozenset()
    if trial.kind == "fault":
        fault = faults()[trial.name]
        breaks = frozenset(fault.breaks)
        _watch(fault, reached)
        parts = build(fault=trial.name)
    else:
        parts = build(variant=trial.name or None)
    database = folder / "state.sqlite"
    command = stdio_command(folder, database, _options_of(trial)) if trial.transport == "mcp-stdio" else ()
    with running(Settings(parts=parts, database=str(database))) as addresses:
        session = _prepare(run, trial, addresses, command)
        way = trial.transport, trial.profile
        in_turn = trial.kind != "fault" or trial.natural
        cases = chosen.of(*way) if in_turn else chosen.first(breaks, known, *way)
        tell(_judged(trial, breaks, _records(session, cases), session, reached))


def _options_of(trial: Trial) -> list[str]:
    return [f"--{trial.kind}", trial.name] if trial.name else []


def _prepare(run: ConformanceRun, trial: Trial, addresses: Addresses, command: Sequence[str]) -> Session:
    """Make the run one against this server."""
    # Beside MCP the server answers over plain HTTP too, so that the two can be compared.
    also = () if trial.transport == "rest" else (Entry("rest", addresses.target),)
    revision = faults()[trial.name].revision if trial.kind == "fault" else ""
    embedded = Target(trial.transport, embedded=True, also=also, mcp=McpBinding(revision=revision))
    run.target = embedded_at(embedded, addresses.target, addresses.control, addresses.mcp, shlex.join(command))
    run.settings = RunSettings(trial.seed, trial.profile)
    run.ledger = Ledger()
    session = Session(run.contract, run.registry, run.target, run.settings, open_control(run.target))
    run.session = run.config.stash[SESSION] = session
    return session


def _records(session: Session, items: Sequence[pytest.Item]) -> Iterator[CaseRecord]:
    """Run the cases one after another, for as long as somebody wants to know what came of them."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        for report in runtestprotocol(item, log=False, nextitem=following):
            values: Any = getattr(report, "conformance", None)
            if values is not None:
                yield CaseRecord.from_json(values)
        if session.gone:
            return


def _judged(
    trial: Trial, breaks: AbstractSet[str], records: Iterator[CaseRecord], session: Session, reached: Path
) -> Result:
    """Return what came of the trial: the first finding that counts ends it."""
    others: dict[str, str] = {}
    started = time.perf_counter()
    for record in records:
        broken = dict.fromkeys(finding["requirement"] for finding in record.findings)
        right = [requirement for requirement in broken if requirement in breaks]
        if right:
            seconds = time.perf_counter() - started
            wrong = tuple(dict.fromkeys((*others, *(each for each in broken if each not in breaks))))
            return Result(trial, "killed", right[0], record.case, seconds, session.exchanges, wrong)
        others.update({each: record.case for each in broken if each not in others})
        if record.outcome in ("error", "could not run"):
            others.setdefault(f"({record.outcome}: {record.reason})", record.case)
        if others and trial.kind != "fault":
            break
    seconds = time.perf_counter() - started
    first, case = next(iter(others.items()), ("", ""))
    if trial.kind != "fault":
        outcome: Outcome = "false alarm" if others else "conforms"
    elif not reached.exists():
        outcome = "void"
    else:
        outcome = "wrong reason" if others else "survived"
    return Result(trial, outcome, first, case, seconds, session.exchanges, tuple(others))


def _watch(fault: Fault, reached: Path) -> None:
    """Note in a file when code of a fault is run, also in a child: one whose code is never reached proves nothing."""
    for part in fault.parts:
        for name, function in list(vars(part).items()):
            if inspect.isfunction(function):
                setattr(part, name, _noting(function, reached))


def _noting(function: Callable[..., Any], reached: Path) -> Callable[..., Any]:
    is_noted = False

    @wraps(function)
    def noted(*arguments: Any, **named: Any) -> Any:
        nonlocal is_noted
        if not is_noted:
            is_noted = True
            reached.touch()
        return function(*arguments, **named)

    return noted
