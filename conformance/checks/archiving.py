"""Steps of the behaviour checks around archiving: archive a scene's conversation, and judge what that left behind.

A check arranges with ``read_all`` of ``conformance.checks.views``, exchanges with ``archive``, and judges with
``still`` of that module (nothing changed) and ``without_text`` (nothing private is shown).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from conformance.cases.conversations import Document, markers, title_markers
from conformance.cases.json_text import encode
from conformance.cases.texts import new_marker
from conformance.checks.declare import CaseFactory, case
from conformance.checks.views import View, can_read, judged_success, needed_operation, operation_that, still
from conformance.contract import Contract
from conformance.judge.comparison import differences
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import refused_as
from conformance.judge.privacy import shows_nothing
from conformance.judge.result import Judged
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Credential, ErrorKind

CONFLICT: frozenset[ErrorKind] = frozenset({"conflict"})
NOT_FOUND: frozenset[ErrorKind] = frozenset({"not_found", "forbidden"})


def can_archive(contract: Contract) -> bool:
    """Tell whether the contract has an operation that archives and one that shows the whole conversation."""
    return operation_that(contract, "write", "conversation") is not None and can_read(contract)


def each(
    identifier: str, names: Iterable[str], *also: str, when: Callable[[Contract], bool] = can_archive
) -> CaseFactory:
    """Return a factory of one case per name under ``identifier``, where the contract has what the check needs."""
    chosen = tuple(names)
    return lambda contract: [case(name, identifier, name, *also) for name in chosen] if when(contract) else []


def archive(
    session: Session,
    scene: Scene,
    *,
    credential: Credential | None = None,
    spelling: Callable[[dict[str, Any]], bytes] = encode,
    **changed: Any,
) -> tuple[Answer, dict[str, Any]]:
    """Archive the scene's conversation as its owner; return the answer and the arguments.

    ``changed`` are arguments to send in the place of the scene's own: ``mutation_id`` (a fresh one otherwise),
    ``expected_revision`` (``scene.revision``), ``workspace_id``, ``conversation_id``.
    """
    operation = needed_operation(session, "write", "conversation")
    arguments = {**scene.arguments(operation), **changed}
    return session.call(operation, spelling(arguments), credential or scene.principal.credential), arguments


def archived_result(
    session: Session,
    answer: Answer,
    arguments: Mapping[str, Any],
    requirement: str = "ARCHIVE-ACCEPTED",
    what: str = "an archive of one's own available conversation with its current revision",
) -> Judged:
    """Return the judged result of an archive that must have succeeded.

    Raises:
        NonConformance: it did not (``requirement``; ``what`` describes the call), or the result breaks a schema or an
            invariant.
    """
    judged, findings = judged_success(session, answer, arguments, requirement, what)
    must_hold(findings)
    assert judged is not None
    return judged


def archived(session: Session, scene: Scene, **changed: Any) -> tuple[Judged, dict[str, Any]]:
    """Archive as ``archive`` does, and return the judged result and the arguments.

    Raises:
        NonConformance: the archive is refused (``ARCHIVE-ACCEPTED``), or its result breaks a schema or an invariant.
    """
    answer, arguments = archive(session, scene, **changed)
    return archived_result(session, answer, arguments), arguments


def refused_without_effect(
    session: Session,
    answer: Answer,
    seen: Iterable[tuple[Scene, View]],
    expected: tuple[frozenset[ErrorKind], str, str, str],
    what: str,
) -> Iterator[Finding]:
    """Yield findings when a call was not refused, or as another kind, or changed what was seen before.

    ``expected`` are the kinds, and the requirements to be refused, to be refused as such a kind, to change nothing.
    """
    kinds, requirement, kind_requirement, unchanged_requirement = expected
    yield from refused_as(answer, kinds, requirement, kind_requirement, what)
    yield from still(session, seen, unchanged_requirement, what, answer.exchange)


def private_text(scene: Scene) -> frozenset[str]:
    """Return the markers of the scene's questions and answers; the title's is not among them."""
    return markers(scene.document) if scene.document else frozenset()


def without_text(
    answer: Answer, scene: Scene, requirement: str, what: str, judged: Judged | None = None
) -> Iterator[Finding]:
    """Yield findings when an answer shows private text: a marker anywhere, or a question or answer that is not null.

    ``judged`` is the answer's result where the caller has it; a failure is looked through for markers alone.
    """
    seen = tuple(shows_nothing(answer.exchange, private_text(scene), requirement, what))
    yield from seen
    if judged is None or judged.value is None or seen:
        return
    for place, message in _messages(judged.value):
        for member in ("question", "answer"):
            if message[member] is not None:
                yield Finding(
                    requirement,
                    answer.call.operation.name,
                    f"Private text is shown in {what}",
                    f"{place}/{member}",
                    "null",
                    f"a value of {len(json.dumps(message[member]))} characters",
                    (answer.exchange,),
                )
                return


def view_without_text(view: View, scene: Scene, get: str, status: str, after: str) -> Iterator[Finding]:
    """Yield findings when a view shows private text: under ``get`` for the conversation, ``status`` for a run."""
    shown = view.shown
    yield from without_text(shown.answer, scene, get, f"a read after {after}", shown)
    for each in view.statuses.values():
        yield from without_text(each.answer, scene, status, f"a run's status after {after}", each)


def _messages(value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "messages" in value:
        yield from ((f"/messages/{index}", message) for index, message in enumerate(value["messages"]))
    elif value["message"] is not None:
        yield "/message", value["message"]


def sibling(document: Document, rng: random.Random, **conversation: Any) -> Document:
    """Return a copy with other texts and ids, but in the same workspace, and with the same evidence and project.

    ``conversation`` are members of the conversation to change, such as ``workspace_id``.
    """
    text = json.dumps([document.conversation, document.messages, document.runs], ensure_ascii=False)
    entries = (document.conversation, *document.messages, *document.runs)
    replacements = {entry["id"]: fresh_uuid(rng) for entry in entries}
    replacements |= {marker: new_marker(rng) for marker in sorted(markers(document) | title_markers(document))}
    if "workspace_id" in conversation:
        replacements[document.workspace_id] = conversation["workspace_id"]
    for old, new in replacements.items():
        text = text.replace(old, new)
    changed, messages, runs = json.loads(text)
    return Document({**changed, **conversation}, messages, runs)


def note_conflict(record: Recorder, answer: Answer) -> None:
    """Record with which status a conflict was answered."""
    response = answer.exchange.response
    if answer.outcome == "refused" and response is not None and response.status in (409, 412):
        record.freedom("OPEN-CONFLICT-STATUS", str(response.status))


def note_unknown(record: Recorder, answer: Answer) -> None:
    """Record as what an unknown id was answered."""
    if answer.outcome == "refused" and answer.kinds:
        record.freedom("OPEN-UNKNOWN-ID-KIND", "forbidden" if "forbidden" in answer.kinds else "not_found")


def note_archive(record: Recorder, scene: Scene, before: int, judged: Judged) -> None:
    """Record what the target chose where the contract leaves open how an archived conversation looks."""
    conversation, document = judged.value["conversation"], scene.document
    step = conversation["revision"] - before
    if step > 0:
        record.freedom("OPEN-REVISION-STEP", "by one" if step == 1 else "by more")
    if document is None:
        return
    seeded = document.conversation
    if seeded["title"] is not None:
        record.freedom("OPEN-ARCHIVED-TITLE", "kept" if conversation["title"] == seeded["title"] else "gone")
    kept = conversation["language"] == seeded["language"]
    record.freedom("OPEN-ARCHIVED-LANGUAGE", "kept" if kept else "replaced")
    kept = not list(differences(seeded["context"], conversation["context"]))
    record.freedom("OPEN-ARCHIVED-CONTEXT", "kept" if kept else "replaced")
    if document.messages:
        record.freedom("OPEN-WITHHELD-FORM", "null fields" if judged.value["messages"] else "empty list")
