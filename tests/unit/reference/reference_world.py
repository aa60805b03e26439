"""A legal document, and a reference server in this process with a person who owns it."""

from __future__ import annotations

import asyncio
import copy
import functools
import uuid
from collections.abc import Mapping
from typing import Any

import httpx

from conformance.contract import Contract, load_contract
from conformance.reference.database import Database
from conformance.reference.parts import Parts
from conformance.reference.runtime import Reference

CREATED, EXPIRES = "2026-03-01T10:00:00Z", "2026-03-02T10:00:00Z"
GET, STATUS, ARCHIVE = "conversations_get", "sentiment_status", "conversations_archive"
SECRET = "a secret of the owner"


@functools.cache
def contract() -> Contract:
    """Return the published contract, read once."""
    return load_contract()


def fresh() -> str:
    """Return an id that nothing has."""
    return str(uuid.uuid4())


def answer_object(evidence: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an answer that cites all the evidence in each of its parts."""
    statement = {"statement": SECRET, "basis": "observed", "evidence": evidence, "uncertainty": ""}
    return copy.deepcopy(
        {
            "answer": statement,
            "findings": [statement],
            "sentiment": [{**item, "label": "mixed", "uncertainty": ""} for item in evidence],
            "query_suggestions": [{"query": SECRET, "excluded_terms": [], "evidence": evidence, "rationale": SECRET}],
            "limitations": [SECRET],
            "quantitative_claims": False,
            "method_version": "research-cited/v1",
        }
    )


class World:
    """A reference server on a memory database, one person, and one conversation with a run of each kind.

    The runs are, in order: completed (with a question and its answer), queued, processing, failed.
    """

    def __init__(self, parts: Parts | None = None) -> None:
        self._runner = asyncio.Runner()
        self.database = Database("memory")
        self.reference = Reference(self.database, parts, contract())
        self.workspace = fresh()
        self.evidence = [{"evidence_id": fresh(), "revision": revision} for revision in (1, 2**31 + 1)]
        self.person, self.token = self.principal()
        self.document = self.seed()
        self.conversation_id: str = self.document["conversation"]["id"]

    def control(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Call test control."""
        return self._call(self.reference.control, method, path, json=body)

    def principal(self, *scopes: str, workspaces: list[str] | None = None) -> tuple[str, str]:
        """Make a person with a token; ``agent:research`` in the world's workspace unless said otherwise."""
        body = {"scopes": list(scopes) or ["agent:research"], "workspace_ids": workspaces or [self.workspace]}
        made = self.control("POST", "/principals", body).json()
        return made["principal_id"], made["token"]

    def seed(self, owner: str | None = None, **times: str) -> dict[str, Any]:
        """Store a conversation of the person and return it; the clock stands an hour after its creation."""
        self.control("PUT", "/clock", {"workspace_id": self.workspace, "now": "2026-03-01T11:00:00Z"})
        document = self.new_document(**times)
        response = self.control("POST", "/conversations", {"principal_id": owner or self.person, **document})
        assert response.status_code == 201, response.text
        return document

    def new_document(self, **times: str) -> dict[str, Any]:
        """Return a legal conversation that is not stored."""
        conversation_id = fresh()
        window = {"created_at": CREATED, "expires_at": EXPIRES, **times}
        statuses = {"completed": None, "queued": None, "processing": None, "failed": "provider_unavailable"}
        runs = [
            {
                "id": fresh(),
                "workspace_id": self.workspace,
                "conversation_id": conversation_id,
                "conversation_revision": 2,
                "generation": 1,
                "request_kind": "sentiment",
                "status": status,
                "failure_code": failure_code,
                **window,
                "processor": "Google Gemini",
                "model_id": "model" if status == "completed" else None,
                "model_version": "1" if status == "completed" else None,
            }
            for status, failure_code in statuses.items()
        ]
        first = {"run_id": runs[0]["id"], **window}
        return {
            "conversation": {
                "id": conversation_id,
                "workspace_id": self.workspace,
                "revision": 3,
                "title": "A title",
                "context": {
                    "project_id": fresh(),
                    "project_revision": 1,
                    "corpus_snapshot_id": fresh(),
                    "evidence": self.evidence,
                },
                "language": "de-DE",
                "archived": False,
                "availability": "available",
                **window,
            },
            "messages": [
                {"id": fresh(), "role": "user", "question": SECRET, "answer": None, **first},
                {
                    "id": fresh(),
                    "role": "assistant",
                    "question": None,
                    "answer": answer_object(self.evidence),
                    **first,
                },
            ],
            "runs": runs,
        }

    def call(self, operation: str, *, token: str | None = None, **changed: Any) -> httpx.Response:
        """Call an operation on the seeded conversation and its first run, some arguments changed."""
        usual = {
            "workspace_id": self.workspace,
            "conversation_id": self.conversation_id,
            "run_id": self.document["runs"][0]["id"],
            "mutation_id": fresh(),
            "expected_revision": 3,
            **changed,
        }
        properties = contract().operation(operation).input_schema["properties"]
        arguments = {name: value for name, value in usual.items() if name in properties}
        return self.post(operation, token=token, json=arguments)

    def post(self, operation: str, *, token: str | None = None, **request: Any) -> httpx.Response:
        """Post what is given to the path of an operation."""
        headers: Mapping[str, str] = {"Authorization": f"Bearer {token or self.token}", **request.pop("headers", {})}
        path = contract().operation(operation).path
        return self._call(self.reference.target, "POST", path, headers=headers, **request)

    def move_clock(self, now: str) -> None:
        """Let the workspace's clock stand at that instant."""
        response = self.control("PUT", "/clock", {"workspace_id": self.workspace, "now": now})
        assert response.status_code == 204, response.text

    def close(self) -> None:
        """End the server."""
        self.reference.close()
        self._runner.close()

    def _call(self, application: Any, method: str, path: str, **request: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=application)
            async with httpx.AsyncClient(transport=transport, base_url="http://reference", trust_env=False) as client:
                return await client.request(method, path, **request)

        return self._runner.run(send())
