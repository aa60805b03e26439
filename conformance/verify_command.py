"""``sosoapi-conformance verify CLAIM``: verifies a signed claim offline, with the stored run where there is one."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.claim.statement import extension_of, part_of
from conformance.claim.stored import Ground
from conformance.claim.verifying import Known, Verification, verify
from conformance.contract import load_contract
from conformance.errors import ExitStatus, UsageProblem
from conformance.printable import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("claim", type=Path, metavar="CLAIM", help="claim that 'attest' wrote")
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="folder of the run, whose exchanges are judged again"
    )
    parser.add_argument("--key", type=Path, metavar="PUB", help="public key of the party that you trust")
    add_build_arguments(parser)


def add_build_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say which build and which contract the verifier has."""
    parser.add_argument(
        "--for", dest="version", default="", metavar="NAME@VERSION", help="refuse a claim about another version"
    )
    parser.add_argument("--digest", default="", metavar="sha256:HEX", help="refuse a claim about another build")
    parser.add_argument("--contract-dir", type=Path, metavar="DIR", help="the contract bundle of the run")


def run(namespace: argparse.Namespace) -> int:
    """Print what the claim says and what speaks against it; return 0 where it is verified, and 1 where it is refused.

    Raises:
        UsageProblem: a file cannot be read, or the extra ``claims`` is not installed.
    """
    found = verified(namespace)
    for line in told(found):
        sys.stdout.write(f"{printable(line)}\n")
    return ExitStatus.CONFORMS if found.is_verified else ExitStatus.DOES_NOT_CONFORM


def verified(namespace: argparse.Namespace) -> Verification:
    """Verify the claim that the options name.

    Raises:
        UsageProblem: a file cannot be read, or the extra ``claims`` is not installed.
    """
    if namespace.version and "@" not in namespace.version:
        raise UsageProblem(f"{namespace.version!r} has no version", "--for", "Write NAME@VERSION.")
    if namespace.folder is not None and not namespace.folder.is_dir():
        raise UsageProblem("this is no folder", str(namespace.folder), "Name the folder of the run, or leave it out.")
    try:
        text = namespace.claim.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageProblem(f"the claim cannot be read ({reason})", str(namespace.claim), "Name its file.") from None
    ground = Ground.of(load_contract(namespace.contract_dir))
    return verify(text, ground, Known(namespace.key, namespace.folder, namespace.version, namespace.digest))


def told(found: Verification) -> Iterator[str]:
    """Yield the lines that are printed about a claim: what it says, who attests to it, and what speaks against it."""
    if found.statement is not None:
        if not found.is_verified:
            yield "What the claim says, though it is refused:"
        yield from _said(found.statement, found.key_id or "(not named)")
    for sentence in dict.fromkeys(found.refusals):
        yield f"refused: {sentence}"
    for sentence in found.notes:
        yield f"note: {sentence}"
    yield "verdict on the claim: verified" if found.is_verified else "verdict on the claim: refused"


def _said(statement: Mapping[str, Any], key: str) -> Iterator[str]:
    claim, settings = extension_of(statement), part_of(statement, "settings")["annotations"]
    subject, by = statement["subject"][0], claim["attested_by"]
    digest = ", ".join(f"{name}:{value}" for name, value in subject["digest"].items())
    over = " and ".join(settings["transports_merged"]) or settings["transport"]
    outcomes = Counter(each["outcome"] for each in claim["requirements"])
    yield f"claim: {subject['name']} ({digest}) {claim['verdict']} (level: {claim['level']})"
    yield (
        f"contract: {claim['contract']} {claim['contract_version']}, requirement set {claim['requirement_set']}, over "
        f"{over}, profile {settings['profile']}, tier {settings['tier']}, seed {settings['seed']}"
    )
    yield f"requirements: {', '.join(f'{count} {outcome}' for outcome, count in sorted(outcomes.items()))}"
    yield from (f"waived: {each['requirement']} until {each['until']}: {each['reason']}" for each in claim["waivers"])
    yield f"run at {claim['started_at']}, attested at {claim['attested_at']}"
    if by["independent"]:
        yield f"run again independently by {by['name']}, as the holder of key {key} says"
    else:
        yield f"self-attested by the holder of key {key}"
