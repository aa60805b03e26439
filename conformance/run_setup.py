"""What has to be settled before a run: its target, its waivers, its gate, and the folder of its report."""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from conformance.contract import Contract
from conformance.embedded import EmbeddedServer
from conformance.embedded_target import embedded_at
from conformance.errors import CouldNotRun, UsageProblem, nearest
from conformance.gate import read_baseline
from conformance.requirements import Registry
from conformance.run import Gate, Shard
from conformance.run_keeping import WRITTEN, must_not_be_claimed
from conformance.run_workers import WorkerInput
from conformance.target import Target, TargetOptions
from conformance.target_file import known_transport, resolve_target, speaking


def target_of_run(options: TargetOptions, contract: Contract, told: WorkerInput | None) -> Target:
    """Return the target that the options name, or else the embedded one, whose address a worker has been told.

    Raises:
        UsageProblem: an option or the target file is wrong.
    """
    if options.given:
        return resolve_target(options, tuple(operation.name for operation in contract.operations))
    if options.control_url is not None:
        raise UsageProblem("--control-url is given without a target", "command line", "Give --target-url too.")
    transport = known_transport(options.transport, "--transport") if options.transport else "rest"
    embedded = speaking(Target(transport, embedded=True), options.mcp_revision)
    if told is None:
        return embedded
    return embedded_at(embedded, told.url, told.control_url, told.url, told.command)


def reached(target: Target, server: EmbeddedServer) -> Target:
    """Return the embedded target with the address at which it has just begun to answer.

    Raises:
        CouldNotRun: the reference server lacks what it takes to speak MCP; it is stopped.
    """
    try:
        return embedded_at(target, server.url, server.control_url, server.mcp_url, server.stdio_command)
    except CouldNotRun:
        server.stop()
        raise


def prepare_folder(folder: Path) -> None:
    """Make the folder of the report, without the reports of an earlier run.

    Raises:
        UsageProblem: it cannot be written to, or has a run that was attested, of which nothing may be lost.
    """
    must_not_be_claimed(folder, "--report-dir")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in WRITTEN:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageProblem(
            f"{folder} cannot be written to ({reason})", "--report-dir", "Name another folder."
        ) from None


def check_waivers(target: Target, registry: Registry) -> None:
    """See that each waiver is one that can be given, and complete.

    Raises:
        UsageProblem: one is not.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date()
    for waiver in target.waivers:
        where = f"waiver of {waiver.requirement}"
        requirement = registry.by_id.get(waiver.requirement)
        if requirement is None:
            raise UsageProblem("no such requirement", where, nearest(waiver.requirement, registry.by_id))
        if requirement.basis != "derived":
            raise UsageProblem(
                f"it stands on the contract itself ({requirement.basis})", where, "Only derived ones can be waived."
            )
        if not waiver.reason.strip() or not waiver.owner.strip():
            raise UsageProblem("the reason or the owner is empty", where, "Write both.")
        if waiver.until < today:
            raise UsageProblem(f"it ended on {waiver.until}", where, "Repair the server, or agree on a new date.")


_SHARD: Final = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")


def gate_of(config: pytest.Config) -> Gate:
    """Return what the command line asks of the run beside its verdict.

    Raises:
        UsageProblem: the baseline cannot be read, or a level is asked of a part of a run.
    """
    option = config.option
    if option.conformance_require and option.conformance_shard:
        raise UsageProblem(
            "one shard has no level", "--require", "Give it to 'sosoapi-conformance merge', which has all of them."
        )
    baseline = None if option.conformance_baseline is None else read_baseline(option.conformance_baseline)
    return Gate(option.conformance_require or "", option.conformance_fail_on, baseline)


def shard_of(config: pytest.Config) -> Shard | None:
    """Return which part of the cases is to be run, or ``None`` for all of them.

    Raises:
        UsageProblem: it is not written as ``NUMBER/OF``, or there is no such part.
    """
    text: str | None = config.option.conformance_shard
    if text is None:
        return None
    match = _SHARD.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageProblem(f"{text!r} is no part of a run", "--shard", "Write 1/3 for the first of three.")
    return Shard(int(match[1]), int(match[2]))


def repeating(config: pytest.Config, seed: int, profile: str) -> Callable[[str], str]:
    """Return what makes of a test id the command that runs that case again."""
    words = [f"--seed {seed}"]
    if profile != "standard":
        words.append(f"--profile {profile}")
    option = config.option
    given = {
        "--target-url": option.target_url,
        "--target-command": option.target_command,
        "--target-config": option.target_config,
        "--target-app": option.target_app,
        "--transport": option.conformance_transport,
        "--control-url": option.control_url,
        "--mcp-revision": option.mcp_revision,
        "--contract-dir": option.contract_dir,
    }
    words += [f"{name} {shlex.quote(str(value))}" for name, value in given.items() if value]
    given_words = " ".join(words)

    def command(case: str) -> str:
        if config.option.pyargs:
            # Outside of a checkout the id is a path that leads nowhere from here.
            path, _, rest = case.partition("::")
            return f"pytest --pyargs 'conformance.checks.{Path(path).stem}::{rest}' {given_words}"
        return f"pytest '{case}' {given_words}"

    return command
