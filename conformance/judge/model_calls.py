"""What calls may come to: for each call in each world the allowed outcomes, and which requirement another breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from conformance.judge.formats import Instant
from conformance.judge.model_state import Channel, Conversation
from conformance.transport.exchange import ErrorKind

Kinds: TypeAlias = frozenset[ErrorKind]

NOTHING: Final[Kinds] = frozenset()
UNKNOWN: Final[Kinds] = frozenset({"not_found", "forbidden"})
CONFLICT: Final[Kinds] = frozenset({"conflict"})
IN_PROGRESS: Final[Kinds] = frozenset({"in_progress"})
MAY_BE_CURRENT: Final = "an archive with a revision that may be current"

ANY: Final[Kinds] = frozenset({"conflict", "not_found", "forbidden", "invalid_input", "in_progress"})


@dataclass(frozen=True)
class Caller:
    """Who calls: the person, with which token, and whether that token has the contract's scope."""

    person: str
    token: str = "first"  # noqa: S105 - a label of a token
    scoped: bool = True


@dataclass(frozen=True)
class ModelCall:
    """A call that is valid in itself and names a conversation of the model."""

    channel: Channel
    caller: Caller
    arguments: Mapping[str, Any]

    @property
    def conversation_id(self) -> str:
        """The id of the conversation, in lower case."""
        return str(self.arguments["conversation_id"]).lower()

    @property
    def key(self) -> tuple[str, str]:
        """Whose mutation id it is."""
        return self.caller.person, str(self.arguments["mutation_id"]).lower()

    @property
    def attempt(self) -> tuple[str, str, int]:
        """The arguments of an archive beside its mutation id."""
        return (
            str(self.arguments["workspace_id"]).lower(), self.conversation_id, self.arguments["expected_revision"],
        )  # fmt: skip


@dataclass(frozen=True)
class Key:
    """A mutation id that was used. A refused attempt (``applied`` false) may or may not have bound it.

    ``result`` is the first result, or ``None`` while it is unknown because its answer was lost.
    """

    attempt: tuple[str, str, int]
    applied: bool
    at: Instant
    token: str
    result: Mapping[str, Any] | None = None
    age: int = 0
    restarts: int = 0
    kinds: Kinds = NOTHING


Reading = Literal["show", "replay", "apply", "accept"]


@dataclass(frozen=True)
class Allowed:
    """The outcomes that a call may have.

    A success is judged as ``reading`` says, or breaks ``on_success`` where none is allowed; a refusal may be of one of
    ``kinds``, and breaks ``on_refusal`` where there are none and ``on_kind`` where it is of another kind.
    """

    what: str
    reading: Reading | None = None
    kinds: Kinds = NOTHING
    on_success: str = ""
    on_refusal: str = ""
    on_kind: str = ""
    freedom: tuple[str, str, str] | None = None

    @property
    def words(self) -> str:
        """The outcomes in words, for people."""
        refusals = " or ".join(sorted(self.kinds)).replace("_", " ") if self.kinds != ANY else "an error"
        success = {None: "", "show": "success", "replay": "the first result again", "apply": "success",
                   "accept": "success"}[self.reading]  # fmt: skip
        return ", or ".join(each for each in (success, refusals) if each)


@dataclass(frozen=True)
class World:
    """Everything that may be so: conversations by id, used mutation ids by person and id, restarts so far."""

    conversations: Mapping[str, Conversation] = field(default_factory=dict)
    keys: Mapping[tuple[str, str], Key] = field(default_factory=dict)
    restarts: int = 0

    def with_conversation(self, identifier: str, changed: Conversation) -> World:
        """Replace or add one conversation."""
        return replace(self, conversations={**self.conversations, identifier: changed})

    def with_key(self, key: tuple[str, str], changed: Key) -> World:
        """Replace or add one key."""
        return replace(self, keys={**self.keys, key: changed})

    def touched(self, identifier: str, *causes: str) -> World:
        """Something happened that by these requirements changes nothing in this conversation."""
        return self.with_conversation(identifier, self.conversations[identifier].after(*causes))

    def others_touched(self, identifier: str, cause: str) -> World:
        """Something happened to one conversation that must change nothing in any other."""
        changed = {name: each if name == identifier else each.after(cause) for name, each in self.conversations.items()}
        return replace(self, conversations=changed)


def allowed_outcomes(world: World, call: ModelCall) -> Allowed:
    """Return the outcomes that a call may have in a world."""
    conversation = world.conversations[call.conversation_id]
    key = world.keys.get(call.key) if call.channel == "archive" else None
    if not call.caller.scoped:
        replayed = key is not None and key.applied and key.attempt == call.attempt
        requirement = "REPLAY-SCOPE-CHECKED" if replayed else "AUTH-SCOPE-MISSING"
        return _refusal("a call without the scope", frozenset({"forbidden"}), requirement)
    if call.channel != "archive":
        return _allowed_read(conversation, call)
    if key is not None and key.applied:
        return _allowed_replay(world, conversation, call, key)
    fresh = _allowed_archive(world, conversation, call)
    if key is not None:
        bound = ("OPEN-REFUSED-KEY", "free", "bound")
        return replace(fresh, kinds=fresh.kinds | CONFLICT | key.kinds, freedom=bound if not fresh.kinds else None)
    return fresh


def _refusal(what: str, kinds: Kinds, on_success: str, on_kind: str = "") -> Allowed:
    return Allowed(what, None, kinds, on_success, on_kind=on_kind or on_success)


def _allowed_read(conversation: Conversation, call: ModelCall) -> Allowed:
    if call.caller.person != conversation.owner:
        return _refusal("a read of another person's conversation", UNKNOWN, "PRIVACY-OTHER-USER", "READ-UNKNOWN-ID")
    if call.channel == "status":
        kind = conversation.run(call.arguments["run_id"]).value["request_kind"]
        if kind != "sentiment":
            freedom = ("OPEN-STATUS-RUN-KIND", "any kind", "sentiment only")
            return Allowed("a read of a run's status by its owner", "show", ANY, freedom=freedom)
        if conversation.reasons:
            # What is gone has a status as long as the conversation is shown; whether it can be asked for by itself
            # is nowhere said.
            return Allowed("a read of a run's status by its owner", "show", ANY)
    reason = conversation.reasons[0] if conversation.reasons else ""
    on_refusal = {
        "": "READ-AVAILABLE" if call.caller.token == "first" else "READ-OTHER-TOKEN",  # noqa: S105 - a label
        "archived": "ARCHIVE-READ-BACK",
        "expired": "EXPIRY-AVAILABILITY",
        "access_changed": "ACCESS-WITHDRAWN-AVAILABILITY",
        "source_unavailable": "ACCESS-SOURCE-AVAILABILITY",
    }[reason]
    return Allowed("a read by the owner", "show", on_refusal=on_refusal)


def _allowed_replay(world: World, conversation: Conversation, call: ModelCall, key: Key) -> Allowed:
    if key.attempt != call.attempt:
        target = _allowed_archive(world, conversation, call)
        kinds = CONFLICT | target.kinds
        what = "a used mutation id with other arguments"
        return _refusal(what, kinds, "REPLAY-OTHER-ARGUMENTS-REFUSED", "REPLAY-CONFLICT-KIND")
    if conversation.expired:
        return Allowed("a replay after expiry", "replay", ANY, freedom=_choice("OPEN-REPLAY-EXPIRED"))
    if conversation.withheld or conversation.formerly:
        return Allowed("a replay of what is withheld", "replay", ANY, freedom=_choice("OPEN-REPLAY-WITHHELD"))
    on_refusal = "REPLAY-SAME-RESULT"
    if call.caller.token != key.token:
        on_refusal = "REPLAY-OTHER-TOKEN"
    elif world.restarts > key.restarts:
        on_refusal = "REPLAY-AFTER-RESTART"
    elif conversation.now > key.at:
        on_refusal = "REPLAY-AFTER-TIME"
    return Allowed("a replay", "replay", NOTHING if key.result else IN_PROGRESS, on_refusal=on_refusal,
                   on_kind=on_refusal)  # fmt: skip


def _choice(freedom: str) -> tuple[str, str, str]:
    return freedom, "success without text" if "REPLAY" in freedom else "success", "error"


def _allowed_archive(world: World, conversation: Conversation, call: ModelCall) -> Allowed:
    """Return what an archive under a mutation id that is free may come to."""
    used_by_others = any(key[1] == call.key[1] and key[0] != call.key[0] for key in world.keys)
    if call.caller.person != conversation.owner:
        requirement = "REPLAY-OTHER-USER-UNANSWERED" if used_by_others else "ARCHIVE-OTHER-USER"
        return _refusal("an archive of another person's conversation", UNKNOWN, requirement, "ARCHIVE-OTHER-USER")
    expected = call.attempt[2]
    wrong = expected < conversation.revision or (not conversation.growth and expected > conversation.revision)
    if conversation.expired or conversation.withheld or conversation.formerly:
        return _allowed_archive_of_gone(conversation, expected, wrong=wrong)
    if wrong:
        return _conflict(conversation, expected)
    if conversation.archived:
        freedom = ("OPEN-SECOND-ARCHIVE", "no-op success", "conflict")
        return Allowed("a second archive", "accept", CONFLICT, on_kind="REVISION-CONFLICT-KIND", freedom=freedom)
    if conversation.growth:
        return Allowed(MAY_BE_CURRENT, "apply", CONFLICT, on_kind="REVISION-CONFLICT-KIND")
    on_refusal = "REPLAY-OTHER-USER-UNBLOCKED" if used_by_others else "ARCHIVE-ACCEPTED"
    if not used_by_others and "REVISION-CONFLICT-UNCHANGED" in conversation.causes:
        on_refusal = "REVISION-CURRENT-AFTER-CONFLICT"
    return Allowed("an archive with the current revision", "apply", on_refusal=on_refusal, on_kind="ARCHIVE-ACCEPTED")


def _allowed_archive_of_gone(conversation: Conversation, expected: int, *, wrong: bool) -> Allowed:
    """Return what an archive may come to once the content is expired or withheld, or may have stayed withheld."""
    # A refusal for a revision that may be stale is no choice.
    may_conflict = wrong or bool(conversation.growth - {"OPEN-EXPIRY-REVISION"})
    if conversation.expired:
        freedom = None if may_conflict else _choice("OPEN-ARCHIVE-EXPIRED")
        return Allowed("an archive after expiry", "accept", ANY, freedom=freedom)
    if wrong and not conversation.archived:
        # It would be applied, and be seen to be once access is granted again.
        return replace(_conflict(conversation, expected), kinds=ANY)
    freedom = _choice("OPEN-ARCHIVE-WITHHELD") if conversation.withheld and not may_conflict else None
    reading: Reading = "accept" if conversation.archived else "apply"
    return Allowed("an archive of what is or was withheld", reading, ANY, freedom=freedom)


def _conflict(conversation: Conversation, expected: int) -> Allowed:
    stale = expected < conversation.revision
    what = f"an archive with a revision that is {'older than' if stale else 'ahead of'} the current one"
    requirement = "REVISION-STALE-REFUSED" if stale else "REVISION-AHEAD-REFUSED"
    return _refusal(what, CONFLICT, requirement, "REVISION-CONFLICT-KIND")
