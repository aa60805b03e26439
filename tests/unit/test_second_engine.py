"""The second engine: what generated inputs can be judged for, and Schemathesis used as a library without a trace."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.test_second_engine import credential_fault
from conformance.checks.test_second_engine import test_a_second_engine_finds_nothing as check
from conformance.contract import Contract, Operation, load_contract
from conformance.judge.schema import SchemaJudge
from conformance.second_engine.trials import Trial, spread, standing, with_fault, wrong_members
from conformance.transport.exchange import Exchange, Request, Response
from conformance.transport.rest import STATUS_KINDS

CONTRACT: Contract = load_contract(None)
ARCHIVE: Operation = next(operation for operation in CONTRACT.operations if operation.effect == "write")
JUDGE = SchemaJudge(ARCHIVE.input_schema, "archive")
ARGUMENTS: dict[str, Any] = {
    "workspace_id": "0b54a1c1-6f0a-4a6e-9a43-3d2f0c1c7a11",
    "mutation_id": "1b54a1c1-6f0a-4a6e-9a43-3d2f0c1c7a11",
    "conversation_id": "2b54a1c1-6f0a-4a6e-9a43-3d2f0c1c7a11",
    "expected_revision": 3,
}


def _text(**changes: Any) -> bytes:
    return json.dumps({**ARGUMENTS, **changes}).encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_text(), "valid"),
        (_text(title="1.5"), "wrong"),
        (_text(expected_revision=1.0), "open"),
        (_text().replace(b": 3", b": 3e0"), "open"),
        (_text(expected_revision=1.5), "wrong"),
        (_text(workspace_id="0B54A1C1-6F0A-4A6E-9A43-3D2F0C1C7A11"), "open"),
        (_text(workspace_id="0b54a1c1-6f0a-fa6e-9a43-3d2f0c1c7a11"), "open"),
        (_text(workspace_id="0b54a1c1-6f0a-4a6e-0a43-3d2f0c1c7a11"), "open"),
        (_text(workspace_id="00000000-0000-0000-0000-000000000000"), "open"),
        (_text(workspace_id="x", conversation_id="y"), "open"),
        (b"\xef\xbb\xbf" + _text(), "open"),
        (_text().replace(b"{", b'{"expected_revision": 3, '), "open"),
        (b'{"\\ud800": 1}', "open"),
        (b"[" * 5000, "open"),
        (b"\xff", "wrong"),
        (b"NaN", "wrong"),
    ],
)
def test_what_is_left_open_is_never_judged(text: bytes, expected: str) -> None:
    """1.0 for an integer, other UUID digits, duplicate names, a BOM and several faults at once are open."""
    assert expected == standing(text, JUDGE).standing


@pytest.mark.parametrize(
    ("text", "requirement"),
    [
        (b"", "INPUT-OBJECT"),
        (b"null", "INPUT-OBJECT"),
        (b"[1]", "INPUT-OBJECT"),
        (b"{", "INPUT-WELL-FORMED"),
        (_text(zz=1), "INPUT-UNKNOWN-FIELD"),
        (_text(expected_revision="3"), "INPUT-TYPE"),
        (_text(expected_revision=0), "INPUT-INTEGER-RANGE"),
        (_text(expected_revision=2**53), "INPUT-INTEGER-RANGE"),
        (_text(mutation_id="g"), "INPUT-UUID-FORMAT"),
        (json.dumps({**ARGUMENTS, "mutation_id": None}).encode(), "INPUT-TYPE"),
        (b"{}", ""),
    ],
)
def test_one_fault_names_the_requirement_that_it_breaks(text: bytes, requirement: str) -> None:
    """An input that is wrong for exactly one reason is judged by the requirement of the broken rule."""
    assert requirement == standing(text, JUDGE).requirement


def test_each_wrong_member_is_tried_alone() -> None:
    """Of an input with several faults each wrong, unknown or missing member is named once."""
    generated = {
        "workspace_id": "x",
        "zz/~": 1,
        "expected_revision": 1,
        "conversation_id": ARGUMENTS["conversation_id"],
    }
    assert {"workspace_id", "zz/~", "mutation_id"} == set(wrong_members(generated, JUDGE))
    assert () == wrong_members(ARGUMENTS, JUDGE)
    assert () == wrong_members([1], JUDGE)


def test_a_fault_is_put_into_the_arguments_of_the_scene() -> None:
    """A wrong member replaces the right one, an unknown one is added, a missing one is taken away."""
    generated = {"workspace_id": 5, "zz": 1}
    assert {**ARGUMENTS, "workspace_id": 5} == with_fault(ARGUMENTS, generated, "workspace_id")
    assert {**ARGUMENTS, "zz": 1} == with_fault(ARGUMENTS, generated, "zz")
    assert "mutation_id" not in with_fault(ARGUMENTS, generated, "mutation_id")


def test_kinds_take_turns() -> None:
    """The rare kinds come before the second of a frequent kind."""
    assert ("a1", "b1", "c1", "a2") == spread(["a1", "a2", "a3", "b1", "c1"], lambda item: item[0], 4)
    assert () == spread([], str, 4)


@pytest.mark.parametrize(
    ("header", "requirement"),
    [
        (None, "AUTH-TOKEN-MISSING"),
        ("Bearer abc.def==", "AUTH-TOKEN-UNKNOWN"),
        ("Bearer ^[J3", "AUTH-TOKEN-MALFORMED"),
        ("j", "AUTH-TOKEN-MALFORMED"),
    ],
)
def test_credentials_are_judged_by_what_is_wrong_with_them(header: str | None, requirement: str) -> None:
    """A missing, a malformed and an unknown token are three requirements."""
    assert requirement == credential_fault(header)[0]


def test_without_the_extra_the_check_is_not_assessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Schemathesis is not installed the reason names the extra that brings it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(pytest.skip.Exception, match=r"sosoapi-conformance\[schemathesis\]"):
        check(ARCHIVE, session=None)  # type: ignore[arg-type]  # it is not reached


def test_collecting_does_not_import_schemathesis() -> None:
    """Importing the check leaves Schemathesis alone, which takes as long as all the rest."""
    code = "import sys, conformance.checks.test_second_engine; sys.exit('schemathesis' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode  # noqa: S603 - code of this test


@pytest.fixture
def engine() -> Any:
    """Return the engine for archive, with the arguments above as its example."""
    pytest.importorskip("schemathesis")
    from conformance.second_engine.engine import SecondEngine  # noqa: PLC0415 - only where the extra is installed

    return SecondEngine(CONTRACT, ARCHIVE, ARGUMENTS, path="/prefix/put-away", method="POST", status_kinds=STATUS_KINDS)


def test_cases_are_of_the_mode_that_was_asked_for(engine: Any) -> None:
    """What Schemathesis takes for right is never wrong for our judge, and what it takes for wrong is never right."""
    assert ARGUMENTS == engine.example().body
    assert {"valid", "open"} >= {
        standing(engine.text(case), JUDGE).standing for case in engine.cases("positive", 1, 20)
    }
    assert "valid" not in {standing(engine.text(case), JUDGE).standing for case in engine.cases("negative", 1, 20)}


def test_credentials_come_with_and_without_a_header(engine: Any) -> None:
    """The first is none at all; every other one can stand in a header line."""
    values = engine.authorizations(1, 6)
    assert (None, 6) == (values[0], len(values))
    assert all(value.isascii() and value == value.strip() for value in values[1:])


def test_nothing_is_printed_or_written_and_no_configuration_is_read(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A configuration file in the working directory changes nothing, and no file appears beside it."""
    (tmp_path / "schemathesis.toml").write_text("this is no TOML", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    rebuilt = type(engine)(CONTRACT, ARCHIVE, ARGUMENTS, path="/x", method="POST", status_kinds=STATUS_KINDS)
    rebuilt.cases("negative", 1, 5)
    assert ("", "") == tuple(capfd.readouterr())
    assert ["schemathesis.toml"] == [path.name for path in tmp_path.iterdir()]


def _exchange(status: int, body: Any) -> Exchange:
    request = Request("POST", "http://127.0.0.1:1/prefix/put-away", (("Host", "127.0.0.1:1"),), b"{}")
    return Exchange("", "", request, Response(status, "", (), json.dumps(body).encode()), None, 0.001)


def test_answers_are_judged_by_schemathesis_as_configured(engine: Any) -> None:
    """Conflicts, unknown ids and refused tokens fail no check; server errors, bad results and wrong kinds do."""
    right, result = engine.example(), ARCHIVE.example_result
    for status in (401, 403, 404, 409, 412, 423, 425, 429):
        assert () == engine.failed_checks(right, _exchange(status, {}))
    assert () == engine.failed_checks(right, _exchange(200, result))
    assert ("response_schema_conformance",) == engine.failed_checks(right, _exchange(200, {**result, "more": 1}))
    assert ("positive_data_acceptance",) == engine.failed_checks(right, _exchange(422, {}))
    assert "not_a_server_error" in engine.failed_checks(right, _exchange(500, {}))
    assert "status_code_conformance" in engine.failed_checks(right, _exchange(302, {}))


def test_a_wrong_input_must_be_refused_as_such(engine: Any) -> None:
    """To a wrong input only 400 and 422 are right, as long as nothing else is wrong about the call."""
    case = next(case for case in engine.cases("negative", 1, 20) if isinstance(case.body, dict))
    case.body = {**ARGUMENTS, "zz": 1}
    for status in (400, 422):
        assert () == engine.failed_checks(case, _exchange(status, {}))
    for status in (404, 409):
        assert ("negative_data_rejection",) == engine.failed_checks(case, _exchange(status, {}))
    assert ("negative_data_rejection",) == engine.failed_checks(case, _exchange(200, ARCHIVE.example_result))


def test_trials_are_values() -> None:
    """A trial cannot be changed once it is made."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Trial("valid").what = "else"  # type: ignore[misc]  # that is the point
