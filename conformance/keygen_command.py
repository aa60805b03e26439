"""``sosoapi-conformance keygen``: makes a key for signing claims."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from conformance.claim.keys import key_id, make_key, public_file_of
from conformance.errors import ExitStatus

_FILE: Final = Path("claim-key.pem")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "file", nargs="?", type=Path, default=_FILE, metavar="FILE",
        help=f"file for the private key (default: {_FILE}); the public one gets the ending .pub",
    )  # fmt: skip


def run(namespace: argparse.Namespace) -> int:
    """Write both keys and print the id of the key.

    Raises:
        UsageProblem: a file is there already, or cannot be written; or the extra ``claims`` is not installed.
    """
    public = make_key(namespace.file)
    sys.stdout.write(
        f"private key: {namespace.file} (keep it to yourself)\n"
        f"public key: {public_file_of(namespace.file)} (give it to those who verify)\n"
        f"key id: {key_id(public)}\n"
    )
    return ExitStatus.CONFORMS
