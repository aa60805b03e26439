"""Carries out trials: each in a child forked from this process, which has loaded everything before."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, NoReturn

import hypothesis
import pytest
import schemathesis_alone
from compare_server import Exchanges, Seeded, seeded_server
from compare_trials import TESTERS, Kind, Result, Tester, Trial, read_result

from conformance.kill_matrix import carrying_out, trials

LONGEST_SECONDS: Final = 180.0
PLAIN_TEST: Final = Path(__file__).with_name("hypothesis_jsonschema_alone.py")
_FORKING: Final = get_context("fork")
_NAMED: Final[Mapping[str, Tester]] = {tester.name: tester for tester in TESTERS}
_OF_SUITE: Final[Mapping[Kind, trials.Kind]] = {"unbroken": "plain", "fault": "fault", "variant": "variant"}


def carry_out(
    planned: Iterable[Trial], processes: int, known: Mapping[str, Collection[str]], keep: Callable[[Result], None]
) -> None:
    """Carry out trials, that many at a time, and hand over what comes of each as it ends.

    ``known`` has, for each alternative, the alarms that it raises on the unbroken server.
    """
    planned, used = list(planned), _processor_seconds()

    def metered(result: Result) -> None:
        # Each child has been waited for when its result comes here, and none other since the one before.
        nonlocal used
        before, used = used, _processor_seconds()
        keep(replace(result, processor_seconds=used - before))

    _alternatives([each for each in planned if not _NAMED[each.tester].profile], processes, known, metered)
    _suite([each for each in planned if _NAMED[each.tester].profile], processes, metered)


def _processor_seconds() -> float:
    """Return what all children that have ended and been waited for have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _suite(planned: Sequence[Trial], processes: int, keep: Callable[[Result], None]) -> None:
    """Let this suite try, its checks in the order of a user's run."""
    if not planned:
        return
    by_profile = {tester.profile: tester.name for tester in TESTERS if tester.profile}
    of_kind = {of_suite: kind for kind, of_suite in _OF_SUITE.items()}

    def kept(result: trials.Result) -> None:
        trial = Trial(
            by_profile[result.trial.profile], of_kind[result.trial.kind], result.trial.name, result.trial.seed
        )
        keep(_told_by_suite(trial, result))

    ours = [
        trials.Trial(_OF_SUITE[each.kind], each.name, "rest", _NAMED[each.tester].profile, each.seed, natural=True)
        for each in planned
    ]
    carrying_out.carry_out(ours, processes, kept)


def _told_by_suite(trial: Trial, result: trials.Result) -> Result:
    cost = result.seconds, result.exchanges
    if result.outcome == "error":
        return Result(trial, "error", (), *cost, detail=result.detail)
    if result.outcome == "killed":
        return Result(trial, "finding", (result.requirement,), *cost, detail=result.case)
    # Nothing but an alarm has a requirement now; on a server with a fault it is one that the fault does not break.
    alarms = (result.requirement,) if result.requirement else ()
    return Result(trial, "complete", alarms, *cost, detail=result.case)


@dataclass
class _Child:
    process: BaseProcess
    folder: Path
    trial: Trial
    deadline: float


def _alternatives(
    planned: Sequence[Trial], processes: int, known: Mapping[str, Collection[str]], keep: Callable[[Result], None]
) -> None:
    waiting, children = list(reversed(planned)), dict[Connection, _Child]()
    # What is not collected is not written to, and so stays shared with the children.
    gc.collect()
    gc.freeze()
    while waiting or children:
        while waiting and len(children) < processes:
            trial = waiting.pop()
            folder = Path(tempfile.mkdtemp(prefix="compare-"))
            receiving, sending = _FORKING.Pipe(duplex=False)
            process = _FORKING.Process(target=_child, args=(trial, folder, known.get(trial.tester, ()), sending))
            process.start()
            sending.close()
            children[receiving] = _Child(process, folder, trial, time.monotonic() + LONGEST_SECONDS)
        soonest = min(child.deadline for child in children.values())
        ready = set(wait(list(children), max(0.0, soonest - time.monotonic())))
        for pipe, child in list(children.items()):
            if pipe in ready or child.deadline <= time.monotonic():
                keep(_ended(pipe, child))
                del children[pipe]
    gc.unfreeze()


def _ended(pipe: Connection, child: _Child) -> Result:
    try:
        result = read_result(json.loads(pipe.recv_bytes())) if pipe.poll() else None
    except EOFError:
        result = Result(child.trial, "error", detail="the process died")
    child.process.kill()
    child.process.join()
    pipe.close()
    shutil.rmtree(child.folder, ignore_errors=True)
    return result or Result(child.trial, "out of time", seconds=LONGEST_SECONDS)


def _child(trial: Trial, folder: Path, known: Collection[str], pipe: Connection) -> NoReturn:
    """Try one alternative on one server. Nothing is tidied up: the parent does that."""
    os.chdir(folder)
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silence, stream)
    alarms: dict[str, None] = {}

    def tell(result: Result) -> NoReturn:
        pipe.send_bytes(json.dumps(result.to_json()).encode())
        os._exit(0)

    try:
        with seeded_server(trial.kind, trial.name, folder) as seeded:

            def note(alarm: str) -> None:
                if trial.kind == "fault" and alarm not in known:
                    tell(_result(trial, "finding", [alarm], seeded.exchanges))
                alarms[alarm] = None

            _try(trial, seeded, folder, note)
            found = () if trial.kind == "fault" else alarms
            tell(_result(trial, "complete", found, seeded.exchanges))
    except BaseException:  # noqa: BLE001  the parent is told of whatever it was
        tell(Result(trial, "error", tuple(alarms), detail=traceback.format_exc()))


def _result(trial: Trial, ending: Any, alarms: Iterable[str], exchanges: Exchanges) -> Result:
    return Result(trial, ending, tuple(alarms), exchanges.seconds, exchanges.count)


def _try(trial: Trial, seeded: Seeded, folder: Path, note: Callable[[str], None]) -> None:
    if trial.tester == "hypothesis-jsonschema":
        _run_plain_test(seeded, trial, note)
        return
    if trial.tester == "schemathesis-defaults":
        command_line = schemathesis_alone.with_defaults(seeded, trial.seed)
    else:
        command_line = schemathesis_alone.with_all_it_takes(seeded, trial.seed, folder)
    shorter = ["--max-examples", str(trial.examples)] if trial.examples else []
    schemathesis_alone.run([*command_line, *shorter], note)


def _run_plain_test(seeded: Seeded, trial: Trial, note: Callable[[str], None]) -> None:
    class Listener:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                note(report.nodeid.rpartition("::")[2])

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed:
                raise RuntimeError(report.longreprtext)

    os.environ |= {
        "TARGET_URL": seeded.url,
        "TARGET_TOKEN": seeded.token,
        "TARGET_EXAMPLES": json.dumps(seeded.examples),
    }
    if trial.examples:
        hypothesis.settings.register_profile("short", max_examples=trial.examples)
        hypothesis.settings.load_profile("short")
    options = ["-q", "-c", os.devnull, f"--rootdir={PLAIN_TEST.parent}", f"--hypothesis-seed={trial.seed}"]
    for plugin in ("cacheprovider", "schemathesis", "sosoapi_conformance", "xdist"):
        options += ["-p", f"no:{plugin}"]
    pytest.main([*options, str(PLAIN_TEST)], [Listener()])
