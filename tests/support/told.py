"""A conversation and its model for tests: what a server shows is built here, what the model says of it is returned."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from made_answers import ARCHIVE, CONTRACT, GET, OWNER, STATUS, exchange

from conformance.cases.conversations import Document
from conformance.cases.stories import story_document, worker_answer
from conformance.contract import Operation
from conformance.judge.model import Judgement, Model
from conformance.judge.model_calls import Caller, ModelCall
from conformance.judge.model_state import Channel, Result
from conformance.transport.exchange import Answer, Call, ErrorKind, Response

START = 1_790_000_000_000
"""When conversations of these tests are stored, in milliseconds since 1970."""

DAY = 86_400_000
ANN, BOB = Caller("Ann"), Caller("Bob")
OTHER_TOKEN, NO_SCOPE = Caller("Ann", "other"), Caller("Ann", "without scope", scoped=False)
KEYS = tuple(f"00000000-0000-4000-8000-00000000000{digit}" for digit in range(1, 5))
AVAILABILITY = CONTRACT.operation("conversations_get").example_result["availability"]
_OPERATIONS: dict[Channel, Operation] = {"get": GET, "status": STATUS, "archive": ARCHIVE}
_STATUS_OF: dict[str, tuple[int, frozenset[ErrorKind]]] = {
    "conflict": (409, frozenset({"conflict", "in_progress"})),
    "not_found": (404, frozenset({"not_found"})),
    "forbidden": (403, frozenset({"forbidden", "not_found"})),
    "invalid_input": (400, frozenset({"invalid_input"})),
    "unauthenticated": (401, frozenset({"unauthenticated"})),
    "in_progress": (423, frozenset({"in_progress"})),
    "precondition": (412, frozenset({"conflict"})),
}
FAILURES = {
    "cancelled": "cancelled",
    "expired": "expired",
    "unavailable": "source_unavailable",
    "failed": "invalid_output",
}


class Told:
    """A model with one conversation of Ann's, and ways to show it answers."""

    def __init__(self, plan: str = "runs of every kind of progress", seed: int = 1) -> None:
        self.model = Model()
        self.rng = random.Random(seed)  # noqa: S311 - test data
        self.workspace_id = f"00000000-0000-4000-9000-{seed:012d}"
        self.document = self.another("Ann", plan)
        self.revision: int = self.document.conversation["revision"]
        self.freedoms: set[tuple[str, str]] = set()

    def another(self, owner: str, plan: str = "an answer and a queued run") -> Document:
        """Store one more conversation."""
        document = story_document(plan, START, self.rng, self.workspace_id)
        self.model.begin(owner, document, Fraction(START, 1000))
        return document

    def at(self, milliseconds: int) -> None:
        """Move the clock to so long after the start."""
        self.model.advance(self.workspace_id, Fraction(START + milliseconds, 1000))

    @property
    def lifetime(self) -> int:
        """Milliseconds from the start to ``expires_at``."""
        return int(self.model.conversation(self.document.conversation_id).expires_at * 1000) - START

    def deliver(self, run: int) -> Result:
        """Let the worker deliver a result for a run."""
        result = Result(worker_answer(self.document, self.rng), "worker-model", "1")
        self.model.deliver(self.document.conversation_id, self.document.runs[run]["id"], result)
        return result

    # What a server shows

    def live(self, document: Document | None = None, **changes: Any) -> dict[str, Any]:
        """Return *get*'s result as the conversation was stored, with changed members of the conversation."""
        shown = document or self.document
        conversation = {**copy.deepcopy(shown.conversation), **changes}
        return {
            "conversation": conversation,
            "messages": copy.deepcopy(shown.messages),
            "runs": copy.deepcopy(shown.runs),
            "availability": dict(AVAILABILITY),
        }

    def gone(
        self, availability: str, active: str | None, document: Document | None = None, **changes: Any
    ) -> dict[str, Any]:
        """Return a result without text: unfinished runs show ``active``, or their own status."""
        value = self.live(document, availability=availability, **changes)
        for message in value["messages"]:
            message |= {"question": None, "answer": None}
        for run in value["runs"]:
            if active and run["status"] in ("queued", "processing"):
                run |= {"status": active, "failure_code": FAILURES.get(active)}
        return value

    def archived(self, document: Document | None = None, **changes: Any) -> dict[str, Any]:
        """Return the result of a proper archive."""
        known = document or self.document
        members = {"archived": True, "revision": known.conversation["revision"] + 1, **changes}
        availability = members.pop("availability", "archived")
        return self.gone(availability, "cancelled", document, **members)

    @staticmethod
    def status_of(value: Mapping[str, Any], run: int, message: Any = "its own") -> dict[str, Any]:
        """Return *status*'s result for a run of a conversation that is shown as ``value``."""
        entry = value["runs"][run]
        own = [each for each in value["messages"] if each["run_id"] == entry["id"] and each["role"] == "assistant"]
        return {
            "run": copy.deepcopy(entry),
            "message": copy.deepcopy(own[0] if own else None) if message == "its own" else message,
            "availability": dict(AVAILABILITY),
            "conversation_revision": value["conversation"]["revision"],
        }

    # What the model says

    def call(self, channel: Channel, caller: Caller, document: Document | None = None, **more: Any) -> ModelCall:
        """Return a call for this conversation."""
        known = document or self.document
        arguments = {"workspace_id": known.workspace_id, "conversation_id": known.conversation_id, **more}
        return ModelCall(channel, caller, arguments)

    def judge(self, call: ModelCall, came: dict[str, Any] | str, header: str = "", refusal: bytes = b"{}") -> list[str]:
        """Return the requirements that an answer breaks: a result, or the kind of a refusal, maybe with a header.

        ``refusal`` is the body of a refusal.
        """
        refused = isinstance(came, str)
        status, kinds = _STATUS_OF[came] if isinstance(came, str) else (200, frozenset[ErrorKind]())
        body = refusal if refused else json.dumps(came).encode()
        headers = (("Content-Type", "application/json"), *((("X-Debug", header),) if header else ()))
        made = replace(exchange(), response=Response(status, "", headers, body))
        operation = _OPERATIONS[call.channel]
        answer = Answer(
            Call(operation, b"{}", OWNER), made, "refused" if refused else "success", kinds, None if refused else body
        )
        judgement: Judgement = self.model.judge(call, answer, None if refused else came)
        self.freedoms |= judgement.freedoms
        return sorted({finding.requirement for finding in judgement.findings})

    def get(self, came: dict[str, Any] | str, caller: Caller = ANN, document: Document | None = None) -> list[str]:
        """Judge an answer to *get*."""
        return self.judge(self.call("get", caller, document), came)

    def status(self, run: int, came: dict[str, Any] | str, caller: Caller = ANN) -> list[str]:
        """Judge an answer to *status*."""
        return self.judge(self.call("status", caller, run_id=self.document.runs[run]["id"]), came)

    def archive(
        self,
        came: dict[str, Any] | str,
        caller: Caller = ANN,
        key: int = 0,
        revision: int | None = None,
        document: Document | None = None,
    ) -> list[str]:
        """Judge an answer to *archive* with the revision as it was stored, or another."""
        return self.judge(self.archive_call(caller, key, revision, document), came)

    def archive_call(
        self, caller: Caller = ANN, key: int = 0, revision: int | None = None, document: Document | None = None
    ) -> ModelCall:
        """Return an archive with the revision as it was stored, or another."""
        expected = (document or self.document).conversation["revision"] if revision is None else revision
        return self.call("archive", caller, document, mutation_id=KEYS[key], expected_revision=expected)
