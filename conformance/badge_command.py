"""``sosoapi-conformance badge CLAIM``: writes a badge of a verified claim for shields.io."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from conformance.claim.badge import badge
from conformance.errors import ExitStatus, UsageProblem
from conformance.printable import printable
from conformance.verify_command import add_build_arguments, told, verified


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("claim", type=Path, metavar="CLAIM", help="claim that 'attest' wrote")
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="folder of the run, whose exchanges are judged again"
    )
    parser.add_argument("--key", type=Path, required=True, metavar="PUB", help="public key of the party that you trust")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="file for the badge")
    add_build_arguments(parser)


def run(namespace: argparse.Namespace) -> int:
    """Write the badge and return 0; of a claim that is refused there is none, and the status is 1.

    Raises:
        UsageProblem: a file cannot be read or written, or the extra ``claims`` is not installed.
    """
    found = verified(namespace)
    if found.statement is None or not found.is_verified:
        for line in told(found):
            sys.stdout.write(f"{printable(line)}\n")
        return ExitStatus.DOES_NOT_CONFORM
    made = badge(found.statement)
    try:
        namespace.out.write_text(json.dumps(made) + "\n", encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageProblem(
            f"the badge cannot be written ({reason})", str(namespace.out), "Name another file."
        ) from None
    sys.stdout.write(f"badge: {namespace.out} ({printable(made['message'])})\n")
    return ExitStatus.CONFORMS
