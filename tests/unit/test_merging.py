"""Runs that are put together: what is said of the whole, what is kept of each, and what does not belong together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claim_material import published
from made_runs import FACTS

from conformance.errors import UsageProblem
from conformance.ledger import CaseRecord
from conformance.merging import keep_parts, make_room, merged, must_belong_together, store
from conformance.report import exchange_log
from conformance.report.case_log import CaseLog, StoredRun, read_run
from conformance.report.exchange_log import footer, header
from conformance.report.json_report import Decided
from conformance.run import RunFacts, Shard

REST = replace(FACTS, offered=("rest", "mcp-http"), started_at="2026-01-01T11:00:00Z", duration=60.0)
MCP = replace(
    FACTS, transport="mcp-http", offered=("mcp-http", "rest"), started_at="2026-01-01T10:00:00Z", duration=90.0
)


def stored(folder: Path, facts: RunFacts) -> StoredRun:
    """Store a run of one case, whose finding shows the exchange ``main-1``, raced with another one."""
    folder.mkdir(parents=True)
    shown = {"requirement": "READ-UNCHANGED", "operation": "o", "summary": "s",
             "exchanges": [{"id": "main-1"}, {"id": ""}]}  # fmt: skip
    log = CaseLog(folder, facts)
    log.add(CaseRecord("test.py::case", ("READ-UNCHANGED",), "failed", findings=(shown,), exchanges=2))
    log.end(facts, complete=True)
    race = {"kind": "race", "case": "test.py::case", "clients": [[["main-1", 1, 2]], [["", 1, 2]]]}
    exchanges = [{"kind": "exchange", "id": f"main-{number}", "case": "test.py::case"} for number in (1, 2)]
    lines = [{**header(facts), "target": None}, *exchanges, race, footer(2, "", complete=True)]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / exchange_log.NAME).write_text(text, encoding="utf-8")
    return read_run(folder)


def whole_of(out: Path, runs: Sequence[StoredRun]) -> Decided:
    """Do what the command does, but for the reports."""
    ground = published()
    must_belong_together(runs)
    make_room(out, runs)
    whole = merged(ground.contract, ground.registry, runs, "")
    out.mkdir(exist_ok=True)
    store(out, runs, whole)
    keep_parts(out, runs)
    return whole


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder by their path in it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def runs(tmp_path: Path) -> list[StoredRun]:
    """Return a run over each of the two transports that a target offers."""
    return [stored(tmp_path / name, facts) for name, facts in (("a", REST), ("b", MCP))]


def test_the_whole_began_with_the_first_of_them(runs: list[StoredRun], tmp_path: Path) -> None:
    """Whatever their order; the list of transports that each offers begins with its own."""
    facts = whole_of(tmp_path / "out", runs).facts
    assert (("rest", "mcp-http"), "2026-01-01T10:00:00Z", 150.0, "none") == (
        facts.merged, facts.started_at, facts.duration, facts.at_most,
    )  # fmt: skip


def test_each_is_kept_as_it_is(runs: list[StoredRun], tmp_path: Path) -> None:
    """Byte for byte, and merging the kept ones again gives the same whole."""
    whole_of(tmp_path / "out", runs)
    kept = tmp_path / "out" / "parts"
    assert {"rest", "mcp-http"} == {path.name for path in kept.iterdir()}
    assert (files_in(runs[0].folder), files_in(runs[1].folder)) == (
        files_in(kept / "rest"),
        files_in(kept / "mcp-http"),
    )
    whole_of(tmp_path / "again", [read_run(kept / "rest"), read_run(kept / "mcp-http")])
    assert files_in(tmp_path / "out") == files_in(tmp_path / "again")


def test_exchanges_of_the_whole_are_told_apart(runs: list[StoredRun], tmp_path: Path) -> None:
    """Each run has counted its own from 1, and a finding must show that of its own run."""
    whole = whole_of(tmp_path / "out", runs)
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in (tmp_path / "out" / exchange_log.NAME).read_bytes().splitlines()
    ]
    names = [line["id"] for line in lines if line["kind"] == "exchange"]
    assert ["rest-main-1", "rest-main-2", "mcp-http-main-1", "mcp-http-main-2"] == names
    shown = [[each["id"] for each in record.findings[0]["exchanges"]] for record in whole.ledger.records]
    assert [["rest-main-1", ""], ["mcp-http-main-1", ""]] == shown
    raced = [line["clients"] for line in lines if line["kind"] == "race"]
    assert [[[["rest-main-1", 1, 2]], [["", 1, 2]]], [[["mcp-http-main-1", 1, 2]], [["", 1, 2]]]] == raced


def test_shards_are_not_kept(tmp_path: Path) -> None:
    """They are no whole runs, and their exchanges are told apart by their numbers."""
    parts = [
        stored(tmp_path / str(number), replace(FACTS, shard=Shard(number, 2), unexecuted=1, elsewhere=1))
        for number in (1, 2)
    ]
    whole_of(tmp_path / "out", parts)
    assert {"cases.jsonl", "exchanges.jsonl"} == files_in(tmp_path / "out").keys()
    log = (tmp_path / "out" / exchange_log.NAME).read_text(encoding="utf-8")
    assert '"id":"rest-1-main-1"' in log
    assert '"id":"rest-2-main-1"' in log


def test_what_an_earlier_merge_has_kept_is_replaced(runs: list[StoredRun], tmp_path: Path) -> None:
    """Also where fewer runs are merged now."""
    whole_of(tmp_path / "out", runs)
    whole_of(tmp_path / "out", runs[:1])
    assert ["rest"] == [path.name for path in (tmp_path / "out" / "parts").iterdir()]


def test_what_no_merge_has_kept_is_left_alone(runs: list[StoredRun], tmp_path: Path) -> None:
    """A folder of that name may be anything, and runs that lie in it must not be lost."""
    (tmp_path / "out" / "parts").mkdir(parents=True)
    with pytest.raises(UsageProblem, match="no merge has made it"):
        whole_of(tmp_path / "out", runs)
    moved = stored(tmp_path / "out" / "parts" / "rest", REST)
    with pytest.raises(UsageProblem, match="the result would overwrite a part"):
        whole_of(tmp_path / "out", [moved, runs[1]])


def test_a_result_with_a_claim_is_not_written_over(runs: list[StoredRun], tmp_path: Path) -> None:
    """The claim would be about nothing."""
    whole_of(tmp_path / "out", runs)
    (tmp_path / "out" / "claim.json").write_text("{}", encoding="utf-8")
    before = files_in(tmp_path / "out")
    with pytest.raises(UsageProblem, match="has a signed claim"):
        whole_of(tmp_path / "out", runs)
    assert before == files_in(tmp_path / "out")


def test_what_was_merged_is_not_merged_again(runs: list[StoredRun], tmp_path: Path) -> None:
    """It would count as a run over its first transport alone."""
    whole_of(tmp_path / "out", runs)
    with pytest.raises(UsageProblem, match="it was put together already"):
        must_belong_together([read_run(tmp_path / "out")])


def test_runs_of_targets_that_offer_other_transports(runs: list[StoredRun], tmp_path: Path) -> None:
    """Are not of one server."""
    other = stored(tmp_path / "c", replace(MCP, offered=("mcp-http",)))
    with pytest.raises(UsageProblem, match="its list of transports that the target offers is not that of"):
        must_belong_together([runs[0], other])
