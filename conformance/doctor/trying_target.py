"""Tries the target itself: whether it answers over each transport, at its paths, and with the tokens that are given."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Final

from conformance.cases.json_text import encode
from conformance.contract import Contract
from conformance.control.interface import ControlFailed, TestControl
from conformance.doctor.costs import Costs
from conformance.doctor.diagnosis import Diagnosis
from conformance.doctor.trying_control import is_unauthenticated, read_unknown, reading_operation
from conformance.errors import CouldNotRun, UsageProblem
from conformance.preflight import answers_at, preflight
from conformance.requirements import Registry
from conformance.session import RunSettings, Session
from conformance.stage import fresh_uuid
from conformance.target import TOKEN_ROLES, Entry, Manifest, PreparedConversation, Secret, Target
from conformance.transport.exchange import Answer, Credential
from conformance.transport.mcp.binding import CORE
from conformance.transport.mcp.transport import McpTransport
from conformance.transport.wire import Origin, WireFault, connect

_CONNECT_SECONDS: Final = 5.0
_WHOSE: Final = {"reader": "the reader", "other_user": "another user", "without_scope": "the reader without the scope"}


@dataclasses.dataclass(frozen=True)
class Reached:
    """What came of one transport: its diagnoses, and whether anything at all answered there."""

    diagnoses: tuple[Diagnosis, ...]
    answers: bool


def entered(target: Target, entry: Entry) -> Target:
    """Return the target as it is reached over one of its transports alone."""
    return dataclasses.replace(
        target, transport=entry.transport, url=entry.url, command=entry.command, environment=entry.environment, also=()
    )


def reach(
    contract: Contract, registry: Registry, target: Target, settings: RunSettings, control: TestControl | None
) -> Reached:
    """Try the one transport that ``target`` names, with a person of ``control`` where that is given."""
    session = Session(contract, registry, with_readable_tokens(target), settings, control)
    try:
        return Reached(tuple(_reach(session)), answers=True)
    except ControlFailed:
        # Another diagnosis tells of that; here the target is tried without a person.
        return reach(contract, registry, target, settings, None)
    except CouldNotRun as problem:
        broken = Diagnosis(target.transport, "broken", f"{problem.what}. {problem.remedy}")
        return Reached((broken,), answers=_connects(target))
    finally:
        session.close()


def _reach(session: Session) -> Iterator[Diagnosis]:
    transport = session.transport
    preflight(session)
    address = session.target.address
    if not isinstance(transport, McpTransport):
        yield Diagnosis("rest", "ok", f"{address} answers")
        without = [each for each in session.contract.operations if not answers_at(session, each)]
        paths = ", ".join(transport.path(each) for each in without)
        if without:
            sentence = f"answered like a path that does not exist: {paths}. Set [rest.paths] in the target file."
            yield Diagnosis("paths", "broken", sentence)
        else:
            yield Diagnosis("paths", "ok", f"all {len(session.contract.operations)} operations are there")
        return
    yield Diagnosis(session.target.transport, "ok", f"{address} speaks MCP {transport.revision or ''}".rstrip())
    yield from _tools(session, transport)


def _tools(session: Session, transport: McpTransport) -> Iterator[Diagnosis]:
    """Look at what is listed to a person who is let in."""
    if session.stage.lacks(("token",)) is None:
        listing = transport.list_tools(session.stage.principal(session.random("preflight")).credential)
        missing = [each.tool for each in session.contract.operations if each.tool not in listing.names]
        if listing.problem:
            yield Diagnosis("tools", "broken", listing.problem)
        elif missing:
            yield Diagnosis("tools", "broken", f"not listed: {', '.join(missing)}")
        else:
            yield Diagnosis("tools", "ok", f"all {len(session.contract.operations)} tools are listed")
    if CORE in session.target.mcp.profiles:
        yield Diagnosis("profile core", "ok", "the target file says how to choose it")
    else:
        yield Diagnosis(
            "profile core",
            "missing",
            "the target file does not say how to choose it (mcp.profiles.core)",
            "without it: what is listed in core is not assessed (family discovery)",
        )


def with_readable_tokens(target: Target) -> Target:
    """Return the target with the tokens that can be read; another diagnosis tells of the others."""
    tokens = {role: secret for role, secret in target.tokens.items() if not problem_of(secret)}
    return dataclasses.replace(target, tokens=tokens)


def problem_of(secret: Secret) -> str:
    """Return why a token cannot be read, or an empty string."""
    try:
        secret.read()
    except UsageProblem as problem:
        return f"{problem.where}: {problem.what}"
    return ""


def _connects(target: Target) -> bool:
    if not target.url:
        return False
    try:
        connect(Origin.parse(target.url, "target"), time.monotonic() + _CONNECT_SECONDS).close()
    except WireFault:
        return False
    return True


class TryingTokens:
    """Tries the tokens that the target gives, and the conversations that were prepared by hand."""

    def __init__(self, session: Session, costs: Costs) -> None:
        self._session = session
        self._costs = costs
        self._target = session.target

    def diagnoses(self) -> Iterator[Diagnosis]:
        """Try the token of each role, then the prepared conversations of each role."""
        for role in TOKEN_ROLES:
            yield self._token(role)
        for role in ("readable", "disposable", "expired", "foreign"):
            yield self._prepared(role)

    def _token(self, role: str) -> Diagnosis:
        secret, cost = self._target.tokens.get(role), self._cost_of_token(role)
        if secret is None:
            return Diagnosis(role, "missing", f"no token of {_WHOSE[role]} is given ([tokens] {role})", cost)
        problem = problem_of(secret)
        if problem:
            return Diagnosis(role, "broken", problem, cost)
        found = self._taken(role, Credential.bearer(role, secret.read()))
        return dataclasses.replace(found, cost=cost) if found.state == "broken" else found

    def _taken(self, role: str, credential: Credential) -> Diagnosis:
        """Say what the target makes of a token: whether it takes it, and whether its person may read."""
        readable = self._target.manifest.readable[:1] if self._target.manifest else ()
        answer = self._read(readable[0], credential) if readable else read_unknown(self._session, credential)
        if answer.outcome in ("no-answer", "server-error"):
            return Diagnosis(role, "broken", f"the target has no proper answer to it: {answer.status}")
        if is_unauthenticated(answer):
            return Diagnosis(role, "broken", f"the target does not take it ({answer.status})")
        if not readable:
            scope = "whether its scope is right only a readable conversation would show"
            return Diagnosis(role, "ok", f"the target takes it ({answer.status} for an unknown id); {scope}")
        is_right = (answer.outcome == "success") == (role == "reader")
        can = "reads" if answer.outcome == "success" else "is refused"
        if is_right:
            return Diagnosis(role, "ok", f"the target takes it, and it {can} the first readable conversation")
        sentence = f"it {can} the first readable conversation ({answer.status}): no token of {_WHOSE[role]}"
        return Diagnosis(role, "broken", sentence)

    def _cost_of_token(self, role: str) -> str:
        having = {**self._target.tokens, role: Secret("env", "SOSOAPI_TOKEN")}
        lacking = {name: secret for name, secret in self._target.tokens.items() if name != role}
        return self._costs.without(
            f"{role}'s token",
            dataclasses.replace(self._target, tokens=having),
            dataclasses.replace(self._target, tokens=lacking),
        )

    def _cost_of_prepared(self, role: str) -> str:
        prepared = {role: (PreparedConversation("", ""),)}
        having = dataclasses.replace(self._target.manifest or Manifest(), **prepared)
        return self._costs.without(
            f"a conversation that is {role}", dataclasses.replace(self._target, manifest=having), self._target
        )

    def _prepared(self, role: str) -> Diagnosis:
        manifest = self._target.manifest
        prepared: tuple[PreparedConversation, ...] = getattr(manifest, role) if manifest else ()
        if not prepared:
            cost = self._cost_of_prepared(role)
            return Diagnosis(role, "missing", f"no conversation is prepared for it ([[fixtures.{role}]])", cost)
        secret = self._target.tokens.get("reader")
        if secret is None or problem_of(secret):
            return Diagnosis(role, "untried", "it takes the reader's token")
        credential = Credential.bearer("reader", secret.read())
        wrong = []
        for each in prepared:
            answer = self._read(each, credential)
            # Whether an expired one is shown without its text or refused is the server's choice.
            is_right = {
                "readable": answer.outcome == "success",
                "disposable": answer.outcome == "success",
                "expired": answer.outcome in ("success", "refused"),
                "foreign": answer.outcome == "refused",
            }[role]
            if not is_right:
                wrong.append(f"{each.conversation_id} ({answer.status})")
        if wrong:
            expected = "refused to the reader" if role == "foreign" else "shown to the reader"
            return Diagnosis(role, "broken", f"not {expected}: {', '.join(wrong)}")
        return Diagnosis(role, "ok", f"{len(prepared)} prepared, answered to the reader as it should be")

    def _read(self, prepared: PreparedConversation, credential: Credential) -> Answer:
        operation = reading_operation(self._session)
        bound = {
            "conversation.id": prepared.conversation_id,
            "conversation.workspace_id": prepared.workspace_id,
        }
        rng = self._session.random("doctor", "prepared")
        arguments = {name: bound.get(source) or fresh_uuid(rng) for name, source in operation.bindings.items()}
        return self._session.call(operation, encode(arguments), credential)
