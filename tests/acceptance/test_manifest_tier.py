"""The manifest tier: conversations that a vendor prepared by hand, and no test control for the suite."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from suite_run import CHECKOUT, assert_readable, run_pytest

from conformance.cases.conversations import DAY, Document, Plan, RunPlan, compose
from conformance.cases.texts import UTC_MILLISECONDS, timestamp
from conformance.control.http import HttpControl
from conformance.control.interface import Principal
from conformance.embedded import EmbeddedServer, start_reference_server
from conformance.stage import fresh_uuid

PREPARED = "conformance/checks/test_prepared.py"
RUNS = (RunPlan(kind="sentiment", question=True), RunPlan("queued", "themes", question=True))


def prepare(server: EmbeddedServer, file: Path) -> dict[str, str]:
    """Prepare one conversation of each role as a vendor would; write the target file, return the tokens it names."""
    control, rng, now = HttpControl(server.control_url, None), random.Random(5), int(time.time() * 1000) - 2000  # noqa: S311
    spaces = {role: fresh_uuid(rng) for role in ("readable", "disposable", "expired")}
    reader = control.create_principal(("agent:research",), tuple(spaces.values()), "reader")
    other = control.create_principal(("agent:research",), (spaces["readable"],), "other user")
    lines = [f'[target]\nurl = "{server.url}"\n[tokens]']
    lines += [f'{role} = {{ env = "{role.upper()}" }}' for role in ("reader", "other_user", "without_scope")]

    def store(role: str, owner: Principal, workspace_id: str) -> None:
        document: Document = compose(rng, now, Plan(runs=RUNS), workspace_id=workspace_id)
        control.seed_conversation(owner, document.conversation, document.messages, document.runs)
        run = f'{{ run_id = "{document.runs[0]["id"]}", request_kind = "sentiment" }}'
        lines.append(f'[[fixtures.{role}]]\nworkspace_id = "{document.workspace_id}"')
        lines.append(f'conversation_id = "{document.conversation_id}"\nruns = [{run}]')

    for role, workspace_id in spaces.items():
        store(role, reader, workspace_id)
    store("foreign", other, spaces["readable"])
    control.set_clock(spaces["expired"], timestamp(now + DAY, UTC_MILLISECONDS))
    without_scope = control.create_token(reader, ())
    control.close()
    file.write_text("\n".join(lines), encoding="utf-8")
    return {"READER": reader.token, "OTHER_USER": other.token, "WITHOUT_SCOPE": without_scope.token}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where the target file goes."""
    return tmp_path / "acme.toml"


def test_prepared_conversations_are_enough_for_the_schema_level(file: Path) -> None:
    """The reference server conforms at the level of the schema, and some behaviour is judged too."""
    server = start_reference_server()
    try:
        tokens = prepare(server, file)
        ended = run_pytest(
            "-q",
            "--profile=quick",
            "--seed=3",
            f"--target-config={file}",
            f"--report-dir={file.parent}",
            folder=CHECKOUT,
            **tokens,
        )
    finally:
        server.stop()
    assert_readable(ended)
    assert ended.report is not None, ended.last_words
    assert ("conforms", "schema", "manifest") == tuple(ended.report[name] for name in ("verdict", "level", "tier"))
    passed = {each["id"] for each in ended.report["requirements"] if each["outcome"] == "pass"}
    assert {"ARCHIVE-ACCEPTED", "REPLAY-APPLIED-ONCE", "EXPIRY-GET-WITHOUT-TEXT", "PRIVACY-OTHER-USER"} <= passed


@pytest.mark.parametrize(
    ("fault", "requirement"),
    [
        ("archive-answer-keeps-text", "ARCHIVE-ANSWER-WITHOUT-TEXT"),
        ("replay-applied-twice", "REPLAY-APPLIED-ONCE"),
        ("expiry-never", "EXPIRY-GET-WITHOUT-TEXT"),
        ("identity-workspace-member-reads", "PRIVACY-OTHER-USER"),
    ],
)
def test_a_fault_shows_on_prepared_conversations(fault: str, requirement: str, file: Path) -> None:
    """Each role of the manifest bites."""
    server = start_reference_server("--fault", fault)
    try:
        tokens = prepare(server, file)
        ended = run_pytest(
            "-q",
            "--seed=3",
            f"--target-config={file}",
            f"--report-dir={file.parent}",
            PREPARED,
            folder=CHECKOUT,
            **tokens,
        )
    finally:
        server.stop()
    assert ended.report is not None, ended.last_words
    assert requirement in {each["requirement"] for each in ended.report["findings"]}
