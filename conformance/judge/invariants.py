"""What holds inside one result beyond its schema: the derived rules of identity and shape.

Every function takes a result that obeys its schema and yields (requirement, sentence, place, expected, found).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

from conformance.judge.formats import parse_instant
from conformance.judge.json_values import pointer

Breach = tuple[str, str, str, str, str]

WITHOUT_FAILURE = frozenset({"queued", "processing", "completed"})
NAMED_FAILURES = {"cancelled": "cancelled", "expired": "expired"}


def conversation_breaches(result: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[Breach]:
    """Yield what is wrong with a conversation's result; ``asked`` are the arguments of the call."""
    conversation, messages, runs = result["conversation"], result["messages"], result["runs"]
    hours = result["availability"]["retention_hours"]
    yield from _asked(conversation["id"], asked["conversation_id"], "/conversation/id")
    yield from _asked(conversation["workspace_id"], asked["workspace_id"], "/conversation/workspace_id")
    yield from _window(conversation, ("conversation",), hours)
    run_ids = {run["id"].lower() for run in runs}
    for index, run in enumerate(runs):
        yield from _membership(run, ("runs", index), conversation)
        yield from run_breaches(run, ("runs", index), conversation["revision"], hours)
    evidence = {(item["evidence_id"].lower(), item["revision"]) for item in conversation["context"]["evidence"]}
    for index, message in enumerate(messages):
        place = ("messages", index)
        if message["run_id"].lower() not in run_ids:
            yield (
                "IDENTITY-MESSAGE-RUN", "A message names a run that the conversation does not have",
                pointer((*place, "run_id")), "the id of one of /runs", message["run_id"],
            )  # fmt: skip
        yield from message_breaches(message, place, hours)
        yield from _cited(message["answer"], (*place, "answer"), evidence)
    yield from _unique(messages, "messages")
    yield from _unique(runs, "runs")


def status_breaches(result: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[Breach]:
    """Yield what is wrong with a run's status; ``asked`` are the arguments of the call."""
    run, message = result["run"], result["message"]
    hours = result["availability"]["retention_hours"]
    for member, field in (("run_id", "id"), ("workspace_id", "workspace_id"), ("conversation_id", "conversation_id")):
        if run[field].lower() != asked[member].lower():
            yield (
                "IDENTITY-RUN-ASKED", "The status is that of something else than was asked for",
                pointer(("run", field)), asked[member], run[field],
            )  # fmt: skip
    yield from run_breaches(run, ("run",), result["conversation_revision"], hours)
    if message is not None:
        if message["run_id"].lower() != run["id"].lower():
            yield (
                "IDENTITY-MESSAGE-RUN", "The message beside a run belongs to another run",
                "/message/run_id", run["id"], message["run_id"],
            )  # fmt: skip
        yield from message_breaches(message, ("message",), hours)


def run_breaches(run: Mapping[str, Any], place: tuple[str | int, ...], revision: int, hours: float) -> Iterator[Breach]:
    """Yield what is wrong with a run, wherever it stands; ``revision`` is the conversation's."""
    if run["conversation_revision"] > revision:
        yield (
            "IDENTITY-RUN-REVISION", "A run names a revision that the conversation has not reached",
            pointer((*place, "conversation_revision")), f"at most {revision}", str(run["conversation_revision"]),
        )  # fmt: skip
    status, code = run["status"], run["failure_code"]
    if (code is None) != (status in WITHOUT_FAILURE):
        yield (
            "IDENTITY-FAILURE-CODE",
            "A failure code stands where none belongs, or is missing where one belongs",
            pointer((*place, "failure_code")),
            f"{'null' if code is not None else 'a failure code'} for a run that is {status}",
            "null" if code is None else code,
        )
    elif status in NAMED_FAILURES and code != NAMED_FAILURES[status]:
        yield (
            "IDENTITY-FAILURE-CODE-NAME", "The failure code does not say what the status says",
            pointer((*place, "failure_code")), NAMED_FAILURES[status], code,
        )  # fmt: skip
    yield from _window(run, place, hours)


def message_breaches(message: Mapping[str, Any], place: tuple[str | int, ...], hours: float) -> Iterator[Breach]:
    """Yield what is wrong with a message, wherever it stands."""
    other = "answer" if message["role"] == "user" else "question"
    if message[other] is not None:
        yield (
            "IDENTITY-ROLE-CONTENT", f"A message of the {message['role']} carries {_article(other)}",
            pointer((*place, other)), "null", f"{_article(other)}",
        )  # fmt: skip
    yield from _window(message, place, hours)


BREACHES: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[Breach]]] = {
    "conversation": conversation_breaches,
    "run": status_breaches,
}
"""The invariants by the kind of result that an operation's folder names."""


def cited_evidence(answer: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Yield every citation in an answer with its path inside the answer."""
    for index, item in enumerate(answer["answer"]["evidence"]):
        yield ("answer", "evidence", index), item
    for list_name in ("findings", "query_suggestions"):
        for number, entry in enumerate(answer[list_name]):
            for index, item in enumerate(entry["evidence"]):
                yield (list_name, number, "evidence", index), item
    for index, item in enumerate(answer["sentiment"]):
        yield ("sentiment", index), item


def _cited(
    answer: Mapping[str, Any] | None, place: tuple[str | int, ...], evidence: set[tuple[str, int]]
) -> Iterator[Breach]:
    if answer is None:
        return
    for path, item in cited_evidence(answer):
        if (item["evidence_id"].lower(), item["revision"]) not in evidence:
            yield (
                "IDENTITY-EVIDENCE-CITED", "An answer cites evidence that is not in the conversation's context",
                pointer((*place, *path)), "an entry of /conversation/context/evidence",
                f"{item['evidence_id']} revision {item['revision']}",
            )  # fmt: skip


def _asked(found: str, asked: str, place: str) -> Iterator[Breach]:
    if found.lower() != asked.lower():
        yield (
            "IDENTITY-CONVERSATION-ASKED", "The result is that of something else than was asked for",
            place, asked, found,
        )  # fmt: skip


def _membership(
    run: Mapping[str, Any], place: tuple[str | int, ...], conversation: Mapping[str, Any]
) -> Iterator[Breach]:
    for field, expected in (("conversation_id", conversation["id"]), ("workspace_id", conversation["workspace_id"])):
        if run[field].lower() != expected.lower():
            yield (
                "IDENTITY-RUN-MEMBERSHIP", "A run names another conversation or workspace than the one that holds it",
                pointer((*place, field)), expected, run[field],
            )  # fmt: skip


def _window(entity: Mapping[str, Any], place: tuple[str | int, ...], hours: float) -> Iterator[Breach]:
    wrong = _wrong_window(entity["created_at"], entity["expires_at"], hours)
    if wrong == "order":
        yield (
            "IDENTITY-TIME-ORDER", "Something expires before it was created",
            pointer((*place, "expires_at")), f"not before {entity['created_at']}", entity["expires_at"],
        )  # fmt: skip
    elif wrong == "window":
        yield (
            "IDENTITY-TIME-WINDOW", "Something stays available for longer than the retention allows",
            pointer((*place, "expires_at")), f"at most {hours} h after {entity['created_at']}", entity["expires_at"],
        )  # fmt: skip


# The times of one conversation come back with every read of it.
@lru_cache(maxsize=8192)
def _wrong_window(created_at: str, expires_at: str, hours: float) -> Literal["order", "window"] | None:
    lasts = parse_instant(expires_at) - parse_instant(created_at)
    if lasts < 0:
        return "order"
    return "window" if lasts > hours * 3600 else None


def _unique(entries: list[Mapping[str, Any]], name: str) -> Iterator[Breach]:
    counts = Counter(entry["id"].lower() for entry in entries)
    for identifier, count in counts.items():
        if count > 1:
            yield (
                "IDENTITY-UNIQUE-IDS", f"Two {name} have the same id", pointer((name,)), "ids that differ",
                f"{identifier} {count} times",
            )  # fmt: skip


def _article(member: str) -> str:
    return "an answer" if member == "answer" else "a question"
