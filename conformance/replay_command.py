"""``sosoapi-conformance replay DIR``: sends what led to a finding again, and says whether it still fails."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from conformance.contract import load_contract
from conformance.decision import decided
from conformance.errors import CouldNotRun, ExitStatus, UsageProblem
from conformance.ledger import CaseRecord
from conformance.printable import printable
from conformance.recorded.recording import Recording, read_recording
from conformance.recorded.replay import Replay
from conformance.recorded.tape import short_case
from conformance.report.json_report import report_document
from conformance.report_command import must_be_of
from conformance.requirements import load_registry
from conformance.target import Target, TargetOptions
from conformance.target_file import resolve_target
from conformance.transport.mcp.stdio import StdioCommand

_ATTEMPTS_AT_A_RACE: Final = 15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that 'pytest --report-dir' wrote")
    parser.add_argument("--finding", type=int, default=1, metavar="N", help="number of the finding (default: 1)")
    parser.add_argument("--target-url", metavar="URL", help="where the server is now (default: where it was)")
    parser.add_argument("--target-command", metavar="COMMAND", help="command that starts it as a child over stdio now")
    parser.add_argument("--control-url", metavar="URL", help="where its test control is now (default: where it was)")
    parser.add_argument("--target-config", type=Path, metavar="FILE", help="target file, for tokens and addresses")
    parser.add_argument("--contract-dir", type=Path, metavar="DIR", help="the contract bundle of the run")


def run(namespace: argparse.Namespace) -> int:
    """Replay, print what came of it, and return the status.

    1 when the finding is still there, 0 when it is gone, 6 when that cannot be told.

    Raises:
        UsageProblem: there is no such finding, or an option is wrong.
    """
    contract = load_contract(namespace.contract_dir)
    registry = load_registry(contract)
    try:
        recording = read_recording(namespace.folder)
        must_be_of(contract, recording.run)
        stored = decided(contract, registry, recording.run.facts, recording.run.ledger, complete=recording.run.complete)
        finding = _finding(report_document(contract, registry, stored), namespace)
        case = short_case(finding["cases"][0])
        target = _target(namespace, recording)
        wanted = (finding["requirement"], finding["operation"])
        _say(f"finding {finding['number']}: {finding['requirement']}, {finding['operation']}: {finding['summary']}")
        _say(f"case: {case}")
        return _replayed(namespace, recording, case, target, wanted)
    except CouldNotRun as problem:
        _say(f"could not be replayed: {problem}")
        return int(ExitStatus.COULD_NOT_RUN)


def _replayed(
    namespace: argparse.Namespace, recording: Recording, case: str, target: Target, wanted: tuple[str, str]
) -> int:
    is_race = recording.is_race(case)
    for attempt in range(1, (_ATTEMPTS_AT_A_RACE if is_race else 1) + 1):
        replay = replay_case(namespace.folder, case, target, namespace.contract_dir)
        if attempt == 1:
            for note in replay.notes:
                _say(note)
        if not replay.problem and _fails(replay.record, wanted):
            again = f" (attempt {attempt} at the race)" if is_race else ""
            _say(_counted(replay) + again)
            _say(f"still fails: {wanted[0]}")
            return int(ExitStatus.DOES_NOT_CONFORM)
        if replay.problem or not is_race:
            break
    _say(_counted(replay))
    record = replay.record
    if replay.problem or record is None:
        _say(f"could not be replayed: {replay.problem or 'the case did not come to an end'}")
        return int(ExitStatus.COULD_NOT_RUN)
    if record.outcome == "failed":
        others = ", ".join(sorted({each["requirement"] for each in record.findings}))
        _say(f"fails otherwise now: {others}")
        return int(ExitStatus.DOES_NOT_CONFORM)
    if record.outcome == "passed":
        _say("does not fail any more" + (f", in {_ATTEMPTS_AT_A_RACE} attempts at the race" if is_race else ""))
        return int(ExitStatus.CONFORMS)
    if replay.resent.same < replay.resent.sent:
        # The check went on where it had stopped then, and what it would send next was never recorded.
        _say("does not fail as it did: the server answers otherwise now. Run the case again to judge it whole.")
        return int(ExitStatus.CONFORMS)
    _say(f"could not be replayed: {record.reason}")
    return int(ExitStatus.COULD_NOT_RUN)


def replay_case(folder: Path, case: str, target: Target, contract_dir: Path | None = None) -> Replay:
    """Send the exchanges of a case, a short test id, to a target again; return what came of it."""
    replay = Replay(case, target)
    options = ["--pyargs", "conformance", "-c", os.devnull, "-W", "ignore", "--recorded", str(folder)]
    for plugin in ("terminal", "cacheprovider", "xdist", "junitxml", "schemathesis"):
        options += ["-p", f"no:{plugin}"]
    if contract_dir is not None:
        options += ["--contract-dir", str(contract_dir)]
    pytest.main(options, plugins=[replay])
    return replay


def _finding(document: dict[str, Any], namespace: argparse.Namespace) -> dict[str, Any]:
    findings: list[dict[str, Any]] = document["findings"]
    if not findings:
        raise UsageProblem("the run has no findings", str(namespace.folder), "There is nothing to replay.")
    for finding in findings:
        if finding["number"] == namespace.finding:
            return finding
    raise UsageProblem(
        f"there is no finding {namespace.finding}", "--finding", f"They are numbered from 1 to {len(findings)}."
    )


def _target(namespace: argparse.Namespace, recording: Recording) -> Target:
    was = recording.description.target
    over_stdio = was.transport == "mcp-stdio"
    wanted, other = ("command", "url") if over_stdio else ("url", "command")
    given = {name: getattr(namespace, f"target_{name}") for name in (wanted, other)}
    if given[other]:
        raise UsageProblem(f"the run was over {was.transport}", f"--target-{other}", f"Give --target-{wanted} instead.")
    if was.embedded and not (given[wanted] or namespace.target_config):
        raise UsageProblem(
            "the run tested the embedded reference server, which is gone",
            f"--target-{wanted}",
            f"Start one with 'sosoapi-conformance serve', and give --target-{wanted} and --control-url.",
        )
    options = TargetOptions(
        url=given["url"] or (None if namespace.target_config else was.url or None),
        command=given["command"] or (None if namespace.target_config else was.command or None),
        config=namespace.target_config,
        transport=was.transport,
        control_url=namespace.control_url or (None if namespace.target_config else was.control_url or None),
    )
    target = resolve_target(options, tuple(operation.name for operation in load_contract().operations))
    if was.control_url and not target.control_url:
        raise UsageProblem("the run had test control, and the target has none", "--control-url", "Give its address.")
    if over_stdio:
        _must_start(target)
    return replace(target, limits=was.limits, mcp=target.mcp if namespace.target_config else was.mcp)


def _must_start(target: Target) -> None:
    where = "--target-command"
    if not target.command:
        raise UsageProblem("the target has no command, and the run was over mcp-stdio", where, "Give it.")
    try:
        StdioCommand(target.command, {}).words()
    except ValueError as error:
        raise UsageProblem(f"the command {target.command!r} cannot be run ({error})", where, "Correct it.") from None


def _fails(record: CaseRecord | None, wanted: tuple[str, str]) -> bool:
    return record is not None and any((each["requirement"], each["operation"]) == wanted for each in record.findings)


def _counted(replay: Replay) -> str:
    return f"sent again: {replay.resent.sent} requests, of which {replay.resent.same} were answered as then"


def _say(sentence: str) -> None:
    sys.stdout.write(f"{printable(sentence)}\n")
