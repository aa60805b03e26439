"""``sosoapi-conformance report DIR``: writes all reports again from the stored result of a run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.contract import Contract, load_contract
from conformance.decision import decided
from conformance.errors import UsageProblem
from conformance.report.case_log import StoredRun, read_run
from conformance.report.rendering import render
from conformance.requirements import load_registry


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that 'pytest --report-dir' wrote")
    parser.add_argument(
        "--contract-dir", type=Path, metavar="DIR", help="the contract bundle that the run was judged by"
    )


def run(namespace: argparse.Namespace) -> int:
    """Write the reports, print the verdict, and return the exit status that the run has.

    Raises:
        UsageProblem: there is no stored result, or it is of another contract.
    """
    contract = load_contract(namespace.contract_dir)
    stored = read_run(namespace.folder)
    must_be_of(contract, stored)
    registry = load_registry(contract)
    ended = decided(contract, registry, stored.facts, stored.ledger, complete=stored.complete)
    document = render(namespace.folder, contract, registry, ended)
    sys.stdout.write(f"verdict: {document['verdict']} (level: {document['level']})\n")
    if not stored.complete:
        sys.stdout.write("The run was interrupted or cut off; the reports say so.\n")
    sys.stdout.write(f"report: {namespace.folder / 'report.html'}\n")
    return int(ended.status)


def must_be_of(contract: Contract, stored: StoredRun) -> None:
    """See that a run was judged by this contract.

    Raises:
        UsageProblem: it was not.
    """
    facts = stored.facts
    if (facts.contract, facts.contract_version) != (contract.name, contract.version):
        raise UsageProblem(
            f"the run was judged by {facts.contract} {facts.contract_version}, and this is "
            f"{contract.name} {contract.version}",
            str(stored.folder),
            "Give the folder of its contract with --contract-dir.",
        )
