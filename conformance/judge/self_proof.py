"""Proves at start-up that the judge still tells right from wrong, before it is let near a server.

A judge that refuses nothing would certify everything: so each assertion of each schema is broken once and more, and
known good and bad formats and documents are judged. Library upgrades are what this guards against.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from conformance.cases.breakage import breakages
from conformance.cases.sample import sample
from conformance.contract import Contract
from conformance.errors import SuiteFault
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.formats import FORMATS
from conformance.judge.json_values import json_equal
from conformance.judge.schema import SchemaJudge


def prove(contract: Contract) -> int:
    """Judge what is known to be right and wrong, and return how many verdicts were as they must be.

    Raises:
        SuiteFault: a verdict is wrong; the message names what slipped through or was refused.
        UsageProblem: a schema of the contract cannot be judged.
    """
    return sum(1 for _ in (*_prove_documents(), *_prove_formats(), *_prove_schemas(contract)))


_GOOD_DOCUMENTS: Final = (
    (b'{"a": [1, 1.5, "x", true, false, null]}', {"a": [1, 1.5, "x", True, False, None]}),
    (b" [1.0, 1e2, 10e-1, -0.0] \r\n", [1, 100, 1, 0]),
    (b'"\\ud83d\\ude00 \xc3\xa9"', "\N{GRINNING FACE} \N{LATIN SMALL LETTER E WITH ACUTE}"),
    (b"9007199254740993", 9007199254740993),
    (b'{"a": {"x": 1}, "b": {"x": 1}}', {"a": {"x": 1}, "b": {"x": 1}}),
)
_BAD_DOCUMENTS: Final = (
    (b"", "empty", 0),
    (b" \n", "empty", 2),
    (b"\xef\xbb\xbf{}", "byte-order-mark", 0),
    (b'"\xff"', "utf-8", 1),
    (b'"\xed\xa0\x80"', "utf-8", 1),
    (b'{"a": 1, "a": 1}', "duplicate-name", 9),
    (b'[{"a": 1, "\\u0061": 2}]', "duplicate-name", 10),
    (b"[NaN]", "non-finite-number", 1),
    (b"[1, -Infinity]", "non-finite-number", 4),
    (b'"\\ud800"', "lone-surrogate", 1),
    (b'"\\ude00\\ud83d"', "lone-surrogate", 1),
    (b"1e1000", "number-size", 0),
    (b"1" * 1001, "number-size", 0),
    (b"[" * 129 + b"]" * 129, "depth", 128),
    (b"{} {}", "trailing-data", 3),
    (b"[1,]", "syntax", 3),
    (b"{'a': 1}", "syntax", 1),
    (b"[01]", "syntax", 2),
    (b'"a\nb"', "syntax", 2),
    (b'{"a": 1', "syntax", 7),
)
_GOOD_FORMATS: Final = (
    ("uuid", "5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"),
    ("uuid", "5F0C1D2E-3A4B-4C5D-8E6F-708192A3B4C5"),
    ("uuid", "00000000-0000-0000-0000-000000000000"),
    ("date-time", "2026-01-15T09:00:00Z"),
    ("date-time", "2024-02-29t23:59:59.123456789+23:59"),
    ("date-time", "0000-01-01T00:00:00-00:00"),
    ("date-time", "2016-12-31T23:59:60Z"),
)
_BAD_FORMATS: Final = (
    ("uuid", "5f0c1d2e3a4b4c5d8e6f708192a3b4c5"),
    ("uuid", "5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5\n"),
    ("uuid", "{5f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5}"),
    ("uuid", "\N{FULLWIDTH DIGIT FIVE}f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"),
    ("date-time", "2026-01-15T09:00Z"),
    ("date-time", "2026-01-15T09:00:00Z\n"),
    ("date-time", "2026-01-15T09:00:00"),
    ("date-time", "2023-02-29T09:00:00Z"),
    ("date-time", "1900-02-29T09:00:00Z"),
    ("date-time", "2026-01-15T24:00:00Z"),
    ("date-time", "2026-01-15T09:00:60Z"),
    ("date-time", "2026-01-15T09:00:00+24:00"),
    ("date-time", "202\N{ARABIC-INDIC DIGIT SIX}-01-15T09:00:00Z"),
)


def _prove_documents() -> Iterator[bytes]:
    for raw, value in _GOOD_DOCUMENTS:
        if not json_equal(value, decode(raw)):
            raise SuiteFault(f"the document {raw!r} is not decoded as it must be")
        yield raw
    for raw, rule, offset in _BAD_DOCUMENTS:
        try:
            decode(raw)
        except DecodeFault as fault:
            if (rule, offset) != (fault.rule, fault.offset):
                raise SuiteFault(f"the document {raw[:40]!r} is refused for the wrong reason: {fault}") from None
            yield raw
        else:
            raise SuiteFault(f"the document {raw[:40]!r} slips through, against the rule {rule}")


def _prove_formats() -> Iterator[str]:
    judges = {name: SchemaJudge({"type": "string", "format": name}) for name in FORMATS}
    for table, good in ((_GOOD_FORMATS, True), (_BAD_FORMATS, False)):
        for name, text in table:
            if good != judges[name].is_valid(text):
                raise SuiteFault(f"{text!a} is {'refused' if good else 'accepted'} as {name}")
            yield text


def _prove_schemas(contract: Contract) -> Iterator[str]:
    proved: set[str] = set()
    for operation in contract.operations:
        for side, schema in (("input", operation.input_schema), ("output", operation.output_schema)):
            text = json.dumps(schema)
            if text not in proved:  # two operations may share a schema; once is proof enough
                proved.add(text)
                yield from _prove_schema(schema, f"{operation.name} {side} schema")


def _prove_schema(schema: Any, source: str) -> Iterator[str]:
    judge = SchemaJudge(schema, source)
    good = sample(schema, source)
    if not judge.is_valid(good):
        raise SuiteFault(f"{source}: the valid sample is refused")
    yield source
    for breakage in breakages(schema, source):
        if judge.is_valid(breakage.apply(good)):
            raise SuiteFault(f"{source}: {breakage.assertion.schema_pointer} accepts {breakage.description}")
        yield breakage.description
