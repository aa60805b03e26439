"""Where checks act: what each tier can give, and what it says of what it cannot."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from made_answers import ARCHIVE, CONTRACT, GET, STATUS

from conformance.cases.conversations import Document
from conformance.control.interface import AccessState, Capabilities, Principal
from conformance.errors import SuiteFault, UsageProblem
from conformance.stage import Scene, Stage, fresh_uuid, plain_document, with_ids
from conformance.target import Manifest, PreparedConversation, PreparedRun, Secret, Target

ALL = frozenset({"principals", "tokens", "seed", "clock", "access", "worker", "restart", "reset"})
NOW = 1_800_000_000_000


class FakeControl:
    """Test control in memory, which may give other ids than it was given."""

    def __init__(self, names: frozenset[str] = ALL, ids: Mapping[str, str] | None = None) -> None:
        self.names = names
        self.ids = ids or {}
        self.seeded: list[Any] = []
        self.people = 0

    def capabilities(self) -> Capabilities:
        """Say what is offered."""
        return Capabilities(self.names)

    def create_principal(self, scopes: tuple[str, ...], workspace_ids: tuple[str, ...], label: str) -> Principal:
        """Make a person."""
        self.people += 1
        return Principal("p" if self.people == 1 else f"p{self.people}", "token", scopes, workspace_ids, label)

    def create_token(self, principal: Principal, scopes: tuple[str, ...]) -> Principal:
        """Give a further token."""
        return Principal(principal.principal_id, "other", scopes, principal.workspace_ids)

    def seed_conversation(self, principal: Principal, conversation: Any, messages: Any, runs: Any) -> Mapping[str, str]:
        """Remember what is stored."""
        self.seeded.append((principal, conversation, messages, runs))
        return self.ids

    def read_clock(self, workspace_id: str) -> str:
        """A day of the year 2100."""
        assert uuid.UUID(workspace_id)
        return "2100-01-01T00:00:00Z"

    def set_clock(self, workspace_id: str, now: str) -> None:
        """Do nothing."""

    def release_clock(self, workspace_id: str) -> None:
        """Do nothing."""

    def set_access(self, conversation_id: str, state: AccessState) -> None:
        """Do nothing."""

    def deliver_result(self, run_id: str, answer: Any, model_id: str | None, model_version: str | None) -> None:
        """Do nothing."""

    def restart(self) -> None:
        """Do nothing."""

    def reset(self) -> None:
        """Do nothing."""


def rng() -> random.Random:
    """Return random numbers that repeat."""
    return random.Random(7)  # noqa: S311 - test data


def stage(target: Target | None = None, control: FakeControl | None = None) -> Stage:
    """Return a stage on a target."""
    capabilities = control.capabilities() if control else Capabilities(frozenset())
    return Stage(CONTRACT, target or Target("rest", url="http://h"), control, capabilities, rng())


READABLE = PreparedConversation("w-1", "c-1", (PreparedRun("r-1", "sentiment", "completed"), PreparedRun("r-2")))
LENT = Target("rest", url="http://h", manifest=Manifest(readable=(READABLE,)))


def test_the_tier_is_what_the_target_allows() -> None:
    """Test control before a manifest before nothing."""
    assert ["control", "control", "manifest", "bare"] == [
        stage(control=FakeControl()).tier,
        stage(LENT, FakeControl()).tier,
        stage(LENT).tier,
        stage().tier,
    ]


def test_a_full_test_control_lacks_nothing() -> None:
    """But conversations prepared by hand, which it does not need."""
    every = stage(control=FakeControl())
    needs = ("token", "conversation", "seed", "second principal", "tokens", "scope", "clock", "access",
             "worker", "restart")  # fmt: skip
    assert None is every.lacks(needs)
    assert every.lacks(("expired",))


def test_what_a_test_control_does_not_offer_is_named() -> None:
    """By the capability that is missing."""
    without = stage(control=FakeControl(frozenset({"principals", "seed"})))
    assert None is without.lacks(("token", "seed", "second principal", "scope"))
    assert "test control lacks the capability clock" == without.lacks(("seed", "clock"))
    nothing = stage(control=FakeControl(frozenset()))
    assert "test control lacks the capability principals, seed" == nothing.lacks(("conversation",))
    assert "test control lacks the capability principals" == nothing.lacks(("token",))


def test_what_a_bare_target_does_not_give_is_named() -> None:
    """In words that say what to add."""
    bare = stage()
    assert "the target gives no token" == bare.lacks(("token",))
    assert "the target gives no readable conversation" in str(bare.lacks(("conversation",))).replace(
        "no conversation", "no readable conversation"
    )
    assert "needs test control (clock)" == bare.lacks(("clock",))
    assert "needs test control (principals, seed)" == bare.lacks(("seed",))
    with_token = stage(Target("rest", url="http://h", tokens={"reader": Secret("env", "X")}))
    assert None is with_token.lacks(("token",))
    assert "the target gives no token of another user" == with_token.lacks(("token", "second principal"))
    assert "the target gives no token without the scope" == with_token.lacks(("scope",))


def test_a_manifest_gives_what_it_names() -> None:
    """A conversation that can be read, and none that has expired."""
    assert None is stage(LENT).lacks(("conversation",))
    assert "the target gives no expired conversation" == stage(LENT).lacks(("expired",))


def test_a_bare_scene_has_ids_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder of the target's token, random UUIDs of version 4, and the same ones for the same seed."""
    monkeypatch.setenv("ACME", "abc")
    bare = stage(Target("rest", url="http://h", tokens={"reader": Secret("env", "ACME")}))
    scene = bare.scene(rng())
    assert ("Bearer abc", False) == (scene.principal.credential.header, scene.known)
    for identifier in (scene.workspace_id, scene.conversation_id, *scene.run_ids):
        assert 4 == uuid.UUID(identifier).version
    again = bare.scene(rng())
    assert (scene.workspace_id, scene.conversation_id) == (again.workspace_id, again.conversation_id)


def test_a_scene_of_a_manifest_is_the_first_readable_conversation() -> None:
    """With its runs."""
    scene = stage(LENT).scene(rng())
    assert ("w-1", "c-1", ("r-1", "r-2"), True) == (
        scene.workspace_id,
        scene.conversation_id,
        scene.run_ids,
        scene.known,
    )


def test_a_token_that_is_missing_is_a_usage_problem() -> None:
    """A variable that the target file names and nobody has set."""
    with pytest.raises(UsageProblem, match="env ACME_UNSET: no token there"):
        stage(Target("rest", url="http://h", tokens={"reader": Secret("env", "ACME_UNSET")})).scene(rng())


def test_a_seeded_scene_is_owned_and_known() -> None:
    """Its owner is a member of the conversation's workspace and has the contract's scope."""
    control = FakeControl()
    scene = stage(control=control).scene(rng())
    assert scene.document is not None
    owner, conversation, messages, runs = control.seeded[0]
    assert (owner, conversation["id"], True) == (scene.principal, scene.conversation_id, scene.known)
    assert ((conversation["workspace_id"],), ("agent:research",)) == (owner.workspace_ids, owner.scopes)
    assert (messages, [run["id"] for run in runs]) == (scene.document.messages, list(scene.run_ids))
    assert 1 == scene.revision


def test_ids_that_the_target_gave_are_used() -> None:
    """Everywhere in the document, and in the arguments of calls."""
    document = plain_document(rng(), NOW)
    given = document.conversation["id"]
    other = fresh_uuid(rng())
    scene = stage(control=FakeControl(ids={given: other})).seeded(rng(), document)
    assert scene.document is not None
    assert given not in str(scene.document)
    assert other == scene.conversation_id == scene.arguments(GET)["conversation_id"]
    assert given == document.conversation["id"]
    assert document == with_ids(document, {})
    assert isinstance(with_ids(document, {given: other}), Document)


def test_arguments_point_into_the_scene() -> None:
    """As the operation's bindings say, with a fresh mutation id each time, and a run of one's choice."""
    scene = Scene(Principal("p", "t", (), ()), "w", "c", ("r", "s"), 7, known=True, rng=rng())
    assert {"workspace_id": "w", "conversation_id": "c"} == scene.arguments(GET)
    assert {"workspace_id": "w", "conversation_id": "c", "run_id": "r"} == scene.arguments(STATUS)
    assert "s" == scene.arguments(STATUS, "s")["run_id"]
    first, second = scene.arguments(ARCHIVE), scene.arguments(ARCHIVE)
    assert 7 == first["expected_revision"]
    assert 4 == uuid.UUID(first["mutation_id"]).version
    assert first["mutation_id"] != second["mutation_id"]


def test_the_time_is_the_targets_own() -> None:
    """Where its clock can be read; so documents are neither expired nor of the future there."""
    of_2100 = 4_102_444_800_000
    assert abs(stage(control=FakeControl()).now() - of_2100) < 60_000
    assert stage(control=FakeControl(frozenset({"seed"}))).now() < of_2100 - 60_000


def test_test_control_must_be_asked_for() -> None:
    """A check that uses it without saying so is a fault of the suite."""
    with pytest.raises(SuiteFault):
        _ = stage().control


def test_over_mcp_people_are_lent() -> None:
    """Examples have workspaces of their own and one owner; others in a workspace are other people."""
    control = FakeControl()
    lending = stage(Target("mcp-http", url="http://h/mcp"), control)
    document = plain_document(rng(), lending.now())
    lending.set_clock(document.workspace_id, lending.now())
    first = lending.seeded(rng(), document)
    second = lending.seeded(rng(), plain_document(random.Random(8), lending.now()))  # noqa: S311 - test data
    stranger = lending.principal(rng(), workspace_ids=(first.workspace_id,), label="other user")
    assert first.principal.principal_id == second.principal.principal_id
    assert first.workspace_id != second.workspace_id
    assert {first.workspace_id, second.workspace_id} <= set(first.principal.workspace_ids)
    assert stranger.principal_id != first.principal.principal_id
    assert first.document is not None
    assert first.workspace_id == first.document.workspace_id
    assert first.workspace_id in lending._frozen
