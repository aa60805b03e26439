"""What has to be settled before a run: its target, its waivers, the folder of its report, and what a worker is told."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Contract
from conformance.embedded import EmbeddedServer
from conformance.embedded_target import embedded_at
from conformance.errors import CouldNotRun, UsageProblem, nearest
from conformance.requirements import Registry
from conformance.target import Target, TargetOptions
from conformance.target_file import known_transport, resolve_target, speaking


@dataclass(frozen=True)
class WorkerInput:
    """What the controller tells a worker process beyond the command line."""

    worker: str
    seed: int
    url: str
    command: str
    control_url: str


def told_to(config: pytest.Config) -> WorkerInput | None:
    """Return what the controller told this process, or ``None`` where it is no worker."""
    values: dict[str, Any] | None = getattr(config, "workerinput", None)
    return None if values is None else WorkerInput(worker=values["workerid"], **values["conformance"])


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
    """Make the folder of the report, without the report of an earlier run: one that cannot start leaves none.

    Raises:
        UsageProblem: it cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").unlink(missing_ok=True)
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
