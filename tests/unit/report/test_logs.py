"""What a run writes down as it goes: cases and exchanges, without tokens, readable when it was cut off."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from made_answers import exchange, request, silence
from made_runs import FACTS, case

from conformance.errors import UsageProblem
from conformance.redaction import Redaction
from conformance.report.case_log import NAME, CaseLog, read_run
from conformance.report.exchange_log import ExchangeLog, find
from conformance.report.joined_log import put_together
from conformance.run import Shard

TOKEN = "planted-token"
CASES = [case("passed", "A-B"), case("failed", "A-B", broken=["A-B"], number=2)]


def log_cases(folder: Path, *, complete: bool = True) -> None:
    """Write the cases of a run."""
    log = CaseLog(folder, FACTS)
    for each in CASES:
        log.add(each)
    log.end(replace(FACTS, duration=2.0), complete=complete)


def test_cases_are_read_as_they_were_written(tmp_path: Path) -> None:
    """With the facts of the end."""
    log_cases(tmp_path)
    stored = read_run(tmp_path)
    assert (CASES, True, 2.0) == (stored.ledger.records, stored.complete, stored.facts.duration)


@pytest.mark.parametrize("kept", [0.5, 0.9, 0.99])
def test_a_run_that_was_cut_off_is_incomplete(kept: float, tmp_path: Path) -> None:
    """What was written before is there, with the facts of the beginning; half a line does no harm."""
    log_cases(tmp_path)
    text = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(text[: int(len(text) * kept)])
    stored = read_run(tmp_path)
    assert not stored.complete
    assert CASES[: len(stored.ledger.records)] == stored.ledger.records


def test_an_interrupted_run_is_incomplete(tmp_path: Path) -> None:
    """It says so itself."""
    log_cases(tmp_path, complete=False)
    assert not read_run(tmp_path).complete


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (None, "cannot be read"),
        (["{}"], "is not"),
        (['{"kind":"header","format":"x","format_version":1}'], "is not"),
        (["HEADER", "what?", ""], "line 2"),
        (["HEADER", '{"kind":"case"}', ""], "lacks"),
    ],
)
def test_what_is_no_stored_result_is_refused(lines: list[str] | None, said: str, tmp_path: Path) -> None:
    """With the place and what to do."""
    log_cases(tmp_path)
    first = (tmp_path / NAME).read_text(encoding="utf-8").splitlines()[0]
    if lines is None:
        (tmp_path / NAME).unlink()
    else:
        (tmp_path / NAME).write_text("\n".join(lines).replace("HEADER", first), encoding="utf-8")
    with pytest.raises(UsageProblem, match=said):
        read_run(tmp_path)


def written(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def open_log(path: Path, worker: str = "main") -> ExchangeLog:
    """Return a log of a run that has a token of the user's."""
    return ExchangeLog(path, FACTS, Redaction({"token-of-the-vendor": "VENDOR"}), worker)


def test_every_exchange_is_a_line(tmp_path: Path) -> None:
    """With its case; the last line holds the digest of all others."""
    path = tmp_path / "x.jsonl"
    log = open_log(path)
    answered, unanswered = exchange(200, b'{"a": 1}'), silence()
    log.begin_case("t.py::one")
    log.add(answered)
    log.add(unanswered)
    assert ("main-1", "main-2", "") == (log.name(answered), log.name(unanswered), log.name(exchange()))
    log.end(complete=True)
    first, one, two, last = written(path)
    assert ("header", "exchange", "footer") == (first["kind"], one["kind"], last["kind"])
    assert ("t.py::one", '{"a": 1}', 8) == (one["case"], one["answer"]["body"], one["answer"]["bytes"])
    assert two["answer"] is None
    assert "no complete answer" in two["failure"]
    before = b"".join(path.read_bytes().splitlines(keepends=True)[:-1])
    assert (2, hashlib.sha256(before).hexdigest(), True) == (last["exchanges"], last["sha256"], last["complete"])
    assert {"main-2": two} == find(path, ["main-2", "main-9", ""])


def test_long_and_binary_bodies_are_kept_in_other_ways(tmp_path: Path) -> None:
    """As base64 where they are no text, as a digest where they are long."""
    path = tmp_path / "x.jsonl"
    log = open_log(path)
    log.add(exchange(200, b"\xff\x00"))
    log.add(exchange(200, b"a" * 5_000_000))
    log.end(complete=True)
    _, binary, long, _ = written(path)
    assert {"base64": "/wA="} == binary["answer"]["body"]
    assert ({"sha256": hashlib.sha256(b"a" * 5_000_000).hexdigest()}, 5_000_000) == (
        long["answer"]["body"],
        long["answer"]["bytes"],
    )


FORMS = {
    "plain": TOKEN,
    "user's": "token-of-the-vendor",
    "percent": "".join(f"%{ord(sign):02X}" for sign in TOKEN),
    "escaped": "".join(f"\\u{ord(sign):04x}" for sign in TOKEN),
    "hexadecimal": TOKEN.encode().hex(),
    "quoted": quote(TOKEN, safe=""),
    "base64": base64.b64encode(TOKEN.encode()).decode(),
    "base64, aligned by one": base64.b64encode(b"?" + TOKEN.encode()).decode(),
    "base64, aligned by two": base64.b64encode(b"Bearer x " + TOKEN.encode() + b"?").decode(),
    "basic": base64.b64encode(f"me:{TOKEN}".encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_token_is_written(form: str, tmp_path: Path) -> None:
    """In bodies that are text or not, in reasons, headers and failures."""
    path, text = tmp_path / "x.jsonl", FORMS[form]
    log = open_log(path)
    log.add(exchange(200, f'{{"a": "{text}"}}'.encode(), ("ETag", text), reason=text))
    log.add(exchange(500, b"\xff " + text.encode()))
    log.add(replace(silence(), request=request(b"{}", ("Authorization", f"Bearer {TOKEN}"), ("X-Mine", text))))
    log.end(complete=True)
    shown = path.read_text(encoding="utf-8").replace("\\\\", "\\")
    assert text not in shown
    for _, line in enumerate(written(path)[1:-1]):
        body = (line["answer"] or {}).get("body", "")
        if isinstance(body, dict):
            assert text.encode() not in base64.b64decode(body["base64"])


def test_a_token_that_test_control_gives_is_not_written(tmp_path: Path) -> None:
    """Its answer is written without it."""
    path = tmp_path / "x.jsonl"
    log = open_log(path)
    log.add(exchange(201, b'{"principal_id": "p", "token": "fresh-secret"}'), "control")
    log.end(complete=True)
    assert "fresh-secret" not in path.read_text(encoding="utf-8")
    assert '"p"' in written(path)[1]["answer"]["body"]


def test_logs_of_workers_become_one(tmp_path: Path) -> None:
    """A line that was cut off is left out, and the digest is that of the whole."""
    parts = [tmp_path / f"{name}.jsonl" for name in ("main", "gw0")]
    for part in parts:
        log = open_log(part, part.stem)
        log.add(exchange())
        log.end(complete=True)
    with parts[1].open("ab") as file:
        file.write(b'{"kind":"exchange","id":"gw0-2","ca')
    whole = tmp_path / "whole.jsonl"
    put_together(whole, parts, replace(FACTS, shard=Shard(1, 2)), complete=True)
    lines = written(whole)
    assert ["main-1", "gw0-1"] == [line["id"] for line in lines[1:-1]]
    before = b"".join(whole.read_bytes().splitlines(keepends=True)[:-1])
    assert (2, hashlib.sha256(before).hexdigest()) == (lines[-1]["exchanges"], lines[-1]["sha256"])


def test_exchanges_stand_in_the_order_in_which_they_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a thread has to wait for another one that writes: its times are read when its turn has come."""
    now = iter(range(100))
    monkeypatch.setattr("conformance.report.exchange_log.time", SimpleNamespace(monotonic=lambda: next(now)))
    log = open_log(tmp_path / "x.jsonl")
    waiting = exchange()
    # The other thread writes between the moment when this one comes and its turn.
    monkeypatch.setattr(log, "_lock", Turn(lambda: log.add(replace(exchange(), elapsed=0.0))))
    log.add(replace(waiting, elapsed=0.0))
    log.end(complete=True)
    times = [line["at"] for line in written(tmp_path / "x.jsonl")[1:-1]]
    assert (2, sorted(times)) == (len(times), times)


class Turn:
    """A lock for which something else is done, once, before it is had."""

    def __init__(self, before: Callable[[], None]) -> None:
        self._before: Callable[[], None] | None = before

    def __enter__(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            before()

    def __exit__(self, *_: object) -> None:
        pass
