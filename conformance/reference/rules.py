"""What a conversation shows and how it changes: pure functions of a document, an access state and an instant.

A document is a dict in the shape of *get*'s output. The methods change the document they are given. Expiry is decided
when a document is looked at and is never stored, so it needs no background job.
"""

from __future__ import annotations

import uuid
from typing import Any

from conformance.reference.instants import Instant, format_instant, parse_instant

ACTIVE = frozenset({"queued", "processing"})
LARGEST_REVISION = 2**53 - 1
_MOST_MESSAGES = 40

Document = dict[str, Any]


class Rules:
    """The behaviour model of the contract, one rule a method."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        """Tell whether something has expired: at its instant and after it."""
        return now >= parse_instant(expires_at)

    def availability(self, document: Document, access: str, now: Instant) -> str:
        """Return the availability to show: the most lasting of those that apply."""
        conversation = document["conversation"]
        if conversation["archived"]:
            return "archived"
        if self.has_passed(conversation["expires_at"], now):
            return "expired"
        return "available" if access == "granted" else access

    def view(self, document: Document, access: str, now: Instant) -> Document:
        """Turn a stored document into what its owner sees at that instant."""
        conversation = document["conversation"]
        conversation["availability"] = self.availability(document, access, now)
        withheld = conversation["availability"] != "available"
        for message in document["messages"]:
            if withheld or self.has_passed(message["expires_at"], now):
                self.hide(message)
        self.expire_runs(document, now)
        return document

    def expire_runs(self, document: Document, now: Instant) -> None:
        """Let unfinished runs expire that are past their own deadline or the conversation's."""
        expired = self.has_passed(document["conversation"]["expires_at"], now)
        for run in document["runs"]:
            if run["status"] in ACTIVE and (expired or self.has_passed(run["expires_at"], now)):
                run["status"] = run["failure_code"] = "expired"

    def hide(self, message: dict[str, Any]) -> None:
        """Take the private text out of a message."""
        message["question"] = message["answer"] = None

    def archive(self, document: Document) -> None:
        """Archive: the private text goes for good, active runs are cancelled, the revision grows."""
        document["conversation"]["archived"] = True
        for message in document["messages"]:
            self.hide(message)
        for run in document["runs"]:
            if run["status"] in ACTIVE:
                run["status"] = run["failure_code"] = "cancelled"
        self.raise_revision(document)

    def raise_revision(self, document: Document) -> None:
        """Count a change of the conversation."""
        conversation = document["conversation"]
        conversation["revision"] = min(conversation["revision"] + 1, LARGEST_REVISION)

    def takes_result(self, view: Document, run: dict[str, Any], answer: dict[str, Any]) -> bool:
        """Tell whether a worker's result is still wanted: not after archive, cancellation, expiry or withdrawal."""
        return (
            view["conversation"]["availability"] == "available"
            and run["status"] in ACTIVE
            and len(view["messages"]) < _MOST_MESSAGES
            and cited(answer) <= references(view["conversation"]["context"]["evidence"])
        )

    def add_result(self, document: Document, run: dict[str, Any], result: dict[str, Any], now: Instant) -> None:
        """Complete a run of the document with a worker's ``{"answer", "model_id", "model_version"}``."""
        run.update(
            status="completed",
            failure_code=None,
            model_id=result["model_id"],
            model_version=result["model_version"],
        )
        document["messages"].append(
            {
                "id": str(uuid.uuid4()),
                "run_id": run["id"],
                "role": "assistant",
                "question": None,
                "answer": result["answer"],
                "created_at": format_instant(now),
                "expires_at": run["expires_at"],
            }
        )
        self.raise_revision(document)


def find_run(document: Document, run_id: str) -> dict[str, Any] | None:
    """Return the run of the document with that id (lower case)."""
    return next((run for run in document["runs"] if run["id"].lower() == run_id), None)


def references(evidence: list[dict[str, Any]]) -> set[tuple[str, int]]:
    """Return evidence as comparable pairs of id (lower case) and revision."""
    return {(item["evidence_id"].lower(), item["revision"]) for item in evidence}


def cited(answer: dict[str, Any]) -> set[tuple[str, int]]:
    """Return all evidence that an answer object cites, wherever in it."""
    statements = [answer["answer"], *answer["findings"], *answer["query_suggestions"]]
    return references([*answer["sentiment"], *(item for statement in statements for item in statement["evidence"])])
