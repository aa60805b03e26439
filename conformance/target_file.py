"""Reads a target file and lays the command line over it. Every key is known or an error."""

from __future__ import annotations

import dataclasses
import datetime
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from conformance.errors import UsageProblem, nearest
from conformance.target import (
    CONTROL_TOKEN_VARIABLE,
    DEFAULT_TOKEN_VARIABLE,
    TOKEN_ROLES,
    TRANSPORTS,
    Entry,
    Implementation,
    Manifest,
    PreparedConversation,
    PreparedRun,
    Secret,
    Target,
    TargetOptions,
    TransportName,
    Waiver,
    guess_transport,
)
from conformance.target_file_mcp import known_revision, read_mcp
from conformance.target_tables import Table
from conformance.transport.exchange import ErrorKind
from conformance.transport.rest import STATUS_KINDS, RestBinding
from conformance.transport.wire import Origin, WireLimits


def resolve_target(options: TargetOptions, operations: tuple[str, ...]) -> Target:
    """Return the target that the file and the options describe together.

    ``operations`` are the names of the contract's operations, for ``[rest.paths]``.

    Raises:
        UsageProblem: a file, key or value is not what it should be.
    """
    target = _read(options.config, operations) if options.config else Target(transport="rest")
    target = _addressed(options, target)
    transport = _transport(options, target)
    target = _entered(target, transport)
    if transport != "mcp-stdio":
        where = "--target-url" if options.url is not None else str(options.config)
        target = dataclasses.replace(target, url=Origin.parse(target.url, where).url)
    if target.control_url or options.control_url is not None:
        where = "--control-url" if options.control_url is not None else str(options.config)
        target = dataclasses.replace(target, control_url=Origin.parse(target.control_url, where).url)
    if not target.tokens and os.environ.get(DEFAULT_TOKEN_VARIABLE):
        target = dataclasses.replace(target, tokens={"reader": Secret("env", DEFAULT_TOKEN_VARIABLE)})
    if target.control_token is None and os.environ.get(CONTROL_TOKEN_VARIABLE):
        target = dataclasses.replace(target, control_token=Secret("env", CONTROL_TOKEN_VARIABLE))
    return speaking(dataclasses.replace(target, transport=transport), options.mcp_revision)


def _entered(target: Target, transport: TransportName) -> Target:
    """Return the target as it is reached over that transport, where the file names it among the further ones."""
    entry = next((each for each in target.also if each.transport == transport), None)
    if entry is None or transport == target.transport:
        return target
    before = Entry(target.transport, target.url, target.command, target.environment)
    also = (*(each for each in target.also if each is not entry), before)
    return dataclasses.replace(target, url=entry.url, command=entry.command, environment=entry.environment, also=also)


def speaking(target: Target, revision: str | None) -> Target:
    """Return the target with a revision of MCP pinned, where one is named.

    Raises:
        UsageProblem: it is none, or the target does not speak MCP.
    """
    if revision is None:
        return target
    if target.transport == "rest":
        raise UsageProblem("a revision of MCP is named for plain HTTP", "--mcp-revision", "Leave it out.")
    pinned = dataclasses.replace(target.mcp, revision=known_revision(revision, "--mcp-revision"))
    return dataclasses.replace(target, mcp=pinned)


def _addressed(options: TargetOptions, target: Target) -> Target:
    """Return the target with its address: what the command line gives wins."""
    if options.url is not None and options.command is not None:
        raise UsageProblem(
            "--target-url and --target-command are both given", "command line", "A run has one target: give one."
        )
    if options.url is not None:
        target = dataclasses.replace(target, url=options.url, command="")
    if options.command is not None:
        target = dataclasses.replace(target, command=options.command, url="")
    if not target.address and options.url is None and options.command is None:
        raise UsageProblem(
            "no url and no command", str(options.config), "Add [target] url or command, or give --target-url."
        )
    if options.control_url is not None:
        target = dataclasses.replace(target, control_url=options.control_url)
    return target


def _transport(options: TargetOptions, target: Target) -> TransportName:
    """Return the transport that was named, on the command line before the file; else what the address suggests."""
    if options.transport is not None:
        return known_transport(options.transport, "--transport")
    suits_address = (target.transport == "mcp-stdio") == bool(target.command)
    if options.config and suits_address and (target.transport_named or options.url is options.command is None):
        return target.transport
    return guess_transport(target.url, target.command)


def known_transport(name: str, where: str) -> TransportName:
    """Return the transport of that name.

    Raises:
        UsageProblem: there is none; ``where`` says who named it.
    """
    for known in TRANSPORTS:
        if name == known:
            return known
    raise UsageProblem(f"unknown transport {name!r}", where, nearest(name, TRANSPORTS))


def _read(path: Path, operations: tuple[str, ...]) -> Target:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise UsageProblem(
            f"the target file cannot be read ({reason})", str(path), "'sosoapi-conformance init' writes one."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageProblem(f"the target file is not valid TOML ({error})", str(path), "Correct it.") from None
    file = Table(values, str(path))
    target = _target(file, operations)
    file.finish()
    return target


def _target(file: Table, operations: tuple[str, ...]) -> Target:
    address = file.table("target")
    url, command = address.get("url", str, ""), address.get("command", str, "")
    named = address.get("transport", str, "")
    transport = known_transport(named, address.where) if named else guess_transport(url, command)
    environment = address.table("environment").strings()
    also = _also(address.table("also"))
    address.finish()
    control = file.table("control")
    control_url, control_token = control.get("url", str, ""), _secret(control.table("token"))
    control.finish()
    roles = file.table("tokens")
    tokens = {role: secret for role in TOKEN_ROLES if (secret := _secret(roles.table(role)))}
    roles.finish()
    return Target(
        transport=transport,
        transport_named=bool(named),
        url=url,
        command=command,
        environment=environment,
        also=also,
        control_url=control_url,
        control_token=control_token,
        implementation=_implementation(file.table("implementation")),
        tokens=tokens,
        manifest=_manifest(file),
        rest=_rest(file.table("rest"), operations),
        mcp=read_mcp(file.table("mcp")),
        limits=_limits(file.table("limits")),
        waivers=tuple(_waiver(entry) for entry in file.tables("waivers")),
    )


def _also(table: Table) -> tuple[Entry, ...]:
    """Read the further transports of the same server, each a table of its name."""
    entries = []
    for name in TRANSPORTS:
        entry = table.table(name)
        url, command = entry.get("url", str, ""), entry.get("command", str, "")
        environment = entry.table("environment").strings()
        entry.finish()
        if not (url or command or environment):
            continue
        wanted, other = (command, url) if name == "mcp-stdio" else (url, command)
        if not wanted or other:
            key = "command" if name == "mcp-stdio" else "url"
            raise UsageProblem(f"{name} is reached by its {key}, and nothing else", entry.where, f"Give {key} alone.")
        if url:
            url = Origin.parse(url, entry.where).url
        entries.append(Entry(name, url, command, environment))
    table.finish()
    return tuple(entries)


def _implementation(table: Table) -> Implementation:
    names = [field.name for field in dataclasses.fields(Implementation)]
    implementation = Implementation(**{name: table.get(name, str, "") for name in names})
    table.finish()
    return implementation


def _secret(table: Table) -> Secret | None:
    variable, file = table.get("env", str, ""), table.get("file", str, "")
    table.finish()
    if variable and file:
        raise UsageProblem("both env and file are given", table.where, "Give one.")
    if variable:
        return Secret("env", variable)
    return Secret("file", file) if file else None


def _manifest(file: Table) -> Manifest | None:
    fixtures = file.table("fixtures")
    roles = {
        field.name: tuple(_prepared(entry) for entry in fixtures.tables(field.name))
        for field in dataclasses.fields(Manifest)
    }
    fixtures.finish()
    return Manifest(**roles) if any(roles.values()) else None


def _prepared(entry: Table) -> PreparedConversation:
    runs = []
    for run in entry.tables("runs"):
        runs.append(
            PreparedRun(run.require("run_id", str), run.get("request_kind", str, ""), run.get("status", str, ""))
        )
        run.finish()
    conversation = PreparedConversation(
        entry.require("workspace_id", str), entry.require("conversation_id", str), tuple(runs)
    )
    entry.finish()
    return conversation


def _rest(table: Table, operations: tuple[str, ...]) -> RestBinding:
    paths = table.table("paths")
    known_paths = {name: path for name in operations if (path := paths.get(name, str, ""))}
    for name, path in known_paths.items():
        if not re.fullmatch(r"/[!-~]*", path):
            raise UsageProblem(
                f"{name} is {path!r}", paths.where, "A path begins with / and is written in visible ASCII."
            )
    paths.finish()
    status_kinds = _status_kinds(table.table("status"))
    binding = RestBinding(
        paths=known_paths,
        method=table.get("method", str, "POST"),
        token_header=table.get("token_header", str, "Authorization"),
        status_kinds=status_kinds,
    )
    table.finish()
    for key, word in (("method", binding.method), ("token_header", binding.token_header)):
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", word):
            raise UsageProblem(f"{key} is {word!r}", table.where, "HTTP allows letters, digits and hyphens here.")
    return binding


def _status_kinds(table: Table) -> Mapping[int, frozenset[ErrorKind]]:
    """Read ``kind = [statuses]``; a kind that is named replaces the published statuses of that kind."""
    table_of_kinds: dict[int, set[ErrorKind]] = {status: set(kinds) for status, kinds in STATUS_KINDS.items()}
    for kind in get_args(ErrorKind):
        statuses = table.get(kind, list, [])
        if not statuses:
            continue
        for kinds in table_of_kinds.values():
            kinds.discard(kind)
        for status in statuses:
            if not isinstance(status, int) or not 400 <= status <= 499:
                raise UsageProblem(f"{kind} names the status {status!r}", table.where, "Use 400 to 499.")
            table_of_kinds.setdefault(status, set()).add(kind)
    table.finish()
    return {status: frozenset(kinds) for status, kinds in table_of_kinds.items()}


def _limits(table: Table) -> WireLimits:
    seconds = table.get("call_seconds", int, 10)
    body_bytes = table.get("body_bytes", int, WireLimits().body_bytes)
    table.finish()
    if not 1 <= seconds <= 300:
        raise UsageProblem(f"call_seconds is {seconds}", table.where, "Use 1 to 300.")
    if body_bytes < 1:
        raise UsageProblem(f"body_bytes is {body_bytes}", table.where, "Use a positive number.")
    return WireLimits(seconds=float(seconds), body_bytes=body_bytes)


def _waiver(entry: Table) -> Waiver:
    until = entry.require("until", datetime.date)
    waiver = Waiver(entry.require("requirement", str), entry.require("reason", str), entry.require("owner", str), until)
    entry.finish()
    return waiver
