"""A claim about runs over several transports: what is tampered with in the whole, or in one of its parts, is named.

How a single run can be tampered with is in ``test_claim_tampering``; each part is judged as such a run is.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from claim_material import Change, Material, Tampering, claim_of, made_once, noted, published
from suite_run import run_pytest

from conformance.claim import verifying
from conformance.claim.digests import value_digest
from conformance.claim.keys import make_key
from conformance.claim.statement import part_of
from conformance.command_line import main
from conformance.embedded import start_reference_server
from conformance.merging import merged, store
from conformance.report.case_log import read_run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the runs are shared with a lock of POSIX")

FAULT, SOME = "input-unknown-field-ignored", "INPUT-UNKNOWN-FIELD-conversations_get"
CASES, EXCHANGES, REPORT = "cases.jsonl", "exchanges.jsonl", "report.json"
BOTH, ALL = ("rest", "mcp-http"), ("rest", "mcp-http", "mcp-stdio")


@dataclass(frozen=True)
class Merged:
    """An attested result of several runs."""

    whole: Path
    key: Path

    @property
    def material(self) -> Material:
        """What its tools sign with."""
        return Material(self.whole, self.whole, self.key, self.key)


def make(wanted: Merged, transports: tuple[str, ...], *options: str, fault: str = "") -> None:
    """Run the suite over each transport of one server, merge the runs and attest the whole."""
    make_key(wanted.key)
    server = start_reference_server("--nursery", *(("--fault", fault) if fault else ()))
    try:
        target = wanted.key.with_name("target.toml")
        target.write_text(
            f'[target]\nurl = "{server.url}"\n[control]\nurl = "{server.control_url}"\n'
            f'[target.also.mcp-http]\nurl = "{server.mcp_url}"\n'
            f"[target.also.mcp-stdio]\ncommand = '''{server.stdio_command}'''\n"
            '[implementation]\nname = "Acme"\nversion = "1"\n',
            encoding="utf-8",
        )
        folders = {transport: wanted.key.with_name(transport) for transport in transports}
        for transport, folder in folders.items():
            ended = run_pytest(
                "-q", "--pyargs", "conformance", "--profile=quick", "--seed=7", f"--transport={transport}",
                f"--target-config={target}", f"--report-dir={folder}", *options,
            )  # fmt: skip
            assert ended.report is not None, ended.last_words
    finally:
        server.stop()
    main(["merge", *map(str, folders.values()), "--out", str(wanted.whole)])
    assert 0 == main(["attest", str(wanted.whole), "--key", str(wanted.key)])


def shared(factory: pytest.TempPathFactory, name: str) -> Path:
    """Return a folder that all processes of the session share."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def attested(tmp_path_factory: pytest.TempPathFactory) -> Merged:
    """Return a result of two short runs of a server with a fault."""
    folder = shared(tmp_path_factory, "merged-claims")
    found = Merged(folder / "whole", folder / "vendor.pem")
    made_once(folder, lambda: make(found, BOTH, "-k", SOME, fault=FAULT))
    return found


@pytest.fixture
def whole(attested: Merged, tmp_path: Path) -> Tampering:
    """Return a copy of the merged result."""
    return Tampering.with_copy(attested.whole, tmp_path / "copy", attested.material)


@pytest.fixture
def _not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the judging, for what has to be noticed without it."""
    monkeypatch.setattr(verifying, "judged_again", lambda *_: ())
    monkeypatch.setattr(verifying, "missing_cases", lambda *_: ())


def named(sentence: str, tampering: Tampering, **known: Any) -> None:
    """See that the claim is refused with this sentence."""
    found = tampering.verified(**known)
    assert [] != [each for each in found.refusals if sentence in each], found.refusals


def part(tampering: Tampering, transport: str) -> Tampering:
    """Return a part of the merged result, to be changed as a run by itself is."""
    return Tampering(tampering.folder / "parts" / transport, tampering.material)


def merge_anyway(tampering: Tampering, transports: tuple[str, ...] = BOTH) -> None:
    """Make the whole from what its parts say now, and sign that."""
    ground = published()
    runs = [read_run(part(tampering, transport).folder) for transport in transports]
    for name in (CASES, EXCHANGES):
        # A file is linked to the untouched one.
        (tampering.folder / name).unlink()
    store(tampering.folder, runs, merged(ground.contract, ground.registry, runs, ""))
    tampering.attest_anyway()


# --- What the claim says. ---


def setting(**values: Any) -> Change:
    """Claim other settings, with the digest that fits them."""

    def change(statement: dict[str, Any]) -> None:
        noted(statement, "settings").update(values)
        part_of(statement, "settings")["digest"]["sha256"] = value_digest(noted(statement, "settings"))

    return change


def said(**values: Any) -> Change:
    """Claim other values."""
    return lambda statement: claim_of(statement).update(values)


SAID: dict[str, tuple[Change, str]] = {
    "level": (said(level="full"), "The claim says level 'full'; its own outcomes come to 'none'."),
    "transport-dropped": (setting(transports_merged=["rest"]), "by its own cases, tier, transport and waivers"),
    "transport-unknown": (setting(transports_merged=["rest", "smtp"]), "not of the form of a claim, at settings"),
    "transport-twice": (setting(transports_merged=["rest", "rest"]), "not of the form of a claim, at settings"),
    "at-most-missing": (lambda statement: noted(statement, "settings").pop("at_most"),
                        "not of the form of a claim, at settings"),
}  # fmt: skip
"""How the words of a claim can be changed so that they contradict each other."""


@pytest.mark.parametrize("name", SAID)
def test_words_that_contradict_each_other(name: str, whole: Tampering) -> None:
    """Though the right key has signed, and the folder is not there."""
    change, sentence = SAID[name]
    whole.statement(change, signed_by=whole.material.key)
    named(sentence, whole, folder=None)


SAID_OF_THE_PARTS: dict[str, tuple[Change, str]] = {
    "at-most": (setting(at_most="full"), "The claim says at most 'full', and the stored run 'none'."),
    "order": (setting(transports_merged=["mcp-http", "rest"]), "The claim says transports merged ['mcp-http', 'rest']"),
    "transport-added": (setting(transports_merged=list(ALL)), "and the stored run ['rest', 'mcp-http']."),
}
"""How they can be changed so that only the stored parts contradict them."""


@pytest.mark.usefixtures("_not_judged")
@pytest.mark.parametrize("name", SAID_OF_THE_PARTS)
def test_words_that_contradict_the_parts(name: str, whole: Tampering) -> None:
    """Though the right key has signed."""
    change, sentence = SAID_OF_THE_PARTS[name]
    whole.statement(change, signed_by=whole.material.key)
    named(sentence, whole)


# --- The parts. ---


def other_run(tampering: Tampering) -> None:
    """Put what says to be a run with another seed in the place of a part."""
    other = part(tampering, "rest")
    other.exchanges(lambda lines: lines[0].update(seed=8))
    other.cases(lambda lines: [lines[end]["facts"].update(seed=8) for end in (0, -1)])
    other.report_again()


def swap(tampering: Tampering) -> None:
    """Let the parts change places."""
    one, other = (part(tampering, transport).folder for transport in BOTH)
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def more_parts(tampering: Tampering) -> None:
    """Put a run there that was not merged."""
    shutil.copytree(part(tampering, "rest").folder, part(tampering, "mcp-stdio").folder)


def in_part(change: Change) -> Callable[[Tampering], None]:
    """Change the facts of a part, in both places where its cases have them."""
    return lambda tampering: part(tampering, "rest").cases(lambda lines: [change(lines[end]) for end in (0, -1)])


def in_whole(**facts: Any) -> Callable[[Tampering], None]:
    """Change the facts of the whole."""
    return lambda tampering: tampering.cases(lambda lines: [lines[end]["facts"].update(facts) for end in (0, -1)])


def exchanges(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the exchanges with the target that belong to a case."""
    return [line for line in lines if line["kind"] == "exchange" and line["to"] == "target" and line["case"]]


def answer(lines: list[dict[str, Any]]) -> None:
    """Change the status of an answer."""
    exchanges(lines)[0]["answer"]["status"] = 418


PARTS: dict[str, tuple[Callable[[Tampering], object], str]] = {
    "part-removed": (
        lambda tampering: shutil.rmtree(part(tampering, "mcp-http").folder), "The folder has no parts/mcp-http,",
    ),
    "parts-removed": (lambda tampering: shutil.rmtree(tampering.folder / "parts"), "The folder has no parts/rest,"),
    "part-added": (more_parts, "The folder has parts/mcp-stdio, which is none of the runs that were merged."),
    "part-of-another-seed": (other_run, "its seed is not that of"),
    "parts-swapped": (swap, "What the folder has as parts/rest is a run over mcp-http."),
    "part-without-log": (
        lambda tampering: (part(tampering, "rest").folder / EXCHANGES).unlink(), "Part rest: The folder has no exch",
    ),
    "part-without-cases": (
        lambda tampering: (part(tampering, "rest").folder / CASES).unlink(), f"rest/{CASES} cannot be read",
    ),
    "part-without-report": (
        lambda tampering: (part(tampering, "rest").folder / REPORT).unlink(), "Part rest: report.json cannot be read",
    ),
    "part-changed": (
        lambda tampering: part(tampering, "mcp-http").exchanges(answer, close=False),
        "Part mcp-http: The digest in the footer of exchanges.jsonl is not that of the lines before it.",
    ),
    "part-changed-and-closed": (
        lambda tampering: part(tampering, "rest").exchanges(answer),
        "exchanges.jsonl is not what comes out when the parts are merged again.",
    ),
    "part-cut-off": (in_part(lambda line: line.update(complete=False)), "Part rest: The run was interrupted"),
    "part-that-is-a-shard": (
        in_part(lambda line: line["facts"].update(shard={"number": 1, "of": 2})), "Part rest: The run is a shard",
    ),
    "part-that-is-merged": (
        in_part(lambda line: line["facts"].update(merged=list(BOTH))), "Part rest: It was put together of several",
    ),
    "part-with-a-word-for-a-number": (
        in_part(lambda line: line["facts"].update(duration="long")), f"rest/{CASES} lacks something or has too much",
    ),
    "whole-of-one": (in_whole(merged=["rest"]), "The folder has parts/mcp-http, which is none"),
    "whole-at-most": (in_whole(at_most="full"), "cases.jsonl is not what comes out when the parts are merged again."),
    "whole-shards": (in_whole(present=[1, 2]), "The run is a shard, or was put together of shards; a claim needs"),
    "whole-without-merge": (in_whole(merged=[]), "stands 2 times in cases.jsonl."),
}  # fmt: skip
"""How the stored parts, or the whole, can be changed, and what is said of it whoever signs."""


@pytest.mark.usefixtures("_not_judged")
@pytest.mark.parametrize("name", PARTS)
def test_stored_parts(name: str, whole: Tampering) -> None:
    """The first claim is refused, and so is one that the vendor makes of it now."""
    change, sentence = PARTS[name]
    change(whole)
    named(sentence, whole)
    whole.attest_anyway()
    named(sentence, whole)


@pytest.mark.usefixtures("_not_judged")
@pytest.mark.parametrize(
    ("transports", "sentence"),
    [
        (["rest", "../../rest"], "is said to be merged of one over '../../rest', which is no transport."),
        (["rest", "mcp-http", "rest"], "The parts cannot be merged again: "),
    ],
    ids=["elsewhere", "twice"],
)
def test_transports_that_no_claim_can_name(transports: list[str], sentence: str, whole: Tampering) -> None:
    """No claim can be made of such a whole, whose parts must not be looked for anywhere else either."""
    in_whole(merged=transports)(whole)
    named(sentence, whole)


@pytest.mark.usefixtures("_not_judged")
@pytest.mark.parametrize(("member", "value"), [("verdict", "conforms"), ("level", "full"), ("findings", [])])
def test_merged_report(member: str, value: Any, whole: Tampering) -> None:
    """It is what merging the parts gives, or it is refused."""
    report = json.loads((whole.folder / REPORT).read_bytes())
    whole.write(REPORT, (json.dumps({**report, member: value}, indent=2) + "\n").encode())
    named("report.json is not the file that was attested", whole)
    named("report.json is not what comes out when the parts are merged again.", whole)


def test_each_part_is_judged_again(whole: Tampering, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is different is said of that part."""
    monkeypatch.setattr(verifying, "judged_again", lambda folder, _: (f"{folder.name} is different.",))
    expected = ["Part rest: rest is different.", "Part mcp-http: mcp-http is different."]
    assert expected == whole.verified().refusals


@pytest.mark.thorough
def test_part_that_was_made_up(whole: Tampering, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files fit each other, and the right key has signed: only judging that part again can notice."""
    made_up, judge = part(whole, "rest"), verifying.judged_again
    made_up.exchanges(lambda lines: [line["answer"].update(status=404) for line in exchanges(lines)])
    merge_anyway(whole)
    monkeypatch.setattr(
        verifying, "judged_again", lambda folder, of: judge(folder, of) if folder.name == "rest" else ()
    )
    found = whole.verified().refusals
    assert [] != found
    assert [] == [each for each in found if not each.startswith("Part rest: ")]


# --- Untouched, and what else a merged result is asked for. ---


def test_untouched(attested: Merged, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every part is judged again, the claim says which there were, and there is a badge of it."""
    claim, key = str(attested.whole / "claim.json"), f"{attested.key}.pub"
    assert 0 == main(["verify", claim, str(attested.whole), "--key", key]), capsys.readouterr().out
    printed = capsys.readouterr().out
    assert "Acme@1" in printed
    assert "does not conform (level: none)" in printed
    assert "over rest and mcp-http, profile quick" in printed
    assert 0 == main(["badge", claim, "--key", key, "--out", str(tmp_path / "badge.json")])
    assert "does not conform, self-attested" == json.loads((tmp_path / "badge.json").read_bytes())["message"]


@pytest.mark.thorough
def test_a_server_that_conforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole runs over all transports are attested and verified together; a case that one of them lacks is named."""
    found = Merged(tmp_path / "whole", tmp_path / "vendor.pem")
    make(found, ALL)
    tampering = Tampering(found.whole, found.material)
    verified = tampering.verified()
    assert ([], "behaviour") == (verified.refusals, claim_of(tampering.said())["level"])

    def without_last(lines: list[dict[str, Any]]) -> None:
        lines[:] = [line for line in lines if line.get("case") != last]

    short = part(tampering, "mcp-http")
    last = exchanges(short.lines(EXCHANGES))[-1]["case"]
    short.exchanges(without_last)
    short.cases(without_last)
    short.report_again()
    merge_anyway(tampering, ALL)
    monkeypatch.setattr(verifying, "judged_again", lambda *_: ())
    expected = f"Part mcp-http: The case {last.rpartition('/')[2]} belongs to such a run, and cases.jsonl does not"
    assert [expected] == [each[: len(expected)] for each in tampering.verified().refusals]
