"""The target file that ``sosoapi-conformance init`` writes: every key is there, commented out and explained."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, get_args

from conformance.contract import load_contract
from conformance.target import TransportName
from conformance.transport.exchange import ErrorKind
from conformance.transport.rest import STATUS_KINDS
from conformance.transport.wire import WireLimits


@dataclass(frozen=True)
class Given:
    """What is known of a target: settings by the name of their key, ``None`` or absent where nothing is known.

    ``also`` are addresses by transport; ``tokens`` are names of environment variables by role, ``control_token`` one.
    """

    url: str | None = None
    command: str | None = None
    transport: str | None = None
    control_url: str | None = None
    control_token: str | None = None
    name: str | None = None
    also: Mapping[TransportName, str] = field(default_factory=dict)
    tokens: Mapping[str, str] = field(default_factory=dict)


def target_file(given: Given) -> str:
    """Return the text of a target file: what is given as settings, every other key commented out."""
    return _TEMPLATE.format(
        url=_setting("url", given.url, "http://127.0.0.1:8000"),
        command=_setting("command", given.command, "node server.js"),
        transport=_setting("transport", given.transport, "rest"),
        control_url=_setting("url", given.control_url, "http://127.0.0.1:8001"),
        control_token=_variable("token", given.control_token, "ACME_CONTROL_TOKEN"),
        reader=_variable("reader", given.tokens.get("reader"), "SOSOAPI_TOKEN"),
        other_user=_variable("other_user", given.tokens.get("other_user"), "ACME_OTHER_USER_TOKEN"),
        without_scope=_without_scope(given.tokens.get("without_scope")),
        also="\n".join(_also(name, key, given.also.get(name), example) for name, key, example in _FURTHER),
        name=_setting("name", given.name, "Acme research server"),
        paths="\n".join(_setting(each.name, None, each.path) for each in load_contract().operations),
        statuses="\n".join(f"#{kind} = {_statuses(kind)}" for kind in get_args(ErrorKind)),
        call_seconds=round(WireLimits().seconds),
        body_bytes=WireLimits().body_bytes,
    )


def _setting(key: str, value: str | None, example: str) -> str:
    return f"#{key} = {_quoted(example)}" if value is None else f"{key} = {_quoted(value)}"


def _variable(key: str, name: str | None, example: str) -> str:
    return f"{'#' if name is None else ''}{key} = {{ env = {_quoted(name or example)} }}"


def _without_scope(name: str | None) -> str:
    """Show how a token is given by file, where none is given."""
    example = '#without_scope = { file = "/run/secrets/without-scope-token" }'
    return example if name is None else _variable("without_scope", name, "")


def _also(name: str, key: str, value: str | None, example: str) -> str:
    return f"{'#' if value is None else ''}[target.also.{name}]\n{_setting(key, value, example)}"


def _quoted(value: str) -> str:
    """Return a TOML basic string; JSON escapes the same way, but leaves DEL alone and splits astral characters."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _statuses(kind: ErrorKind) -> list[int]:
    return sorted(status for status, kinds in STATUS_KINDS.items() if kind in kinds)


_FURTHER: Final[tuple[tuple[TransportName, str, str], ...]] = (
    ("rest", "url", "http://127.0.0.1:8000"),
    ("mcp-http", "url", "http://127.0.0.1:8000/mcp"),
    ("mcp-stdio", "command", "node server.js"),
)

_TEMPLATE: Final = """\
# Target file: tells the conformance suite about the server under test.
#   pytest --pyargs conformance --target-config THIS_FILE
# A line that begins with '#' and a key is a setting at its default or an example: remove the '#' to use it.
# Options on the command line win over this file. An unknown key is an error that names the nearest known one.

[target]
# Where the server answers; paths of the operations are appended.
{url}
# Or, for MCP over stdio, the command that starts it. Give either url or command.
{command}
# rest (JSON over HTTP), mcp-http or mcp-stdio. Without it: a command is mcp-stdio, a url ending in /mcp is mcp-http.
{transport}

# Environment variables of the command, beyond those of the suite's own process.
#[target.environment]
#LOG_LEVEL = "warning"

[control]
# Test control, the API by which a test deployment lets the suite make principals and conversations and set the clock.
# Without it only the fixtures below, or else input, authentication and unknown ids, can be judged.
{control_url}
# Its bearer token, if it wants one: the name of an environment variable (env) or of a file (file), never the token.
# Without this key the variable SOSOAPI_CONTROL_TOKEN is used if it is set.
{control_token}

# Tokens for a target without test control, each by env or file. Without this table: reader from SOSOAPI_TOKEN.
[tokens]
# A person who may read and archive the fixtures below.
{reader}
# Somebody else, with the scope but without access to them.
{other_user}
# The same person as reader, with a token that lacks the scope agent:research.
{without_scope}

# What the server is called, in every report.
[implementation]
{name}
#version = "1.4.2"
#vendor = "Acme"
# A digest of the tested build, so that a report names what it is about.
#build_digest = "sha256:0123456789abcdef"

# Conversations prepared by hand for a target without test control, by the role that they can play; any number of each.
[fixtures]
# One that the reader may read and nobody changes.
#[[fixtures.readable]]
#workspace_id = "01890a5d-ac96-774b-bcce-b302099a8057"
#conversation_id = "01890a5d-ac96-774b-bcce-b302099a8058"
# Its runs, with their kind and status where they are known.
#[[fixtures.readable.runs]]
#run_id = "01890a5d-ac96-774b-bcce-b302099a8059"
#request_kind = "sentiment"
#status = "completed"
# One that the suite may archive.
#[[fixtures.disposable]]
#workspace_id = "01890a5d-ac96-774b-bcce-b302099a8057"
#conversation_id = "01890a5d-ac96-774b-bcce-b302099a805a"
# One whose 24 hours are over.
#[[fixtures.expired]]
#workspace_id = "01890a5d-ac96-774b-bcce-b302099a8057"
#conversation_id = "01890a5d-ac96-774b-bcce-b302099a805b"
# One of another user.
#[[fixtures.foreign]]
#workspace_id = "01890a5d-ac96-774b-bcce-b302099a805c"
#conversation_id = "01890a5d-ac96-774b-bcce-b302099a805d"

# Where the JSON over HTTP binding of this server differs from the published one.
[rest]
#method = "POST"
# The header that carries 'Bearer TOKEN'.
#token_header = "Authorization"

# Paths by operation, appended to the url.
[rest.paths]
{paths}

# Statuses by kind of failure; a kind that is named replaces its published statuses. 400 to 499 each.
[rest.status]
{statuses}

# How this server speaks MCP.
[mcp]
# The environment variable in which a child process finds its token.
#token_env = "SOSOAPI_TOKEN"
# The revision of MCP to speak. Without it: the newest in common.
#revision = "2025-11-25"
# The url at which output schemas are listed, if it is another one. A child gets SOSOAPI_OUTPUT_SCHEMAS=1.
#output_schemas_url = "http://127.0.0.1:8000/mcp/output-schemas"
# Where a failed call says of what kind it is, if not in result._meta.error_kind or error.data.kind: a JSON pointer into
# the message, and what the values there stand for.
#[mcp.error_kind]
#pointer = "/error/data/reason"
#values = {{ stale_revision = "conflict", no_such_thing = "not_found" }}
# How to choose the profile core (full is what the address above gives, unless [mcp.profiles.full] says otherwise).
#[mcp.profiles.core]
#url = "http://127.0.0.1:8000/mcp/core"
#headers = {{ X-Profile = "core" }}
#environment = {{ SOSOAPI_PROFILE = "core" }}

# Further transports of the same server and state: then the same calls must have the same results on each.
{also}

[limits]
# Seconds that one call may take, 1 to 300.
#call_seconds = {call_seconds}
# Bytes of the longest answer that is read.
#body_bytes = {body_bytes}

# A derived requirement that the vendor asks to be excused from, until a day. Every report lists it.
#[[waivers]]
#requirement = "READ-UNCHANGED"
#reason = "The revision counts reads until release 2.0."
#owner = "platform team"
#until = 2027-01-31
"""
