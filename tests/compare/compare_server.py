"""The server that everybody is tried on: a fault or a variant in it, conversations seeded, its exchanges counted."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from starlette.types import Receive, Scope, Send

from conformance.cases.conversations import Document, Plan, RunPlan, compose, lowest_number
from conformance.contract import load_contract
from conformance.control.http import HttpControl
from conformance.reference.catalogue import build
from conformance.reference.runtime import Reference
from conformance.reference.server import Settings, running
from conformance.stage import fresh_uuid

GET: Final = "conversations_get"
STATUS: Final = "sentiment_status"
ARCHIVE: Final = "conversations_archive"

_PLAN: Final = Plan(
    runs=(
        # Of no other kind, since a server may insist on that where it is asked for the status.
        RunPlan(kind="sentiment", question=True),
        RunPlan("failed", "sentiment", question=True),
        RunPlan("queued", "sentiment", question=True),
    ),
    numbers=lowest_number,
)
_TO_READ: Final = 3
_TO_ARCHIVE: Final = 6


@dataclass
class Exchanges:
    """How many requests for the target have come, and when the first did (by ``time.perf_counter``; None before)."""

    count: int = 0
    first: float | None = None

    def note(self) -> None:
        """Count one more."""
        if self.first is None:
            self.first = time.perf_counter()
        self.count += 1

    @property
    def seconds(self) -> float:
        """How long ago the first one came."""
        return 0.0 if self.first is None else time.perf_counter() - self.first


@dataclass(frozen=True)
class Seeded:
    """A running server, and somebody who has conversations there.

    ``examples`` has, for each operation, arguments with which a call of that person succeeds. Those of *archive* point
    to conversations that nothing else is told of.
    """

    url: str
    token: str
    examples: Mapping[str, Sequence[Mapping[str, Any]]]
    exchanges: Exchanges = field(default_factory=Exchanges)


@contextmanager
def seeded_server(kind: str, name: str, folder: Path) -> Iterator[Seeded]:
    """Run a server with that fault or variant (``kind``) in a thread of this process; its state is in the folder."""
    parts = build(**{kind: name}) if kind in ("fault", "variant") else build()
    exchanges = Exchanges()
    answer = Reference.target

    async def counted(reference: Reference, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            exchanges.note()
        await answer(reference, scope, receive, send)

    settings = Settings(parts=parts, database=str(folder / "state.sqlite"))
    with patch.object(Reference, "target", counted), running(settings) as addresses:
        control = HttpControl(addresses.control, None)
        token, examples = _seed(control)
        control.close()
        yield Seeded(addresses.target, token, examples, exchanges)


def _seed(control: HttpControl) -> tuple[str, Mapping[str, Sequence[Mapping[str, Any]]]]:
    rng = random.Random(1)  # noqa: S311 - test data
    workspace_id = fresh_uuid(rng)
    scope = load_contract().operations[0].scope
    owner = control.create_principal((scope,), (workspace_id,), "owner")
    # A second behind, so that nothing seeded lies in the server's future.
    now = int(time.time() * 1000) - 1000
    documents = [compose(rng, now, _PLAN, workspace_id=workspace_id) for _ in range(_TO_READ + _TO_ARCHIVE)]
    for each in documents:
        control.seed_conversation(owner, each.conversation, each.messages, each.runs)
    to_read, to_archive = documents[:_TO_READ], documents[_TO_READ:]
    return owner.token, {
        GET: [_ids(each) for each in to_read],
        # One conversation, so that any of these runs goes with it.
        STATUS: [{**_ids(to_read[0]), "run_id": run["id"]} for run in to_read[0].runs],
        ARCHIVE: [
            {**_ids(each), "expected_revision": each.conversation["revision"], "mutation_id": fresh_uuid(rng)}
            for each in to_archive
        ],
    }


def _ids(document: Document) -> dict[str, Any]:
    return {"workspace_id": document.workspace_id, "conversation_id": document.conversation_id}
