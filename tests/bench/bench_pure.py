"""The parts of the bench that need no server: judging a result, and generating a legal conversation."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any, Final

from conformance.cases.conversations import Document
from conformance.cases.examples import run_examples
from conformance.cases.random_conversations import documents, random_document
from conformance.contract import load_contract
from conformance.judge.result import ResultJudge
from conformance.transport.exchange import Answer, Call, Credential, Exchange, Request, Response

_NOW: Final = 1_800_000_000_000
_SIZE: Final = 6000
_DOCUMENTS: Final = 200
_CONTRACT: Final = load_contract()
_OPERATION: Final = _CONTRACT.operation("conversations_get")


def judging(repeats: int) -> tuple[float, float, int]:
    """Return the milliseconds of judging one result, those of the schema library alone, and the result's bytes."""
    document = _document_near(_SIZE)
    value, body = _result(document)
    arguments = {"workspace_id": document.workspace_id, "conversation_id": document.conversation_id}
    call = Call(_OPERATION, b"{}", Credential("owner", None))
    exchange = Exchange(
        _OPERATION.name,
        "owner",
        Request("POST", "http://127.0.0.1/", (), b"{}"),
        Response(200, "OK", (), body),
        None,
        0.0,
    )
    answer = Answer(call, exchange, "success", frozenset(), body)
    judge = ResultJudge(_CONTRACT)
    findings = judge.judge(answer, arguments).findings
    assert findings == (), findings
    is_valid = judge.schema(_OPERATION).is_valid
    whole = _milliseconds(lambda: judge.judge(answer, arguments), 200, repeats)
    library = _milliseconds(lambda: is_valid(value), 1000, repeats)
    return whole, library, len(body)


def generating(repeats: int) -> tuple[float, float]:
    """Return the milliseconds of one legal conversation: made by ``random_document``, and drawn by Hypothesis."""
    plain = _milliseconds(_plain_documents, 1, repeats) / _DOCUMENTS
    drawn = _milliseconds(_drawn_documents, 1, repeats) / _DOCUMENTS
    return plain, drawn


def _plain_documents() -> None:
    rng = random.Random(1)  # noqa: S311 - test data
    for _ in range(_DOCUMENTS):
        random_document(rng, _NOW)


def _drawn_documents() -> None:
    drawn: list[Document] = []
    strategy = documents(_NOW, random.Random(2))  # noqa: S311 - test data
    run_examples(strategy, drawn.append, seed=1, count=_DOCUMENTS)
    assert len(drawn) == _DOCUMENTS


def _document_near(size: int) -> Document:
    """Return the first random conversation whose *get* result is within a tenth of ``size`` bytes."""
    rng = random.Random(3)  # noqa: S311 - test data
    while True:
        document = random_document(rng, _NOW)
        if abs(len(_result(document)[1]) - size) <= size / 10 and document.messages:
            return document


def _result(document: Document) -> tuple[Any, bytes]:
    """Return what *get* answers for the conversation, as a value and as JSON text."""
    value = {
        "conversation": document.conversation,
        "messages": document.messages,
        "runs": document.runs,
        "availability": _OPERATION.example_result["availability"],
    }
    return value, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _milliseconds(action: Callable[[], object], number: int, repeats: int) -> float:
    """Return the median processor time of one call, over ``repeats`` rounds of ``number`` calls."""
    rounds = []
    for _ in range(repeats):
        started = time.process_time()
        for _ in range(number):
            action()
        rounds.append((time.process_time() - started) / number * 1000)
    return statistics.median(rounds)
