"""``sosoapi-conformance init``: looks at what answers at an address, and writes a target file that fits it."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from conformance.contract import load_contract
from conformance.control.interface import CAPABILITIES
from conformance.errors import ExitStatus, UsageProblem, nearest
from conformance.init_template import Given, target_file
from conformance.printable import printable
from conformance.probing import Found, Probe
from conformance.redaction import without_token
from conformance.target import (
    CONTROL_TOKEN_VARIABLE,
    DEFAULT_TOKEN_VARIABLE,
    TOKEN_ROLES,
    TRANSPORTS,
    Secret,
    TransportName,
    guess_transport,
)
from conformance.transport.wire import Origin

DEFAULT_FILE: Final = "target.toml"
_SEED_LIMIT: Final = 2**32
_QUESTIONS: Final = (
    ("url", "address of the server, such as http://127.0.0.1:8000 (empty: it speaks MCP over stdio)"),
    ("command", "command that starts it as an MCP child (empty: to be given later)"),
    ("control_url", "address of its test-control API (empty: it has none)"),
    ("name", "name of the implementation, for reports (empty: to be given later)"),
)
_SPOKEN: Final[Mapping[TransportName, str]] = {
    "rest": "JSON over HTTP",
    "mcp-http": "MCP over HTTP",
    "mcp-stdio": "MCP over stdio",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to ``parser``; their values are checked by :func:`run`."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", default=DEFAULT_FILE, help="file to write (default: %(default)s)"
    )
    parser.add_argument("--url", metavar="URL", help="address of the server under test")
    parser.add_argument("--control-url", metavar="URL", help="address of its test-control API")
    parser.add_argument(
        "--transport", metavar="NAME", help=f"{', '.join(TRANSPORTS)} (default: what answers at the address)"
    )
    parser.add_argument("--command", metavar="COMMAND", help="command that starts the server as an MCP stdio child")
    parser.add_argument("--name", metavar="NAME", help="name of the implementation, for reports")
    for role in TOKEN_ROLES:
        parser.add_argument(
            f"--{role.replace('_', '-')}-env", metavar="VARIABLE", help=f"environment variable with the token {role}"
        )
    parser.add_argument("--control-token-env", metavar="VARIABLE", help="the one with the token of test control")
    parser.add_argument("--no-probe", action="store_true", help="write what is given, without contact to the server")
    parser.add_argument("--force", action="store_true", help="overwrite the file if it exists")


def run(namespace: argparse.Namespace) -> int:
    """Ask for what is not given where somebody can answer, probe the target, write the file; return the exit status.

    Raises:
        UsageProblem: a value is wrong, the file exists, or it cannot be written.
    """
    given = _given(namespace)
    if given == Given() and sys.stdin.isatty():
        given = _asked()
    _check(given)
    path = Path(namespace.file)
    if path.exists() and not namespace.force:
        # Said before the server is asked, not after.
        raise UsageProblem("the file exists", str(path), "Give another name, or --force to overwrite it.")
    told: list[str] = []
    if not namespace.no_probe and (given.url or given.command):
        found = _probed(given)
        given = _with(given, found)
        told = [*_told(given, found)]
    try:
        with path.open("w" if namespace.force else "x", encoding="utf-8") as file:
            file.write(target_file(given))
    except FileExistsError:
        raise UsageProblem("the file exists", str(path), "Give another name, or --force to overwrite it.") from None
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise UsageProblem(f"the file cannot be written ({reason})", str(path), "Give another name.") from None
    lines = [*told, f"written: {path}", *(f"to fill in: {each}" for each in _left(given) if told)]
    if not (given.url or given.command):
        lines.append(f"next, give the address in {path}, then")
    lines.append(f"run: pytest --pyargs conformance --target-config {shlex.quote(str(path))}")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return ExitStatus.CONFORMS


def _given(namespace: argparse.Namespace) -> Given:
    named = {role: name for role in TOKEN_ROLES if (name := getattr(namespace, f"{role}_env")) is not None}
    return Given(
        url=namespace.url,
        command=namespace.command,
        transport=namespace.transport,
        control_url=namespace.control_url,
        control_token=namespace.control_token_env,
        name=namespace.name,
        tokens=named,
    )


def _asked() -> Given:
    """Ask on the terminal, one line each; what has been answered may make a question needless."""
    answers: dict[str, str] = {}
    for key, question in _QUESTIONS:
        if key == "command" and answers.get("url"):
            continue
        answers[key] = _answer(question)
    tokens = {}
    if not answers["control_url"]:
        variable = _answer(f"environment variable with a token of a reader (empty: {DEFAULT_TOKEN_VARIABLE})")
        tokens = {"reader": variable} if variable else {}
    return Given(
        url=answers["url"] or None,
        command=answers.get("command") or None,
        control_url=answers["control_url"] or None,
        name=answers["name"] or None,
        tokens=tokens,
    )


def _answer(question: str) -> str:
    sys.stdout.write(f"{question}: ")
    sys.stdout.flush()
    return sys.stdin.readline().strip()


def _check(given: Given) -> None:
    """See that every value is one that its key takes.

    Raises:
        UsageProblem: one is not.
    """
    if given.url is not None and given.command is not None:
        raise UsageProblem("--url and --command are both given", "command line", "A target has one address: give one.")
    if given.url is not None:
        Origin.parse(given.url, "--url")
    if given.control_url is not None:
        Origin.parse(given.control_url, "--control-url")
    if given.transport is not None and given.transport not in TRANSPORTS:
        raise UsageProblem(
            f"unknown transport {given.transport!r}", "--transport", nearest(given.transport, TRANSPORTS)
        )
    options = {f"--{role.replace('_', '-')}-env": name for role, name in given.tokens.items()}
    if given.control_token is not None:
        options["--control-token-env"] = given.control_token
    for option, name in options.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            # It may be a token that somebody gave instead: it is not repeated.
            raise UsageProblem("that is no name of a variable", option, "Name an environment variable, not a token.")


def _probed(given: Given) -> Found:
    tokens = {role: Secret("env", name) for role, name in given.tokens.items()}
    if not tokens and os.environ.get(DEFAULT_TOKEN_VARIABLE):
        tokens = {"reader": Secret("env", DEFAULT_TOKEN_VARIABLE)}
    probe = Probe(load_contract(), given.control_url or "", _control_token(given), tokens)
    seed = secrets.randbelow(_SEED_LIMIT)
    try:
        return probe.command(given.command, seed) if given.command else probe.url(given.url or "", seed)
    finally:
        probe.close()


def _control_token(given: Given) -> str | None:
    try:
        return Secret("env", given.control_token or CONTROL_TOKEN_VARIABLE).read()
    except UsageProblem:
        return None


def _with(given: Given, found: Found) -> Given:
    """Return what is given, at the addresses that were found: the transport asked for, or the likelier one, first."""
    addresses = dict(found.addresses)
    if not addresses:
        return given
    likely = guess_transport(given.url or "", given.command or "")
    wanted = given.transport or (likely if likely in addresses else next(iter(addresses)))
    if wanted not in addresses:
        return given
    first = next(name for name in addresses if name == wanted)
    url = given.url
    if first != "mcp-stdio" and Origin.parse(url or "", "--url").url != addresses[first]:
        url = addresses[first]
    named = given.transport or (None if guess_transport(url or "", given.command or "") == first else first)
    also = {name: address for name, address in addresses.items() if name != first}
    return replace(given, url=url, transport=named, also=also)


def _told(given: Given, found: Found) -> Iterator[str]:
    """Yield what was found, a line each."""
    for name, where in found.addresses.items():
        further = " ([target.also])" if name in given.also else ""
        yield f"found: {_SPOKEN[name]} at {where}{further}"
    if not found.addresses:
        yield f"not found: {_shown(given, found.problem)}; the file has the address as it was given"
    elif given.transport is not None and given.transport not in found.addresses:
        yield f"not found: {given.transport}, which --transport names; the file has the address as it was given"
    if found.capabilities is not None:
        names = [name for name in CAPABILITIES if name in found.capabilities.names]
        scope = f"; clock scope {found.capabilities.clock_scope}" if "clock" in names else ""
        yield f"found: test control at {given.control_url}: {' '.join(names) or 'no capability'}{scope}"
    elif found.control_problem:
        yield f"not found: {_shown(given, found.control_problem)}"


def _shown(given: Given, text: str) -> str:
    """Return text that may quote the target: without tokens, fit for a terminal."""
    for name in (*given.tokens.values(), given.control_token, DEFAULT_TOKEN_VARIABLE, CONTROL_TOKEN_VARIABLE):
        token = os.environ.get(name or "", "").strip()
        text = without_token(text, token, name or "") if token else text
    return printable(text)


def _left(given: Given) -> Iterator[str]:
    """Yield what only a person can fill in."""
    if given.name is None:
        yield "[implementation] name, version, vendor"
    if given.control_url is None:
        names = [role for role in TOKEN_ROLES if role not in given.tokens]
        if names:
            yield f"[tokens] {', '.join(names)}"
        yield "[fixtures] conversations prepared by hand, or [control] url"
    transports = {given.transport or guess_transport(given.url or "", given.command or ""), *given.also}
    if transports & {"mcp-http", "mcp-stdio"}:
        yield "[mcp.profiles.core] how the profile core is chosen"
