"""One run's parts, put together: contract, target, transport, test control, judges, seed and profile."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Never
from urllib.parse import urlsplit

from conformance.canaries import CanaryWatch, WatchedControl
from conformance.clock import Clock
from conformance.contract import Contract, Operation
from conformance.control.http import HttpControl
from conformance.control.interface import Capabilities, TestControl
from conformance.errors import CouldNotRun, SuiteFault
from conformance.judge.coverage import Coverage
from conformance.judge.result import ResultJudge
from conformance.judge.schema import SchemaJudge
from conformance.recorded.tape import Tape
from conformance.recorded.transports import recorded_transport
from conformance.report.exchange_log import ExchangeLog
from conformance.requirements import Registry
from conformance.stage import Scene, Stage
from conformance.target import Entry, Target
from conformance.transport.exchange import Answer, Call, Credential, Exchange
from conformance.transport.mcp.answers import McpAnswer
from conformance.transport.mcp.journal import SpokenFrame, Stray
from conformance.transport.mcp.transport import McpTransport
from conformance.transport.opening import AnyTransport, entries, open_transport
from conformance.transport.race import Timed
from conformance.transport.rest import RestTransport
from conformance.transport.wire import Origin, WireFault, connect

PROFILES: Final[Mapping[str, Mapping[str, int]]] = {
    "quick": {"documents": 10, "inputs": 10, "schemathesis": 10, "races": 3, "stories": 5},
    "standard": {"documents": 100, "inputs": 60, "schemathesis": 30, "races": 20, "stories": 30},
    "certify": {"documents": 1000, "inputs": 600, "schemathesis": 100, "races": 100, "stories": 200},
}
"""How many examples of each random kind a profile runs. *quick* also leaves out the cases marked ``thorough``."""

_SILENT_IN_A_ROW: Final = 3
_LIMITED_IN_A_ROW: Final = 30
_SILENT_SECONDS: Final = 60.0
_RECONNECT_SECONDS: Final = 3.0


@dataclass(frozen=True)
class RunSettings:
    """What a run was told beyond the target: the seed and the profile, and which worker this is."""

    seed: int
    profile: str
    worker: str = "main"

    def examples(self, kind: str) -> int:
        """Return how many examples of a kind the profile asks for."""
        return PROFILES[self.profile][kind]


class Session:
    """What checks work with. One per process; with several workers each has its own."""

    def __init__(
        self,
        contract: Contract,
        registry: Registry,
        target: Target,
        settings: RunSettings,
        control: TestControl | None,
        tape: Tape | None = None,
    ) -> None:
        self.contract = contract
        self.clock = tape.clock if tape is not None else Clock()
        self.tape = tape
        self.registry = registry
        self.target = target
        self.settings = settings
        self.exchanges = 0
        self.gone = ""
        self._log: ExchangeLog | None = None
        self._silent_in_a_row = 0
        self._silent_seconds = 0.0
        self._limited_in_a_row = 0
        self._control = control
        capabilities = control.capabilities() if control else Capabilities(frozenset())
        self.canaries = CanaryWatch(contract.operations[0].scope, self.clock)
        watched = WatchedControl(control, self.canaries, capabilities, self._restarted) if control else None
        # The reference server restarts without cutting a call; of another one that cannot be expected.
        shared = settings.worker != "main" and not target.embedded
        people = self.random("people", settings.worker)
        self.stage = Stage(
            contract, target, watched, capabilities, people, shared_with_workers=shared, clock=self.clock
        )
        self._entries: dict[str, Entry] = {entry.transport: entry for entry in entries(target)}
        self._transports: dict[str, AnyTransport] = {}
        self.transport = self.transport_named(target.transport)
        self._kinds_told: set[str] = set()
        self.results = ResultJudge(contract)
        self._inputs: dict[str, SchemaJudge] = {}
        self._coverage: dict[str, Coverage] = {}
        self._shared: dict[str, Scene] = {}
        self._scenes_made = 0
        self.rng = self.random("no case")

    def write_to(self, log: ExchangeLog) -> None:
        """Write down every exchange from now on, those with test control too."""
        self._log = log
        self.clock.note = log.read_clock
        if isinstance(self._control, HttpControl):
            self._control.observe = lambda exchange: log.add(exchange, "control")

    def begin_case(self, name: str) -> None:
        """Give the case that starts now its own random numbers."""
        self.rng = self.random("case", name)
        self._kinds_told = set()
        self.canaries.begin_case()

    def random(self, *names: str) -> random.Random:
        """Return a generator that depends on the seed and the names alone, so that order and workers do not matter."""
        return random.Random("/".join((str(self.settings.seed), *names)))  # noqa: S311 - test data, not secrets

    def input_judge(self, operation: Operation) -> SchemaJudge:
        """Return the judge of an operation's input schema."""
        if operation.name not in self._inputs:
            self._inputs[operation.name] = SchemaJudge(operation.input_schema, f"{operation.name}/input.schema.json")
        return self._inputs[operation.name]

    def coverage(self, operation: Operation) -> Coverage:
        """Return the points of the operation's output schema that results in this process have exercised."""
        if operation.name not in self._coverage:
            self._coverage[operation.name] = Coverage(operation.output_schema, f"{operation.name}/output.schema.json")
        return self._coverage[operation.name]

    def call(
        self, operation: Operation, arguments: bytes, credential: Credential, transport: AnyTransport | None = None
    ) -> Answer:
        """Send one call to the target, over the transport that is tested unless another one is given."""
        with self.canaries.calling():
            answer = (transport or self.transport).call(Call(operation, arguments, credential))
        self.canaries.answered(answer)
        if answer.outcome == "refused" and isinstance(answer, McpAnswer):
            self._kinds_told.add("does not say" if answer.kinds is None else "says it")
        return answer

    @property
    def transport_names(self) -> tuple[str, ...]:
        """The transports over which the target can be reached, the one that is tested first."""
        return tuple(self._entries)

    def transport_named(self, name: str) -> AnyTransport:
        """Return one of the target's transports, opened when it is first asked for."""
        if name not in self._transports:
            entry = self._entries[name]
            self._transports[name] = (
                self._opened(entry)
                if self.tape is None
                else recorded_transport(self.tape, self.target, entry, self._observe, self.canaries.hear)
            )
        return self._transports[name]

    def _opened(self, entry: Entry) -> AnyTransport:
        def listen(credential: Credential, text: bytes) -> None:
            if self._log is not None:
                self._log.heard("stderr", credential.label, text, credential=credential.header)
            self.canaries.hear(credential, text)

        transport = open_transport(self.target, entry, self._observe, listen)
        if isinstance(transport, McpTransport) and transport.name == "mcp-stdio":
            transport.journal.told = self._told
        return transport

    def _told(self, noted: SpokenFrame | Stray) -> None:
        """Write down what a child has said unasked; an answer is in the exchange."""
        if self._log is None:
            return
        if isinstance(noted, Stray):
            self._log.heard("stray", noted.principal, noted.text, reason=noted.reason)
        elif not noted.answers:
            self._log.heard("heard", noted.principal, noted.raw, revision=noted.revision)

    @property
    def mcp_revision(self) -> str:
        """The revision of MCP that is spoken, empty over plain HTTP and before the first contact."""
        return self.transport.revision or "" if isinstance(self.transport, McpTransport) else ""

    @property
    def case_freedoms(self) -> tuple[tuple[str, str], ...]:
        """What the calls of this case have shown of points that the contract leaves open."""
        return tuple(("OPEN-MCP-ERROR-KIND", choice) for choice in sorted(self._kinds_told))

    @property
    def rest(self) -> RestTransport:
        """The transport of a check that is written for plain HTTP alone."""
        if not isinstance(self.transport, RestTransport):
            raise SuiteFault(f"a check of plain HTTP runs over {self.target.transport}")
        return self.transport

    @property
    def mcp(self) -> McpTransport:
        """The transport of a check that is written for MCP alone."""
        if not isinstance(self.transport, McpTransport):
            raise SuiteFault(f"a check of MCP runs over {self.target.transport}")
        return self.transport

    def _restarted(self) -> None:
        """Restart the children too: they are part of the server."""
        for transport in self._transports.values():
            if isinstance(transport, McpTransport):
                transport.restart()

    def shared_scene(self, name: str) -> Scene:
        """Return a scene that checks which change nothing may share; a check that sees it changed drops it."""
        shared = self._shared.get(name)
        # Where the clock is one for all, a check of expiry takes every conversation along.
        if shared is None or self.stage.is_soon_past(shared):
            self._scenes_made += 1
            number = str(self._scenes_made)
            shared = self.stage.scene(self.random("shared scene", self.settings.worker, name, number))
            self._shared[name] = shared
        return shared

    def drop_scene(self, scene: Scene) -> None:
        """Share this scene no longer, because it may not be as it was."""
        self._shared = {name: shared for name, shared in self._shared.items() if shared is not scene}

    def note_dropped(self, exchange: Exchange, sent: bytes, awaits: str) -> None:
        """Take note of a call whose connection the suite itself dropped, after ``sent`` of its body."""
        self.exchanges += 1
        if self._log is not None:
            self._log.add(exchange, dropped={"sent_bytes": len(sent), "awaits": awaits})

    def note_settled(self, texts: Sequence[bytes]) -> None:
        """Take note of what the children had written to stderr."""
        if self._log is not None:
            self._log.settled(texts)

    def note_race(self, clients: Sequence[Sequence[Timed]]) -> None:
        """Take note of the course of a race whose exchanges do not say it themselves."""
        if self._log is not None and any(each.answer.exchange.span is None for client in clients for each in client):
            self._log.race(
                [[(each.answer.exchange, each.called, each.returned) for each in client] for client in clients]
            )

    def note_beside(self, span: tuple[int, int]) -> None:
        """Take note of when what was done beside a race began and ended."""
        if self._log is not None:
            self._log.beside(span)

    def _observe(self, exchange: Exchange) -> None:
        """Count exchanges, and stop the run when the target has plainly stopped answering."""
        self.exchanges += 1
        if self._log is not None:
            self._log.add(exchange)
        self.canaries.look(exchange)
        failure = exchange.failure
        if failure is None:
            self._silent_in_a_row = 0
            self._watch_limit(exchange)
            return
        if exchange.span is not None:
            # A call without an answer is judged as part of its race; it does not show that the target is gone.
            return
        if self.exchanges == 1:
            # The preflight has a better word for a target that was never there.
            return
        if failure.kind == "unreachable":
            self._await_target(failure.message, exchange)
            return
        self._silent_in_a_row += 1
        self._silent_seconds += exchange.elapsed
        if self._silent_in_a_row > _SILENT_IN_A_ROW or self._silent_seconds > _SILENT_SECONDS:
            self._give_up(f"the target at {self.target.address} has stopped giving usable answers ({failure.message})")

    def _watch_limit(self, exchange: Exchange) -> None:
        """Stop the run when a rate limit lets nothing through any more."""
        self._limited_in_a_row = self._limited_in_a_row + 1 if is_limited(exchange) else 0
        if self._limited_in_a_row > _LIMITED_IN_A_ROW:
            self._give_up(f"the target at {self.target.address} answers every call with 429 Too Many Requests")

    def _await_target(self, message: str, exchange: Exchange) -> None:
        """Give a target that restarts a moment to come back; a child is started anew with the next call or never."""
        if exchange.request.method == "STDIO":
            self._give_up(message)
        if self.tape is not None:
            if not self.tape.goes_on():
                self._give_up(f"the target is gone: {message}")
            return
        deadline = time.monotonic() + _RECONNECT_SECONDS
        origin = urlsplit(exchange.request.url)
        while time.monotonic() < deadline:
            try:
                connect(Origin.parse(f"{origin.scheme}://{origin.netloc}", "target"), deadline).close()
            except WireFault:
                time.sleep(0.1)
            else:
                return
        self._give_up(f"the target is gone: {message}")

    def _give_up(self, reason: str) -> Never:
        self.gone = reason
        raise TargetGone(reason, "Look at its log; the findings so far are listed.")

    def forget_earlier_runs(self) -> None:
        """Reset a target that offers it, so that the ids of a repeated seed are new to it again."""
        if self._control is not None and "reset" in self.stage.capabilities.names:
            self._control.reset()

    def close(self) -> None:
        """Close connections."""
        for transport in self._transports.values():
            transport.close()
        if isinstance(self._control, HttpControl):
            self._control.close()


@dataclass
class TargetGone(CouldNotRun):
    """The target answered at first and then no more; the run stops here."""


def is_limited(exchange: Exchange) -> bool:
    """Tell whether a rate limit has refused the request."""
    return exchange.response is not None and exchange.response.status == HTTPStatus.TOO_MANY_REQUESTS


def rate_limited(address: str) -> CouldNotRun:
    """Return the problem of a target whose rate limit lets nothing through from the beginning."""
    return CouldNotRun(
        f"the server at {address} answers with 429 Too Many Requests, also after waiting",
        "Raise the limit for this test, or wait until it is over.",
    )


def open_control(target: Target) -> TestControl | None:
    """Return a client of the target's test control, or ``None`` where it has none."""
    if not target.control_url:
        return None
    return HttpControl(target.control_url, target.control_token.read() if target.control_token else None)
