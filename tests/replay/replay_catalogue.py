"""Whether ``replay`` finds what a run has found again, for every fault of the catalogue; ``tox -e replay``.

Each fault is served, tested as a user would until the first finding, and served afresh; then its finding is replayed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

import pytest

from conformance.command_line import main as command
from conformance.contract import load_contract
from conformance.embedded import EmbeddedServer, start_reference_server
from conformance.errors import ExitStatus
from conformance.kill_matrix.summary import Rate
from conformance.kill_matrix.trials import transports_of
from conformance.reference.catalogue import faults
from conformance.requirements import load_registry
from conformance.target import TRANSPORTS, TransportName

Came = Literal["reproduced", "not reproduced", "not killed"]

_LOADED_ONCE: Final = ("conformance.plugin", "conformance.checks.declare", "conformance.recorded.replay", "mcp")
_STILL: Final = "still fails: "
_BAR: Final = 0.99


@dataclass(frozen=True)
class Replayed:
    """What came of one fault over one transport; ``said`` is the end of what the run or the replay printed."""

    fault: str
    transport: TransportName
    came: Came
    said: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults, print what was not reproduced, and return 1 when less than 99 of 100 were."""
    options = _parser().parse_args(arguments)
    planned = list(_planned(options.names, options.transport))
    for module in _LOADED_ONCE:
        importlib.import_module(module)
    began, results = time.monotonic(), list[Replayed]()
    with ProcessPoolExecutor(options.processes, get_context("fork")) as pool:
        pending = [pool.submit(_tried, fault, transport, options.seed) for fault, transport in planned]
        try:
            for each in as_completed(pending):
                results.append(each.result())
                if results[-1].came != "reproduced":
                    _say(f"{results[-1].came}: {results[-1].fault} over {results[-1].transport}: {results[-1].said}")
        except KeyboardInterrupt:
            # What is known so far is told.
            pool.shutdown(wait=False, cancel_futures=True)
    for transport in TRANSPORTS:
        _say(f"{transport}: {_told(_rate(each for each in results if each.transport == transport))}")
    whole = _rate(results)
    _say(f"all: {_told(whole)}")
    _say(f"{len(results)} of {len(planned)} faults in {time.monotonic() - began:.0f} s, seed {options.seed}")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        ordered = sorted(results, key=lambda each: (each.transport, each.fault))
        text = json.dumps({"seed": options.seed, "results": [asdict(each) for each in ordered]}, indent=1)
        (options.out / "replay.json").write_text(f"{text}\n", encoding="utf-8")
    return 0 if whole.rate >= _BAR else 1


def _rate(results: Iterable[Replayed]) -> Rate:
    killed = [each for each in results if each.came != "not killed"]
    return Rate(sum(each.came == "reproduced" for each in killed), len(killed))


def _told(rate: Rate) -> str:
    low, high = rate.interval
    return f"{rate.hits} of {rate.of} findings reproduced, 95 % interval {low:.1%} to {high:.1%}"


def _planned(names: Sequence[str], transport: TransportName | None) -> Iterator[tuple[str, TransportName]]:
    """Yield each fault with the first transport over which it shows, or with the one that is asked for."""
    registry = load_registry(load_contract())
    for name, fault in faults().items():
        shows = [each for each in transports_of(fault, registry) if transport in (None, each)]
        if shows and (not names or name in names):
            yield name, shows[0]


def _tried(name: str, transport: TransportName, seed: int) -> Replayed:
    revision = faults()[name].revision
    with TemporaryDirectory(prefix="replay-") as place:
        folder, said = Path(place) / "report", Path(place) / "said.txt"
        run = [
            "--pyargs",
            "conformance",
            "-x",
            "-q",
            "--profile",
            "quick",
            "--seed",
            str(seed),
            "--transport",
            transport,
        ]
        run += [
            "-c",
            os.devnull,
            "-W",
            "ignore",
            "--rootdir",
            place,
            "--report-dir",
            str(folder),
            *(["--mcp-revision", revision] if revision else []),
        ]
        for plugin in ("cacheprovider", "schemathesis", "xdist"):
            run += ["-p", f"no:{plugin}"]
        with _served(name) as server:
            status = _forked(lambda: int(pytest.main([*run, *_way_to(server, transport)])), said)
        # A breach of what should be so is a finding too, and leaves the status at 0.
        if not _findings(folder):
            return Replayed(name, transport, "not killed", f"status {status}: {_end_of(said)}")
        with _served(name) as server:
            _forked(lambda: command(["replay", str(folder), *_way_to(server, transport)]), said)
        words = said.read_text("utf-8", "replace")
        came: Came = "reproduced" if _STILL in words else "not reproduced"
        return Replayed(name, transport, came, _end_of(said))


def _findings(folder: Path) -> list[object]:
    report = folder / "report.json"
    return list(json.loads(report.read_text("utf-8"))["findings"]) if report.is_file() else []


@contextmanager
def _served(fault: str) -> Iterator[EmbeddedServer]:
    server = start_reference_server("--fault", fault)
    try:
        yield server
    finally:
        server.stop()


def _way_to(server: EmbeddedServer, transport: TransportName) -> list[str]:
    control = ["--control-url", server.control_url]
    if transport == "mcp-stdio":
        return ["--target-command", server.stdio_command or "", *control]
    return ["--target-url", (server.url if transport == "rest" else server.mcp_url) or "", *control]


def _forked(action: Callable[[], int], said: Path) -> int:
    """Do something in a child, which has loaded everything already, and return its status; ``said`` has its words."""
    process = os.fork()
    if process == 0:
        status: int = ExitStatus.SUITE_FAULT
        try:
            with said.open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            status = action()
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:  # noqa: BLE001 - whatever it was must be seen, and this process must not go on
            traceback.print_exc()
        finally:
            os._exit(status)
    _, ended = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(ended)


def _end_of(said: Path) -> str:
    lines = [line for line in said.read_text("utf-8", "replace").splitlines() if line.strip()]
    return " | ".join(lines[-2:])[:400]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Replay the first finding of a run against each fault.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults (default: all)")
    parser.add_argument("--transport", choices=TRANSPORTS, help="this one alone (default: the first that shows it)")
    parser.add_argument("--seed", type=int, default=5, metavar="N", help="seed of the runs (default: 5)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="how many at a time")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write replay.json there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
