"""Legal results of an operation: what a server that keeps the contract may really answer, at every bound."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.cases.conversations import Document, Plan, RunPlan, compose
from conformance.cases.directed import PLANS
from conformance.cases.sample import sample
from conformance.contract import Operation
from conformance.judge.formats import parse_instant

_NOW: Final = int(parse_instant("2026-01-15T12:00:00Z")) * 1000
_NEAR_A_LEAP_DAY: Final = tuple(int(parse_instant(f"2028-02-{day}T12:00:00Z")) * 1000 for day in (28, 29))
_PLAIN: Final = Plan(runs=(RunPlan(question=True), RunPlan("failed", question=True)))
_CONFIGURED: Final[Mapping[str, Any]] = {"configured": True, "reason": None}


def legal_results(operation: Operation) -> Iterator[Any]:
    """Yield legal results of an operation, small ones first; the same on every call.

    Of an operation whose results are neither conversations nor runs nothing but the schema is known: one sample.
    """
    if operation.result not in _SHOWS:
        yield sample(operation.output_schema)
        return
    rng = random.Random(operation.name)  # noqa: S311 - test data that must repeat, not a secret
    plain = compose(rng, _NOW, _PLAIN)
    show = _SHOWS[operation.result]
    yield from show(plain, {**_availability(operation), **_CONFIGURED})
    for availability in _availabilities(operation):
        yield from show(plain, availability)
    for document in _withheld(plain, operation):
        yield from show(document, {**_availability(operation), **_CONFIGURED})
    for now in _NEAR_A_LEAP_DAY:
        yield from show(compose(rng, now, _PLAIN), {**_availability(operation), **_CONFIGURED})
    for plan in PLANS.values():
        yield from show(compose(rng, _NOW, plan), {**_availability(operation), **_CONFIGURED})


def _availability(operation: Operation) -> dict[str, Any]:
    availability = sample(operation.output_schema["properties"]["availability"])
    assert isinstance(availability, dict)
    return availability


def _availabilities(operation: Operation) -> Iterator[dict[str, Any]]:
    reasons = operation.output_schema["properties"]["availability"]["properties"]["reason"]
    for reason in _choices(reasons):
        yield {**_availability(operation), "configured": False, "reason": reason}


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    return [choice for branch in schema.get("anyOf", (schema,)) for choice in branch.get("enum", (None,))]


def _withheld(document: Document, operation: Operation) -> Iterator[Document]:
    """Yield the conversation as it looks once its text is gone, for every reason and in both forms."""
    members = operation.output_schema["properties"].get("conversation", {}).get("properties", {})
    silent = [{**message, "question": None, "answer": None} for message in document.messages]
    for reason in _choices(members.get("availability", {})):
        if reason == "available":
            continue
        conversation = {**document.conversation, "availability": reason, "archived": reason == "archived"}
        for messages in (silent, []):
            yield Document({**conversation, "title": None}, copy.deepcopy(messages), document.runs)


def _conversation(document: Document, availability: Mapping[str, Any]) -> Iterator[Any]:
    yield {
        "conversation": document.conversation,
        "messages": document.messages,
        "runs": document.runs,
        "availability": availability,
    }


def _runs(document: Document, availability: Mapping[str, Any]) -> Iterator[Any]:
    for run in document.runs:
        for message in {"it": document.message_of(run["id"]), "none": None}.values():
            yield {
                "run": run,
                "message": message,
                "conversation_revision": document.conversation["revision"],
                "availability": availability,
            }


_SHOWS: Final = {"conversation": _conversation, "run": _runs}
