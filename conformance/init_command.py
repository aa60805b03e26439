"""``sosoapi-conformance init``: writes a target file in which every key is there, commented out and explained."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Final, get_args

from conformance.contract import load_contract
from conformance.errors import ExitStatus, UsageProblem, nearest
from conformance.target import TRANSPORTS
from conformance.transport.exchange import ErrorKind
from conformance.transport.rest import STATUS_KINDS
from conformance.transport.wire import Origin, WireLimits

DEFAULT_FILE: Final = "target.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to ``parser``; their values are checked by :func:`run`."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", default=DEFAULT_FILE, help="file to write (default: %(default)s)"
    )
    parser.add_argument("--url", metavar="URL", help="address of the server under test")
    parser.add_argument("--control-url", metavar="URL", help="address of its test-control API")
    parser.add_argument(
        "--transport", metavar="NAME", help=f"{', '.join(TRANSPORTS)} (default: guessed from the address)"
    )
    parser.add_argument("--command", metavar="COMMAND", help="command that starts the server as an MCP stdio child")
    parser.add_argument("--name", metavar="NAME", help="name of the implementation, for reports")
    parser.add_argument("--force", action="store_true", help="overwrite the file if it exists")


def run(namespace: argparse.Namespace) -> int:
    """Write the file and return the exit status.

    Raises:
        UsageProblem: a value is wrong, the file exists, or it cannot be written.
    """
    text = target_file(
        url=namespace.url,
        control_url=namespace.control_url,
        transport=namespace.transport,
        command=namespace.command,
        name=namespace.name,
    )
    path = Path(namespace.file)
    try:
        with path.open("w" if namespace.force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageProblem("the file exists", str(path), "Give another name, or --force to overwrite it.") from None
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise UsageProblem(f"the file cannot be written ({reason})", str(path), "Give another name.") from None
    first = "" if namespace.url or namespace.command else f"next, give the address in {path}, then\n"
    sys.stdout.write(
        f"written: {path}\n{first}run: pytest --pyargs conformance --target-config {shlex.quote(str(path))}\n"
    )
    return ExitStatus.CONFORMS


def target_file(
    *, url: str | None, control_url: str | None, transport: str | None, command: str | None, name: str | None
) -> str:
    """Return the text of a target file: what is given as settings, every other key commented out.

    Raises:
        UsageProblem: a value is not what its key takes.
    """
    if url is not None and command is not None:
        raise UsageProblem("--url and --command are both given", "command line", "A target has one address: give one.")
    if url is not None:
        Origin.parse(url, "--url")
    if control_url is not None:
        Origin.parse(control_url, "--control-url")
    if transport is not None and transport not in TRANSPORTS:
        raise UsageProblem(f"unknown transport {transport!r}", "--transport", nearest(transport, TRANSPORTS))
    return _TEMPLATE.format(
        url=_setting("url", url, "http://127.0.0.1:8000"),
        command=_setting("command", command, "node server.js"),
        transport=_setting("transport", transport, "rest"),
        control_url=_setting("url", control_url, "http://127.0.0.1:8001"),
        name=_setting("name", name, "Acme research server"),
        paths="\n".join(_setting(each.name, None, each.path) for each in load_contract().operations),
        statuses="\n".join(f"#{kind} = {_statuses(kind)}" for kind in get_args(ErrorKind)),
        call_seconds=round(WireLimits().seconds),
        body_bytes=WireLimits().body_bytes,
    )


def _setting(key: str, value: str | None, example: str) -> str:
    return f"#{key} = {_quoted(example)}" if value is None else f"{key} = {_quoted(value)}"


def _quoted(value: str) -> str:
    """Return a TOML basic string; JSON escapes the same way, but leaves DEL alone and splits astral characters."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _statuses(kind: ErrorKind) -> list[int]:
    return sorted(status for status, kinds in STATUS_KINDS.items() if kind in kinds)


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
#token = {{ env = "ACME_CONTROL_TOKEN" }}

# Tokens for a target without test control, each by env or file. Without this table: reader from SOSOAPI_TOKEN.
[tokens]
# A person who may read and archive the fixtures below.
#reader = {{ env = "SOSOAPI_TOKEN" }}
# Somebody else, with the scope but without access to them.
#other_user = {{ env = "ACME_OTHER_USER_TOKEN" }}
# The same person as reader, with a token that lacks the scope agent:research.
#without_scope = {{ file = "/run/secrets/without-scope-token" }}

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
#[target.also.rest]
#url = "http://127.0.0.1:8000"
#[target.also.mcp-http]
#url = "http://127.0.0.1:8000/mcp"
#[target.also.mcp-stdio]
#command = "node server.js"

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
