"""The reference model: what *get*, *status* and *archive* must answer after any sequence of events.

It is the oracle of the stateful checks. It is written from the contract alone, makes no calls and has its own clock:
exact instants that only ``advance`` moves. Where the contract leaves a choice, an answer is held against the set of
what is allowed, and the model learns which one the server took. Where it cannot know what happened (a call whose
answer was lost), it keeps a world for each possibility and drops those that later answers contradict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.cases.conversations import Document
from conformance.control.interface import AccessState
from conformance.errors import SuiteFault
from conformance.judge.comparison import differences
from conformance.judge.finding import Finding
from conformance.judge.formats import Instant
from conformance.judge.model_blame import has_text
from conformance.judge.model_calls import (
    ANY,
    MAY_BE_CURRENT,
    NOTHING,
    Allowed,
    Key,
    Kinds,
    ModelCall,
    World,
    allowed_outcomes,
)
from conformance.judge.model_state import Conversation, Result, begin
from conformance.judge.model_view import Look
from conformance.judge.outcome import answered, refused_as, succeeded
from conformance.judge.privacy import seen_in
from conformance.transport.exchange import Answer


@dataclass(frozen=True)
class Judgement:
    """What the model has to say of one answer: findings, what was allowed, and choices that the server took."""

    findings: tuple[Finding, ...]
    allowed: str
    freedoms: frozenset[tuple[str, str]]


class Model:
    """The model of one story: a few persons and conversations, and everything that happens to them."""

    def __init__(self) -> None:
        self.worlds: tuple[World, ...] = (World(),)

    @property
    def world(self) -> World:
        """The most probable world."""
        return self.worlds[0]

    def conversation(self, identifier: str) -> Conversation:
        """Return a conversation as the most probable world has it."""
        return self.world.conversations[identifier.lower()]

    # Events

    def begin(self, owner: str, document: Document, now: Instant) -> None:
        """A conversation of this person is stored at ``now``."""
        stored = begin(owner, document.conversation, document.messages, document.runs, now)
        identifier = document.conversation_id.lower()
        self._each(lambda world: world.with_conversation(identifier, stored))

    def advance(self, workspace_id: str, now: Instant) -> None:
        """The workspace's clock moves on to ``now``; it never goes back."""
        self._each(lambda world: _advanced(world, workspace_id.lower(), now))

    def set_access(self, identifier: str, state: AccessState) -> None:
        """Test control sets what the owner may see."""
        identifier = identifier.lower()
        self._each(
            lambda world: world.with_conversation(
                identifier, world.conversations[identifier].with_access(state)
            ).others_touched(identifier, "ACCESS-OTHERS-UNTOUCHED")
        )

    def deliver(self, identifier: str, run_id: str, result: Result) -> None:
        """The worker delivers a result for a run of this conversation."""
        identifier = identifier.lower()
        self._each(
            lambda world: world.with_conversation(identifier, world.conversations[identifier].delivered(run_id, result))
        )

    def restart(self) -> None:
        """The server starts again on its stored state."""
        self._each(
            lambda world: replace(
                world,
                conversations={name: each.after_restart() for name, each in world.conversations.items()},
                restarts=world.restarts + 1,
            )
        )

    def lose(self, call: ModelCall) -> None:
        """An archive was sent and its answer was lost: it may or may not have been applied."""
        applied = []
        for world in self.worlds:
            if allowed_outcomes(world, call).reading in ("apply", "accept"):
                conversation = world.conversations[call.conversation_id].archive_applied(call.attempt[2])
                key = _used(world, call, applied=True, result=None, age=conversation.age)
                applied.append(world.with_conversation(call.conversation_id, conversation).with_key(call.key, key))
        self.worlds = (*self.worlds, *applied)

    def _each(self, change: Any) -> None:
        self.worlds = tuple(change(world) for world in self.worlds)

    # Answers

    def allowed(self, call: ModelCall) -> str:
        """Say in words what the call may be answered."""
        return " / ".join(dict.fromkeys(allowed_outcomes(world, call).words for world in self.worlds))

    def may_succeed(self, call: ModelCall) -> bool:
        """Tell whether a success of the call is allowed in any world."""
        return any(allowed_outcomes(world, call).reading is not None for world in self.worlds)

    def judge(self, call: ModelCall, answer: Answer, value: Any) -> Judgement:
        """Judge an answer; ``value`` is the decoded result of a success, which obeys its schema.

        Raises:
            CouldNotRun: a rate limit stands in the way.
            SuiteFault: the call names a conversation that the model does not know.
        """
        if any(call.conversation_id not in world.conversations for world in self.worlds):
            raise SuiteFault("the model was asked about a conversation that it does not know")
        allowed = self.allowed(call)
        judged = [_judge(world, call, answer, value) for world in self.worlds]
        possible = [each for each in judged if not each.findings]
        if not possible:
            return Judgement(tuple(judged[0].findings), allowed, frozenset(judged[0].freedoms))
        self.worlds = tuple(each.world for each in possible)
        certain = frozenset.intersection(*(frozenset(each.freedoms) for each in possible))
        return Judgement((), allowed, certain)


def _advanced(world: World, workspace_id: str, now: Instant) -> World:
    changed = {
        name: each.advanced(now) if str(each.value["workspace_id"]).lower() == workspace_id else each
        for name, each in world.conversations.items()
    }
    return replace(world, conversations=changed)


def _used(world: World, call: ModelCall, *, applied: bool, result: Any, age: int = 0, kinds: Kinds = NOTHING) -> Key:
    now = world.conversations[call.conversation_id].now
    return Key(call.attempt, applied, now, call.caller.token, result, age, world.restarts, kinds)


# What an answer comes to in one world


@dataclass
class _Judged:
    world: World
    findings: list[Finding]
    freedoms: set[tuple[str, str]]


def _judge(world: World, call: ModelCall, answer: Answer, value: Any) -> _Judged:
    allowed = allowed_outcomes(world, call)
    judged = _Judged(world, list(_outcome_findings(allowed, answer)), set())
    judged.findings += _leaks(world, call, answer)
    if judged.findings:
        return judged
    if answer.outcome == "success":
        _judge_success(judged, call, allowed, answer, value)
    else:
        _judge_refusal(judged, call, allowed, answer)
    if allowed.freedom and not judged.findings:
        name, success, refusal = allowed.freedom
        judged.freedoms.add((name, success if answer.outcome == "success" else refusal))
    return judged


def _outcome_findings(allowed: Allowed, answer: Answer) -> tuple[Finding, ...]:
    if allowed.reading is None:
        return tuple(refused_as(answer, allowed.kinds, allowed.on_success, allowed.on_kind, allowed.what))
    if not allowed.kinds:
        return tuple(succeeded(answer, allowed.on_refusal, allowed.what))
    if allowed.kinds == ANY or answer.outcome == "success":
        return tuple(answered(answer))
    return tuple(refused_as(answer, allowed.kinds, allowed.on_kind, allowed.on_kind, allowed.what))


def _judge_success(judged: _Judged, call: ModelCall, allowed: Allowed, answer: Answer, value: Any) -> None:
    conversation = judged.world.conversations[call.conversation_id]
    if allowed.reading == "replay":
        _judge_replay(judged, call, answer, value)
        return
    if allowed.reading == "apply":
        conversation = conversation.archive_applied(call.attempt[2])
    elif allowed.reading == "accept":
        archived = conversation.archived or bool(value["conversation"]["archived"])
        conversation = conversation.archive_accepted(archived=archived)
    look = Look(conversation, call.channel, answer)
    if call.channel == "status":
        look.status(value)
    else:
        look.conversation(value)
    judged.findings += look.findings
    judged.freedoms |= look.freedoms
    state = look.state
    if call.channel == "archive":
        if allowed.reading == "apply":
            grown = state.revision - call.attempt[2]
            judged.freedoms.add(("OPEN-REVISION-STEP", "by one" if grown == 1 else "by more"))
        key = _used(judged.world, call, applied=True, result=value, age=state.age)
        judged.world = judged.world.with_key(call.key, key)
        judged.world = judged.world.others_touched(call.conversation_id, "ARCHIVE-OTHERS-UNTOUCHED")
    else:
        state = state.after("READ-UNCHANGED")
    judged.world = judged.world.with_conversation(call.conversation_id, state)


def _judge_replay(judged: _Judged, call: ModelCall, answer: Answer, value: Any) -> None:
    """Hold a replay's result against the first one; what has expired or been withheld since may be shown so."""
    conversation, key = judged.world.conversations[call.conversation_id], judged.world.keys[call.key]
    first = key.result
    look = Look(conversation, "archive", answer)
    if first is None:
        look.conversation(value)
        first = value
    elif _brings_text_back(conversation, look, value):
        pass
    elif key.age == conversation.age:
        for difference in differences(_told(first), _told(value)):
            requirement = _replay_requirement(conversation, difference.pointer, difference.found)
            look.differs(requirement, "A replay does not bring the first result", "", difference)
    elif not (conversation.expired or conversation.withheld or conversation.formerly):
        _later_replay(conversation, look, first, value)
    judged.findings += look.findings
    judged.world = judged.world.with_conversation(call.conversation_id, look.state)
    changed = replace(key, result=first)
    judged.world = judged.world.with_key(call.key, changed).touched(call.conversation_id, "REPLAY-APPLIED-ONCE")
    judged.world = judged.world.others_touched(call.conversation_id, "ARCHIVE-OTHERS-UNTOUCHED")


def _told(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in ("conversation", "messages", "runs")}


def _replay_requirement(conversation: Conversation, place: str, found: Any) -> str:
    again = place == "/conversation/revision" and isinstance(found, int | float) and found > conversation.revision
    return "REPLAY-APPLIED-ONCE" if again else "REPLAY-SAME-RESULT"


def _brings_text_back(conversation: Conversation, look: Look, value: Mapping[str, Any]) -> bool:
    if not any(has_text(message) for message in value["messages"]):
        return False
    requirement = "REPLAY-WITHHELD-PRIVATE" if conversation.withheld else "REPLAY-SAME-RESULT"
    requirement = "REPLAY-EXPIRED-PRIVATE" if conversation.expired else requirement
    look.wrong(requirement, "A replay brings private text back", "/messages", "no text", "a text")
    return True


def _later_replay(conversation: Conversation, look: Look, first: Mapping[str, Any], value: Mapping[str, Any]) -> None:
    """Judge a replay after other things happened: runs may show how they are by now, the archive is the first one."""
    for name in ("archived", "revision"):
        before, now = first["conversation"][name], value["conversation"][name]
        if before != now:
            place = f"/conversation/{name}"
            requirement = _replay_requirement(conversation, place, now)
            look.wrong(requirement, "A replay does not bring the first result", place, str(before), str(now))


def _judge_refusal(judged: _Judged, call: ModelCall, allowed: Allowed, answer: Answer) -> None:
    world, conversation = judged.world, judged.world.conversations[call.conversation_id]
    status = answer.exchange.response.status if answer.exchange.response else 0
    if call.channel != "archive":
        cause = "READ-FAILED-UNCHANGED" if call.caller.scoped else "AUTH-REFUSED-UNCHANGED"
        if call.caller.scoped and call.caller.person != conversation.owner and status in (403, 404):
            judged.freedoms.add(("OPEN-UNKNOWN-ID-KIND", "forbidden" if status == 403 else "not_found"))
        judged.world = world.touched(call.conversation_id, cause)
        return
    key = world.keys.get(call.key)
    if not call.caller.scoped:
        cause = "AUTH-REFUSED-UNCHANGED"
    elif call.caller.person != conversation.owner:
        cause = "ARCHIVE-OTHER-USER"
    elif key is not None and key.applied:
        cause = "REPLAY-APPLIED-ONCE" if key.attempt == call.attempt else "REPLAY-REFUSED-UNCHANGED"
        world = world.touched(key.attempt[1], cause)
    else:
        cause = "REVISION-CONFLICT-UNCHANGED"
        if status in (409, 412) and not allowed.reading:
            judged.freedoms.add(("OPEN-CONFLICT-STATUS", str(status)))
    if allowed.what == MAY_BE_CURRENT and key is None and call.attempt[2] == conversation.revision:
        # The conflict shows that the revision has grown past the least that it could be.
        changed = replace(conversation, revision=conversation.revision + 1)
        world = world.with_conversation(call.conversation_id, changed)
    if key is None or not key.applied:
        kinds = (answer.kinds or NOTHING) | (key.kinds if key else NOTHING)
        world = world.with_key(call.key, _used(world, call, applied=False, result=None, kinds=kinds))
    judged.world = world.touched(call.conversation_id, cause)


def _leaks(world: World, call: ModelCall, answer: Answer) -> list[Finding]:
    """Return a finding when the answer gives away, in any form or place, what its caller must not see."""
    conversation = world.conversations[call.conversation_id]
    forbidden: dict[str, str] = {}
    for each in world.conversations.values():
        if each.owner != call.caller.person:
            forbidden |= dict.fromkeys(each.all_markers(), "PRIVACY-OTHER-USER")
        elif not call.caller.scoped:
            forbidden |= dict.fromkeys(each.all_markers(), "AUTH-NO-CONTENT")
        else:
            forbidden |= dict.fromkeys(each.forbidden_markers(), "PRIVACY-BODY")
    shown = answer.outcome == "success" and conversation.owner == call.caller.person and call.caller.scoped
    for marker, where in seen_in(answer.exchange, sorted(forbidden)):
        requirement = forbidden[marker]
        if requirement == "PRIVACY-BODY":
            if where == "body" and shown and marker.encode() in (answer.result or b""):
                # Text in its own place of a result is judged there, under the requirement of that place.
                continue
            requirement = "PRIVACY-HEADER" if where != "body" else "PRIVACY-BODY" if shown else "PRIVACY-ERROR-TEXT"
        summary = "Private text is shown where it must not be"
        exchange = answer.exchange
        return [Finding(requirement, exchange.operation, summary, where, "no private text", "a marker", (exchange,))]
    return []
