"""Where private text must not appear: any part of any answer, for the owner once it is gone, for others ever."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from conformance.canary_places import places
from conformance.cases.conversations import DAY, MINUTE, markers, title_markers
from conformance.cases.json_text import encode
from conformance.checks.archiving import archive, note_unknown
from conformance.checks.declare import case, cases, needs
from conformance.checks.steps import call, take_snapshot, unchanged
from conformance.checks.withholding import each_once, expiring, needed, operations, seeded
from conformance.contract import Contract, Operation
from conformance.control.interface import AccessState
from conformance.judge.finding import Finding, must_hold
from conformance.judge.markers import markers_in
from conformance.judge.outcome import answered, refused, succeeded
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Exchange

_STATES: Final = {
    "archived": (),
    "expired": ("clock",),
    "access_changed": ("access",),
    "source_unavailable": ("access",),
    "archived-and-expired": ("clock",),
}
"""How text goes, and what that takes of test control."""

_PLACES: Final = ("PRIVACY-BODY", "PRIVACY-HEADER", "PRIVACY-ERROR-TEXT")


def _with_needs(made: Any, *wanted: str) -> Any:
    return pytest.param(*made.values, id=made.id, marks=(*made.marks, needs("seed", *wanted)))


def _states(contract: Contract) -> Iterator[Any]:
    for name, wanted in _STATES.items() if operations(contract) else ():
        yield _with_needs(case(name, "PRIVACY-BODY", name, *_PLACES), *wanted)


def _seed(session: Session, state: str, *, beside: Scene | None = None) -> tuple[Scene, dict[str, Any]]:
    """Store a conversation and bring it to a state; return it and the arguments of its archive, if there was one."""
    stage, rng = session.stage, session.rng
    now = stage.now()
    deadline = now + (10 * MINUTE if "expired" in state else DAY - 10 * MINUTE)
    document = expiring(rng, now, deadline, workspace_id=beside.workspace_id if beside else None)
    scene = stage.seeded(rng, document, beside.principal if beside else None)
    arguments: dict[str, Any] = {}
    # What is read before is in a server's caches when the text goes.
    must_hold(answered(call(session, scene, needed(session).get)[0]))
    must_hold(answered(call(session, scene, needed(session).status)[0]))
    if "archived" in state:
        answer, arguments = archive(session, scene)
        must_hold(succeeded(answer, "ARCHIVE-ACCEPTED", "an archive of an available conversation"))
    if "expired" in state:
        stage.set_clock(scene.workspace_id, deadline)
    if state in ("access_changed", "source_unavailable"):
        kind: AccessState = "access_changed" if state == "access_changed" else "source_unavailable"
        stage.control.set_access(scene.conversation_id, kind)
    return scene, arguments


def _owners_calls(session: Session, scene: Scene, archived: Mapping[str, Any]) -> Iterator[tuple[str, Answer]]:
    """Make every kind of call that names the conversation, right and wrong ones; yield each with a description."""
    known = needed(session)
    rng, credential = session.rng, scene.principal.credential

    def sent(operation: Operation, **changed: Any) -> Answer:
        return session.call(operation, encode({**scene.arguments(operation), **changed}), credential)

    yield "a read", sent(known.get)
    for run_id in scene.run_ids:
        yield "a run's status", sent(known.status, run_id=run_id)
    yield "the status of an unknown run", sent(known.status, run_id=fresh_uuid(rng))
    for operation in (known.get, known.status, known.archive):
        yield "a call under an unknown workspace", sent(operation, workspace_id=fresh_uuid(rng))
        yield "a call with an unknown field", sent(operation, zz_unknown=1)
        yield "a call with a malformed id", sent(operation, conversation_id=f"{scene.conversation_id}0")
    yield "an archive with a revision of the past", sent(known.archive, expected_revision=1)
    if archived:
        yield "a replay", sent(known.archive, **archived)
        other = {**archived, "expected_revision": archived["expected_revision"] + 1}
        yield "a used key with another revision", sent(known.archive, **other)
    yield "an archive", sent(known.archive)
    yield "a read after it", sent(known.get)


@cases("state", _states)
def test_text_that_is_gone_appears_nowhere(state: str, session: Session) -> None:
    """Once text is gone, no answer to any call about it has it: not in a body, a header, an error, in any form."""
    scene, archived = _seed(session, state)
    private = markers(seeded(scene))

    def story() -> Iterator[Finding]:
        for what, answer in _owners_calls(session, scene, archived):
            yield from answered(answer)
            yield from _leaks(answer.exchange, private, f"{what}, of text that is {state.replace('_', ' ')}")

    must_hold(each_once(story()))


def _leaks(exchange: Exchange, private: frozenset[str], what: str) -> Iterator[Finding]:
    """Yield a finding for each part of an answer that shows one of the markers."""
    for part in places(exchange):
        seen = markers_in(part.text) & private
        if seen:
            yield Finding(
                part.requirement, exchange.operation, f"Private text is shown in the {part.name} of {what}", part.name,
                "no private text", min(seen), (exchange,),
            )  # fmt: skip


@dataclass(frozen=True)
class _Stranger:
    """Another person, and whether they are a member of the workspace."""

    is_member: bool

    def of(self, session: Session, scene: Scene) -> Scene:
        """Return the stranger with a conversation of their own: in the same workspace for a member."""
        stage, rng = session.stage, session.rng
        now = stage.now()
        workspace_id = scene.workspace_id if self.is_member else stage.elsewhere(rng)
        person = stage.principal(rng, workspace_ids=(workspace_id,), label="other person")
        document = expiring(rng, now, now + DAY - 10 * MINUTE, workspace_id=workspace_id)
        return stage.seeded(rng, document, person)


_STRANGERS: Final = {"stranger": _Stranger(is_member=False), "workspace-member": _Stranger(is_member=True)}


def _foreign_states(contract: Contract) -> Iterator[Any]:
    for state, wanted in {"available": (), **_STATES}.items() if operations(contract) else ():
        for name in _STRANGERS:
            made = case((state, name), "PRIVACY-OTHER-USER", f"{name}-{state}")
            yield _with_needs(made, "second principal", *wanted)


@cases("attempt", _foreign_states)
def test_another_person_sees_nothing(attempt: tuple[str, str], session: Session) -> None:
    """Whatever another person calls about a conversation, in whatever state, is refused and shows nothing of it."""
    state, name = attempt
    identifier = "PRIVACY-OTHER-USER"
    scene, archived = _seed(session, "" if state == "available" else state)
    known = needed(session)
    stage, rng = session.stage, session.rng
    workspace_id = scene.workspace_id if _STRANGERS[name].is_member else stage.elsewhere(rng)
    person = stage.principal(rng, workspace_ids=(workspace_id,), label="other person")
    private = markers(seeded(scene)) | title_markers(seeded(scene))

    def attempts() -> Iterator[tuple[str, Operation, dict[str, Any]]]:
        for operation in (known.get, known.status, known.archive):
            yield "a call", operation, {}
            yield "a call under the person's own workspace", operation, {"workspace_id": workspace_id}
        for run_id in scene.run_ids[1:]:
            yield "a run's status", known.status, {"run_id": run_id}
        if archived:
            key = {each: archived[each] for each in ("mutation_id", "expected_revision")}
            yield "a copy of the archive", known.archive, key

    def story() -> Iterator[Finding]:
        for what, operation, changed in attempts():
            arguments = {**scene.arguments(operation), **changed}
            answer = session.call(operation, encode(arguments), person.credential)
            yield from refused(answer, identifier, f"{what} that names another person's conversation")
            for leak in _leaks(answer.exchange, private, f"{what} of another person"):
                # It breaks what holds of that part of an answer, and what holds of other people's calls.
                yield leak
                yield replace(leak, requirement=identifier)

    must_hold(each_once(story()))


def _each_twice(contract: Contract) -> Iterator[Any]:
    for operation in contract.operations if operations(contract) else ():
        also = ("PRIVACY-OTHER-USER", "ARCHIVE-OTHER-USER", *_PLACES)
        made = case(operation, "INPUT-DUPLICATE-NAME-EFFECT", f"{operation.name}-every-name-twice", *also)
        yield _with_needs(made, "second principal")


@cases("operation", _each_twice)
def test_names_given_twice_open_nothing_of_another_person(operation: Operation, session: Session) -> None:
    """An input of one's own and another person's ids, each name twice, shows and changes nothing of that person."""
    scene, _ = _seed(session, "")
    own = _STRANGERS["workspace-member"].of(session, scene)
    private = markers(seeded(scene)) | title_markers(seeded(scene))
    take_snapshot(session, scene)

    def story() -> Iterator[Finding]:
        mine, theirs = encode(own.arguments(operation)), encode(scene.arguments(operation))
        for first, last in ((mine, theirs), (theirs, mine)):
            # Two objects become one that has all members of both.
            answer = session.call(operation, first[:-1] + b"," + last[1:], own.principal.credential)
            what = "a call with every id given twice, one's own and another person's"
            yield from answered(answer)
            for leak in _leaks(answer.exchange, private, what):
                yield leak
                yield replace(leak, requirement="PRIVACY-OTHER-USER")
            yield from unchanged(session, scene, "ARCHIVE-OTHER-USER", what, answer.exchange)

    must_hold(each_once(story()))


_SAMPLES: Final = 3
_UUID: Final = re.compile(rb"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_TIMING_HEADERS: Final = frozenset(
    {"date", "age", "server-timing", "x-response-time", "x-runtime", "x-process-time", "expires", "retry-after"}
)
"""Headers whose values change with the time, by themselves or with the load."""

Look = Mapping[str, str]


def look_of(exchange: Exchange) -> Look:
    """Return what can be told of a refusal from outside, feature by feature; ids are replaced, all of one length."""
    response = exchange.response
    if response is None:
        return {"status": "no answer"}
    body = _UUID.sub(b"<id>", response.body)
    found = {"status": str(response.status), "reason phrase": response.reason, "body": body.decode("latin-1")}
    found["size of the body"] = str(len(response.body))
    names = sorted({name.lower() for name, _ in response.headers})
    found["names of the headers"] = ", ".join(names)
    for name in names:
        if name not in _TIMING_HEADERS:
            values = ", ".join(value for each, value in response.headers if each.lower() == name)
            found[f"header {name}"] = _UUID.sub(b"<id>", values.encode("latin-1", "replace")).decode("latin-1")
    return found


def distinguishing(foreign: list[Look], unknown: list[Look]) -> Iterator[tuple[str, str, str]]:
    """Yield (feature, for unknown ids, for foreign ids) where the two can be told apart.

    Only what is the same for every unknown id and never so for the foreign one counts: request ids, counters of a
    rate limit and the like change from call to call and tell nothing.
    """
    for feature in dict.fromkeys(name for each in (*unknown, *foreign) for name in each):
        usual = {each.get(feature, "none") for each in unknown}
        found = {each.get(feature, "none") for each in foreign}
        if len(usual) == 1 and not usual & found:
            yield feature, min(usual), min(found)


def _pair_cases(contract: Contract) -> Iterator[Any]:
    names = {
        "conversation": ("stranger", "workspace-member"),
        "conversation-archived": ("workspace-member",),
        "conversation-and-workspace": ("stranger",),
    }
    for operation in contract.operations if operations(contract) else ():
        rows = [(each, stranger) for each, strangers in names.items() for stranger in strangers]
        if operation.result == "run":
            rows += [("run-of-own-conversation", each) for each in _STRANGERS]
        for what, stranger in rows:
            made = case(
                (operation, what, stranger), "PRIVACY-FOREIGN-LIKE-UNKNOWN", f"{operation.name}-{what}-{stranger}",
                "PRIVACY-OTHER-USER",
            )  # fmt: skip
            yield _with_needs(made, "second principal")


@cases("attempt", _pair_cases)
def test_a_foreign_id_looks_like_an_unknown_one(
    attempt: tuple[Operation, str, str], session: Session, record: Recorder
) -> None:
    """What another person has cannot be told from what nobody has: not by status, headers, text or size."""
    operation, what, name = attempt
    scene, _ = _seed(session, "archived" if what.endswith("archived") else "")
    person = _STRANGERS[name].of(session, scene)
    foreign = scene.arguments(operation)
    replaced: list[str] = [each for each in ("conversation_id", "run_id") if each in foreign]
    if what == "run-of-own-conversation":
        own = person.arguments(operation)
        foreign, replaced = {**own, "run_id": foreign["run_id"]}, ["run_id"]
    elif what == "conversation-and-workspace":
        replaced.append("workspace_id")
    seen: list[Exchange] = []

    def told(arguments: Mapping[str, Any], identifier: str, whose: str) -> Look:
        fresh = {"mutation_id": fresh_uuid(session.rng)} if "mutation_id" in arguments else {}
        answer = session.call(operation, encode({**arguments, **fresh}), person.principal.credential)
        must_hold(refused(answer, identifier, f"a call that names what is {whose}"))
        note_unknown(record, answer)
        seen.append(answer.exchange)
        return look_of(answer.exchange)

    is_read = operation.effect == "read"
    unknown_id = "READ-UNKNOWN-ID" if is_read else "ARCHIVE-UNKNOWN-CONVERSATION"
    foreign_id = "READ-RUN-MISMATCH" if what == "run-of-own-conversation" else "PRIVACY-OTHER-USER"
    looks: tuple[list[Look], list[Look]] = ([], [])
    for sample in range(_SAMPLES):
        unknown = {**foreign, **{each: fresh_uuid(session.rng) for each in replaced}}
        pair = [(looks[0], foreign, foreign_id, "another person's"), (looks[1], unknown, unknown_id, "nobody's")]
        # Behind a balancer that takes its servers in turn, a strict alternation would tell the servers apart.
        for seen_of, arguments, identifier, whose in reversed(pair) if sample % 2 else pair:
            seen_of.append(told(arguments, identifier, whose))
    must_hold(
        Finding(
            "PRIVACY-FOREIGN-LIKE-UNKNOWN", operation.name,
            "An id that is another person's can be told from one that nobody has", feature, usual[:200], found[:200],
            (seen[-1], seen[-2]),
        )
        for feature, usual, found in distinguishing(*looks)
    )  # fmt: skip


@needs("seed")
@cases(
    "kind",
    lambda contract: [case("read", "PRIVACY-HEADER", "no-copy-of-a-read")] if operations(contract) else [],
)
def test_headers_of_any_answer_carry_no_text_of_others(kind: str, session: Session) -> None:
    """Two people read in turn over the same connections: nothing of the one is in an answer to the other."""
    del kind
    scenes = [_seed(session, "")[0]]
    scenes.append(_STRANGERS["workspace-member"].of(session, scenes[0]))
    texts = [markers(seeded(each)) | title_markers(seeded(each)) for each in scenes]

    def story() -> Iterator[Finding]:
        for turn in (0, 1, 0, 1):
            for operation in (needed(session).get, needed(session).status):
                answer, _ = call(session, scenes[turn], operation)
                yield from answered(answer)
                yield from _leaks(answer.exchange, texts[1 - turn], "a read by another person")

    must_hold(each_once(story()))
