"""Reads what a run has stored of its exchanges, so that it can be judged again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import CouldNotRun, UsageProblem
from conformance.recorded.description import Description, from_json
from conformance.recorded.tape import Tape, read_lines, short_case
from conformance.report import exchange_log
from conformance.report.case_log import StoredRun, read_run


@dataclass(frozen=True)
class Recording:
    """A stored run with its exchanges: a tape for each of its processes, which are named by the ids of exchanges."""

    run: StoredRun
    description: Description
    tapes: Mapping[str, Tape]
    worker_of: Mapping[str, str]
    """The process that executed a case, by short test id; cases without exchanges are not in it."""

    lines: Sequence[Mapping[str, Any]]
    raced: frozenset[str] = frozenset()
    """Cases with a race of children, by short test id; other races are told by their exchanges."""

    def is_race(self, case: str) -> bool:
        """Tell whether calls of a case were made at the same time."""
        return case in self.raced or any(line.get("span") for line in self.lines_of(case))

    def lines_of(self, *cases: str) -> list[Mapping[str, Any]]:
        """Return the exchanges of these cases, as the log has them."""
        return [line for line in self.lines if short_case(line["case"]) in cases]

    def lines_before(self, *cases: str) -> list[Mapping[str, Any]]:
        """Return the exchanges that the process of the last of these cases made before the first of them."""
        worker, found = self.worker_of.get(cases[-1], "main"), []
        for line in self.lines:
            if short_case(line["case"]) in cases:
                break
            if line["id"].rpartition("-")[0] == worker:
                found.append(line)
        return found

    @property
    def order(self) -> Mapping[str, int]:
        """The place of each case in the run, by short test id."""
        return {short_case(record.case): number for number, record in enumerate(self.run.ledger.records)}


def read_recording(folder: Path) -> Recording:
    """Read a report folder.

    Raises:
        UsageProblem: it has no stored run, or its log cannot be read.
        CouldNotRun: its exchanges are those of several runs, or test control was not among them.
    """
    stored = read_run(folder)
    path = folder / exchange_log.NAME
    try:
        described = from_json(exchange_log.read_header(path)["target"])
        with path.open("rb") as file:
            lines = list(read_lines(file))
        names = [secret.name for secret in described.target.tokens.values()]
        tapes, worker_of = _by_process(lines, names)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageProblem(f"{path} cannot be read ({reason})", str(folder), "It belongs to every report.") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageProblem(
            f"{path} is no log of a run, or was changed ({error})", str(folder), "Take the folder as it was written."
        ) from None
    if stored.facts.merged or stored.facts.present:
        kept = sorted(str(each.parent) for each in folder.glob(f"parts/*/{exchange_log.NAME}"))
        which = f": {' or '.join(kept)}" if kept else ""
        raise CouldNotRun("this result was put together from several runs", f"Name the folder of one of them{which}.")
    if stored.facts.tier == "control" and not described.target.control_url:
        raise CouldNotRun(
            "test control was a Python object, whose calls are not recorded", "Offer it over HTTP (--control-url)."
        )
    exchanges = [line for line in lines if line["kind"] == "exchange"]
    raced = frozenset(short_case(line["case"]) for line in lines if line["kind"] == "race")
    return Recording(stored, described, tapes, worker_of, exchanges, raced)


def _by_process(lines: list[Mapping[str, Any]], names: list[str]) -> tuple[dict[str, Tape], dict[str, str]]:
    worker_of: dict[str, str] = {}
    by_worker: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        if line["kind"] == "exchange":
            worker_of[short_case(line["case"])] = line["id"].rpartition("-")[0]
    for line in lines:
        if "case" in line:
            by_worker[worker_of.get(short_case(line["case"]), "main")].append(line)
    return {worker: Tape(each, names) for worker, each in {"main": [], **by_worker}.items()}, worker_of
