"""How a check says which requirements it puts to the test, over which cases, and what it needs of the target."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import conformance.checks
from conformance.contract import Contract

CaseFactory = Callable[[Contract], Iterable[Any]]


def requirement(*identifiers: str) -> pytest.MarkDecorator:
    """Mark a check, or one case of it, with the requirements that it puts to the test."""
    return pytest.mark.requirement(*identifiers)


def needs(*words: str) -> pytest.MarkDecorator:
    """Mark a check with what it needs of the target's tier; the words are those of ``conformance.stage``."""
    return pytest.mark.needs(*words)


def over(*transports: str) -> pytest.MarkDecorator:
    """Mark a check that is written for these transports, where its requirement holds over more of them."""
    return pytest.mark.over(*transports)


def cases(argument: str, factory: CaseFactory) -> pytest.MarkDecorator:
    """Run a check once for each case that ``factory`` makes from the contract."""
    return pytest.mark.cases(argument, factory)


def case(value: Any, identifier: str, name: str, *also: str, thorough: bool = False) -> Any:
    """Return a case whose test id is ``REQUIREMENT-ID-name``; ``also`` are further requirements that it tests.

    A ``thorough`` case is left out of the profile ``quick``.
    """
    marks = [requirement(identifier, *also), *([pytest.mark.thorough] if thorough else [])]
    return pytest.param(value, id=f"{identifier}-{name}", marks=marks)


def each_operation(identifier: str, *also: str, thorough: bool = False) -> CaseFactory:
    """Return a factory of one case per operation of the contract."""
    return lambda contract: [
        case(operation, identifier, operation.name, *also, thorough=thorough) for operation in contract.operations
    ]


def checked_requirements(contract: Contract) -> frozenset[str]:
    """Return the ids of every requirement that some check of the suite declares, whether or not it was collected."""
    return frozenset(identifier for mark in _marks(contract) for identifier in mark.args)


def _marks(contract: Contract) -> Iterator[pytest.Mark]:
    for module_info in pkgutil.iter_modules(conformance.checks.__path__):
        if not module_info.name.startswith("test_"):
            continue
        module = importlib.import_module(f"conformance.checks.{module_info.name}")
        for name, check in vars(module).items():
            if not name.startswith("test_"):
                continue
            for mark in getattr(check, "pytestmark", ()):
                if mark.name == "requirement":
                    yield mark
                elif mark.name == "cases":
                    for parameter in mark.args[1](contract):
                        yield from (inner for inner in parameter.marks if inner.name == "requirement")
