"""What cases came to, and the sum of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from made_answers import GET, exchange, silence

from conformance.judge.finding import Finding, NonConformance, must_hold
from conformance.ledger import CaseRecord, Ledger, finding_to_json, reasons
from conformance.recorder import Recorder
from conformance.transport.exchange import Failure


def finding(requirement: str = "A-B", summary: str = "Wrong", place: str = "/x") -> Finding:
    """Return a finding without exchanges."""
    return Finding(requirement, GET.name, summary, place)


def record(case: str, *findings: Finding) -> CaseRecord:
    """Return a failed case."""
    return CaseRecord(case, ("A-B",), "failed", findings=tuple(map(finding_to_json, findings)), exchanges=2)


def test_a_record_travels_as_json() -> None:
    """What a worker sends is what the controller reads."""
    sent = CaseRecord(
        "case", ("A-B", "C-D"), "failed", "why", (finding_to_json(finding().shown_by(exchange())),),
        (("OPEN-X", "accepts"),), 3, 0.5, {"o": ["p"]},
    )  # fmt: skip
    assert sent == CaseRecord.from_json(json.loads(json.dumps(sent.to_json())))


def test_a_finding_carries_its_exchanges() -> None:
    """As a command without the token, with the answer or what stood in its way."""
    shown = finding_to_json(finding().shown_by(silence(), exchange(409, "ä".encode() * 3000, reason="Conflict")))
    quiet, told = shown["exchanges"]
    assert (None, "no complete answer within 1 s") == (quiet["answer"], quiet["failure"])
    assert (409, "Conflict", 6000, None) == (
        told["answer"]["status"], told["answer"]["reason"], told["answer"]["bytes"], told["failure"],
    )  # fmt: skip
    assert "ä" * 2000 == told["answer"]["body"]
    assert "planted-token" not in json.dumps(shown)


def test_a_token_that_the_target_repeats_is_not_shown() -> None:
    """Neither in the excerpt of the answer nor in what was found."""
    echoed = exchange(400, b"x" * 1990 + b"planted-token", reason="No planted-token")
    shown = json.dumps(finding_to_json(finding(place="planted-token").shown_by(echoed)))
    assert "planted" not in shown
    assert "No $SOSOAPI_TOKEN" in shown


def test_bytes_that_are_no_text_are_shown_as_escapes() -> None:
    """The excerpt is always text."""
    shown = finding_to_json(finding().shown_by(exchange(200, b"a\xff\x00")))
    assert "a\\xff\x00" == shown["exchanges"][0]["answer"]["body"]


def test_a_fault_is_listed_once() -> None:
    """Cases that show the same are counted under it, in a stable order; the first case's evidence is kept."""
    ledger = Ledger()
    ledger.add(record("case-b", finding(place="/b"), finding(place="/c")))
    ledger.add(record("case-a", finding(place="/a"), finding(summary="Other")))
    ledger.add(record("case-c", finding("A-A")))
    groups = ledger.findings()
    assert [("A-A", "Wrong"), ("A-B", "Other"), ("A-B", "Wrong")] == [
        (group.first["requirement"], group.first["summary"]) for group in groups
    ]
    assert (("case-a", "case-b"), "/a") == (groups[2].cases, groups[2].first["place"])


def test_counts_choices_and_coverage_are_summed_up() -> None:
    """Over all cases."""
    ledger = Ledger()
    ledger.add(
        CaseRecord("a", (), "passed", freedoms=(("OPEN-X", "b"), ("OPEN-X", "a")), exchanges=2, coverage={"o": ["p"]})
    )
    ledger.add(CaseRecord("b", (), "passed", freedoms=(("OPEN-X", "b"),), exchanges=3, coverage={"o": ["p", "q"]}))
    assert (5, 2, 0) == (ledger.exchanges, ledger.count("passed"), ledger.count("error"))
    assert {"OPEN-X": {"a": 1, "b": 2}} == ledger.freedoms()
    assert {"o": {"p", "q"}} == ledger.coverage()


def test_reasons_are_given_once() -> None:
    """Sorted, and without the empty one."""
    made = [CaseRecord("a", (), "not assessed", reason) for reason in ("b", "a", "", "b")]
    assert ("a", "b") == reasons(made)


def test_the_recorder_forgets_the_last_case() -> None:
    """Notes of one case never count for the next."""
    recorder = Recorder()
    recorder.freedom("OPEN-X", "a")
    recorder.covered("o", ["p"])
    recorder.covered("o", ["q"])
    assert ([("OPEN-X", "a")], {"o": {"p", "q"}}) == (recorder.freedoms, recorder.coverage)
    recorder.clear()
    assert ([], {}) == (recorder.freedoms, recorder.coverage)


def test_a_case_fails_with_all_its_findings() -> None:
    """``must_hold`` gathers every group; without a finding it is silent."""
    must_hold([], iter(()))
    with pytest.raises(NonConformance, match="A-B: Wrong; C-D: Wrong") as caught:
        must_hold([finding()], [], iter([finding("C-D")]))
    assert (finding(), finding("C-D")) == caught.value.findings


def test_a_token_is_not_shown_wherever_the_target_puts_it() -> None:
    """Neither in a content type, nor in an answer that could not be read."""
    broken = replace(silence(), failure=Failure("malformed", "not an HTTP/1.1 answer: b'planted-token'"))
    echoed = exchange(400, b"{}", ("Content-Type", "text/planted-token"))
    shown = finding_to_json(finding().shown_by(broken, echoed))
    assert "planted" not in json.dumps(shown)
    assert "text/$SOSOAPI_TOKEN" == shown["exchanges"][1]["answer"]["content_type"]
