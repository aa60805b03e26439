"""Reads: what the owner may read is found, what is not there is not, and no read changes anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from conformance.cases.conversations import STATUSES, WITH_QUESTION, Plan, RunPlan, compose, full_status
from conformance.cases.json_text import encode
from conformance.checks.archiving import NOT_FOUND, each, note_unknown, refused_without_effect
from conformance.checks.declare import case, cases, needs
from conformance.checks.documents import AGREEMENT_REQUIREMENTS
from conformance.checks.views import View, can_read, changes, read_all, status_equals_get, still
from conformance.contract import Contract, Operation
from conformance.judge.finding import Finding, must_hold
from conformance.judge.outcome import refused_as
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Credential

_READS = 50
_NOBODY = Credential("nobody", None)
_UNKNOWN_IDS = ("random", "near", "nil", "max")
_NIL, _MAX = "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"


def _reads(contract: Contract) -> list[Operation]:
    return [operation for operation in contract.operations if operation.effect == "read"]


def _one_run(session: Session, status: str = "completed", **place: Any) -> Scene:
    """Return a scene with one sentiment run of that status."""
    plan = Plan(runs=(RunPlan(status, "sentiment", question=status in WITH_QUESTION),))
    document = compose(session.rng, session.stage.now(), plan, workspace_id=place.get("workspace_id"))
    return session.stage.seeded(session.rng, document, place.get("principal"))


@needs("seed")
@cases("status", each("READ-AVAILABLE", STATUSES, *AGREEMENT_REQUIREMENTS, when=can_read))
def test_a_run_of_any_status_can_be_read(status: str, session: Session) -> None:
    """The owner reads a conversation with a run of each status, and the run's status shows what *get* shows of it."""
    must_hold(status_equals_get(read_all(session, _one_run(session, status))))


@needs("seed", "second principal")
@cases("kind", each("READ-UNCHANGED", ["fifty-reads"], "READ-AVAILABLE", *AGREEMENT_REQUIREMENTS, when=can_read))
def test_fifty_reads_change_nothing(kind: str, session: Session) -> None:
    """Fifty reads of both kinds by two people and nobody, each other's and unknown ids among them, change nothing."""
    del kind
    rng, stage = session.rng, session.stage
    mine = stage.seeded(rng, full_status(rng, stage.now()))
    other = _one_run(session, "processing", workspace_id=mine.workspace_id)
    unknown = replace(mine, conversation_id=fresh_uuid(rng))
    seen = [(scene, read_all(session, scene)) for scene in (mine, other)]
    must_hold(*(status_equals_get(view) for _, view in seen))
    readers = (mine.principal.credential, other.principal.credential, mine.principal.credential, _NOBODY)
    operations = _reads(session.contract)
    for _ in range(_READS):
        scene, operation = rng.choice((mine, mine, other, unknown)), rng.choice(operations)
        arguments = scene.arguments(operation, rng.choice(scene.run_ids))
        answer = session.call(operation, encode(arguments), rng.choice(readers))
    must_hold(still(session, seen, "READ-UNCHANGED", "fifty reads", answer.exchange))


@needs("seed")
@cases("status", each("READ-NEVER-GENERATES", STATUSES, "READ-UNCHANGED", when=can_read))
def test_a_status_never_generates_again(status: str, session: Session) -> None:
    """Reading the status of a run of each kind again and again shows the same generation and the same answer."""
    scene = _one_run(session, status)
    first = read_all(session, scene)
    for _ in range(2):
        must_hold(_generation_findings(first, read_all(session, scene)))


def _generation_findings(before: View, now: View) -> Iterator[Finding]:
    for finding in changes(before, now, "READ-UNCHANGED", "reading the status of its run"):
        generated = finding.place.rsplit("/", 1)[-1] in ("generation", "status") or "message" in finding.place
        yield replace(finding, requirement="READ-NEVER-GENERATES") if generated else finding


_FAILING = ("nobody", "another-user", "unknown-run", "unknown-workspace", "invalid-input")


@needs("seed", "second principal")
@cases("failure", each("READ-FAILED-UNCHANGED", _FAILING, when=can_read))
def test_a_refused_read_changes_nothing(failure: str, session: Session) -> None:
    """Reads that are refused, for whatever reason, leave the conversation and the status of its run as they were."""
    rng, scene = session.rng, _one_run(session, "processing")
    seen = [(scene, read_all(session, scene))]
    who = scene.principal.credential
    if failure == "nobody":
        who = _NOBODY
    elif failure == "another-user":
        who = session.stage.principal(rng, workspace_ids=(scene.workspace_id,), label="other user").credential
    for operation in _reads(session.contract):
        arguments = scene.arguments(operation)
        if failure == "unknown-run":
            arguments = scene.arguments(operation, fresh_uuid(rng))
        elif failure == "unknown-workspace":
            arguments["workspace_id"] = fresh_uuid(rng)
        elif failure == "invalid-input":
            arguments["conversation_id"] = scene.conversation_id[:-1]
        answer = session.call(operation, encode(arguments), who)
        if answer.outcome == "refused":
            after = f"a read refused for {failure.replace('-', ' ')}"
            must_hold(still(session, seen, "READ-FAILED-UNCHANGED", after, answer.exchange))


def _unknown(contract: Contract) -> list[Any]:
    return [
        case((operation, field, form), "READ-UNKNOWN-ID", f"{operation.name}-{field}-{form}")
        for operation in _reads(contract)
        for field in ("conversation_id", "run_id")
        if field in operation.bindings
        for form in _UNKNOWN_IDS
    ]


@needs("token")
@cases("attempt", _unknown)
def test_an_unknown_id_is_not_found(attempt: tuple[Operation, str, str], session: Session, record: Recorder) -> None:
    """A conversation or run id that nobody has, however close to one that somebody has, is answered as not found."""
    operation, field, form = attempt
    scene = session.shared_scene("reads")
    arguments = scene.arguments(operation)
    arguments[field] = _unknown_id(session, form, arguments[field])
    answer = session.call(operation, encode(arguments), scene.principal.credential)
    note_unknown(record, answer)
    must_hold(refused_as(answer, NOT_FOUND, "READ-UNKNOWN-ID", "READ-UNKNOWN-ID", f"an unknown {_words(field)}"))


def _unknown_id(session: Session, form: str, known: str) -> str:
    """Return an id that nobody has: the nil or the max UUID, a random one, or a known one with one digit changed."""
    near = ("1" if known[0] != "1" else "2") + known[1:]
    return {"random": fresh_uuid(session.rng), "near": near, "nil": _NIL, "max": _MAX}[form]


def _words(field: str) -> str:
    return field.removesuffix("_id") + " id"


def _shows_runs(contract: Contract) -> bool:
    return can_read(contract) and any(operation.result == "run" for operation in _reads(contract))


@needs("seed")
@cases(
    "place", each("READ-RUN-MISMATCH", ("same-workspace", "other-workspace"), "READ-FAILED-UNCHANGED", when=_shows_runs)
)
def test_a_run_of_another_conversation_is_not_found(place: str, session: Session, record: Recorder) -> None:
    """A run of one's other conversation, asked for under this one, is not found, and both stay as they are."""
    one, two = _two_of_one_person(session, place)
    seen = [(scene, read_all(session, scene)) for scene in (one, two)]
    for operation in _reads(session.contract):
        if operation.result == "run":
            for here, there in ((one, two), (two, one)):
                arguments = here.arguments(operation, there.run_ids[0])
                answer = session.call(operation, encode(arguments), here.principal.credential)
                note_unknown(record, answer)
                expected = (NOT_FOUND, "READ-RUN-MISMATCH", "READ-RUN-MISMATCH", "READ-FAILED-UNCHANGED")
                must_hold(refused_without_effect(session, answer, seen, expected, "a run of another conversation"))


def _two_of_one_person(session: Session, place: str) -> tuple[Scene, Scene]:
    """Return two conversations of one person, in one workspace or in two."""
    workspaces = session.stage.workspaces(session.rng, 2)
    owner = session.stage.principal(session.rng, workspace_ids=workspaces)
    second = workspaces[1 if place == "other-workspace" else 0]
    return (
        _one_run(session, principal=owner, workspace_id=workspaces[0]),
        _one_run(session, principal=owner, workspace_id=second),
    )


def _workspaces(contract: Contract) -> list[Any]:
    return [
        case((operation, place), "READ-WORKSPACE-MISMATCH", f"{operation.name}-{place}", "READ-FAILED-UNCHANGED")
        for operation in (_reads(contract) if can_read(contract) else ())
        for place in ("own", "foreign", "unknown")
    ]


@needs("seed", "second principal")
@cases("attempt", _workspaces)
def test_a_conversation_of_another_workspace_is_not_found(
    attempt: tuple[Operation, str], session: Session, record: Recorder
) -> None:
    """A conversation asked for under one's other workspace, somebody else's or an unknown one is not found."""
    operation, place = attempt
    scene, other = _two_of_one_person(session, "other-workspace")
    workspace_id = other.workspace_id
    if place != "own":
        workspace_id = session.stage.elsewhere(session.rng)
    if place == "foreign":
        session.stage.principal(session.rng, workspace_ids=(workspace_id,), label="other user")
    seen = [(scene, read_all(session, scene))]
    arguments = {**scene.arguments(operation), "workspace_id": workspace_id}
    answer = session.call(operation, encode(arguments), scene.principal.credential)
    note_unknown(record, answer)
    expected = (NOT_FOUND, "READ-WORKSPACE-MISMATCH", "READ-WORKSPACE-MISMATCH", "READ-FAILED-UNCHANGED")
    must_hold(refused_without_effect(session, answer, seen, expected, "a conversation under another workspace"))


@needs("seed", "tokens")
@cases("scopes", each("READ-OTHER-TOKEN", ("same-scope", "more-scopes"), when=can_read))
def test_any_token_of_a_person_reads(scopes: str, session: Session) -> None:
    """With another of the owner's tokens, of the same scope or of more, every read shows what the first one shows."""
    scene = _one_run(session)
    more = ("agent:publish",) if scopes == "more-scopes" else ()
    scopes_of_token = (session.stage.scope, *more)
    credential = session.stage.token(scene.principal, scopes_of_token, "owner with another token").credential
    first = read_all(session, scene)
    again = read_all(session, scene, "READ-OTHER-TOKEN", "a read with another token of the owner", credential)
    must_hold(changes(first, again, "READ-OTHER-TOKEN", "changing to another token of the owner"))
