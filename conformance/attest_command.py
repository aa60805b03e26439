"""``sosoapi-conformance attest DIR --key FILE``: signs what a run came to, as a claim that others can verify."""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path
from typing import Any

from conformance.claim.envelope import sealed
from conformance.claim.keys import key_id, read_private_key
from conformance.claim.parts import refusals, whole_runs
from conformance.claim.refused import ClaimRefused
from conformance.claim.statement import Attestation, encoded, extension_of, statement_of
from conformance.claim.stored import Ground, decide_again, libraries_of
from conformance.contract import load_contract
from conformance.errors import ExitStatus, UsageProblem
from conformance.libraries import versions
from conformance.printable import printable
from conformance.run_keeping import CLAIM


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that 'pytest --report-dir' or 'merge' wrote")
    parser.add_argument("--key", type=Path, required=True, metavar="FILE", help="private key that 'keygen' wrote")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"file for the claim (default: DIR/{CLAIM})")
    parser.add_argument(
        "--independent", metavar="NAME", help="say that NAME, who is not the vendor, has run the suite again"
    )
    parser.add_argument("--contract-dir", type=Path, metavar="DIR", help="the contract bundle of the run")


def run(namespace: argparse.Namespace) -> int:
    """Write the claim and return 0, or say why there is nothing to attest and return 1.

    A run that does not conform can be attested too: the claim says so.

    Raises:
        UsageProblem: the key or the folder cannot be read, or the extra ``claims`` is not installed.
    """
    if namespace.independent is not None and not namespace.independent.strip():
        raise UsageProblem("the name is empty", "--independent", "Name who has run the suite again.")
    key = read_private_key(namespace.key)
    ground = Ground.of(load_contract(namespace.contract_dir))
    attestation = Attestation(_now(), (namespace.independent or "").strip())
    try:
        again = decide_again(namespace.folder, ground)
        runs = whole_runs(again, ground)
        reasons = tuple(refusals(again, runs, ground))
        if not reasons and any(libraries_of(each.again.stored.folder) != versions() for each in runs):
            reasons = ("The run was made with other versions of the libraries that draw and judge than are here now.",)
        statement: dict[str, Any] = {}
        if not reasons:
            statement = statement_of(namespace.folder, ground.contract, ground.frozen, again.run, attestation)
    except ClaimRefused as refused:
        reasons, statement = (refused.sentence,), {}
    if reasons:
        for reason in reasons:
            sys.stdout.write(f"not attested: {printable(reason)}\n")
        return ExitStatus.DOES_NOT_CONFORM
    out = namespace.out or namespace.folder / CLAIM
    try:
        out.write_bytes(sealed(encoded(statement), key))
    except OSError as error:
        because = (error.strerror or str(error)).lower()
        raise UsageProblem(f"the claim cannot be written ({because})", str(out), "Name another file.") from None
    claim, name = extension_of(statement), statement["subject"][0]["name"]
    who = f"run again independently by {attestation.independent}" if attestation.independent else "self-attested"
    sys.stdout.write(f"{printable(name)} {claim['verdict']} (level: {claim['level']}), {printable(who)}\n")
    sys.stdout.write(f"claim: {out}, signed by the key {key_id(key.public_key())}\n")
    return ExitStatus.CONFORMS


def _now() -> str:
    return datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
