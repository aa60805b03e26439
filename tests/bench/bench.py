"""Measures the speed that the project promises and prints it as ratios: ``tox -e bench``.

``python tests/bench/bench.py [--only NAME,..] [--repeats N] [--output FILE] [--report-only]``. Times depend on the
machine, so bars are ratios, or differences between two commands measured in turn, wherever they can be.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import bench_pure
import bench_replay
from bench_spent import Spent, median, processor_seconds

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from history_bench import measure_history

CHECKOUT: Final = Path(__file__).parents[2]
BENCH: Final = Path(__file__).parent
SUITE: Final = ("conformance/checks", "-q", "--seed", "1")


@dataclass(frozen=True)
class Bar:
    """One promise: what was measured, the most that it may be, and how it came about."""

    what: str
    measured: float
    most: float
    unit: str
    how: str

    @property
    def kept(self) -> bool:
        """Whether the promise is kept."""
        return self.measured <= self.most


@dataclass(frozen=True)
class Bench:
    """What all measurements share: a folder for files, and how often to repeat."""

    folder: Path
    repeats: int

    def run(self, *arguments: str, cwd: Path = CHECKOUT, environment: Mapping[str, str] | None = None) -> Spent:
        """Run pytest as a command of its own and return what it took, start-up and children included.

        Raises:
            RuntimeError: it failed; the message is what it printed.
        """
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        variables = {**os.environ, "PYTHONPATH": str(BENCH), **(environment or {})}
        # Compiled once, as on any machine, in a folder of the bench's own; the first command of each kind warms it up.
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        variables["PYTHONPYCACHEPREFIX"] = str(self.folder / "compiled")
        started, used = time.perf_counter(), processor_seconds()
        ended = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)  # noqa: S603  our own
        spent = Spent(time.perf_counter() - started, processor_seconds() - used)
        if ended.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        return spent

    def difference(self, first: Callable[[], Spent], second: Callable[[], Spent], rounds: int) -> Spent:
        """Return how much more ``second`` takes than ``first``: both in turn, the medians compared."""
        first(), second()
        pairs = [(first(), second()) for _ in range(rounds)]
        before, after = median([pair[0] for pair in pairs]), median([pair[1] for pair in pairs])
        return Spent(after.seconds - before.seconds, after.processor - before.processor)


def profiles(bench: Bench) -> Iterator[Bar]:
    """Whole runs of the standard and quick profiles, and the first against a bare client."""
    recorded = bench.folder / "exchanges"
    bench.run(*SUITE, "-p", "bench_plugin", f"--bench-record={recorded}")
    sent = bench_replay.load(recorded)
    rounds = [(bench.run(*SUITE), bench_replay.replay(sent)) for _ in range(bench.repeats)]
    standard, bare = median([pair[0] for pair in rounds]), median([pair[1] for pair in rounds])
    to_target = sum(request.to == "target" for request in sent)
    how = (
        f"{standard.seconds:.1f} s against {bare.seconds:.1f} s "
        f"(of processor time {standard.processor:.1f} s against {bare.processor:.1f} s) "
        f"for {to_target} exchanges and {len(sent) - to_target} control calls"
    )
    yield Bar("standard profile / bare client that replays it", standard.seconds / bare.seconds, 1.5, "", how)
    how = f"{to_target / standard.seconds:.0f} exchanges/s"
    yield Bar("standard profile, whole command", standard.seconds, 60, "s", how)
    quick = median([bench.run(*SUITE, "--profile", "quick") for _ in range(bench.repeats)])
    yield Bar("quick profile, whole command", quick.seconds, 10, "s", f"{quick.processor:.1f} s of processor time")


def transports(bench: Bench) -> Iterator[Bar]:
    """The standard profile over MCP against plain HTTP, in turn."""
    names = ("rest", "mcp-http", "mcp-stdio")
    rounds = [[bench.run(*SUITE, "--transport", name) for name in names] for _ in range(bench.repeats)]
    plain, *others = (median([each[index] for each in rounds]) for index in range(len(names)))
    for name, spent in zip(names[1:], others, strict=True):
        how = f"{spent.seconds:.1f} s against {plain.seconds:.1f} s"
        yield Bar(f"standard profile over {name} / over plain HTTP", spent.seconds / plain.seconds, 2, "", how)


def examples(bench: Bench) -> Iterator[Bar]:
    """Ten times the examples of the standard profile."""
    seconds, peaks = [], []
    for factor in (1, 10):
        result = bench.folder / f"factor-{factor}"
        plugin = ("-p", "bench_plugin", f"--bench-factor={factor}", f"--bench-result={result}")
        seconds.append(bench.run(*SUITE, *plugin).seconds)
        peaks.append(json.loads(result.read_text(encoding="utf-8"))["peak_kb"])
    how = f"{seconds[1]:.1f} s against {seconds[0]:.1f} s"
    yield Bar("ten times the examples: time", seconds[1] / seconds[0], 10.5, "", how)
    how = f"peak {peaks[1] / 1024:.0f} MB against {peaks[0] / 1024:.0f} MB"
    yield Bar("ten times the examples: memory", peaks[1] / peaks[0], 1.2, "", how)


def judging(bench: Bench) -> Iterator[Bar]:
    """Judging one result."""
    whole, library, size = bench_pure.judging(bench.repeats)
    how = f"{whole:.3f} ms with, {library:.3f} ms of the library alone, {size} bytes"
    yield Bar("judging a 6 kB result beyond the schema library", whole - library, 0.1, "ms", how)


def generating(bench: Bench) -> Iterator[Bar]:
    """Generating legal conversations."""
    plain, drawn = bench_pure.generating(bench.repeats)
    yield Bar("one legal conversation, directly", plain, 5, "ms", "")
    yield Bar("one legal conversation, drawn by Hypothesis", drawn, 5, "ms", "")


def starting(bench: Bench) -> Iterator[Bar]:
    """What the suite and its plugin add to the start of pytest."""
    project = bench.folder / "project"
    project.mkdir()
    (project / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    collect = ("--collect-only", "-q", "-p", "no:schemathesis")
    rounds = max(bench.repeats, 5)
    (project / "test_one.py").write_text("def test_one() -> None:\n    pass\n", encoding="utf-8")
    added = bench.difference(
        lambda: bench.run(*collect, "test_one.py", cwd=project),
        lambda: bench.run(*collect, "conformance/checks"),
        rounds,
    )
    how = f"{added.processor:.2f} s of processor time"
    yield Bar("--collect-only of the suite beyond that of one test", added.seconds, 1.0, "s", how)
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    added = bench.difference(
        lambda: bench.run("-q", "test_one.py", cwd=project, environment=alone),
        lambda: bench.run("-q", "-p", "conformance.plugin", "test_one.py", cwd=project, environment=alone),
        3 * rounds,
    )
    how = f"{added.processor * 1000:.0f} ms of processor time; no other plugin loaded"
    yield Bar("an unrelated project with the plugin beyond without", added.seconds * 1000, 50, "ms", how)


_BEHAVIOUR = (
    "reads", "revision", "archive", "replay", "expiry", "access", "late_results", "privacy", "state_machine", "races",
)  # fmt: skip


def behaviour(bench: Bench) -> Iterator[Bar]:
    """The checks of what a server does over time, and the linearizability judge by itself."""
    files = [f"conformance/checks/test_{name}.py" for name in _BEHAVIOUR]
    whole = median([bench.run(*files, *SUITE[1:]) for _ in range(bench.repeats)])
    yield Bar("all behaviour checks of the standard profile", whole.seconds, 40, "s", "")
    for name in ("state_machine", "races"):
        check = (f"conformance/checks/test_{name}.py", *SUITE[1:])
        recorded = bench.folder / name
        bench.run(*check, "-p", "bench_plugin", f"--bench-record={recorded}")
        sent = bench_replay.load(recorded)
        spent, bare = bench.run(*check), bench_replay.replay(sent)
        how = f"{len(sent) / spent.seconds:.0f} against {len(sent) / bare.seconds:.0f} a second; start-up counts"
        yield Bar(f"{name.replace('_', ' ')} / bare client", spent.seconds / bare.seconds, math.inf, "", how)
    measured = measure_history(repeats=bench.repeats)
    for kind in ("split", "single"):
        few, many = measured[f"{kind} 200"], measured[f"{kind} 2000"]
        how = f"{many / few:.1f} times as long as for 200"
        yield Bar(f"linearizability of 2,000 calls, {kind}", many, 2, "s", how)


def again(bench: Bench) -> Iterator[Bar]:
    """Judging stored exchanges again, and writing all reports of them."""
    folder = bench.folder / "stored"
    bench.run(*SUITE, "--report-dir", str(folder))
    lines = (folder / "exchanges.jsonl").read_bytes().count(b'"kind":"exchange"')
    spent = median([bench.run("--pyargs", "conformance", "--recorded", str(folder)) for _ in range(bench.repeats)])
    how = f"{spent.seconds:.1f} s for {lines} exchanges, those with test control among them; start-up counts"
    yield Bar("judging 10,000 stored exchanges again", spent.seconds / lines * 10_000, 10, "s", how)
    command = [sys.executable, "-m", "conformance", "report", str(folder)]
    started = time.perf_counter()
    subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, check=True)  # noqa: S603  our own
    seconds = time.perf_counter() - started
    size = (folder / "report.html").stat().st_size / 1e6
    yield Bar("rendering a report, for 10,000 exchanges", seconds / lines * 10_000, 5, "s", f"{seconds:.1f} s")
    yield Bar("the page of that report", size, 3, "MB", "")


_HEADING: Final = """\
# Speed, as last measured

`python tests/bench/bench.py --report-only --output tests/bench/RESULTS.md` writes this file again.

"""

MEASUREMENTS: Final[Mapping[str, Callable[[Bench], Iterator[Bar]]]] = {
    "starting": starting,
    "judging": judging,
    "generating": generating,
    "profiles": profiles,
    "transports": transports,
    "examples": examples,
    "behaviour": behaviour,
    "again": again,
}


def table(bars: list[Bar]) -> str:
    """Return the bars as a Markdown table."""
    lines = ["| what | measured | at most | | how |", "|---|---:|---:|---|---|"]
    for bar in bars:
        unit = f" {bar.unit}" if bar.unit else ""
        # Some figures are for information: nothing was promised of them.
        most = "none" if math.isinf(bar.most) else f"{bar.most:g}{unit}"
        kept = "" if math.isinf(bar.most) else "kept" if bar.kept else "**missed**"
        lines.append(f"| {bar.what} | {bar.measured:.3g}{unit} | {most} | {kept} | {bar.how} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, print and write the table; return 1 when a promise is not kept."""
    parser = argparse.ArgumentParser(description="Measures the speed that the project promises.")
    parser.add_argument(
        "--only", metavar="NAME,..", default=",".join(MEASUREMENTS), help=f"of {', '.join(MEASUREMENTS)}"
    )
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="medians of so many (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table to this file too")
    parser.add_argument("--report-only", action="store_true", help="end with 0 whatever was measured")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(MEASUREMENTS)
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))} is not one of {', '.join(MEASUREMENTS)}")
    bars: list[Bar] = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.repeats)
        for name in options.only.split(","):
            for bar in MEASUREMENTS[name](bench):
                bars.append(bar)
                sys.stderr.write(
                    f"{name}: {bar.what}: {bar.measured:.3g} {bar.unit} (at most {bar.most:g}) {bar.how}\n"
                )
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end"
    text = f"{_HEADING}{machine}, medians of {options.repeats}.\n\n{table(bars)}"
    sys.stdout.write(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 0 if options.report_only or all(bar.kept for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
