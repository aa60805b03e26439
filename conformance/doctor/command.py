"""``sosoapi-conformance doctor``: tries the target and its test control, and says what each missing thing costs."""

from __future__ import annotations

import argparse
import dataclasses
import secrets
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

from conformance.contract import Contract, load_contract
from conformance.control.http import HttpControl
from conformance.control.interface import ControlFailed
from conformance.doctor.costs import Costs
from conformance.doctor.diagnosis import Diagnosis, exit_status, rendered
from conformance.doctor.needed import Needed, needed_over
from conformance.doctor.trying_control import TryingControl
from conformance.doctor.trying_target import TryingTokens, entered, reach, with_readable_tokens
from conformance.errors import UsageProblem
from conformance.printable import printable
from conformance.redaction import Redaction, without_token
from conformance.requirements import Registry, load_registry
from conformance.session import RunSettings, Session
from conformance.target import Target, TargetOptions
from conformance.target_file import resolve_target
from conformance.transport.opening import entries

_SEED_LIMIT: Final = 2**32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to ``parser``: those of a run that name a target, and one of its own."""
    parser.add_argument("--target-url", metavar="URL", help="address of the server under test")
    parser.add_argument("--target-config", metavar="FILE", type=Path, help="target file that describes the server")
    parser.add_argument("--target-command", metavar="COMMAND", help="command that starts it as an MCP stdio child")
    parser.add_argument("--control-url", metavar="URL", help="address of its test-control API")
    parser.add_argument("--transport", metavar="NAME", help="rest, mcp-http or mcp-stdio (default: guessed)")
    parser.add_argument("--mcp-revision", metavar="DATE", help="speak this revision of MCP")
    parser.add_argument("--contract-dir", metavar="DIR", type=Path, help="the contract bundle in this folder")
    parser.add_argument("--allow-reset", action="store_true", help="try reset too, which drops all seeded data")


def run(namespace: argparse.Namespace) -> int:
    """Write one line for each thing that was tried, and return the exit status.

    0: all is there, or some of it merely missing; 1: something is broken; 6: nothing answers.

    Raises:
        UsageProblem: an option or the target file is wrong.
    """
    options = TargetOptions(
        url=namespace.target_url,
        command=namespace.target_command,
        config=namespace.target_config,
        transport=namespace.transport,
        control_url=namespace.control_url,
        mcp_revision=namespace.mcp_revision,
    )
    if not options.given:
        raise UsageProblem("no target is named", "doctor", "Give --target-url, --target-command or --target-config.")
    contract = load_contract(namespace.contract_dir)
    target = resolve_target(options, tuple(operation.name for operation in contract.operations))
    registry = load_registry(contract)
    needed = needed_over(registry, target.transport, namespace.contract_dir)
    examination = Examination(contract, registry, target, needed, allow_reset=namespace.allow_reset)
    for line in rendered(examination.shown()):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return exit_status(examination.found, anything_reached=examination.anything_reached)


class Examination:
    """One look at a target, part by part; what it finds is kept."""

    def __init__(
        self,
        contract: Contract,
        registry: Registry,
        target: Target,
        needed: tuple[Needed, ...],
        *,
        allow_reset: bool,
    ) -> None:
        self.found: list[Diagnosis] = []
        self.anything_reached = False
        self._contract = contract
        self._registry = registry
        self._target = target
        self._needed = needed
        self._allow_reset = allow_reset
        self._redaction = Redaction.of(target)
        self._tokens: list[str] = []
        # Another one each time: the ids that follow from a seed must be new to the target.
        self._settings = RunSettings(secrets.randbelow(_SEED_LIMIT), "quick")

    def shown(self) -> Iterator[tuple[str, Diagnosis]]:
        """Yield what is found as it is found, under the title of its part, fit to be shown."""
        for title, diagnosis in self._examine():
            shown = dataclasses.replace(
                diagnosis, sentence=self._fit(diagnosis.sentence), cost=self._fit(diagnosis.cost)
            )
            self.found.append(shown)
            yield title, shown

    def _fit(self, text: str) -> str:
        for token in self._tokens:
            text = without_token(text, token)
        return printable(self._redaction.text(text))

    def _examine(self) -> Iterator[tuple[str, Diagnosis]]:
        control, offered, opening = self._open_control()
        costs = Costs(self._contract, self._registry, self._target, offered, self._needed)
        if opening is not None and opening.state != "ok":
            opening = dataclasses.replace(opening, cost=costs.without_control())
        people = control if offered is not None and {"principals"} <= offered else None
        answers = yield from self._transports(people)
        if opening is not None:
            yield "test control", opening
        working: set[str] = set()
        if not answers:
            if control is not None:
                control.close()
            sentence = "nothing else was tried, since the target cannot be used"
            yield "in all", Diagnosis("requirements", "untried", sentence)
            return
        session = Session(self._contract, self._registry, self._target, self._settings, control)
        try:
            if control is not None:
                trying = TryingControl(session, costs, allow_reset=self._allow_reset)
                # The same list, so that what a person is called by is known before anything is shown.
                self._tokens = trying.tokens
                for diagnosis in trying.diagnoses():
                    yield "test control", diagnosis
                working = trying.working
            if "principals" in working:
                tokens = "not needed: test control makes people with tokens"
                yield "tokens", Diagnosis("all roles", "ok", tokens)
            else:
                for diagnosis in TryingTokens(session, costs).diagnoses():
                    yield "tokens and prepared conversations", diagnosis
        finally:
            session.close()
        usable = dataclasses.replace(costs, target=with_readable_tokens(self._target))
        assessable, known = usable.assessable(working)
        whole = f"{assessable} of {known} requirements can be assessed over {self._target.transport}"
        yield "in all", Diagnosis("requirements", "ok", whole)

    def _open_control(self) -> tuple[HttpControl | None, frozenset[str] | None, Diagnosis | None]:
        """Return test control where it can be used, the capabilities that it names, and what was found of it."""
        if not self._target.control_url:
            return None, None, Diagnosis("address", "missing", "the target names no test control (--control-url)")
        try:
            token = self._target.control_token.read() if self._target.control_token else None
        except UsageProblem as problem:
            return None, None, Diagnosis("token", "broken", f"{problem.where}: {problem.what}")
        control = HttpControl(self._target.control_url, token)
        try:
            capabilities = control.capabilities()
        except ControlFailed as problem:
            control.close()
            return None, None, Diagnosis("address", "broken", f"{problem.what}. {problem.remedy}")
        offers = f"{self._target.control_url} answers"
        return control, capabilities.names, Diagnosis("address", "ok", offers)

    def _transports(self, people: HttpControl | None) -> Generator[tuple[str, Diagnosis], None, bool]:
        """Try each transport; the first is the one that is tested. Return whether that one can be used."""
        usable = True
        for number, entry in enumerate(entries(self._target)):
            target = entered(self._target, entry)
            reached = reach(self._contract, self._registry, target, self._settings, people)
            self.anything_reached = self.anything_reached or reached.answers
            for diagnosis in reached.diagnoses:
                yield "target", diagnosis
            if number == 0:
                usable = reached.diagnoses[0].state != "broken"
        if not self._target.also:
            able = frozenset({"principals", "seed"})
            costs = Costs(self._contract, self._registry, self._target, able, self._needed)
            other = dataclasses.replace(self._target, also=(entries(self._target)[0],))
            cost = costs.without("it", other, self._target)
            sentence = "the target file names one transport ([target.also] has further ones)"
            yield "target", Diagnosis("second transport", "missing", sentence, cost)
        return usable
