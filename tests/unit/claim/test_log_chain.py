"""The chain of a log: what threads, races and several workers may do, and what only tampering does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from made_runs import FACTS

from conformance.claim.log_chain import log_problems
from conformance.ledger import CaseRecord
from conformance.report.case_log import CaseLog, read_run
from conformance.report.exchange_log import footer, header

START = replace(FACTS, started_at="2026-01-01T00:00:00Z")


def exchange(identifier: str, at: float, elapsed: float = 0.1, case: str = "a", to: str = "target") -> dict[str, Any]:
    """Return what of a logged exchange belongs to the chain."""
    return {"kind": "exchange", "id": identifier, "case": case, "to": to, "at": at, "elapsed": elapsed}


def problems(folder: Path, lines: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Return what is wrong with a log of these lines, whose cases have as many exchanges as it has."""
    written = [json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in (header(START), *lines)]
    count = sum(line["kind"] == "exchange" for line in lines)
    end = footer(count, sha256(b"".join(written)).hexdigest(), complete=True)
    (folder / "exchanges.jsonl").write_bytes(b"".join(written) + json.dumps(end).encode() + b"\n")
    log = CaseLog(folder, START)
    for case in sorted({line["case"] for line in lines if line.get("case")}):
        of_it = sum(line.get("case") == case and line.get("to") == "target" for line in lines)
        log.add(CaseRecord(case, (), "passed", exchanges=of_it))
    log.end(START, complete=True)
    return log_problems(read_run(folder))


def test_a_run_of_several_workers(tmp_path: Path) -> None:
    """Each has ids and times of its own; calls to test control, and what stands under no case, are not counted."""
    lines = [
        exchange("main-1", 0.0, case="", to="control"), exchange("main-2", 0.2, case=""),
        exchange("gw0-1", 0.0), exchange("gw0-2", 0.2, to="control"), {"kind": "reading", "case": "a", "now": 1.0},
        exchange("gw1-1", 0.1, case="b"), exchange("gw1-2", 0.3, case="b"),
    ]  # fmt: skip
    assert () == problems(tmp_path, lines)


def test_what_is_under_way_together_may_end_in_any_order(tmp_path: Path) -> None:
    """The one that began later may have ended earlier."""
    assert () == problems(tmp_path, [exchange("main-1", 0.0, 1.0), exchange("main-2", 0.2, 0.1)])


def test_calls_of_a_race_are_written_client_by_client(tmp_path: Path) -> None:
    """A client's second call may have begun after another client's first had ended, which is written behind it."""
    raced = [{**exchange(f"main-{number}", at), "span": [0, 1]} for number, at in ((1, 1.0), (2, 5.0), (3, 1.1))]
    beside = exchange("main-0", 1.5, to="control")
    numbered = [{**each, "id": f"main-{at}"} for at, each in enumerate((beside, *raced), 1)]
    assert () == problems(tmp_path, [*numbered, exchange("main-5", 6.0)])
    late = ("The exchange main-4 had ended before main-2 began, which stands before it.",)
    assert late == problems(tmp_path, [*raced, exchange("main-4", 4.0)])


def test_an_order_that_time_does_not_allow(tmp_path: Path) -> None:
    """Whoever changes the order has to change the times too, and then other requests are due."""
    expected = ("The exchange main-2 had ended before main-1 began, which stands before it.",)
    assert expected == problems(tmp_path, [exchange("main-1", 5.0), exchange("main-2", 1.0)])


def test_gaps_and_repetitions_of_one_worker(tmp_path: Path) -> None:
    """Each place is named, and the numbering goes on from there."""
    lines = [exchange(f"gw0-{number}", float(at)) for at, number in enumerate((1, 3, 4, 2, 3))]
    assert (
        "The exchange gw0-3 follows upon gw0-1: something was taken out.",
        "The exchange gw0-2 stands after gw0-4: the order was changed.",
        "The exchange gw0-3 is there twice.",
    ) == problems(tmp_path, lines)


def test_a_beginning_that_was_cut(tmp_path: Path) -> None:
    """Every worker begins with 1."""
    assert ("The exchange main-2 follows upon main-0: something was taken out.",) == problems(
        tmp_path, [exchange("main-2", 0.0)]
    )


def test_a_case_in_two_places(tmp_path: Path) -> None:
    """A worker ends one case before it begins the next."""
    lines = [exchange(f"main-{at + 1}", float(at), case=case) for at, case in enumerate("aba")]
    assert ("The exchange main-3 of a stands among those of b.",) == problems(tmp_path, lines)
