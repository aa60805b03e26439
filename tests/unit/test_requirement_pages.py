"""Pages of the requirement families: they say what the registry says, and exchanges are shown without what changes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import load_contract
from conformance.requirement_pages.page import FOLDER, comparable, families, stale
from conformance.requirement_pages.showing import answer_text, request_text, settled
from conformance.requirements import Registry, load_registry

CONTRACT = load_contract()
REGISTRY = load_registry(CONTRACT)
PAGES = CONTRACT.folder / FOLDER


def test_the_pages_say_what_the_registry_says() -> None:
    """After a change of a requirement: ``python -m conformance.requirement_pages FAMILY``."""
    assert [] == list(stale(REGISTRY, PAGES))


def test_every_requirement_has_a_wrong_answer() -> None:
    """And what a run says of it."""
    for family in families(REGISTRY):
        text = (PAGES / f"{family}.md").read_text(encoding="utf-8")
        count = sum(requirement.family == family for requirement in REGISTRY.requirements)
        assert (count, count) == (text.count("with the fault `"), text.count("What a run says of it:"))


def test_nothing_of_one_run_is_on_a_page() -> None:
    """No port but the made-up one, no token, no path of a machine."""
    for path in PAGES.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert "/tmp" not in text  # noqa: S108 - it is looked for, not used
        assert text.count("127.0.0.1:") == text.count("127.0.0.1:8000")
        assert text.count("Bearer ") == text.count("Bearer $SOSOAPI_TOKEN") + text.count("Bearer token")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a copy of the pages."""
    return Path(shutil.copytree(PAGES, tmp_path / FOLDER))


def _with(registry: Registry, identifier: str, **changed: Any) -> Registry:
    kept = (replace(each, **changed) if each.id == identifier else each for each in registry.requirements)
    return replace(registry, requirements=tuple(kept))


def test_a_changed_statement_is_noticed(copied: Path) -> None:
    """Named with its requirement."""
    changed = _with(REGISTRY, "REVISION-GROWS", statement="A revision may grow.")
    assert ["revision.md says something else of REVISION-GROWS"] == list(stale(changed, copied))


def test_a_requirement_that_is_gone_is_noticed(copied: Path) -> None:
    """So is one that is new."""
    less = replace(REGISTRY, requirements=tuple(each for each in REGISTRY.requirements if each.id != "REVISION-GROWS"))
    assert ["revision.md has other requirements than the registry, or in another order"] == list(stale(less, copied))


def test_a_missing_page_and_one_too_many_are_noticed(copied: Path) -> None:
    """By name."""
    (copied / "late.md").rename(copied / "later.md")
    assert ["late.md is missing", "later.md is no page of a family"] == list(stale(REGISTRY, copied))


def test_what_races_come_to_is_not_compared() -> None:
    """All else is."""
    page = "# race\n\n## ONE\n\nMust.\n\nWrong, with the fault `a`: so.\n\n```text\ncase:     c/{}::test_x\n```\n"
    race = page.format("test_races.py")
    assert comparable(race) == comparable(race.replace("so.", "otherwise."))
    assert comparable(race) != comparable(race.replace("Must.", "May."))
    read = page.format("test_reads.py")
    assert comparable(read) != comparable(read.replace("so.", "otherwise."))


def line(text: Any, **answer: Any) -> dict[str, Any]:
    """Return a line of the log of exchanges."""
    headers = [["Host", "127.0.0.1:4711"], ["Content-Type", "application/json"], ["Authorization", "Bearer $A_TOKEN_3"]]
    asked = {"method": "POST", "target": "http://127.0.0.1:4711/v1/get", "headers": headers, "body": "{}", "bytes": 2}
    given = {"status": 200, "reason": "OK", "headers": [["date", "Mon"]], "body": text, "bytes": len(text), **answer}
    return {"request": asked, "answer": given, "failure": None}


def test_a_request_is_shown_without_host_and_token() -> None:
    """With the headers that matter."""
    expected = "POST /v1/get\nContent-Type: application/json\nAuthorization: Bearer $SOSOAPI_TOKEN\n\n{}"
    assert expected == request_text(line(""))


def test_a_long_body_is_cut_to_the_place() -> None:
    """What is on the way stays, what is beside it is an ellipsis."""
    runs = ", ".join(f'{{"id": "{"x" * 70}", "list": [1, 2], "status": "queued{number}"}}' for number in range(20))
    shown = answer_text(line(f'{{"other": {{"a": 1}}, "runs": [{runs}]}}'), "/runs/3/status")
    assert '"status": "queued3"' in shown
    assert "queued2" not in shown
    assert '"other": {...}' in shown
    assert '"list": [...]' in shown
    assert f'"{"x" * 60}..."' in shown


def test_what_is_no_json_is_shown_in_ascii() -> None:
    """Repeated names stay repeated; bytes that are no text are told by their number."""
    assert '200 OK\n\n{"a":1,"a":2}' == answer_text(line('{"a":1,"a":2}'), "")
    assert "200 OK\n\na\\u202eb" == answer_text(line("a\u202eb"), "")
    assert "200 OK\n\n(3 bytes; base64: /w==)" == answer_text(line({"base64": "/w=="}, bytes=3), "")
    assert "(no answer: closed)" == answer_text({**line(""), "answer": None, "failure": "closed"}, "")


def test_what_changes_from_run_to_run_is_settled() -> None:
    """Ports, sessions and tokens."""
    assert "http://127.0.0.1:8000/mcp" == settled("http://127.0.0.1:40213/mcp")
    assert "Mcp-Session-Id: (a session)" == settled("Mcp-Session-Id: 0f3a")
    assert "Bearer $SOSOAPI_TOKEN" == settled("Bearer $SOSOAPI_TOKEN_12")
