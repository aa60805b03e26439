"""The terminal: what is tested, then per family what came of it, then each finding once, then the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator

from _pytest.terminal import TerminalReporter

from conformance.coverage_summary import OperationCoverage
from conformance.errors import ExitStatus
from conformance.ledger import GroupedFinding, Ledger, reasons
from conformance.printable import printable
from conformance.report.json_report import Decided
from conformance.requirements import Registry
from conformance.run import RunFacts
from conformance.verdict import Verdict, decisive

_MOST_FINDINGS = 50
_BODY_SHOWN = 300
_WIDEST = 100
_MEANING = {
    "conforms": "every assessed requirement holds",
    "does not conform": "at least one requirement is broken",
    "incomplete": "all that ran passed, but not every check was run",
    "not run": "nothing was executed",
}


def header_lines(facts: RunFacts) -> list[str]:
    """Return the lines that open a run."""
    what = facts.implementation.name or ("embedded reference server" if facts.embedded else "server")
    return [
        f"conformance: {what} at {facts.address} ({_spoken(facts)}, {facts.tier} tier)",
        (
            f"contract: {facts.contract} {facts.contract_version}, requirement set {facts.requirement_set}; "
            f"profile {facts.profile}, seed {facts.seed}"
        ),
    ]


def _spoken(facts: RunFacts) -> str:
    return f"{facts.transport} {facts.mcp_revision}".strip()


def print_summary(
    out: TerminalReporter,
    registry: Registry,
    run: Decided,
    coverage: Iterable[OperationCoverage],
    repeat: Callable[[str], str],
) -> None:
    """Print the summary; ``repeat`` makes of a test id the command that runs that case again."""
    verdict, ledger = run.verdict, run.ledger
    _print_families(out, verdict)
    findings = ledger.findings()
    for number, group in enumerate(findings[:_MOST_FINDINGS], 1):
        out.write_line("")
        _print_finding(out, registry, number, group, repeat)
    if len(findings) > _MOST_FINDINGS:
        out.write_line(f"\n... and {len(findings) - _MOST_FINDINGS} more findings; --report-dir keeps them all.")
    _print_notes(out, verdict, ledger, coverage)
    _print_gate(out, run)
    _print_verdict(out, run.facts, verdict, ledger)


def _print_families(out: TerminalReporter, verdict: Verdict) -> None:
    out.section("conformance", sep="=")
    out.write_line(f"{'family':<16}{'passed':>8}{'failed':>8}{'not assessed':>14}{'no check yet':>14}")
    for family, counts in verdict.family_counts().items():
        failed = counts["fail"] + counts["warning"] + counts["waived"] + counts["known"]
        if not (counts["pass"] or failed or counts["not assessed"] or counts["no check yet"]):
            continue
        line = f"{family:<16}{counts['pass']:>8}{failed:>8}{counts['not assessed']:>14}{counts['no check yet']:>14}"
        out.write_line(line, red=bool(counts["fail"]), yellow=not counts["fail"] and bool(failed))
    missing: dict[str, list[str]] = {}
    for result in verdict.results:
        if result.outcome == "not assessed":
            missing.setdefault(result.reason, []).append(result.requirement.id)
    for reason, identifiers in missing.items():
        for line in _wrapped(out, f"not assessed ({len(identifiers)}): {printable(reason)}"):
            out.write_line(line)


def _print_finding(
    out: TerminalReporter, registry: Registry, number: int, group: GroupedFinding, repeat: Callable[[str], str]
) -> None:
    finding = group.first
    requirement = registry.by_id.get(finding["requirement"])
    basis = f" ({requirement.level}, {requirement.basis})" if requirement else ""
    out.write_line(f"{number}. {finding['requirement']}{basis}", bold=True, red=True)
    if requirement:
        for line in _wrapped(out, requirement.statement, "   "):
            out.write_line(line)
    where = f" [{finding['operation']}]" if finding["operation"] else ""
    for line in _wrapped(out, f"{printable(finding['summary'])}{where}.", "   "):
        out.write_line(line, bold=True)
    for label in ("place", "expected", "found"):
        if finding[label]:
            out.write_line(f"   {label + ':':<10}{printable(finding[label])}")
    if finding["exchanges"]:
        exchange = finding["exchanges"][-1]
        out.write_line(f"   {'sent:':<10}{exchange['curl']}")
        out.write_line(f"   {'answer:':<10}{_answer(exchange)}")
    for index, line in enumerate(finding["story"].splitlines()):
        out.write_line(f"   {'' if index else 'story:':<10}{printable(line)}")
    more = f" (and {len(group.cases) - 1} more cases)" if len(group.cases) > 1 else ""
    out.write_line(f"   {'repeat:':<10}{repeat(group.cases[0])}{more}")


def _answer(exchange: dict[str, object]) -> str:
    answer = exchange["answer"]
    if not isinstance(answer, dict):
        return f"none: {printable(str(exchange['failure']))}"
    body = printable(answer["body"])
    if len(body) > _BODY_SHOWN:
        body = f"{body[:_BODY_SHOWN]}... ({answer['bytes']} bytes)"
    return printable(f"{answer['status']} {answer['reason']} {answer['content_type']}").strip() + (
        f"  {body}" if body else ""
    )


def _print_notes(
    out: TerminalReporter, verdict: Verdict, ledger: Ledger, coverage: Iterable[OperationCoverage]
) -> None:
    out.write_line("")
    for each in coverage:
        told = (
            f"schema of {each.operation}: {each.reached} of {each.points} points exercised, "
            f"{len(each.missing)} missed, {len(each.out_of_reach)} out of reach of seeding"
        )
        for line in _wrapped(out, told):
            out.write_line(line)
    for reason in reasons(record for record in ledger.records if record.outcome == "could not run"):
        for line in _wrapped(out, f"could not run: {printable(reason)}"):
            out.write_line(line, yellow=True)
    freedoms = "; ".join(f"{name}: {' and '.join(choices)}" for name, choices in ledger.freedoms().items())
    for line in _wrapped(out, f"left open by the contract, and what this server does: {printable(freedoms)}"):
        if freedoms:
            out.write_line(line)
    pending = sum(result.outcome == "no check yet" for result in verdict.results)
    if pending:
        out.write_line(f"{pending} requirements have no check in this version; the verdict is silent on them.")


def _print_gate(out: TerminalReporter, run: Decided) -> None:
    """Say what the exit status rests on beside the findings: waivers, known faults, what the gate lets pass."""
    for waiver in run.facts.waivers:
        text = f"waived: {waiver.requirement} until {waiver.until}, by {waiver.owner}: {waiver.reason}"
        for line in _wrapped(out, printable(text)):
            out.write_line(line, yellow=True)
    known = [result.requirement.id for result in run.verdict.results if result.outcome == "known"]
    broken = {result.requirement.id for result in run.verdict.results if result.outcome == "fail"}
    let_pass = sorted(broken - decisive(run.verdict, run.ledger, run.facts))
    said = (
        ("known from the baseline", known),
        (f"let pass by --fail-on {run.facts.gate.fail_on}", let_pass),
        ("problem", run.problems),
    )
    for label, texts in said:
        for text in texts:
            for line in _wrapped(out, printable(f"{label}: {text}")):
                out.write_line(line, yellow=label != "problem", red=label == "problem")
    if run.status == ExitStatus.BELOW_REQUIRED_LEVEL:
        out.write_line(f"--require {run.facts.gate.required}: the verdict's level is {run.verdict.level}.", red=True)


def _print_verdict(out: TerminalReporter, facts: RunFacts, verdict: Verdict, ledger: Ledger) -> None:
    good = verdict.overall == "conforms"
    said = (
        f"verdict: {verdict.overall} - {_MEANING[verdict.overall]} (level: {verdict.level}; "
        f"{ledger.exchanges} exchanges, {facts.duration:.1f} s, seed {facts.seed})"
    )
    for line in _wrapped(out, said):
        out.write_line(
            line,
            bold=True,
            green=good,
            red=verdict.overall == "does not conform",
            yellow=verdict.overall in ("incomplete", "not run"),
        )


def _wrapped(out: TerminalReporter, text: str, indent: str = "") -> Iterator[str]:
    yield from textwrap.wrap(
        " ".join(text.split()),
        # One column is left free: some terminals break a line that fills them.
        width=min(_WIDEST, out.config.get_terminal_writer().fullwidth - 1),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
