"""Whether the stored run is whole: what was cut, reordered, repeated or left out of its logs is named."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from conformance.claim.envelope import each_once
from conformance.claim.refused import ClaimRefused, few
from conformance.report import case_log, exchange_log
from conformance.report.case_log import StoredRun
from conformance.run import RunFacts

_ROUNDING: Final = 1e-5
"""Seconds that times in the log may differ for having been rounded."""


@dataclass(frozen=True)
class _Exchange:
    """What of a logged exchange makes it a link of the chain; ``at`` and ``end`` in seconds since the log began.

    A call of a race may stand before or after another one that overlapped it, so its place says nothing of time.
    """

    identifier: str
    worker: str
    number: int
    case: str
    is_counted: bool
    at: float
    end: float
    is_raced: bool


@dataclass
class _Log:
    """A log as it was read: exchanges in their order, and sentences about what holds it together."""

    exchanges: list[_Exchange] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def log_problems(stored: StoredRun) -> tuple[str, ...]:
    """Return a sentence for each thing that is wrong with the logs of a stored run.

    Calls to test control are part of the chain, and are not among the exchanges that a case counts.
    """
    try:
        log = _read(stored.folder / exchange_log.NAME, stored.facts)
    except ClaimRefused as refused:
        return (refused.sentence, *_case_log_problems(stored))
    return (
        *_case_log_problems(stored),
        *log.problems,
        *few(_wrong_order(log)),
        *few(_wrong_times(log)),
        *few(_scattered(log)),
        *few(_wrong_counts(log, stored)),
        *few(_missing_evidence(log, stored)),
    )


def _case_log_problems(stored: StoredRun) -> Iterator[str]:
    """Yield what is wrong with ``cases.jsonl`` beyond what its reader refuses."""
    name = case_log.NAME
    lines = (stored.folder / name).read_bytes().split(b"\n")
    if lines[-1] or not lines[-2:-1] or not lines[-2].startswith(b'{"kind":"footer",'):
        yield f"{name} does not end with its footer: it was cut off, or something was added."
    kinds = Counter(json.loads(line)["kind"] for line in lines[:-1] if line)
    for kind in ("header", "footer"):
        if kinds[kind] > 1:
            yield f"{name} has {kinds[kind]} lines of the kind {kind!r}."
    counts = Counter(record.case for record in stored.ledger.records)
    yield from few(f"The case {case} stands {count} times in {name}." for case, count in counts.items() if count > 1)


def _read(path: Path, facts: RunFacts) -> _Log:
    """Read a log.

    Raises:
        ClaimRefused: a line of it cannot be read.
    """
    log, digest, footer = _Log(), hashlib.sha256(), None
    before = b""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                digest.update(before)
                before = line
                value = _line(line, number)
                if number == 1:
                    log.problems += _wrong_header(value, facts)
                elif footer is not None:
                    raise ClaimRefused(f"{path.name} goes on after its footer, at line {number}.")
                elif value["kind"] == "footer":
                    footer = value
                elif value["kind"] == "header":
                    raise ClaimRefused(f"{path.name} has a second header, at line {number}.")
                elif value["kind"] == "exchange":
                    log.exchanges.append(_exchange(value, number))
    except OSError as error:
        raise ClaimRefused(f"{path.name} cannot be read ({(error.strerror or str(error)).lower()}).") from None
    if footer is None:
        raise ClaimRefused(f"{path.name} has no footer: its end was cut off.")
    log.problems += _wrong_footer(footer, len(log.exchanges), digest.hexdigest())
    return log


def _line(line: bytes, number: int) -> dict[str, Any]:
    where = f"Line {number} of {exchange_log.NAME}"
    if not line.endswith(b"\n"):
        raise ClaimRefused(f"{where} was cut off.")
    try:
        value = json.loads(line, object_pairs_hook=each_once)
    except (ValueError, RecursionError) as error:
        raise ClaimRefused(f"{where} cannot be read ({error}).") from None
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise ClaimRefused(f"{where} is no line of a log.")
    return value


def _exchange(value: Mapping[str, Any], number: int) -> _Exchange:
    try:
        worker, _, count = value["id"].rpartition("-")
        at, elapsed = float(value["at"]), float(value["elapsed"])
        return _Exchange(
            value["id"], worker, int(count), str(value["case"]), value["to"] == "target", at, at + elapsed,
            "span" in value,
        )  # fmt: skip
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ClaimRefused(f"Line {number} of {exchange_log.NAME} lacks something that an exchange has.") from None


def _wrong_header(value: Mapping[str, Any], facts: RunFacts) -> Iterator[str]:
    expected = exchange_log.header(facts)
    for name in ("kind", "format", "format_version"):
        if value.get(name) != expected[name]:
            yield f"{exchange_log.NAME} begins with the {name} {value.get(name)!r}, not {expected[name]!r}."
            return
    for name, said in expected.items():
        if value.get(name) != said:
            yield f"{exchange_log.NAME} has the {name} {value.get(name)!r}, and {case_log.NAME} {said!r}."


def _wrong_footer(value: Mapping[str, Any], count: int, digest: str) -> Iterator[str]:
    if value.get("exchanges") != count:
        yield f"The footer of {exchange_log.NAME} counts {value.get('exchanges')} exchanges, and there are {count}."
    if value.get("sha256") != digest:
        yield f"The digest in the footer of {exchange_log.NAME} is not that of the lines before it."
    if value.get("complete") is not True:
        yield f"{exchange_log.NAME} says that its run was not complete."


def _wrong_order(log: _Log) -> Iterator[str]:
    """Yield where the ids of a worker do not follow upon each other."""
    last: Counter[str] = Counter()
    seen = set[str]()
    for each in log.exchanges:
        expected = last[each.worker] + 1
        if each.identifier in seen:
            yield f"The exchange {each.identifier} is there twice."
        elif each.number > expected:
            yield f"The exchange {each.identifier} follows upon {each.worker}-{expected - 1}: something was taken out."
        elif each.number < expected:
            yield f"The exchange {each.identifier} stands after {each.worker}-{expected - 1}: the order was changed."
        seen.add(each.identifier)
        last[each.worker] = each.number


def _wrong_times(log: _Log) -> Iterator[str]:
    """Yield exchanges that had ended before an earlier one began; those under way together may stand in any order.

    Calls of a race are written when it is over, client by client, behind what test control did beside it.
    """
    latest: dict[str, _Exchange] = {}
    for each in log.exchanges:
        before = latest.get(each.worker, each)
        if each.end < each.at:
            yield f"The exchange {each.identifier} had ended before it began."
        elif not each.is_raced and each.end + _ROUNDING < before.at:
            yield f"The exchange {each.identifier} had ended before {before.identifier} began, which stands before it."
        latest[each.worker] = max(before, each, key=_began)


def _began(exchange: _Exchange) -> float:
    return exchange.at


def _scattered(log: _Log) -> Iterator[str]:
    """Yield cases whose exchanges stand in several places: a worker runs one case after the other."""
    current: dict[str, str] = {}
    done: set[tuple[str, str]] = set()
    for each in log.exchanges:
        before = current.get(each.worker)
        if each.case != before:
            if (each.worker, each.case) in done:
                yield f"The exchange {each.identifier} of {each.case} stands among those of {before}."
            if before is not None:
                done.add((each.worker, before))
            current[each.worker] = each.case


def _wrong_counts(log: _Log, stored: StoredRun) -> Iterator[str]:
    logged = Counter(each.case for each in log.exchanges if each.is_counted)
    counted = {record.case: record.exchanges for record in stored.ledger.records}
    for case, count in counted.items():
        if logged[case] != count:
            yield f"The case {case} had {count} exchanges with the target, and the log has {logged[case]} of it."
    # What stands under no case was exchanged before the first one.
    for case in sorted({each.case for each in log.exchanges} - counted.keys() - {""}):
        yield f"{exchange_log.NAME} has exchanges of {case}, and {case_log.NAME} does not have that case."


def _missing_evidence(log: _Log, stored: StoredRun) -> Iterator[str]:
    """Yield exchanges that a finding shows and the log does not have."""
    case_of = {each.identifier: each.case for each in log.exchanges}
    for record in stored.ledger.records:
        shown = {each["id"] for finding in record.findings for each in finding["exchanges"]} - {""}
        for identifier in sorted(shown):
            if identifier not in case_of:
                yield f"A finding of {record.case} shows the exchange {identifier}, which the log does not have."
            elif case_of[identifier] != record.case:
                yield f"A finding of {record.case} shows the exchange {identifier}, which is one of another case."
