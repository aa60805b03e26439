"""``summary.md``: the verdict first, everything bounded, and nothing that a server said ever acts."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from conformance.report.markdown import LONGEST, MOST_FINDINGS, render_markdown
from conformance.report.markdown_text import code, fenced, prose
from conformance.resources import data_folder

GOLDEN: dict[str, Any] = json.loads((data_folder("reports") / "golden" / "report.json").read_text(encoding="utf-8"))
TAGS = {"details", "/details", "summary", "/summary"}
HOSTILE = [
    "</summary></details><script>alert(1)</script>",
    "<img src=x onerror=alert(1)> <!-- hidden",
    "`` ` ``` ```` code `` breaks `",
    "[click](http://evil.example/) ![pixel](http://evil.example/p.png)",
    "[ref]: http://evil.example/ [^1] <http://evil.example>",
    "@octocat please merge #1, GH-2, octocat/hello#3 and octocat@0123456789abcdef",
    "http://evil.example/ www.evil.example a@evil.example mailto:a@evil.example",
    "| a | b |\n|---|---|\n| c | d |",
    "# heading\n\n- item\n\n1. item\n\n***\n\n> quote",
    "~~~\nfence\n~~~\n```\nfence\n```",
    "\x1b[31mred\x00\x07\u202eabc\u2066 \ud800 \x85 \u2028",
    "*bold* _it_ ~~gone~~ $`x`$ $x$ :tada: &lt; &#64;octocat \\@octocat",
    "\\",
    " ` ",
    "0123456789abcdef0123456789abcdef01234567",
    "    indented",
    "",
]  # fmt: skip


def made_report(**changes: Any) -> dict[str, Any]:
    """Return the published example, with these keys set."""
    return {**copy.deepcopy(GOLDEN), **changes}


def made_finding(text: str = "", **changes: Any) -> dict[str, Any]:
    """Return a finding every text of which is ``text``, or plain."""
    answer = {"status": 200, "reason": text, "content_type": text, "bytes": 9, "body": text or "{}"}
    exchange = {
        "id": "main-1",
        "principal": text,
        "curl": text or "curl -sS http://h/",
        "answer": answer,
        "failure": None,
    }
    return {
        "number": 1, "requirement": "INPUT-TYPE", "operation": text, "summary": text or "Accepted true for a_number",
        "place": text, "expected": text, "found": text, "story": text, "cases": [text or "t::a[b]"],
        "exchanges": [exchange], "outcome": "fail",
        "timeline": [{"client": "client 1", "label": text, "began_ms": 0.5, "ended_ms": 2.0, "outcome": text}],
        **changes,
    }  # fmt: skip


def hostile_report(text: str) -> dict[str, Any]:
    """Return a report in which every text that could come from outside is ``text``."""
    report = made_report(
        complete=False, required_level="full", problems=[text], findings=[made_finding(text)], level=text,
        baseline={"known": [{"requirement": "A-B", "operation": text, "summary": text}], "stale": []},
        waivers=[{"requirement": text, "reason": text, "owner": text, "until": text, "state": "stale"}],
        left_open={"OPEN-POINT": {text: 2}}, left_open_statements={"OPEN-POINT": text},
    )  # fmt: skip
    report["target"] = dict.fromkeys(("address", "name", "version", "vendor"), text)
    report["requirements"][0].update(outcome="not assessed", reason=text, id=text)
    report["requirements"].append(
        {**report["requirements"][1], "id": "INPUT-TYPE", "outcome": "fail", "statement": text}
    )
    return report


def tokens(markdown: str) -> Iterator[Token]:
    """Yield everything that a reader of Markdown with tables, strikethrough and raw HTML sees in it."""
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown):
        yield token
        yield from token.children or ()


def running_text(markdown: str) -> str:
    """Return the text outside of code, where mentions and references would be looked for."""
    return "\n".join(token.content for token in tokens(markdown) if token.type == "text")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_server_acts(text: str) -> None:
    """No element, link, image, heading or list comes from it, and no word that GitHub would turn into one."""
    written, plain = render_markdown(hostile_report(text)), render_markdown(hostile_report("word"))
    found = [token for token in tokens(written) if token.type != "text"]
    html = {tag for token in found if token.type.startswith("html") for tag in re.findall(r"<([^>]*)", token.content)}
    assert TAGS >= html
    unwanted = ("link_open", "image", "em_open", "s_open", "hr", "code_block")
    assert [] == [token.type for token in found if token.type in unwanted]
    blocks = (
        "heading_open",
        "list_item_open",
        "blockquote_open",
        "fence",
        "table_open",
        "tr_open",
        "th_open",
        "html_block",
    )
    counts = {kind: sum(token.type == kind for token in found) for kind in blocks}
    # An empty text leaves lines out; no other text makes any more than a plain word does.
    others = [token.type for token in tokens(plain)]
    assert [] == [
        kind for kind in blocks if counts[kind] > others.count(kind) or (text and counts[kind] != others.count(kind))
    ]
    assert [] == re.findall(r"@|#\d|://|www\.|[A-Z]-\d|[<>&$|`*~\\\[\]]|[0-9a-f]{7,}", running_text(written))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_control_character_is_written(text: str) -> None:
    """Neither what a terminal acts on nor what turns the direction of writing; and the result can be encoded."""
    written = render_markdown(hostile_report(text))
    assert [] == re.findall(r"[^\n\x20-\x7e\xa0-\u200a\u2010-\u2027\u202f-\u205f\u2070-\ud7ff\ue000-\ufefe]", written)
    assert written == written.encode("utf-8").decode("utf-8")


@pytest.mark.parametrize("text", ["a", "`", "``a`` b", " a", "a ", " ", "x\\", "|", "<b>", "``` ```` `"])
def test_code_shows_exactly_the_text(text: str) -> None:
    """Whatever backticks and spaces it has, a reader sees the same characters."""
    assert [text] == [token.content for token in tokens(f"Here: {code(text)} is it") if token.type == "code_inline"]


def test_code_in_a_fence_is_the_text() -> None:
    """A fence within does not end the fence."""
    text = "```\n<b>\n`````\n~~~"
    (block,) = (token for token in tokens("\n".join(fenced(text, "sh"))) if token.type == "fence")
    assert ("sh", f"{text}\n") == (block.info, block.content)


def test_prose_keeps_plain_words_and_marks_the_others() -> None:
    """A sentence of the suite reads as a sentence; a field's name, a value or an address in it is code."""
    assert "A server's answer (of 12 bytes) isn't JSON." == prose("A server's answer (of 12 bytes) isn't JSON.")
    assert "Accepted true for `expected_revision`." == prose("Accepted true for expected_revision.")
    assert 'It says "`<b> #1 @me`", twice' == prose('It says "<b> #1 @me", twice')


def test_verdict_comes_first_with_level_and_what_is_missing() -> None:
    """Whoever reads only the beginning knows what was decided, how far it reaches, and what it does not say."""
    report = made_report(verdict="does not conform", level="none", required_level="behaviour", findings=[])
    for each in report["requirements"]:
        each["outcome"] = "not assessed" if each["id"] == "PROTOCOL-EQUIVALENCE" else "pass"
    lines = render_markdown(report).splitlines()
    assert ["## Conformance: does not conform", "", "At least one requirement is broken."] == lines[:3]
    assert "- Level: **none**, and `behaviour` is required" == lines[4]
    assert "**Not assessed: 1 requirement.** They count neither as passed nor as failed." in lines
    assert lines.index("### Findings: none") > lines.index("- `PROTOCOL-EQUIVALENCE`")


def test_a_run_that_was_cut_off_says_so() -> None:
    """An unfinished report is never read as a finished one; version 1 knew only finished ones."""
    assert "**The run was interrupted or cut off.**" in render_markdown(made_report(complete=False))
    assert "cut off" not in render_markdown(made_report(complete=True))
    report = made_report()
    report.pop("complete", None)
    assert "cut off" not in render_markdown(report)


def test_a_finding_shows_how_to_see_it() -> None:
    """Sentence, place, expected, found, the command as a block to copy, and the answer."""
    finding = made_finding(place="/a", expected="a refusal", found="200 OK", operation="conversations_get")
    written = render_markdown(made_report(findings=[finding]))
    for line in (
        "#### 1. `INPUT-TYPE` on `conversations_get`",
        "**Found:** Accepted true for `a_number` (MUST, schema)",
        "- place: `/a`",
        "- expected: `a refusal`",
        "- found: `200 OK`",
        "```sh\ncurl -sS http://h/\n```",
    ):
        assert f"\n{line}\n" in written


def test_a_finding_without_an_answer_says_why() -> None:
    """Also when nothing was sent at all."""
    failed = {"principal": "Ann", "curl": "curl x", "answer": None, "failure": "the connection was reset"}
    written = render_markdown(made_report(findings=[made_finding(exchanges=[failed])]))
    assert "No usable answer: the connection was reset" in written
    assert "Answer:" not in render_markdown(made_report(findings=[made_finding(exchanges=[])]))


def test_the_worst_findings_come_first() -> None:
    """What is known, waived or only a warning does not push out what fails the run."""
    outcomes = ["waived", "warning", "known", "fail"]
    findings = [made_finding(number=n, outcome=outcome) for n, outcome in enumerate(outcomes, 1)]
    written = render_markdown(made_report(findings=findings))
    assert ["4", "2", "3", "1"] == re.findall(r"#### (\d)", written)


def test_ledgers_are_folded() -> None:
    """Waivers, baseline and what the contract leaves open stand behind a click, with their counts in sight."""
    waiver = {
        "requirement": "READ-UNCHANGED",
        "reason": "Known.",
        "owner": "Ann",
        "until": "2027-01-31",
        "state": "stale",
    }
    known = {"requirement": "INPUT-TYPE", "operation": "conversations_get", "summary": "Accepted true"}
    written = render_markdown(made_report(waivers=[waiver], baseline={"known": [known], "stale": [known]}))
    assert "<summary>Waivers: 1, 1 of them stale</summary>" in written
    assert "- `READ-UNCHANGED`, until 2027-01-31, owner Ann: Known. **(stale: it holds now)**" in written
    assert "<summary>Baseline: 1 known, 1 stale</summary>" in written
    assert (
        f"<summary>Left open by the contract, and what this server does: {len(GOLDEN['left_open'])}</summary>"
        in written
    )


def test_repeating_names_seed_and_profile() -> None:
    """The command line of the run, as far as the report knows it."""
    report = made_report(seed=12, profile="certify")
    assert "\npytest --pyargs conformance --seed 12 --profile certify\n" in render_markdown(report)
    report["target"]["embedded"] = False
    assert "--profile certify # and the options that name the target\n" in render_markdown(report)


@pytest.mark.parametrize("text", ["x" * 9000, "<" * 9000, "\u2028" * 9000, "\U0001f600" * 9000, "` " * 5000])
def test_a_summary_is_bounded(text: str) -> None:
    """However much there is to say, it fits, and what is left out is counted."""
    report = hostile_report(text)
    report["findings"] = [made_finding(text, number=number) for number in range(1, 301)]
    report["problems"] *= 300
    report["waivers"] *= 300
    report["baseline"]["known"] *= 300
    report["left_open"] = {f"OPEN-{number}": {text: 1} for number in range(300)}
    report["requirements"] = [
        {**report["requirements"][0], "id": f"{text}{number}", "reason": f"{number}{text}"} for number in range(300)
    ]
    written = render_markdown(report)
    assert LONGEST >= len(written.encode())
    assert 1 <= written.count("\n#### ") <= MOST_FINDINGS
    assert f"**{300 - written.count(chr(10) + '#### ')} more findings**" in written


def test_twenty_findings_of_usual_size_are_all_shown() -> None:
    """The bound on bytes does not bite where the bound on findings should."""
    findings = [made_finding(number=number, story="1. step\n" * 30) for number in range(1, 26)]
    written = render_markdown(made_report(findings=findings))
    assert (MOST_FINDINGS, True) == (written.count("\n#### "), "**5 more findings**" in written)
