"""The comparison: what is drawn and counted, what is written, and the alternatives on a server that is right."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from compare_plot import plot
from compare_running import carry_out
from compare_summary import Cost, caught_by_family, caught_names, first_alarms, lines
from compare_trials import (
    TESTERS,
    Ending,
    Kind,
    Result,
    Trial,
    families,
    faults_over_http,
    plan,
    read_result,
    stratified,
    variants_over_http,
)
from compare_writing import Circumstances, family_table, page, table

from conformance.kill_matrix.summary import Rate
from conformance.reference.catalogue import faults, variants

STRATA = {**{f"a{number}": "a" for number in range(30)}, **{f"b{number}": "b" for number in range(9)}, "c0": "c"}
NAMES = list(STRATA)
ALTERNATIVES = [tester.name for tester in TESTERS if not tester.profile]
FAULT = "output-extra-key-in-status"
OTHER = "archive-toggles"


def result(
    kind: Kind, name: str = "", *alarms: str, tester: str = "schemathesis-seeded", seconds: float = 1.0
) -> Result:
    """Return a result; on a server with a fault, alarms are what it was caught by."""
    ending: Ending = "finding" if kind == "fault" and alarms else "complete"
    return Result(Trial(tester, kind, name), ending, alarms, seconds, 100, 2 * seconds)


RESULTS = [
    result("unbroken", seconds=3.0),
    result("unbroken", seconds=5.0),
    result("fault", FAULT, "response_schema_conformance: Response violates schema (POST /x)", seconds=2.0),
    result("fault", OTHER),
    result("variant", "withheld-title-null", "not_a_server_error: Server error (POST /x)"),
    result("variant", "copy-told-to-wait"),
    result("fault", FAULT, "OUTPUT-UNKNOWN-FIELD", tester="suite-standard"),
    result("fault", OTHER, "ARCHIVE-LASTS", tester="suite-standard"),
]
HOW = Circumstances("tox -e compare", 1, 2, 2, (0.5, 2.0), 20.0)


def test_of_each_stratum_its_share_is_drawn() -> None:
    """20 of 40: half of each, the one that is left by itself where remainders are even."""
    drawn = stratified(NAMES, STRATA, 20, 1)
    counts = {stratum: sum(STRATA[name] == stratum for name in drawn) for stratum in "abc"}
    assert 20 == len(set(drawn))
    assert {"a": 15, "b": 5, "c": 0} == counts


def test_a_sample_is_that_of_its_seed_and_in_order() -> None:
    """The same seed draws the same; more than there are is all."""
    assert stratified(NAMES, STRATA, 7, 1) == stratified(NAMES, STRATA, 7, 1)
    assert stratified(NAMES, STRATA, 7, 1) != stratified(NAMES, STRATA, 7, 2)
    assert NAMES == stratified(NAMES, STRATA, 100, 1)


def test_every_fault_has_a_family() -> None:
    """The families are those of the catalogue."""
    assert set(faults()) == set(families())
    assert set(faults_over_http()) < set(faults())
    assert set(variants_over_http()) < set(variants())


def test_everybody_is_tried_on_the_same_servers() -> None:
    """A trial for each tester and server."""
    planned = list(plan(TESTERS, [FAULT, OTHER], ["withheld-title-null"], 7))
    servers = {(trial.kind, trial.name, trial.seed) for trial in planned}
    assert len(TESTERS) * 3 == len(planned)
    assert {("fault", FAULT, 7), ("fault", OTHER, 7), ("variant", "withheld-title-null", 7)} == servers


def test_a_result_comes_back_as_it_was() -> None:
    """Through JSON values."""
    assert [read_result(each.to_json()) for each in RESULTS] == RESULTS


def test_rates_costs_and_false_alarms_are_counted() -> None:
    """Faults caught, variants alarmed, the cost of findings and of clean runs, each by tester."""
    suite, alternative = lines(RESULTS)
    assert ("suite-standard", "schemathesis-seeded") == (suite.tester.name, alternative.tester.name)
    assert (Rate(2, 2), Rate(1, 2)) == (suite.caught, alternative.caught)
    assert (Rate(0, 0), Rate(1, 2)) == (suite.alarmed, alternative.alarmed)
    assert ((), None, Cost(4.0, 8.0, 100.0)) == (alternative.on_unbroken, suite.clean, alternative.clean)
    assert Cost(2.0, 4.0, 100.0) == alternative.median == alternative.ninety_fifth
    assert {FAULT} == caught_names(RESULTS, "schemathesis-seeded")
    assert [("response_schema_conformance: Response violates schema", 1)] == first_alarms(
        RESULTS, "schemathesis-seeded"
    )


def test_trials_that_were_cut_off_caught_nothing() -> None:
    """They are counted by themselves."""
    (line,) = lines([Result(Trial("schemathesis-seeded", "fault", FAULT), "out of time", (), 180.0)])
    assert (Rate(0, 1), 1, None) == (line.caught, line.ended_early, line.median)


def test_the_tables_say_what_was_counted() -> None:
    """One row for each tester, one for each family."""
    told = lines(RESULTS)
    row = "| Schemathesis, seeded, all checks | 1 / 2 | 9% to 91% | 1 / 2 | 0 | 2.0 / 2.0 | 100 | 4.0 | 8.0 | 100 |"
    assert row == table(told)[-1]
    by_family = caught_by_family(RESULTS, families())
    assert {"output", "archive"} == set(by_family)
    assert "| archive | 1 / 1 | 0 / 1 |" in family_table(told, by_family)


def test_the_page_says_who_catches_what_and_why_an_alarm_is_false() -> None:
    """With the fault that only one of them catches, and what the variant does."""
    written = page(RESULTS, HOW)
    assert f"Caught by the standard profile and by no alternative, 1: `{OTHER}`." in written
    assert "not by this suite's standard profile: none." in written
    assert variants()["withheld-title-null"].summary in written
    assert "Tried were 2 of the " in written


def test_the_picture_is_well_formed_and_has_every_tester() -> None:
    """Whatever reads SVG can read it."""
    told = lines(RESULTS)
    root = ElementTree.fromstring(plot(told, caught_by_family(RESULTS, families()), "a < b"))  # noqa: S314 - our own text
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {line.tester.label for line in told} | {"a < b", "archive", "2 of 2", "1 of 2"} <= texts


@pytest.mark.parametrize("tester", ALTERNATIVES)
def test_an_alternative_raises_no_alarm_on_the_unbroken_server(tester: str) -> None:
    """In a short run it sends something, comes to its end and finds nothing to blame."""
    kept: list[Result] = []
    carry_out([Trial(tester, "unbroken", examples=2)], 1, {}, kept.append)
    (ended,) = kept
    assert ("complete", (), "") == (ended.ending, ended.alarms, ended.detail)
    assert ended.exchanges > 20


def test_a_finding_ends_the_trial_unless_it_is_raised_on_the_unbroken_server_too() -> None:
    """The plain test sees an unknown field in a seeded answer; known alarms are passed over."""
    trial = Trial("hypothesis-jsonschema", "fault", FAULT, examples=2)
    kept: list[Result] = []
    carry_out([trial], 1, {}, kept.append)
    (found,) = kept
    assert "finding" == found.ending
    assert ("test_a_seeded_conversation_is_answered_as_the_schema_says[sentiment_status]",) == found.alarms
    carry_out([trial], 1, {trial.tester: set(found.alarms)}, kept.append)
    assert found.alarms != kept[1].alarms
