"""``sosoapi-conformance merge``: puts the shards of a run together, and runs over several transports."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.contract import load_contract
from conformance.merging import keep_parts, make_room, merged, must_belong_together, store
from conformance.report.case_log import read_run
from conformance.report.rendering import render
from conformance.report_command import must_be_of
from conformance.requirements import load_registry
from conformance.verdict import LEVELS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="folder of a shard, or of a whole run")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the result")
    parser.add_argument("--require", choices=LEVELS[1:], metavar="LEVEL", help="schema, behaviour or full")
    parser.add_argument("--contract-dir", type=Path, metavar="DIR", help="the contract bundle of the runs")


def run(namespace: argparse.Namespace) -> int:
    """Write the result and all reports, print the verdict, and return the exit status of the whole.

    Raises:
        UsageProblem: a folder has no stored result, the runs do not belong together, or there is no room for the whole.
    """
    contract = load_contract(namespace.contract_dir)
    runs = [read_run(folder) for folder in namespace.folders]
    for stored in runs:
        must_be_of(contract, stored)
    must_belong_together(runs)
    make_room(namespace.out, runs)
    registry = load_registry(contract)
    whole = merged(contract, registry, runs, namespace.require or "")
    namespace.out.mkdir(parents=True, exist_ok=True)
    store(namespace.out, runs, whole)
    render(namespace.out, contract, registry, whole)
    keep_parts(namespace.out, runs)
    for problem in whole.problems:
        sys.stdout.write(f"problem: {problem}\n")
    sys.stdout.write(f"verdict: {whole.verdict.overall} (level: {whole.verdict.level})\n")
    sys.stdout.write(f"report: {namespace.out / 'report.html'}\n")
    return int(whole.status)
