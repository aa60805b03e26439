"""The pytest side of one conformance run: settings, preflight, what each case came to, verdict, exit status."""

from __future__ import annotations

import datetime
import gc
import secrets
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from _pytest.junitxml import xml_key
from _pytest.terminal import TerminalReporter

from conformance import __version__
from conformance.app_serving import vendors_control, with_app
from conformance.case_selection import belongs, in_order, in_shard, is_check
from conformance.contract import Contract, load_contract
from conformance.coverage_summary import summarise
from conformance.decision import decided
from conformance.embedded import EmbeddedServer, start_reference_server
from conformance.errors import CouldNotRun, ExitStatus, SuiteFault, UsageProblem
from conformance.judge.finding import NonConformance
from conformance.judge.self_proof import prove
from conformance.ledger import CaseOutcome, CaseRecord, Ledger, finding_to_json
from conformance.libraries import versions
from conformance.preflight import preflight
from conformance.printable import printable
from conformance.recorded.description import to_json as described
from conformance.recorder import Recorder
from conformance.redaction import Redaction
from conformance.report.exchange_log import ExchangeLog
from conformance.report.json_report import Decided
from conformance.report.terminal import header_lines, print_summary
from conformance.requirements import Registry, load_registry
from conformance.run import Gate, RunFacts, Shard
from conformance.run_keeping import Keeping
from conformance.run_setup import (
    check_waivers,
    gate_of,
    prepare_folder,
    reached,
    repeating,
    shard_of,
    target_of_run,
)
from conformance.run_workers import COUNTED, Controller, told_to
from conformance.session import RunSettings, Session, open_control
from conformance.target import Target, TargetOptions
from conformance.transport.exchange import Exchange
from conformance.transport.opening import entries

CONTRACT = pytest.StashKey[Contract]()
SESSION = pytest.StashKey[Session]()
RECORDER = pytest.StashKey[Recorder]()

_SEED_LIMIT = 2**32
# A run makes and drops values by the million, hardly any in cycles. Rarer still and memory grows with the examples.
_COLLECT_RARELY = (50_000, 5, 2)
_STATUS_WORDS: dict[CaseOutcome, tuple[str, str]] = {
    "failed": ("F", "NONCONFORMING"),
    "not assessed": ("n", "NOT ASSESSED"),
    "could not run": ("c", "COULD NOT RUN"),
}


def register(config: pytest.Config, options: TargetOptions) -> None:
    """Set up a run in this process: the only one, the controller, or a worker.

    Raises:
        pytest.UsageError: an option or the target file is wrong.
    """
    told = told_to(config)
    if config.option.recorded is not None:
        _register_recorded(config, options)
        return
    try:
        contract = load_contract(config.option.contract_dir)
        registry = load_registry(contract)
        options = with_app(config, options)
        target = target_of_run(options, contract, told)
        check_waivers(target, registry)
        gate, shard = gate_of(config), shard_of(config)
        if config.option.report_dir and told is None and not config.option.collectonly:
            prepare_folder(config.option.report_dir)
    except UsageProblem as problem:
        raise pytest.UsageError(str(problem)) from None
    seed = config.option.conformance_seed
    if told is not None:
        seed = told.seed
    elif seed is None:
        seed = secrets.randbelow(_SEED_LIMIT)
    settings = RunSettings(seed, config.option.conformance_profile, told.worker if told else "main")
    if config.option.report_dir and told is None and not config.option.xmlpath:
        config.option.xmlpath = str(config.option.report_dir / "junit.xml")
    config.stash[CONTRACT] = contract
    config.stash[RECORDER] = Recorder()
    run = ConformanceRun(config, registry, target, settings, gate, shard)
    config.pluginmanager.register(run, "conformance-run")
    if config.pluginmanager.hasplugin("xdist") and told is None:
        config.pluginmanager.register(Controller(run), "conformance-controller")


def _register_recorded(config: pytest.Config, options: TargetOptions) -> None:
    """Set up a run on the record of an earlier one, which says all that options say otherwise."""
    from conformance.recorded.recording import read_recording  # noqa: PLC0415 - such runs are rare
    from conformance.recorded.replay import Replay, ReplayRun  # noqa: PLC0415 - as above
    from conformance.recorded.run import RecordedRun  # noqa: PLC0415 - it is made from this module's run

    if options.given or config.option.conformance_seed is not None:
        raise pytest.UsageError("--recorded is given with a target or a seed. The record has both: leave them out.")
    try:
        contract = load_contract(config.option.contract_dir)
        recording = read_recording(config.option.recorded)
        if config.option.report_dir:
            prepare_folder(config.option.report_dir)
    except UsageProblem as problem:
        raise pytest.UsageError(str(problem)) from None
    except CouldNotRun as problem:
        pytest.exit(f"could not run: {problem}", returncode=int(ExitStatus.COULD_NOT_RUN))
    config.stash[CONTRACT] = contract
    config.stash[RECORDER] = Recorder()
    registry = load_registry(contract)
    replay = next((each for each in config.pluginmanager.get_plugins() if isinstance(each, Replay)), None)
    run = RecordedRun(config, registry, recording) if replay is None else ReplayRun(config, registry, recording, replay)
    config.pluginmanager.register(run, "conformance-run")


class ConformanceRun:
    """Hooks of one run. Workers run cases; the one process or the controller keeps the ledger and the verdict."""

    def __init__(
        self,
        config: pytest.Config,
        registry: Registry,
        target: Target,
        settings: RunSettings,
        gate: Gate | None = None,
        shard: Shard | None = None,
    ) -> None:
        self.config = config
        self.contract = config.stash[CONTRACT]
        self.registry = registry
        self.target = target
        self.redaction = Redaction.of(target)
        self.settings = settings
        self.is_worker = settings.worker != "main"
        self.ledger = Ledger()
        self.embedded: EmbeddedServer | None = None
        self.session: Session | None = None
        self.selected = 0
        self.deselected = 0
        self.elsewhere = 0
        self._started = time.monotonic()
        self._collects = gc.get_threshold()
        told, now = told_to(config), datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._started_at = told.started_at if told else now
        self._gate, self._shard = gate or Gate(), shard
        folder = config.option.report_dir
        self._keeping = Keeping(folder, self.contract, registry) if folder else None
        self._log: ExchangeLog | None = None
        self._decided: Decided | None = None
        self._uncollected = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Prove the judge, start the reference server where no target is named, and see that the target is there."""
        if self.config.option.collectonly:
            return
        gc.set_threshold(*_COLLECT_RARELY)
        try:
            self._open()
        except UsageProblem as problem:
            raise pytest.UsageError(str(problem)) from None
        except CouldNotRun as problem:
            if self._keeping is not None and not self.is_worker:
                self._keeping.not_begun(self.facts, self._shown(problem))
            pytest.exit(f"could not run: {self._shown(problem)}", returncode=int(ExitStatus.COULD_NOT_RUN))
        except SuiteFault as problem:
            pytest.exit(str(problem), returncode=int(ExitStatus.SUITE_FAULT))

    @pytest.hookimpl(trylast=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Say only once why a run could not start; pytest has written the message by now and would repeat it."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if isinstance(excinfo.value, pytest.exit.Exception) and reporter is not None:
            reporter._keyboardinterrupt_memo = None  # noqa: SLF001 - pytest has no other way to leave it out

    def _open(self) -> None:
        if not self.is_worker:
            prove(self.contract)
            if self.target.embedded:
                self.embedded = start_reference_server(*(["--nursery"] if self.target.transport == "mcp-stdio" else []))
                self.target = reached(self.target, self.embedded)
        control = vendors_control(self.config) or open_control(self.target)
        self.session = Session(self.contract, self.registry, self.target, self.settings, control)
        self.config.stash[SESSION] = self.session
        if self._keeping is not None:
            self._log = self._keeping.exchanges(self.facts, self.redaction, self.settings.worker, self._described())
            self.session.write_to(self._log)
        if self.session.stage.has_one_clock and (self.is_worker or self.config.pluginmanager.hasplugin("dsession")):
            raise UsageProblem(
                "the target has one clock for all workspaces, and several processes would set it under each other",
                "-n",
                "Run it in one process.",
            )
        if not self.is_worker:
            if control is not None and self.config.option.conformance_seed is not None:
                # The same seed means the same ids, which this server may have met in an earlier run.
                self.session.forget_earlier_runs()
            preflight(self.session)
            if self._keeping is not None:
                self._keeping.begin(self.facts)

    def _described(self) -> dict[str, Any]:
        """Return what the log says of the target, so that its exchanges can be judged again."""
        assert self.session is not None
        names, tokens = self.redaction.names(), dict[str, str]()
        for role, secret in self.target.tokens.items():
            with suppress(UsageProblem):
                tokens[role] = f"${names[secret.read()]}"
        control = ""
        if self.target.control_token is not None:
            control = f"${names[self.target.control_token.read()]}"
        return described(self.target, tokens, control, self.session.stage.capabilities, versions())

    @property
    def facts(self) -> RunFacts:
        """The facts of the run, as far as they are known."""
        stage = self.session.stage if self.session else None
        return RunFacts(
            suite_version=__version__,
            contract=self.contract.name,
            contract_version=self.contract.version,
            requirement_set=self.contract.version,
            address=self.target.address,
            implementation=self.target.implementation,
            embedded=self.target.embedded,
            transport=self.target.transport,
            mcp_revision=self.session.mcp_revision if self.session else "",
            tier=stage.tier if stage else "bare",
            capabilities=tuple(sorted(stage.capabilities.names)) if stage else (),
            seed=self.settings.seed,
            profile=self.settings.profile,
            waivers=self.target.waivers,
            duration=time.monotonic() - self._started,
            unexecuted=self.deselected + self._unfinished,
            elsewhere=self.elsewhere,
            started_at=self._started_at,
            offered=tuple(entry.transport for entry in entries(self.target)),
            shard=self._shard,
            gate=self._gate,
        )

    @property
    def _unfinished(self) -> int:
        return max(0, self.selected - len({record.case for record in self.ledger.records}))

    def pytest_report_header(self) -> list[str]:
        """Say what is tested, against what, and how to repeat it."""
        return header_lines(self.facts) if self.session else []

    def _belongs(self, item: pytest.Item) -> bool:
        return belongs(item, self.registry, self.target.transport, self.settings.profile)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count the suite's own cases that the user leaves out, and not those that are no part of such a run."""
        self.deselected += sum(is_check(item) and self._belongs(item) for item in items)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the cases that are no part of such a run, and put the others in order."""
        others = [item for item in items if not self._belongs(item)]
        items[:] = in_order([item for item in items if self._belongs(item)])
        if self._shard is not None:
            items[:], elsewhere = in_shard(items, self._shard)
            self.elsewhere = len(elsewhere)
            others += elsewhere
        if others:
            self.config.hook.pytest_deselected(items=others)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the suite's own cases that are to be executed."""
        self.selected = sum(is_check(item) for item in session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip, as not assessed, what this target's tier or transport cannot show."""
        if not is_check(item) or self.session is None:
            return
        self.config.stash[RECORDER].clear()
        item.stash[_EXCHANGES_BEFORE] = self.session.exchanges
        # The path differs between a checkout and an installed wheel; the file's name and the case do not.
        self.session.begin_case(f"{item.path.name}/{item.name}")
        if self._log is not None:
            self._log.begin_case(item.nodeid)
        lack = self.session.stage.lacks(need for mark in item.iter_markers("needs") for need in mark.args)
        if lack:
            pytest.skip(lack)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach to the report what the case came to, so that it reaches the controller from any worker."""
        report = yield
        if not is_check(item) or self.session is None or (report.when != "call" and report.passed):
            return report
        record = self._record(item, call, report)
        values = record.to_json()
        for name in ("reason", "findings", "freedoms"):
            # Whatever a target has said stands in one of these.
            values[name] = self.redaction.value(values[name])
        setattr(report, _ATTRIBUTE, values)
        if record.outcome in ("failed", "could not run"):
            assert call.excinfo is not None
            report.longrepr = self._shown(call.excinfo.value)
        return report

    def _shown(self, problem: object) -> str:
        """Return what went wrong in words that may quote the target: without tokens, fit for a terminal."""
        return printable(self.redaction.text(str(problem)))

    def _record(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> CaseRecord:
        assert self.session is not None
        outcome: CaseOutcome = "passed"
        findings: tuple[dict[str, Any], ...] = ()
        reason = ""
        error = call.excinfo.value if call.excinfo else None
        if report.skipped:
            outcome, reason = "not assessed", getattr(error, "msg", None) or str(error)
        elif isinstance(error, NonConformance):
            named = self._log.name if self._log is not None else _unnamed
            outcome, findings = "failed", tuple(finding_to_json(finding, named) for finding in error.findings)
        elif isinstance(error, CouldNotRun):
            outcome, reason = "could not run", str(error)
        elif error is not None:
            outcome, reason = "error", f"{type(error).__name__}: {error}"
        notes = self.config.stash[RECORDER]
        return CaseRecord(
            case=item.nodeid,
            requirements=tuple(dict.fromkeys(name for mark in item.iter_markers("requirement") for name in mark.args)),
            outcome=outcome,
            reason=reason,
            findings=findings,
            freedoms=(*notes.freedoms, *self.session.case_freedoms),
            exchanges=self.session.exchanges - item.stash.get(_EXCHANGES_BEFORE, self.session.exchanges),
            seconds=report.duration,
            coverage={operation: sorted(points) for operation, points in notes.coverage.items()},
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Enter the case into the ledger; stop the run when the target is gone."""
        values = getattr(report, _ATTRIBUTE, None)
        if values is None or self.is_worker:
            return
        record = CaseRecord.from_json(values)
        self.ledger.add(record)
        if self._keeping is not None:
            self._keeping.add(record)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Keep findings out of pytest's list of tracebacks: the summary shows each of them once."""
        values = getattr(report, _ATTRIBUTE, None)
        if values is None or values["outcome"] not in _STATUS_WORDS:
            return None
        letter, word = _STATUS_WORDS[values["outcome"]]
        return word.lower(), letter, word

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Stop the run after a case that found the target gone."""
        result = yield
        if self.session is not None and self.session.gone:
            item.session.shouldstop = self._shown(self.session.gone)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, None, None]:
        """Decide, write the report, and set the exit status."""
        if self.is_worker:
            counts = {name: getattr(self, name) for name in COUNTED}
            self.config.workeroutput["conformance"] = counts  # type: ignore[attr-defined]  # xdist puts it there
            if self._keeping is not None:
                self._keeping.close(complete=True)
        elif not self.config.option.collectonly:
            self._decide(session, exitstatus)
        yield
        gc.set_threshold(*self._collects)
        if self.session is not None:
            self.session.close()
        if self.embedded is not None:
            self.embedded.stop()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notice a check that cannot even be imported."""
        self._uncollected = self._uncollected or report.failed

    def _decide(self, session: pytest.Session, status: int) -> None:
        if self._uncollected:
            # pytest has printed the traceback; a suite that cannot load its checks has no verdict to give.
            session.exitstatus = int(ExitStatus.SUITE_FAULT)
            return
        interrupted = status in (
            pytest.ExitCode.INTERRUPTED,
            pytest.ExitCode.INTERNAL_ERROR,
            pytest.ExitCode.USAGE_ERROR,
        )
        complete = not (interrupted or self._unfinished)
        run = self._decided = decided(self.contract, self.registry, self.facts, self.ledger, complete=complete)
        foreign_failures = session.testsfailed - sum(
            self.ledger.count(outcome) for outcome in ("failed", "could not run", "error")
        )
        if not interrupted or (self.session is not None and self.ledger.count("could not run")):
            session.exitstatus = int(
                run.status or (ExitStatus.DOES_NOT_CONFORM if foreign_failures > 0 else run.status)
            )
        self._tell_junit(run)
        if self._keeping is not None and self.session is not None:
            self._keeping.end(replace(run, status=ExitStatus(int(session.exitstatus))))

    def _tell_junit(self, run: Decided) -> None:
        """Give pytest's JUnit XML, where it is written, what is not about single cases."""
        xml = self.config.stash.get(xml_key, None)
        if xml is None:
            return
        told = [("verdict", run.verdict.overall), ("level", run.verdict.level), ("seed", str(self.settings.seed))]
        told += [("waived", f"{each.requirement} until {each.until}: {each.reason}") for each in run.facts.waivers]
        told += [("problem", problem) for problem in run.problems]
        for name, value in told:
            xml.add_global_property(name, self._shown(value))

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print the summary, and say what to do when no check was selected."""
        if self._decided is None:
            return
        repeat = repeating(self.config, self.settings.seed, self.settings.profile)
        print_summary(terminalreporter, self.registry, self._decided, summarise(self.contract, self.ledger), repeat)
        if self._decided.verdict.overall == "not run" and not self.ledger.records:
            terminalreporter.write_line(
                "No conformance check was selected. From an installed wheel: pytest --pyargs conformance ..."
            )
        if self._keeping is not None:
            terminalreporter.write_line(f"report: {self.config.option.report_dir / 'report.html'}")


# Attributes of a report travel from xdist's workers to the controller; the name is this suite's own.
_ATTRIBUTE = "conformance"
_EXCHANGES_BEFORE = pytest.StashKey[int]()


def _unnamed(_: Exchange) -> str:
    """Return no id, where exchanges are not written down."""
    return ""
