"""``python -m conformance.requirement_pages``: writes the pages, or compares them with what would be written."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.contract import load_contract
from conformance.errors import ExitStatus, SuiteFault, UsageProblem, nearest
from conformance.requirement_pages.example import Example
from conformance.requirement_pages.page import FOLDER, comparable, families, page
from conformance.requirement_pages.running import examples
from conformance.requirements import load_registry


def main() -> int:
    """Write the pages of all families, or of those named; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m conformance.requirement_pages", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="only the pages of these families")
    parser.add_argument("--out", metavar="DIR", type=Path, help="write them there (default: into the contract bundle)")
    parser.add_argument("--check", action="store_true", help="write nothing; say which pages would change")
    namespace = parser.parse_args()
    try:
        return _write(namespace)
    except (UsageProblem, SuiteFault) as problem:
        sys.stderr.write(f"{problem}\n")
        return ExitStatus.USAGE if isinstance(problem, UsageProblem) else ExitStatus.SUITE_FAULT


def _write(namespace: argparse.Namespace) -> int:
    contract = load_contract()
    registry = load_registry(contract)
    known = families(registry)
    for name in namespace.families:
        if name not in known:
            raise UsageProblem(f"there is no family {name!r}", "requirement_pages", nearest(name, known))
    chosen = namespace.families or known
    folder: Path = namespace.out or contract.folder / FOLDER
    found: dict[str, Example] = {}

    def keep(example: Example) -> None:
        found[example.requirement] = example
        sys.stdout.write(f"{example.requirement}: {example.fault} over {example.transport}\n")
        sys.stdout.flush()

    examples([each for each in registry.requirements if each.family in chosen], keep)
    changed = []
    for family in chosen:
        path, text = folder / f"{family}.md", page(registry, family, found)
        if path.is_file() and comparable(path.read_text(encoding="utf-8")) == comparable(text):
            continue
        changed.append(path)
        if not namespace.check:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in changed:
        sys.stdout.write(f"{'stale' if namespace.check else 'written'}: {path}\n")
    return ExitStatus.DOES_NOT_CONFORM if namespace.check and changed else ExitStatus.CONFORMS


if __name__ == "__main__":
    sys.exit(main())
