"""The part of a target file that concerns MCP: ``[mcp]``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import get_args

from conformance.errors import UsageProblem, nearest
from conformance.target_tables import Table
from conformance.transport.exchange import ErrorKind
from conformance.transport.mcp.binding import CORE, FULL, McpBinding, McpProfile
from conformance.transport.mcp.revisions import REVISIONS
from conformance.transport.wire import Origin


def read_mcp(table: Table) -> McpBinding:
    """Return what ``[mcp]`` says.

    Raises:
        UsageProblem: a key or a value is not what it should be.
    """
    token_env = table.get("token_env", str, McpBinding().token_env)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", token_env):
        raise UsageProblem(f"token_env is {token_env!r}", table.where, "Name an environment variable.")
    revision = table.get("revision", str, "")
    if revision:
        known_revision(revision, table.where)
    kinds = table.table("error_kind")
    pointer, kind_table = kinds.get("pointer", str, ""), _kind_table(kinds.table("values"))
    kinds.finish()
    if pointer and not re.fullmatch(r"(/([^~]|~[01])*)+", pointer):
        raise UsageProblem(f"pointer is {pointer!r}", kinds.where, "Write a JSON pointer such as /error/data/reason.")
    if bool(pointer) != bool(kind_table):
        raise UsageProblem("pointer and values belong together", kinds.where, "Give both, or neither.")
    profiles = table.table("profiles")
    by_name = {name: found for name in (CORE, FULL) if (found := _profile(profiles.table(name)))}
    profiles.finish()
    output_schemas_url = _url(table, "output_schemas_url")
    table.finish()
    return McpBinding(token_env, revision, pointer, kind_table, by_name, output_schemas_url)


def known_revision(name: str, where: str) -> str:
    """Return a revision of MCP that the suite speaks.

    Raises:
        UsageProblem: it is none; ``where`` says who named it.
    """
    if name not in REVISIONS:
        raise UsageProblem(f"{name!r} is no revision of MCP that the suite speaks", where, nearest(name, REVISIONS))
    return name


def _kind_table(table: Table) -> Mapping[str, ErrorKind]:
    kinds: dict[str, ErrorKind] = {}
    known: Mapping[str, ErrorKind] = {kind: kind for kind in get_args(ErrorKind)}
    for value, kind in table.strings().items():
        if kind not in known:
            raise UsageProblem(f"{value} stands for {kind!r}, which is no kind", table.where, nearest(kind, known))
        kinds[value] = known[kind]
    return kinds


def _profile(table: Table) -> McpProfile | None:
    environment = table.table("environment").strings()
    headers = table.table("headers").strings()
    url = _url(table, "url")
    table.finish()
    for name, value in headers.items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not re.fullmatch(r"[ -~]*", value):
            raise UsageProblem(f"headers has {name!r}: {value!r}", table.where, "Use visible ASCII.")
    return McpProfile(environment, url, tuple(headers.items())) if environment or headers or url else None


def _url(table: Table, key: str) -> str:
    url = table.get(key, str, "")
    return Origin.parse(url, f"{table.where}, {key}").url if url else ""
