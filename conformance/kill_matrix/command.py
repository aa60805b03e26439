"""``sosoapi-conformance faults``: runs the suite against seeded faults and conforming variants."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.contract import load_contract
from conformance.errors import ExitStatus, UsageProblem, nearest
from conformance.kill_matrix.carrying_out import carry_out
from conformance.kill_matrix.summary import lines, what_is_wrong
from conformance.kill_matrix.tables import SUMMARY, sentence, summary_row
from conformance.kill_matrix.trials import Result, Trial, plan
from conformance.kill_matrix.writing import write
from conformance.reference.catalogue import faults, variants
from conformance.reference.mcp.endpoint import is_offered
from conformance.requirements import load_registry
from conformance.session import PROFILES
from conformance.target import TRANSPORTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command; their values are checked by :func:`run`."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults and variants (default: all of them)")
    parser.add_argument(
        "--transport",
        action="append",
        metavar="NAME",
        help="rest, mcp-http or mcp-stdio; repeatable (default: all)",
    )
    parser.add_argument(
        "--profile",
        action="append",
        metavar="NAME",
        help="quick, standard or certify; repeatable (default: quick)",
    )
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="try the seeds 1 to N (default: 1)")
    parser.add_argument(
        "--natural",
        action="store_true",
        help="take the cases in the order of a user's run where the first transport, profile and seed meet, to "
        "measure how soon a run tells",
    )
    parser.add_argument(
        "--in-turn",
        action="store_true",
        help="let variants of different parts share a server, and each conforming server meet one profile and seed "
        "in turn: the whole in less time",
    )
    parser.add_argument("--only", metavar="KIND", help="only plain, fault or variant")
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="how many trials at a time (default: one for each core, and one that waits)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write kill-matrix.json, .md and .html there")


def run(namespace: argparse.Namespace) -> int:
    """Carry out the trials, print what is not as it should be and a summary, and return the exit status.

    It is 1 where a fault is not killed for a requirement that it breaks, or a conforming server is failed.
    """
    if not hasattr(os, "fork"):
        raise UsageProblem("this system cannot fork", "faults", "Run it on Linux or macOS.")
    trials = _trials(namespace)
    results: list[Result] = []

    def keep(result: Result) -> None:
        results.append(result)
        _report(result, len(results), len(trials))

    try:
        if namespace.jobs is None:
            carry_out(trials, os.cpu_count() or 1, keep, spare=1)
        else:
            carry_out(trials, max(1, namespace.jobs), keep)
    finally:
        # An hour's results are not to be lost with an interrupted run; it says of itself how many trials there were.
        if namespace.out:
            write(results, namespace.out)
    for line in lines(results):
        cells = zip(SUMMARY, summary_row(line), strict=True)
        sys.stdout.write("; ".join(f"{name}: {cell}" for name, cell in cells if cell) + "\n")
    return ExitStatus.DOES_NOT_CONFORM if what_is_wrong(results) else ExitStatus.CONFORMS


def _trials(namespace: argparse.Namespace) -> Sequence[Trial]:
    known = {**faults(), **variants()}
    for name in namespace.names:
        if name not in known:
            raise UsageProblem(f"{name!r} is no fault and no variant", "faults", nearest(name, known))
    profiles = namespace.profile or ["quick"]
    for profile in profiles:
        if profile not in PROFILES:
            raise UsageProblem(f"unknown profile {profile!r}", "--profile", nearest(profile, PROFILES))
    transports = namespace.transport or (TRANSPORTS if is_offered() else ("rest",))
    for transport in transports:
        if transport not in TRANSPORTS:
            raise UsageProblem(f"unknown transport {transport!r}", "--transport", nearest(transport, TRANSPORTS))
        if transport != "rest" and not is_offered():
            raise UsageProblem(
                "the MCP SDK is not installed", "--transport", "pip install 'sosoapi-conformance[reference]'"
            )
    kinds = ("plain", "fault", "variant")
    if namespace.only and namespace.only not in kinds:
        raise UsageProblem(f"unknown kind {namespace.only!r}", "--only", nearest(namespace.only, kinds))
    trials = plan(
        load_registry(load_contract()),
        names=namespace.names,
        transports=transports,
        profiles=profiles,
        seeds=range(1, namespace.seeds + 1),
        natural=namespace.natural,
        in_turn=namespace.in_turn,
    )
    return [trial for trial in trials if namespace.only in (None, trial.kind)]


def _report(result: Result, number: int, of: int) -> None:
    """Print what is wrong at once, and on a terminal how far it is."""
    progress = f"\r{number} of {of}\r" if sys.stderr.isatty() else ""
    if what_is_wrong([result]):
        sys.stdout.write(f"{sentence(result)}\n")
        sys.stdout.flush()
    sys.stderr.write(progress)
