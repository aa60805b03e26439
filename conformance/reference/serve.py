"""The ``serve`` command: runs the reference server, faultless, or with one seeded fault or conforming variant."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from conformance.errors import ExitStatus, UsageProblem

if TYPE_CHECKING:
    from conformance.reference.parts import Parts
    from conformance.reference.server import Addresses


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port of the server under test (default: a free one)")
    parser.add_argument("--control-port", type=int, default=0, help="port of test control (default: a free one)")
    parser.add_argument(
        "--database", metavar="PATH", help="SQLite file, or 'memory' (default: a temporary file, removed at the end)"
    )
    parser.add_argument("--fault", metavar="NAME", help="seed this fault: the server breaks the contract in one place")
    parser.add_argument(
        "--variant", metavar="NAME", help="use another way that the contract leaves open, or several, joined by +"
    )
    parser.add_argument("--list-faults", action="store_true", help="print all faults and variants, and end")
    parser.add_argument(
        "--stop-with-parent", action="store_true", help="stop at the end of standard input, as a child should"
    )
    parser.add_argument(
        "--stdio",
        action="store_true",
        help="speak MCP over standard input and output instead, on the --database of a server that runs; environment: "
        "SOSOAPI_TOKEN, SOSOAPI_PROFILE (core or full), SOSOAPI_OUTPUT_SCHEMAS=1",
    )
    parser.add_argument(
        "--nursery",
        action="store_true",
        help="run a process that forks children ready to serve, and name a command on the 'stdio' line that fetches "
        "one of them: it starts in milliseconds, where --stdio takes most of a second",
    )
    parser.add_argument(
        "--anonymous-token",
        metavar="TOKEN",
        help="take MCP requests over HTTP without a token to carry this one, for tools that cannot send any; "
        "its person is in no workspace",
    )


def run(namespace: argparse.Namespace) -> int:
    """Serve until stopped and return the exit status.

    Lines on stdout say where it answers, ``control`` as the last: ``target``, where the MCP SDK is installed ``mcp``,
    and ``stdio`` with the command of a child process on the same stored state, which the nursery forks where asked.
    """
    try:
        if namespace.list_faults:
            _list_faults()
        else:
            _serve(namespace)
    except UsageProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return ExitStatus.USAGE
    return ExitStatus.CONFORMS


def _serve(namespace: argparse.Namespace) -> None:
    # Imported late: the command line must answer --help without loading a web framework.
    from conformance.reference.server import Settings, serve_in_process  # noqa: PLC0415

    if namespace.stdio:
        from conformance.reference.mcp.stdio import leave, serve_stdio  # noqa: PLC0415

        serve_stdio(namespace.database, parts_from(namespace))
        leave()
    settings = Settings(
        namespace.host,
        namespace.port,
        namespace.control_port,
        namespace.database,
        parts_from(namespace),
        namespace.anonymous_token,
        nursery=_seeded(namespace) if namespace.nursery else None,
    )

    def announce(addresses: Addresses) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in _announcement(addresses, namespace)))
        sys.stdout.flush()

    serve_in_process(settings, announce, stop_with_parent=namespace.stop_with_parent)


def parts_from(namespace: argparse.Namespace) -> Parts:
    """Return the parts of the server that the options name.

    Raises:
        UsageProblem: there is no such fault or variant.
    """
    from conformance.reference.parts import Parts  # noqa: PLC0415

    if not (namespace.fault or namespace.variant):
        return Parts()
    from conformance.reference.catalogue import build  # noqa: PLC0415  it imports every fault

    return build(fault=namespace.fault, variant=namespace.variant)


def _announcement(addresses: Addresses, namespace: argparse.Namespace) -> list[str]:
    lines = [f"target  {addresses.target}"]
    if addresses.mcp is not None:
        lines.append(f"mcp     {addresses.mcp}")
    if addresses.door is not None:
        lines.append(f"stdio   {shlex.join(addresses.door)}")
    elif addresses.mcp is not None and addresses.database is not None:
        words = [sys.executable, "-m", "conformance.reference.serve", "--stdio", "--database", str(addresses.database)]
        lines.append(f"stdio   {shlex.join([*words, *_seeded(namespace)])}")
    return [*lines, f"control {addresses.control}"]


def _seeded(namespace: argparse.Namespace) -> list[str]:
    """Return the options with which a child serves as this server does."""
    named = {f"--{option}": getattr(namespace, option) for option in ("fault", "variant")}
    return [word for option, name in named.items() if name for word in (option, name)]


def _list_faults() -> None:
    from conformance.reference.catalogue import faults, variants  # noqa: PLC0415  it imports every fault

    for fault in faults().values():
        reported = f"  reported: {' '.join(fault.reports)}" if fault.reports else ""
        sys.stdout.write(f"fault   {fault.name}  {fault.summary}  [{', '.join(fault.breaks)}]{reported}\n")
    for variant in variants().values():
        sys.stdout.write(f"variant {variant.name}  {variant.summary}\n")


def main() -> int:
    """Run the command by itself: ``python -m conformance.reference.serve``."""
    parser = argparse.ArgumentParser(prog="python -m conformance.reference.serve", description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
