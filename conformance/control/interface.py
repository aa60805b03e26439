"""What the suite asks of a target's test control, whoever offers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from conformance.errors import CouldNotRun
from conformance.transport.exchange import Credential, is_token

INTERFACE_VERSION = 1

CAPABILITIES = ("principals", "tokens", "seed", "clock", "access", "worker", "restart", "reset")

AccessState = Literal["granted", "access_changed", "source_unavailable"]


@dataclass
class ControlFailed(CouldNotRun):
    """A test-control call did not do what it was asked; this says nothing about the target's conformance."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A person who calls the target: the id that test control gave, and one of the person's tokens."""

    principal_id: str
    token: str
    scopes: tuple[str, ...]
    workspace_ids: tuple[str, ...]
    label: str = "owner"

    @property
    def credential(self) -> Credential:
        """The bearer credential of this token."""
        return Credential.bearer(self.label, self.token)


@dataclass(frozen=True)
class Capabilities:
    """What a test control offers."""

    names: frozenset[str]
    clock_scope: Literal["workspace", "global"] = "workspace"


class TestControl(Protocol):
    """The test-control operations. Each raises ``ControlFailed`` when it could not be carried out."""

    def capabilities(self) -> Capabilities:
        """Say what is offered."""

    def create_principal(self, scopes: tuple[str, ...], workspace_ids: tuple[str, ...], label: str) -> Principal:
        """Create a person with one token of these scopes, a member of these workspaces."""

    def create_token(self, principal: Principal, scopes: tuple[str, ...]) -> Principal:
        """Give the person a further token with these scopes."""

    def seed_conversation(self, principal: Principal, conversation: Any, messages: Any, runs: Any) -> Mapping[str, str]:
        """Store a conversation owned by the person; return the ids that were changed, given to actual."""

    def read_clock(self, workspace_id: str) -> str:
        """Return the target's time for the workspace as a date-time."""

    def set_clock(self, workspace_id: str, now: str) -> None:
        """Make the target's clock stand still at ``now`` for the workspace."""

    def release_clock(self, workspace_id: str) -> None:
        """Return the workspace to real time."""

    def set_access(self, conversation_id: str, state: AccessState) -> None:
        """Grant or withdraw the owner's access to the conversation or its source."""

    def deliver_result(self, run_id: str, answer: Any, model_id: str | None, model_version: str | None) -> None:
        """Let the analysis worker deliver a result now."""

    def restart(self) -> None:
        """Restart the target on its stored state and return once it answers again."""

    def reset(self) -> None:
        """Drop all seeded data."""


def read_capabilities(document: Any, where: str) -> Capabilities:
    """Check what a test control says of itself.

    Raises:
        ControlFailed: it is not what the interface asks for.
    """
    remedy = "See 'test control' in the target interface."
    if not isinstance(document, dict) or document.get("interface") != INTERFACE_VERSION:
        raise ControlFailed(
            f"{where} does not speak test-control interface {INTERFACE_VERSION} (capabilities: {document!r:.120})",
            remedy,
        )
    names = document.get("capabilities")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ControlFailed(f"{where} gives no list of capabilities ({names!r:.120})", remedy)
    scope = document.get("clock_scope", "workspace")
    if scope not in ("workspace", "global"):
        raise ControlFailed(f"{where} gives the clock scope {scope!r:.60}", remedy)
    return Capabilities(frozenset(names), scope)


def read_principal(
    document: Any, where: str, scopes: tuple[str, ...], workspace_ids: tuple[str, ...], label: str
) -> Principal:
    """Check what a test control returns for a new principal.

    Raises:
        ControlFailed: no id or no token in it.
    """
    principal_id = document.get("principal_id") if isinstance(document, dict) else None
    token = document.get("token") if isinstance(document, dict) else None
    if not isinstance(principal_id, str) or not isinstance(token, str) or not is_token(token):
        raise ControlFailed(f"{where} gave no principal_id and token", "See 'test control' in the target interface.")
    return Principal(principal_id, token, scopes, workspace_ids, label)
