"""The command ``sosoapi-conformance``: finds the subcommand and hands over, loading nothing that it does not need."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from conformance import __version__
from conformance.errors import ExitStatus, UsageProblem, nearest

PROGRAM: Final = "sosoapi-conformance"


@dataclass(frozen=True)
class Command:
    """A subcommand: one line about it, and the module that has its ``add_arguments`` and ``run``."""

    summary: str
    module: str


COMMANDS: Final[Mapping[str, Command]] = {
    "attest": Command("sign what a run came to, as a claim that others can verify", "conformance.attest_command"),
    "badge": Command("write a badge of a verified claim", "conformance.badge_command"),
    "compare": Command("show what changed between two runs", "conformance.compare_command"),
    "doctor": Command(
        "try a target and its test control, and say what each missing thing costs", "conformance.doctor.command"
    ),
    "faults": Command("show that the suite catches every seeded fault", "conformance.kill_matrix.command"),
    "init": Command("write a commented target file", "conformance.init_command"),
    "keygen": Command("make a key for signing claims", "conformance.keygen_command"),
    "merge": Command("put the shards of a run together", "conformance.merge_command"),
    "replay": Command("send what led to a finding again, and say whether it still fails", "conformance.replay_command"),
    "report": Command("write all reports again from the stored result", "conformance.report_command"),
    "requirements": Command("list the requirements, filter them, explain one", "conformance.requirements_command"),
    "serve": Command("run the reference server and its test control", "conformance.reference.serve"),
    "verify": Command("verify a signed claim, offline", "conformance.verify_command"),
}

_EPILOG: Final = """\
A run itself is a pytest run:
  pytest --pyargs conformance --target-url http://127.0.0.1:8000 --control-url http://127.0.0.1:8001
"""


class _Parser(argparse.ArgumentParser):
    """A parser that raises the suite's own error, with the nearest right option."""

    def error(self, message: str) -> NoReturn:
        """Raise a ``UsageProblem`` where argparse would exit with its own status."""
        raise UsageProblem(message, self.prog, f"'{self.prog} --help' shows what there is.")

    def parse_all(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse the arguments; an unknown one is named together with the nearest known one."""
        namespace, unknown = self.parse_known_args(arguments)
        if not unknown:
            return namespace
        word = unknown[0].partition("=")[0]
        if word.startswith("-"):
            raise UsageProblem(f"unknown option {word}", self.prog, nearest(word, self._option_string_actions))
        raise UsageProblem(f"unexpected argument {word!r}", self.prog, f"'{self.prog} --help' shows what there is.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line (``sys.argv`` by default) and return the exit status.

    A wrong subcommand, option or value is one line on stderr and ``ExitStatus.USAGE``.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
    except UsageProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return ExitStatus.USAGE
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        # Whoever reads stdout has seen enough (``| head``); the interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.CONFORMS
    return status


def _dispatch(arguments: Sequence[str]) -> int:
    top, parsers = _parsers()
    if not arguments:
        top.print_help()
        return ExitStatus.CONFORMS
    name, rest = arguments[0], arguments[1:]
    if name.startswith("-"):
        top.parse_all([name])  # --help and --version end here
        raise UsageProblem("no command is given", PROGRAM, nearest("", COMMANDS))
    if name not in COMMANDS:
        raise UsageProblem(f"unknown command {name!r}", PROGRAM, nearest(name, COMMANDS))
    module = importlib.import_module(COMMANDS[name].module)
    module.add_arguments(parsers[name])
    return int(module.run(parsers[name].parse_all(rest), **_extras(name)))


def _parsers() -> tuple[_Parser, Mapping[str, _Parser]]:
    """Return the parser of the whole command line, for its help, and the still empty ones of the subcommands."""
    top = _Parser(
        PROGRAM,
        description="Conformance of servers to the SoSo research API contract.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    group = top.add_subparsers(title="commands", metavar="COMMAND")
    parsers = {
        name: group.add_parser(
            name, help=command.summary, description=f"{command.summary.capitalize()}.", allow_abbrev=False
        )
        for name, command in COMMANDS.items()
    }
    return top, parsers


def _extras(name: str) -> dict[str, Any]:
    """Return what a command wants besides its options."""
    if name != "requirements":
        return {}
    # Importing the checks takes half a second, which only this command has to pay.
    from conformance.checks.declare import checked_requirements  # noqa: PLC0415
    from conformance.contract import load_contract  # noqa: PLC0415

    return {"checked": checked_requirements(load_contract())}


if __name__ == "__main__":
    sys.exit(main())
