"""The proof at start-up: it passes, and it notices a judge that has gone blind."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from conformance.cases.breakage import breakages
from conformance.contract import Contract, load_contract
from conformance.errors import SuiteFault
from conformance.judge import self_proof
from conformance.judge.decode import DecodeFault, DecodeLimits, decode
from conformance.judge.schema import SchemaJudge

CONTRACT = load_contract()
SMALL: Contract = dataclasses.replace(CONTRACT, operations=CONTRACT.operations[:1])


def test_the_judge_is_proved_on_the_contract() -> None:
    """More verdicts than assertions: each is broken at least once, most in several ways."""
    assert self_proof.prove(CONTRACT) > 283 + 223 + 8 + 15 + 11


def test_every_verdict_is_counted_once() -> None:
    """Documents, formats, and for each schema its sample and every breakage; a schema that is shared counts once."""
    documents = len(self_proof._GOOD_DOCUMENTS) + len(self_proof._BAD_DOCUMENTS)
    formats = len(self_proof._GOOD_FORMATS) + len(self_proof._BAD_FORMATS)
    schemas = {
        json.dumps(schema): schema
        for operation in CONTRACT.operations
        for schema in (operation.input_schema, operation.output_schema)
    }
    assert len(schemas) < 2 * len(CONTRACT.operations)
    verdicts = sum(1 + len(list(breakages(schema))) for schema in schemas.values())
    assert documents + formats + verdicts == self_proof.prove(CONTRACT)


def test_documents_that_go_beyond_a_limit_go_beyond_it_by_one() -> None:
    """So that a limit which is one too wide is noticed."""
    limits = DecodeLimits()
    assert b"1" * (limits.digits + 1) in {raw for raw, _, _ in self_proof._BAD_DOCUMENTS}
    assert b"[" * (limits.depth + 1) + b"]" * (limits.depth + 1) in {raw for raw, _, _ in self_proof._BAD_DOCUMENTS}


def test_a_schema_judge_that_accepts_everything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names what slipped through."""
    monkeypatch.setattr(self_proof, "_prove_formats", lambda: ())
    monkeypatch.setattr(self_proof, "SchemaJudge", lambda _schema, _source: Blind(verdict=True))
    with pytest.raises(SuiteFault, match="accepts"):
        self_proof.prove(SMALL)


def test_a_schema_judge_that_refuses_everything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The valid sample must pass."""
    monkeypatch.setattr(self_proof, "_prove_formats", lambda: ())
    monkeypatch.setattr(self_proof, "SchemaJudge", lambda _schema, _source: Blind(verdict=False))
    with pytest.raises(SuiteFault, match="the valid sample is refused"):
        self_proof.prove(SMALL)


@pytest.mark.parametrize("name", ["uuid", "date-time"])
def test_a_format_that_is_not_checked_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A validator that ignores one format is no judge."""

    def ignoring(schema: dict[str, Any], *_source: str) -> SchemaJudge:
        return SchemaJudge({"type": "string"} if schema.get("format") == name else schema)

    monkeypatch.setattr(self_proof, "SchemaJudge", ignoring)
    with pytest.raises(SuiteFault, match=f"accepted as {name}"):
        self_proof.prove(SMALL)


def test_a_lenient_decoder_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each known bad document must be refused."""
    documents = dict(self_proof._GOOD_DOCUMENTS)
    monkeypatch.setattr(self_proof, "decode", documents.get)
    with pytest.raises(SuiteFault, match="slips through, against the rule empty"):
        self_proof.prove(SMALL)


def test_a_decoder_that_changes_values_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each known good document must be decoded to its value."""
    monkeypatch.setattr(self_proof, "decode", lambda _raw: None)
    with pytest.raises(SuiteFault, match="not decoded as it must be"):
        self_proof.prove(SMALL)


def test_a_decoder_that_blames_the_wrong_byte_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule and the offset are part of the proof."""
    documents = dict(self_proof._GOOD_DOCUMENTS)

    def wrong(raw: bytes) -> Any:
        if raw in documents:
            return documents[raw]
        raise DecodeFault("syntax", "something", 99)

    monkeypatch.setattr(self_proof, "decode", wrong)
    with pytest.raises(SuiteFault, match="refused for the wrong reason"):
        self_proof.prove(SMALL)


@dataclasses.dataclass
class Blind:
    """A judge with one verdict for everything."""

    verdict: bool

    def is_valid(self, _value: Any) -> bool:
        """Return the one verdict."""
        return self.verdict


def test_the_proof_does_not_shrink_unnoticed() -> None:
    """So many documents and texts, good and bad, are judged at each start."""
    tables = (self_proof._GOOD_DOCUMENTS, self_proof._BAD_DOCUMENTS, self_proof._GOOD_FORMATS, self_proof._BAD_FORMATS)
    assert [5, 20, 7, 13] == [len(table) for table in tables]


@pytest.mark.parametrize(
    ("limits", "rule"), [(DecodeLimits(depth=129), "depth"), (DecodeLimits(digits=1001), "number-size")]
)
def test_a_limit_that_is_one_too_wide_is_noticed(
    monkeypatch: pytest.MonkeyPatch, limits: DecodeLimits, rule: str
) -> None:
    """What keeps it and breaks the right one must be refused."""
    monkeypatch.setattr(self_proof, "decode", lambda raw: decode(raw, limits))
    with pytest.raises(SuiteFault, match=f"slips through, against the rule {rule}"):
        self_proof.prove(SMALL)
