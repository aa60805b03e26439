"""Finds out what answers at an address: JSON over HTTP, MCP or neither, and below which path; for ``init``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from conformance.contract import Contract
from conformance.control.http import HttpControl
from conformance.control.interface import Capabilities, ControlFailed
from conformance.errors import CouldNotRun, UsageProblem
from conformance.preflight import preflight
from conformance.requirements import load_registry
from conformance.session import RunSettings, Session
from conformance.target import Secret, Target, TransportName
from conformance.transport.exchange import Credential
from conformance.transport.mcp.transport import McpTransport
from conformance.transport.wire import Origin, WireLimits

_PREFIXES: Final = ("", "/api", "/mcp", "/api/mcp")
_LIMITS: Final = WireLimits(seconds=5.0)
_NOBODY: Final = Credential("nobody", None)


@dataclass(frozen=True)
class Found:
    """What was found: addresses by transport, and in words why nothing was, where nothing was.

    ``capabilities`` are those of test control, ``None`` where there is none or it does not answer.
    """

    addresses: dict[TransportName, str] = field(default_factory=dict)
    problem: str = ""
    capabilities: Capabilities | None = None
    control_problem: str = ""


class Probe:
    """Tries addresses, as a person of test control where there is one, else with the reader's token, else as nobody."""

    def __init__(
        self, contract: Contract, control_url: str, control_token: str | None, tokens: dict[str, Secret]
    ) -> None:
        """``tokens`` by role; those that cannot be read are left aside."""
        self._contract = contract
        self._registry = load_registry(contract)
        self._tokens = {role: secret for role, secret in tokens.items() if _can_be_read(secret)}
        self._control = HttpControl(control_url, control_token) if control_url else None

    def url(self, url: str, seed: int) -> Found:
        """Try the address itself, then usual paths of the same server, for each transport over HTTP."""
        found = self._of_control()
        control = self._control if found.capabilities is not None else None
        addresses: dict[TransportName, str] = {}
        problem = ""
        for candidate in candidates(url):
            for transport in ("rest", "mcp-http"):
                if transport in addresses:
                    continue
                told = self._try(Target(transport, url=candidate, tokens=self._tokens, limits=_LIMITS), control, seed)
                if not told:
                    addresses[transport] = candidate
                problem = problem or told
            if not addresses and problem.startswith("no usable answer"):
                # Nobody listens there, so other paths are not worth the time.
                break
        return replace(found, addresses=addresses, problem="" if addresses else problem)

    def command(self, command: str, seed: int) -> Found:
        """Start the command as a child and see whether it speaks MCP."""
        found = self._of_control()
        control = self._control if found.capabilities is not None else None
        problem = self._try(Target("mcp-stdio", command=command, tokens=self._tokens, limits=_LIMITS), control, seed)
        return replace(found, addresses={} if problem else {"mcp-stdio": command}, problem=problem)

    def close(self) -> None:
        """Close connections."""
        if self._control is not None:
            self._control.close()

    def _of_control(self) -> Found:
        if self._control is None:
            return Found()
        try:
            return Found(capabilities=self._control.capabilities())
        except ControlFailed as problem:
            return Found(control_problem=problem.what)

    def _try(self, target: Target, control: HttpControl | None, seed: int) -> str:
        """Return why the target is not this API over its transport, or an empty string."""
        try:
            session = Session(self._contract, self._registry, target, RunSettings(seed, "quick"), control)
            try:
                preflight(session)
                return (
                    "" if _is_certain(session) else f"{target.url} lets nobody in, and paths that do not exist neither"
                )
            finally:
                session.close()
        except ControlFailed:
            # Test control that makes no people does not keep the target from being found.
            return self._try(target, None, seed)
        except (CouldNotRun, UsageProblem) as problem:
            return problem.what


def candidates(url: str) -> Iterator[str]:
    """Yield the address, then addresses on the same server where the API is often found, each once."""
    origin = Origin.parse(url, "--url")
    root = replace(origin, prefix="")
    seen = set()
    for prefix in (origin.prefix, f"{origin.prefix}/mcp", *_PREFIXES):
        candidate = replace(root, prefix=prefix).url
        if candidate not in seen:
            seen.add(candidate)
            yield candidate


def _is_certain(session: Session) -> bool:
    """Tell whether an address is one of the API, where a server may just refuse nobody in particular everywhere."""
    transport = session.transport
    if session.stage.lacks(("token",)) is None:
        return True
    if isinstance(transport, McpTransport):
        if transport.revision is not None:
            return True
        elsewhere = replace(session.target, url=f"{session.target.url}-which-does-not-exist")
        # A refusal at any path says nothing about this one.
        return session.target.url.endswith("/mcp") or not _refuses(session, elsewhere)
    return True


def _refuses(session: Session, target: Target) -> bool:
    other = Session(session.contract, session.registry, target, session.settings, None)
    try:
        preflight(other)
    except CouldNotRun:
        return False
    else:
        return True
    finally:
        other.close()


def _can_be_read(secret: Secret) -> bool:
    try:
        secret.read()
    except UsageProblem:
        return False
    return True
