"""The registry, the checks and the fault catalogue speak of the same requirements."""

from __future__ import annotations

from conformance.checks.declare import checked_requirements
from conformance.contract import load_contract
from conformance.reference.catalogue import faults, variants
from conformance.requirements import load_registry

CONTRACT = load_contract()
REGISTRY = load_registry(CONTRACT)
CHECKED = checked_requirements(CONTRACT)


def test_no_check_tests_a_requirement_that_the_registry_does_not_have() -> None:
    """Every id that a check declares is known."""
    assert frozenset() == CHECKED - REGISTRY.by_id.keys()


def test_every_requirement_has_a_check() -> None:
    """What had none would be listed in every report as "no check yet"."""
    assert set() == REGISTRY.by_id.keys() - CHECKED


def test_every_checked_requirement_has_a_fault_that_breaks_it() -> None:
    """A check without a fault in the catalogue has not been shown to bite."""
    broken = {identifier for fault in faults().values() for identifier in fault.breaks}
    assert set() == CHECKED - broken


def test_faults_break_requirements_that_the_registry_has() -> None:
    """The catalogue names no requirement that does not exist."""
    assert set() == {each for fault in faults().values() for each in fault.breaks} - REGISTRY.by_id.keys()


def test_variants_use_freedoms_that_the_registry_has() -> None:
    """Nor does a variant name a freedom that does not exist."""
    assert (
        set()
        == {each for variant in variants().values() for each in variant.left_open} - REGISTRY.freedoms_by_id.keys()
    )


def test_every_freedom_has_a_variant_that_uses_it() -> None:
    """What no variant decides in another way has not been shown to raise no alarm."""
    used = {each for variant in variants().values() for each in variant.left_open}
    assert set() == REGISTRY.freedoms_by_id.keys() - used
