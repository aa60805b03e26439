"""Where checks act: principals and conversations, however the target lets them come about.

Three tiers: *control* (everything can be made), *manifest* (the vendor prepared some by hand) and *bare* (an address
and a token). A check asks for a scene and says what it needs; what a tier cannot give is not assessed.
"""

from __future__ import annotations

import copy
import random
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from conformance.cases.conversations import Document, Plan, RunPlan, compose, lowest_number
from conformance.cases.sample import sample
from conformance.cases.texts import UTC_MILLISECONDS, timestamp
from conformance.clock import Clock
from conformance.contract import Contract, Operation
from conformance.control.interface import Capabilities, ControlFailed, Principal, TestControl
from conformance.errors import SuiteFault
from conformance.judge.formats import parse_instant
from conformance.people import LentPeople
from conformance.target import PreparedConversation, Target, Tier
from conformance.transport.exchange import Credential

_OF_CONTROL: Mapping[str, frozenset[str]] = {
    "conversation": frozenset({"principals", "seed"}),
    "seed": frozenset({"principals", "seed"}),
    "second principal": frozenset({"principals"}),
    "tokens": frozenset({"principals", "tokens"}),
    "scope": frozenset({"principals"}),
    "clock": frozenset({"clock"}),
    "access": frozenset({"access"}),
    "worker": frozenset({"worker"}),
    "restart": frozenset({"restart"}),
}
"""The capabilities of test control that each need comes down to."""

_NAMES = {"second principal": "token of another user", "scope": "token without the scope", "token": "token"}

_SKEW = 1000
"""Milliseconds by which seeded conversations stay behind the target's clock, which is read over a network."""


_SPARE = 5 * 60 * 1000
"""Milliseconds that a conversation which checks share has left at least when one of them begins."""


@dataclass
class Scene:
    """A principal and, where the tier has one, a conversation that the principal may read.

    ``known`` says that the conversation exists, ``readable`` that the principal's token has the scope to read it.
    ``document`` is what was seeded, with the ids that the target gave it; ``snapshot`` the first *get* of it.
    """

    principal: Principal
    workspace_id: str
    conversation_id: str
    run_ids: tuple[str, ...]
    revision: int
    known: bool
    readable: bool = True
    document: Document | None = None
    snapshot: Any = None
    rng: random.Random = field(default_factory=random.Random)

    def arguments(self, operation: Operation, run_id: str | None = None) -> dict[str, Any]:
        """Return valid arguments for the operation that point into this scene, with a fresh mutation id."""
        unbound = operation.input_schema["properties"].keys() - operation.bindings.keys()
        arguments: dict[str, Any] = sample(operation.input_schema) if unbound else {}
        for name, source in operation.bindings.items():
            arguments[name] = self._bound(source, run_id)
        return arguments

    def _bound(self, source: str, run_id: str | None) -> Any:
        if source == "fresh uuid":
            return fresh_uuid(self.rng)
        if source == "run.id":
            return run_id or (self.run_ids[0] if self.run_ids else fresh_uuid(self.rng))
        sources = {
            "conversation.id": self.conversation_id,
            "conversation.workspace_id": self.workspace_id,
            "conversation.revision": self.revision,
        }
        if source not in sources:
            raise SuiteFault(f"an operation binds a field to {source!r}, which no scene has")
        return sources[source]


def fresh_uuid(rng: random.Random) -> str:
    """Return a random version 4 UUID."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def plain_document(rng: random.Random, now: int) -> Document:
    """Return a small conversation at revision 1, which is what a lax reading of ``true``, ``"1"`` or 1.5 arrives at."""
    return compose(rng, now, Plan(runs=rng.choice(_PLAIN_RUNS), numbers=lowest_number))


_PLAIN_RUNS = (
    (RunPlan(kind="sentiment", question=True),),
    (RunPlan(kind="sentiment", question=True), RunPlan("processing", "themes", question=True)),
    (RunPlan("queued", "sentiment", question=True), RunPlan("failed", question=True)),
)
"""Small choices of runs. The first is a sentiment run, since *status* may insist on one."""


class Stage:
    """Makes scenes on one target."""

    def __init__(
        self,
        contract: Contract,
        target: Target,
        control: TestControl | None,
        capabilities: Capabilities,
        rng: random.Random,
        *,
        shared_with_workers: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._contract = contract
        self._target = target
        self._control = control
        self.capabilities = capabilities
        self._shared_with_workers = shared_with_workers
        self._clock = clock or Clock()
        self._clock_offset: float | None = None
        # A workspace that nobody has, for asking what time it is.
        self._nowhere = fresh_uuid(rng)
        self._frozen: dict[str, int] = {}
        self._populated: set[str] = set()
        self._homes: dict[str, str] = {}
        self._tokens: dict[tuple[str, tuple[str, ...]], Principal] = {}
        # Over MCP each person has a session or a child process.
        over_mcp = any(each != "rest" for each in (target.transport, *(entry.transport for entry in target.also)))
        lends = over_mcp and {"principals", "seed"} <= capabilities.names
        self._people = LentPeople(self._create_member, rng) if lends else None
        self._first_members: dict[str, Principal] = {}
        self._standing: int | None = None

    @property
    def tier(self) -> Tier:
        """The tier that the target allows."""
        if self._control is not None:
            return "control"
        return "manifest" if self._target.manifest else "bare"

    @property
    def control(self) -> TestControl:
        """The test control of the control tier."""
        if self._control is None:
            raise SuiteFault("a check used test control without saying that it needs it")
        return self._control

    @property
    def scope(self) -> str:
        """The scope that the contract's operations ask for."""
        return self._contract.operations[0].scope

    def _create_member(self, workspace_ids: tuple[str, ...], label: str) -> Principal:
        return self.control.create_principal((self.scope,), workspace_ids, label)

    def workspaces(self, rng: random.Random, count: int) -> tuple[str, ...]:
        """Return the ids of workspaces for an example that makes its people itself; they may have the same people."""
        return self._people.workspaces(count) if self._people else tuple(fresh_uuid(rng) for _ in range(count))

    def elsewhere(self, rng: random.Random) -> str:
        """Return the id of a workspace of strangers: nobody in it is in a workspace of the example beside them."""
        return self._people.workspaces(1, "strangers")[0] if self._people else fresh_uuid(rng)

    def token(self, principal: Principal, scopes: tuple[str, ...], label: str) -> Principal:
        """Return the person with a further token of these scopes; one is enough, however often it is asked for."""
        key = (principal.principal_id, scopes)
        if key not in self._tokens:
            self._tokens[key] = self.control.create_token(principal, scopes)
        return replace(self._tokens[key], label=label, workspace_ids=principal.workspace_ids)

    def _home(self, workspace_id: str) -> str:
        """Return the workspace that stands for one of that id: where people are lent, one of theirs."""
        if self._people is None or self._people.has(workspace_id) or workspace_id in self._populated:
            return workspace_id
        if workspace_id not in self._homes:
            (self._homes[workspace_id],) = self._people.workspaces(1)
        return self._homes[workspace_id]

    def lacks(self, needs: Iterable[str]) -> str | None:
        """Return why a check with these needs cannot be carried out here, or ``None``."""
        for need in needs:
            if need == "second transport":
                if not self._target.also:
                    return "the target file names one transport; further ones belong under [target.also]"
                continue
            reason = self._lacks_of_control(need) if self._control else self._lacks_without_control(need)
            if reason:
                return reason
        return None

    def _lacks_of_control(self, need: str) -> str | None:
        if need == "token":
            need = "scope"
        if need == "own clock":
            if self.has_one_clock:
                return "the target's clock is global: no workspace can be in another year than the rest"
            need = "clock"
        if need in ("disposable", "expired", "foreign"):
            return "for conversations prepared by hand; test control makes them itself"
        if need == "restart" and self._shared_with_workers:
            return "a restart would cut the calls of the other workers: run without -n"
        missing = sorted(_OF_CONTROL[need] - self.capabilities.names)
        return f"test control lacks the capability {', '.join(missing)}" if missing else None

    def _lacks_without_control(self, need: str) -> str | None:
        manifest, tokens = self._target.manifest, self._target.tokens
        prepared = {
            "conversation": manifest and manifest.readable,
            "disposable": manifest and manifest.disposable,
            "expired": manifest and manifest.expired,
            "foreign": manifest and manifest.foreign,
            "second principal": tokens.get("other_user"),
            "scope": tokens.get("without_scope"),
            "token": tokens.get("reader"),
        }
        if need in prepared:
            missing = {
                "conversation": "readable conversation",
                "second principal": "token of another user",
                "scope": "token without the scope",
                "token": "token",
            }
            return None if prepared[need] else f"the target gives no {missing.get(need, f'{need} conversation')}"
        return f"needs test control ({', '.join(sorted(_OF_CONTROL.get(need, {'clock'})))})"

    def now(self) -> int:
        """Return the target's time in milliseconds since 1970, as its own clock has it where that can be read."""
        if self._standing is not None:
            return self._standing - _SKEW
        if self._clock_offset is None:
            self._clock_offset = 0.0
            if self._control is not None and "clock" in self.capabilities.names:
                self._clock_offset = self._read_offset()
        return int((self._clock.now() + self._clock_offset) * 1000) - _SKEW

    def _read_offset(self) -> float:
        """Return how many seconds the target's clock is ahead of ours; none where it tells no workspace's time yet."""
        try:
            now = parse_instant(self.control.read_clock(self._nowhere))
        except ControlFailed:
            # A test control may know no clock of a workspace without people.
            return 0.0
        return float(now) - self._clock.now()

    def set_clock(self, workspace_id: str, now: int) -> None:
        """Make the target's clock stand still for the workspace at ``now``, milliseconds since 1970.

        A workspace comes into being with its first member, so the one who is to own its conversation comes first.
        """
        workspace_id = self._home(workspace_id)
        has_people = self._people is not None or workspace_id in self._populated
        if not has_people and {"principals", "seed"} <= self.capabilities.names:
            self._first_members[workspace_id] = self.control.create_principal((self.scope,), (workspace_id,), "owner")
            self._populated.add(workspace_id)
        self.control.set_clock(workspace_id, timestamp(now, UTC_MILLISECONDS))
        self._frozen[workspace_id] = now
        if self.capabilities.clock_scope == "global":
            self._standing = now

    def clock_of(self, scene: Scene) -> int:
        """Return the target's time in the scene's workspace, as the suite has it, in milliseconds since 1970."""
        return self._frozen.get(scene.workspace_id, self.now())

    @property
    def has_one_clock(self) -> bool:
        """Whether the target's clock can be set, and then for all workspaces at once."""
        return "clock" in self.capabilities.names and self.capabilities.clock_scope == "global"

    def is_soon_past(self, scene: Scene) -> bool:
        """Tell whether a seeded conversation has expired, or may do so within the next minutes."""
        if scene.document is None:
            return False
        expires = parse_instant(scene.document.conversation["expires_at"]) * 1000
        return expires <= self.clock_of(scene) + _SPARE

    def principal(
        self, rng: random.Random, *, scopes: tuple[str, ...] | None = None, workspace_ids: tuple[str, ...] = (),
        label: str = "owner",
    ) -> Principal:  # fmt: skip
        """Return a principal: a new one in the control tier, else the holder of the target's own token."""
        if self._control is not None and "principals" in self.capabilities.names:
            present = self._present(workspace_ids, label) if scopes is None else None
            if present is not None:
                return present
            self._populated.update(workspace_ids)
            scopes = (self.scope,) if scopes is None else scopes
            return self._control.create_principal(scopes, workspace_ids or (fresh_uuid(rng),), label)
        role = {"owner": "reader", "other user": "other_user", "without scope": "without_scope"}[label]
        secret = self._target.tokens.get(role)
        token = secret.read() if secret else ""
        return Principal("", token, scopes or (self.scope,), workspace_ids, label)

    def _present(self, workspace_ids: tuple[str, ...], label: str) -> Principal | None:
        """Return somebody who has the contract's scope in that one workspace and no part in an example yet."""
        if len(workspace_ids) == 1 and workspace_ids[0] in self._first_members:
            return replace(self._first_members.pop(workspace_ids[0]), label=label)
        if self._people is None:
            return None
        # Who belongs nowhere in particular is nobody's neighbour.
        return self._people.member(workspace_ids or self._people.workspaces(1, "strangers"), label)

    def with_scopes(self, scene: Scene, scopes: tuple[str, ...]) -> tuple[Scene, Credential]:
        """Return a scene and a credential of its owner that has other scopes than the contract's.

        Without the capability ``tokens`` nobody has two tokens: then a person with these scopes alone owns another
        conversation, which nobody can read back.
        """
        label = f"owner with scopes [{', '.join(scopes)}]"
        if self._control is None:
            return scene, self.principal(scene.rng, label="without scope").credential
        if "tokens" in self.capabilities.names:
            return scene, self.token(scene.principal, scopes, label).credential
        document = plain_document(scene.rng, self.now())
        owner = self.principal(scene.rng, scopes=scopes, workspace_ids=(document.workspace_id,), label=label)
        return replace(self.seeded(scene.rng, document, owner), readable=False), owner.credential

    def scene(self, rng: random.Random, document: Document | None = None) -> Scene:
        """Return a scene: a freshly seeded conversation, a prepared one, or ids that nobody knows."""
        if self._control is not None and self.lacks(("seed",)) is None:
            return self.seeded(rng, document or plain_document(rng, self.now()))
        manifest = self._target.manifest
        if self._control is None and manifest and manifest.readable:
            return self._prepared(rng, manifest.readable[0])
        return Scene(self.principal(rng), fresh_uuid(rng), fresh_uuid(rng), (fresh_uuid(rng),), 1, known=False, rng=rng)

    def readable_scenes(self, rng: random.Random) -> Iterator[Scene]:
        """Yield a scene for every conversation that the vendor prepared for reading, or one that is seeded now."""
        manifest = self._target.manifest
        if self._control is not None or not manifest:
            yield self.scene(rng)
            return
        for prepared in manifest.readable:
            yield self._prepared(rng, prepared)

    def prepared_scenes(self, rng: random.Random, role: Literal["disposable", "expired", "foreign"]) -> Iterator[Scene]:
        """Yield a scene, of the reader, for every conversation that the vendor prepared for that role."""
        for prepared in getattr(self._target.manifest, role, ()):
            yield self._prepared(rng, prepared)

    def _prepared(self, rng: random.Random, prepared: PreparedConversation) -> Scene:
        return Scene(
            principal=self.principal(rng),
            workspace_id=prepared.workspace_id,
            conversation_id=prepared.conversation_id,
            # A sentiment run first, since *status* may insist on one.
            run_ids=tuple(run.run_id for run in sorted(prepared.runs, key=lambda run: run.request_kind != "sentiment")),
            revision=1,
            known=True,
            rng=rng,
        )

    def seeded(self, rng: random.Random, document: Document, principal: Principal | None = None) -> Scene:
        """Store ``document`` through test control and return its scene, the owner in it."""
        workspace_id = self._home(document.workspace_id)
        if workspace_id != document.workspace_id:
            document = with_ids(document, {document.workspace_id: workspace_id})
        owner = principal or self.principal(rng, workspace_ids=(workspace_id,))
        self._populated.add(workspace_id)
        changed = self.control.seed_conversation(owner, document.conversation, document.messages, document.runs)
        stored = with_ids(document, changed) if changed else document
        return Scene(
            principal=owner,
            workspace_id=stored.conversation["workspace_id"],
            conversation_id=stored.conversation["id"],
            run_ids=tuple(run["id"] for run in stored.runs),
            revision=stored.conversation["revision"],
            known=True,
            document=stored,
            rng=rng,
        )


def with_ids(document: Document, changed: Mapping[str, str]) -> Document:
    """Return the document with the ids that a target gave instead of those it was given."""
    parts = (document.conversation, document.messages, document.runs)
    return Document(*(_renamed(part, changed) for part in copy.deepcopy(parts)))


def _renamed(value: Any, changed: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _renamed(item, changed) for name, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, changed) for item in value]
    return changed.get(value, value) if isinstance(value, str) else value
