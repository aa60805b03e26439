"""What the checks of a run need: collected from the checks themselves, so that a cost is what a run would leave out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

import conformance.checks
from conformance.case_selection import belongs
from conformance.errors import SuiteFault
from conformance.requirements import Registry

_CHECKS: Final = Path(conformance.checks.__file__).parent


@dataclass(frozen=True)
class Needed:
    """What cases need of a target, and the requirements that they put to the test then."""

    needs: frozenset[str]
    requirements: frozenset[str]


class _Collecting:
    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take all cases, and leave pytest none."""
        self.items, items[:] = list(items), []


def needed_over(registry: Registry, transport: str, contract_dir: Path | None = None) -> tuple[Needed, ...]:
    """Collect the checks; return what those over a transport need, cases of the same needs taken together.

    Raises:
        SuiteFault: the checks cannot be collected.
    """
    options = ["--collect-only", "--capture=no", "--seed=0", "-c", os.devnull, f"--rootdir={_CHECKS.parent.parent}"]
    for plugin in ("terminal", "cacheprovider", "schemathesis", "xdist"):
        options += ["-p", f"no:{plugin}"]
    if contract_dir is not None:
        options.append(f"--contract-dir={contract_dir}")
    collecting = _Collecting()
    status = pytest.main([*options, str(_CHECKS)], [collecting])
    if not collecting.items:
        raise SuiteFault(f"the checks could not be collected (pytest ended with status {int(status)})")
    return _together(item for item in collecting.items if belongs(item, registry, transport, "standard"))


def _together(items: Iterable[pytest.Item]) -> tuple[Needed, ...]:
    found: dict[frozenset[str], set[str]] = {}
    for item in items:
        needs = frozenset(need for mark in item.iter_markers("needs") for need in mark.args)
        found.setdefault(needs, set()).update(name for mark in item.iter_markers("requirement") for name in mark.args)
    return tuple(Needed(needs, frozenset(requirements)) for needs, requirements in found.items())
