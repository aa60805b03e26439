"""Where faults come from: every public report is the source of a fault, or cannot be one of a server."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import pytest

from conformance.kill_matrix.page import page
from conformance.kill_matrix.trials import Result, Trial
from conformance.kill_matrix.writing import document
from conformance.reference.catalogue import faults
from conformance.reference.serve import main
from conformance.resources import data_folder

_GITHUB: Final = "https://github.com/"

NOT_OF_A_SERVER: Final[Mapping[str, str]] = {
    f"{_GITHUB}stella/stella/pull/1275": (
        "In which order a server looks at several faults of one request is left open, so its order is recorded at most."
    ),
    f"{_GITHUB}modelcontextprotocol/python-sdk/issues/1727": (
        "The contract says nothing of MCP sessions; the suite's client begins anew whatever a lost one is answered."
    ),
    f"{_GITHUB}modelcontextprotocol/python-sdk/issues/2349": (
        "What a server makes of a narrower Accept header is left open; the suite accepts both media types."
    ),
    f"{_GITHUB}modelcontextprotocol/conformance/issues/516": (
        "About a suite: here the plain server and every variant must conform."
    ),
    f"{_GITHUB}mcp-use/mcp-use/issues/2266": "About a suite: here a waiver that is not needed is reported.",
    f"{_GITHUB}schemathesis/schemathesis/issues/4332": (
        "About a tester: here each negative case is confirmed to be wrong for one reason when it is sent."
    ),
    f"{_GITHUB}schemathesis/schemathesis/issues/3462": "About a tester: here findings show the bytes that came.",
    f"{_GITHUB}schemathesis/schemathesis/pull/1488": (
        "About a tester: servers that answer with what is no JSON are tried in tests/acceptance."
    ),
    f"{_GITHUB}schemathesis/schemathesis/issues/2966": (
        "About a tester: here a finding has a command that sends the same bytes."
    ),
    f"{_GITHUB}hyperledger-aries/aries-protocol-test-suite/issues/8": (
        "About a suite: here every example has fresh ids and draws that depend on its own name alone."
    ),
    f"{_GITHUB}sipyourdrink-ltd/bernstein/pull/3274": (
        "About a client: here each answer has a deadline, however slowly it comes."
    ),
    f"{_GITHUB}python-jsonschema/jsonschema/issues/1199": (
        "About a validator: here the judge is proved on known wrong values before a run."
    ),
    f"{_GITHUB}jakartaee/data/issues/737": "About a suite: here each tier says what it needs and what is lost without.",
}
"""Why no fault of the reference server comes from these reports: a sentence each, by address."""


def reports() -> list[dict[str, Any]]:
    """Return the public reports: ``address`` and ``about``."""
    text = (data_folder("fixtures") / "public-reports.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["report"]
    return found


def named() -> set[str]:
    """Return the addresses that faults name."""
    return {address for fault in faults().values() for address in fault.reports}


def test_each_report_is_listed_once_with_a_sentence() -> None:
    """An address of a page, and what happened there in one line."""
    assert {} == {
        address: times for address, times in Counter(each["address"] for each in reports()).items() if times > 1
    }
    for report in reports():
        assert {"address", "about"} == set(report)
        assert report["address"].startswith("https://"), report
        assert report["about"].endswith("."), report
        assert "\n" not in report["about"], report


def test_every_report_is_the_source_of_a_fault_or_cannot_be() -> None:
    """No report is forgotten, and none is both."""
    addresses = {report["address"] for report in reports()}
    assert set() == addresses - named() - set(NOT_OF_A_SERVER)
    assert set() == named() & set(NOT_OF_A_SERVER)
    assert set() == set(NOT_OF_A_SERVER) - addresses


def test_faults_name_known_reports_only() -> None:
    """Each fault names its reports once, and each of them is listed."""
    addresses = {report["address"] for report in reports()}
    for name, fault in faults().items():
        assert set() == set(fault.reports) - addresses, name
        assert len(set(fault.reports)) == len(fault.reports), name


@pytest.mark.parametrize("address", NOT_OF_A_SERVER)
def test_what_is_not_of_a_server_is_explained(address: str) -> None:
    """In a sentence."""
    assert NOT_OF_A_SERVER[address].endswith(".")


def test_reports_are_shown_where_faults_are_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--list-faults`` prints the addresses beside the fault."""
    monkeypatch.setattr("sys.argv", ["serve", "--list-faults"])
    assert 0 == main()
    shown = capsys.readouterr().out.splitlines()
    (line,) = (line for line in shown if line.startswith("fault   expiry-never "))
    assert line.endswith(f"reported: {_GITHUB}weaviate/docs/pull/544")


def test_the_kill_matrix_leads_to_the_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has a link that cannot break out of it, the JSON the address; both for faults that were tried alone."""
    fault = faults()["expiry-never"]
    result = Result(Trial("fault", fault.name, "rest", "quick", 1), "killed", "EXPIRY-AVAILABILITY", "case")
    assert {fault.name: list(fault.reports)} == document([result])["reports"]
    assert f'<a href="{fault.reports[0]}" rel="noreferrer">weaviate/docs/pull/544</a>' in page([result])
    hostile = type(fault)(
        fault.name, fault.summary, fault.parts, fault.breaks, reports=('https://x/"><b>', "javascript:1")
    )
    monkeypatch.setattr("conformance.kill_matrix.page.faults", lambda: {fault.name: hostile})
    written = page([result])
    assert 'href="https://x/&quot;&gt;&lt;b&gt;"' in written
    assert "<td><a " in written
    assert "<b>" not in written
    assert 'href="javascript' not in written
