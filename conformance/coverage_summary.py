"""How much of each output schema the results of a run really exercised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.contract import Contract
from conformance.judge.coverage import Coverage
from conformance.ledger import Ledger


@dataclass(frozen=True)
class OperationCoverage:
    """Points of one operation's output schema, by their ids.

    ``missing`` are those that seeding can reach and this run did not; ``out_of_reach`` those that it takes more than
    seeding to reach, where the run did not happen to see them.
    """

    operation: str
    points: int
    reached: int
    missing: tuple[str, ...]
    out_of_reach: tuple[str, ...]


def summarise(contract: Contract, ledger: Ledger) -> Iterator[OperationCoverage]:
    """Yield the coverage of each operation that had a result judged."""
    reached = ledger.coverage()
    for operation in contract.operations:
        if operation.name not in reached:
            continue
        coverage = Coverage(operation.output_schema, f"{operation.name}/output.schema.json")
        coverage.add(reached[operation.name])
        obstacles = coverage.reachability(operation.name)
        yield OperationCoverage(
            operation=operation.name,
            points=len(coverage.points),
            reached=len(coverage.reached),
            missing=tuple(sorted(coverage.missing - obstacles.keys())),
            out_of_reach=tuple(sorted(coverage.missing & obstacles.keys())),
        )
