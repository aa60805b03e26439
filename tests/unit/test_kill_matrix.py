"""The kill matrix: what is tried, what the numbers say, and what the written forms show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.contract import load_contract
from conformance.kill_matrix.summary import Rate, kills, lines, percentile, rates_by_requirement, what_is_wrong
from conformance.kill_matrix.trials import Outcome, Result, Trial, plan, read_result, transports_of
from conformance.kill_matrix.writing import write
from conformance.reference.catalogue import faults, variants
from conformance.requirements import load_registry
from conformance.target import TRANSPORTS

REGISTRY = load_registry(load_contract())
FAULT = "input-boolean-as-integer"


def result(
    outcome: Outcome, *, name: str = FAULT, seed: int = 1, natural: bool = False, seconds: float = 1.0
) -> Result:
    """Return a result of a trial of a fault over plain HTTP."""
    trial = Trial("fault", name, "rest", "quick", seed, natural)
    requirement = "INPUT-TYPE" if outcome == "killed" else ""
    return Result(
        trial, outcome, requirement, "case", seconds, 10 * seed, ("A-B",) if outcome == "wrong reason" else ()
    )


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(10, 10, 0.7225, 1.0), (0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_wilsons(hits: int, of: int, low: float, high: float) -> None:
    """Against values from the literature; of nothing nothing is known."""
    assert (low, high) == pytest.approx(Rate(hits, of).interval, abs=1e-4)


def test_a_percentile_is_one_of_the_values() -> None:
    """The smallest one that the share does not exceed."""
    assert (5.0, 1.0, 3.0) == (percentile([1, 2, 3, 4, 5], 95), percentile([1.0], 95), percentile([5, 4, 3, 2, 1], 50))


def test_everything_is_tried_where_it_shows() -> None:
    """Each fault and variant over each transport on which its part works, and the plain server over all."""
    trials = list(plan(REGISTRY, profiles=("quick", "standard"), seeds=(1, 2)))
    assert len(trials) == len(set(trials))
    assert {*faults(), *variants(), ""} == {trial.name for trial in trials}
    assert len(TRANSPORTS) * 4 == sum(trial.kind == "plain" for trial in trials)
    assert ("rest",) == transports_of(faults()["http-archive-answered-201"], REGISTRY)
    assert ("rest",) == transports_of(faults()["input-lone-surrogate-500"], REGISTRY)
    assert TRANSPORTS == transports_of(faults()[FAULT], REGISTRY)
    assert ("mcp-http", "mcp-stdio") == transports_of(faults()["mcp-titles-shortened"], REGISTRY)
    assert ("mcp-stdio",) == transports_of(faults()["mcp-ends-at-malformed-json"], REGISTRY)


def test_only_what_is_named_is_tried() -> None:
    """And the natural order is for faults alone."""
    trials = list(plan(REGISTRY, names=(FAULT, "conflict-412"), transports=("rest",), natural=True))
    assert [("fault", True), ("variant", False)] == [(trial.kind, trial.natural) for trial in trials]


def test_a_result_survives_being_written() -> None:
    """As JSON and back."""
    for outcome in ("killed", "wrong reason"):
        assert result(outcome) == read_result(json.loads(json.dumps(result(outcome).to_json())))


def test_a_line_counts_what_was_killed() -> None:
    """A kill for another reason is none; effort is that of the natural order alone."""
    (line,) = lines([result("killed"), result("wrong reason", seed=2), result("killed", natural=True, seconds=4.0)])
    assert Rate(2, 3) == line.killed
    assert 2 == line.seeds
    assert line.effort is not None
    assert ((4.0, 4.0), (10.0, 10.0)) == (line.effort.seconds, line.effort.exchanges)


def test_a_requirement_has_the_rate_of_the_faults_that_break_it() -> None:
    """Per transport and profile."""
    rates = rates_by_requirement([result("killed"), result("survived", seed=2)])
    assert {("rest", "quick"): Rate(1, 2)} == rates["INPUT-TYPE"]
    assert {FAULT: {"INPUT-TYPE": 1}} == kills([result("killed"), result("survived", seed=2)])


def test_what_is_not_caught_is_seen_in_every_form(tmp_path: Path) -> None:
    """A survivor and a kill for the wrong reason stand at the top, in words."""
    results = [result("killed"), result("survived", seed=2), result("wrong reason", seed=3)]
    assert ["survived", "wrong reason"] == [each.outcome for each in what_is_wrong(results)]
    write(results, tmp_path)
    for name in ("kill-matrix.md", "kill-matrix.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert f"survived: fault {FAULT} over rest, profile quick, seed 2" in text
        assert f"wrong reason: fault {FAULT} over rest, profile quick, seed 3; instead: A-B" in text
    assert "<script" not in (tmp_path / "kill-matrix.html").read_text(encoding="utf-8")
    written = json.loads((tmp_path / "kill-matrix.json").read_text(encoding="utf-8"))
    assert {"hits": 1, "of": 3, "low": 0.0615, "high": 0.7923} == written["lines"][0]["killed"]


def test_conforming_servers_take_turns() -> None:
    """Variants of different parts share a server; each server meets one profile and seed over each transport."""
    trials = [*plan(REGISTRY, profiles=("quick", "standard"), seeds=(1, 2, 3, 4, 5), natural=True, in_turn=True)]
    conforming = [trial for trial in trials if trial.kind != "fault"]
    assert len(conforming) == len({(trial.name, trial.transport) for trial in conforming})
    assert {*variants()} == {name for trial in conforming for name in trial.name.split("+") if name}
    assert {(profile, seed) for profile in ("quick", "standard") for seed in (1, 2, 3, 4, 5)} == {
        (trial.profile, trial.seed) for trial in conforming
    }
    natural = {(trial.transport, trial.profile, trial.seed) for trial in trials if trial.natural}
    assert {("rest", "quick", 1)} == natural
