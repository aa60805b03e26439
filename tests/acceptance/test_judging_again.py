"""Stored exchanges are judged again without the server: the same comes out, and what was changed is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from suite_run import Ended, assert_readable, run_pytest

from conformance.command_line import main
from conformance.embedded import start_reference_server
from conformance.rejudging import judge_again

SOME = "READ-AVAILABLE or AUTH-TOKEN or INPUT-VALID-ACCEPTED or RACE-ONE-KEY or EXPIRY-AT-INSTANT or REPLAY-LOST"
OVER_MCP = "READ-AVAILABLE or AUTH-TOKEN or RACE-ONE-KEY or PROTOCOL-ID-IN-FLIGHT or PRIVACY-MCP"


@dataclass(frozen=True)
class Served:
    """A run against the reference server with a fault or without one, and where that was."""

    folder: Path
    ended: Ended


@contextmanager
def serving(*options: str, over_mcp: bool = False, over_stdio: bool = False) -> Iterator[list[str]]:
    """Yield the options that lead to a reference server."""
    server = start_reference_server(*options, *(["--nursery"] if over_stdio else []))
    try:
        if over_stdio:
            assert server.stdio_command is not None
            yield ["--target-command", server.stdio_command, "--control-url", server.control_url]
            return
        url = server.mcp_url if over_mcp else server.url
        assert url is not None
        yield ["--target-url", url, "--control-url", server.control_url]
    finally:
        server.stop()


def run(
    folder: Path, words: str, *options: str, fault: str = "", over_mcp: bool = False, over_stdio: bool = False
) -> Ended:
    """Run some cases of the quick profile."""
    with serving(*(["--fault", fault] if fault else []), over_mcp=over_mcp, over_stdio=over_stdio) as where:
        return run_pytest("--profile=quick", "--seed=11", "-k", words, f"--report-dir={folder}", *where, *options)


@pytest.mark.parametrize(
    ("words", "over_mcp", "options"),
    [(SOME, False, ()), pytest.param(SOME, False, ("-n", "2"), marks=pytest.mark.thorough), (OVER_MCP, True, ())],
)
def test_the_same_comes_out(words: str, over_mcp: bool, options: tuple[str, ...], tmp_path: Path) -> None:  # noqa: FBT001 - a case
    """Random cases, races, connections that were dropped and set clocks included, in one process or in two."""
    ended = run(tmp_path / "run", words, *options, over_mcp=over_mcp)
    assert 0 == ended.status, ended.last_words
    assert () == judge_again(tmp_path / "run")


def test_a_recorded_run_is_reported_like_any_other(tmp_path: Path) -> None:
    """The finding is found again; verdict and status are those of the run."""
    first = run(tmp_path / "run", "READ-AVAILABLE", fault="output-label-capitalised")
    again = run_pytest("--recorded", str(tmp_path / "run"), f"--report-dir={tmp_path / 'again'}")
    assert (1, 1) == (first.status, again.status), again.last_words
    assert_readable(again)
    assert first.report is not None
    assert again.report is not None
    summaries = [[each["summary"] for each in ended.report["findings"]] for ended in (first, again) if ended.report]
    assert summaries[0] == summaries[1]
    assert first.report["verdict"] == again.report["verdict"]
    assert () == judge_again(tmp_path / "run")


Line = dict[str, Any]


def an_answer(lines: list[Line]) -> Line:
    """Return the first successful read of the log."""
    return next(each for each in lines if each["operation"] == "conversations_get" and each["answer"]["status"] == 200)


def make_it_invalid(lines: list[Line]) -> None:
    """Change an answer, as somebody does who covers up the fault of another one."""
    answer = an_answer(lines)["answer"]
    answer["body"] = answer["body"].replace('"revision":', '"revisions":', 1)


def change_a_request(lines: list[Line]) -> None:
    """Say that something else was asked."""
    request = an_answer(lines)["request"]
    request["body"] = request["body"].replace("a", "b", 1)


def swap(lines: list[Line]) -> None:
    """Exchange two exchanges of one case."""
    first = lines.index(an_answer(lines))
    case = lines[first]["case"]
    second = next(n for n in range(first + 1, len(lines)) if lines[n]["case"] == case and lines[n]["to"] == "target")
    lines[first], lines[second] = lines[second], lines[first]


CHANGES: dict[str, tuple[Callable[[list[Line]], object], str]] = {
    "answer": (make_it_invalid, "is stored as passed, and is failed when judged again"),
    "request": (change_a_request, "has another body than is sent"),
    "order": (swap, "than is sent"),
    "left-out": (lambda lines: lines.remove(an_answer(lines)), "when judged again"),
    "doubled": (lambda lines: lines.append(an_answer(lines)), "were not asked for when it was judged again"),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that conforms."""
    folder = tmp_path_factory.mktemp("stored")
    assert 0 == run(folder, "READ-AVAILABLE").status
    return folder


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_changed_is_named(name: str, stored: Path, tmp_path: Path) -> None:
    """An answer, a request, their order, one left out, one too many."""
    change, sentence = CHANGES[name]
    (tmp_path / "cases.jsonl").write_bytes((stored / "cases.jsonl").read_bytes())
    header, *lines, footer = [json.loads(line) for line in (stored / "exchanges.jsonl").read_text().splitlines()]
    others = [each for each in lines if each["kind"] != "exchange"]
    exchanges = [each for each in lines if each["kind"] == "exchange"]
    change(exchanges)
    text = "".join(json.dumps(each) + "\n" for each in (header, *others, *exchanges, footer))
    (tmp_path / "exchanges.jsonl").write_text(text)
    assert any(sentence in each for each in judge_again(tmp_path)), judge_again(tmp_path)


REPLAYED = {
    "output-label-capitalised": ("READ-AVAILABLE", "OUTPUT-ENUM"),
    "replay-guarded-first": ("REPLAY-SAME-RESULT", "REPLAY-SAME-RESULT"),
    "authentication-scheme-ignored": ("AUTH-TOKEN-MALFORMED", "AUTH-NO-CONTENT"),
    "race-last-write-wins": ("test_races", "RACE-LOSERS-CONFLICT"),
}
"""Faults, the cases that are run, and the requirement that the first finding is about."""


@pytest.mark.parametrize(
    "fault",
    [pytest.param(each, marks=pytest.mark.thorough) if each.startswith("race") else each for each in REPLAYED],
)
def test_a_finding_is_replayed(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It fails again on a server that was started afresh with the same fault, and not on one without it."""
    words, requirement = REPLAYED[fault]
    assert 1 == run(tmp_path, words, "-x", fault=fault).status
    with serving("--fault", fault) as where:
        assert 1 == main(["replay", str(tmp_path), *where])
    told = capsys.readouterr().out
    assert f"still fails: {requirement}" in told
    with serving() as where:
        assert 0 == main(["replay", str(tmp_path), *where])
    assert "does not fail" in capsys.readouterr().out


def test_a_replay_over_mcp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sessions and ids that the server gives out anew are those of the server of now."""
    assert 1 == run(tmp_path, "READ-AVAILABLE", "-x", fault="output-label-capitalised", over_mcp=True).status
    with serving("--fault", "output-label-capitalised", over_mcp=True) as where:
        assert 1 == main(["replay", str(tmp_path), *where])
    assert "still fails: OUTPUT-ENUM" in capsys.readouterr().out


OVER_STDIO = {
    "output-label-capitalised": ("READ-AVAILABLE", "OUTPUT-ENUM"),
    "mcp-prints-refusals": ("STDOUT-CLEAN-calls or STDOUT-CLEAN-refusals", "PROTOCOL-STDOUT-CLEAN"),
    "mcp-token-logged": ("PRIVACY-STDERR-archived", "PRIVACY-STDERR"),
    "race-worker-overwrites-archive": ("RACE-WORKER-RESULT", "RACE-WORKER-RESULT"),
}
"""The same over stdio, where some faults show only in what a child says unasked."""


@pytest.mark.parametrize(
    "fault",
    [each if each == "mcp-prints-refusals" else pytest.param(each, marks=pytest.mark.thorough) for each in OVER_STDIO],
)
def test_a_replay_over_stdio(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Children of the server of now get the messages of the record, with their tokens of now."""
    words, requirement = OVER_STDIO[fault]
    assert 1 == run(tmp_path, words, "-x", fault=fault, over_stdio=True).status
    with serving("--fault", fault, over_stdio=True) as where:
        assert 1 == main(["replay", str(tmp_path), *where])
    assert f"still fails: {requirement}" in capsys.readouterr().out
    with serving(over_stdio=True) as where:
        assert 0 == main(["replay", str(tmp_path), *where])
    assert "does not fail" in capsys.readouterr().out


@pytest.mark.parametrize("over", ["over_mcp", pytest.param("over_stdio", marks=pytest.mark.thorough)])
def test_a_listing_that_cases_share_is_asked_for_again(
    over: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The case sends nothing itself: an earlier one had asked for the list that it judges."""
    fault = "discovery-input-required-lost"
    way = {over: True}
    assert 1 == run(tmp_path, "DISCOVERY-INPUT-SCHEMA", "-x", fault=fault, **way).status
    with serving("--fault", fault, **way) as where:
        assert 1 == main(["replay", str(tmp_path), *where])
    assert "still fails: DISCOVERY-INPUT-SCHEMA" in capsys.readouterr().out
    with serving(**way) as where:
        assert 0 == main(["replay", str(tmp_path), *where])
    assert "does not fail" in capsys.readouterr().out


def test_a_replay_over_stdio_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command that starts nothing, one whose child says nothing, one that is none, and an address instead."""
    assert 1 == run(tmp_path, "READ-AVAILABLE", "-x", fault="output-label-capitalised", over_stdio=True).status
    with serving(over_stdio=True) as where:
        for command, sentence in {
            "/no/such/program --stdio": "/no/such/program --stdio: the command cannot be started (no such file",
            "sh -c 'echo no database >&2; exit 3'": "status 3 without an answer; it wrote to stderr: 'no database'",
        }.items():
            assert 6 == main(["replay", str(tmp_path), *where, "--target-command", command])
            assert f"could not be replayed: no usable answer from {command[:15]}" in (told := capsys.readouterr().out)
            assert sentence in told
        assert 4 == main(["replay", str(tmp_path), *where, "--target-command", "'"])
        assert "cannot be run (No closing quotation)" in capsys.readouterr().err
    assert 4 == main(["replay", str(tmp_path), "--target-url", "http://127.0.0.1:1"])
    assert "the run was over mcp-stdio. Give --target-command instead." in capsys.readouterr().err


def test_children_are_judged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What they say unasked and on stderr is in the log, races too."""
    ended = run_pytest(
        "--profile=quick", "--seed=11", "-k", f"{OVER_MCP} or PRIVACY-STDERR", f"--report-dir={tmp_path}",
        "--transport=mcp-stdio",
    )  # fmt: skip
    assert 0 == ended.status, ended.last_words
    assert () == judge_again(tmp_path)
    assert 4 == main(["replay", str(tmp_path)])
    assert "the run has no findings" in capsys.readouterr().err


def test_a_replay_that_cannot_be(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without findings, with a number that there is not, without a server: the sentence says which."""
    assert 4 == main(["replay", str(stored), "--target-url", "http://127.0.0.1:1"])
    assert "the run has no findings" in capsys.readouterr().err
    run(tmp_path, "READ-AVAILABLE", "-x", fault="output-label-capitalised")
    assert 4 == main(["replay", str(tmp_path), "--finding", "7"])
    assert "there is no finding 7" in capsys.readouterr().err
    nowhere = ["--target-url", "http://127.0.0.1:1", "--control-url", "http://127.0.0.1:1"]
    assert 6 == main(["replay", str(tmp_path), *nowhere])
    assert "could not be replayed: test control did not answer" in capsys.readouterr().out
