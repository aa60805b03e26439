"""Every seeded fault and conforming variant is described, starts, and answers ordinary calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from reference_world import ARCHIVE, GET, STATUS, World, contract, fresh

from conformance.errors import UsageProblem
from conformance.reference.catalogue import FAMILIES, build, faults, variants
from conformance.reference.variants import VARIANTS as ALL_VARIANTS

FAULTS, VARIANTS = faults(), variants()
UNCONDITIONAL = [
    fault.name for fault in FAULTS.values() if fault.name.startswith(("output-", "content-")) and not fault.observable
]


def known_requirements() -> Iterator[str]:
    """Yield the ids of the contract's requirements."""
    for path in (contract().folder / "requirements").glob("*.toml"):
        yield from re.findall(r'^id = "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)


def test_names_are_unique() -> None:
    """No name stands for two changes."""
    names = [fault.name for family in FAMILIES for fault in family.faults] + [variant.name for variant in ALL_VARIANTS]
    assert sorted(set(names)) == sorted(names)
    assert len(names) == len(FAULTS) + len(VARIANTS)


def test_every_fault_is_described_and_breaks_a_known_requirement() -> None:
    """A fault has a docstring and names requirements that exist."""
    known = set(known_requirements())
    for fault in FAULTS.values():
        assert fault.summary.endswith("."), fault.name
        assert fault.breaks, fault.name
        assert set(fault.breaks) <= known, fault.name


def test_every_variant_is_described_and_left_open() -> None:
    """A variant has a docstring, and what it names as left open exists."""
    known = set(known_requirements())
    for variant in VARIANTS.values():
        assert variant.summary.endswith("."), variant.name
        assert set(variant.left_open) <= known, variant.name


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_answers_ordinary_calls(name: str) -> None:
    """An ordinary get, status and archive of the owner get 200 from a server with the fault."""
    world = World(build(fault=name))
    ordinary = [world.call(operation).status_code for operation in (GET, STATUS, ARCHIVE)]
    world.close()
    assert FAULTS[name].ordinary == (ordinary == [200, 200, 200]), ordinary


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_answers_ordinary_calls(name: str) -> None:
    """An ordinary get, status and archive, and its replay, get 200 from a variant; an unknown id is refused."""
    world = World(build(variant=name))
    key = fresh()
    calls = [world.call(operation, mutation_id=key) for operation in (GET, STATUS, ARCHIVE, ARCHIVE)]
    assert [call.status_code for call in calls] == [200, 200, 200, 200]
    assert calls[2].json() == calls[3].json()
    assert world.call(GET, conversation_id=fresh()).status_code in (403, 404)
    world.close()


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    """An unknown fault or variant is a usage problem that helps."""
    with pytest.raises(UsageProblem, match="Did you mean 'expiry-never'"):
        build(fault="expire-never")
    with pytest.raises(UsageProblem, match="Did you mean 'conflict-412'"):
        build(variant="conflict-411")


def test_a_fault_and_a_variant_of_one_part_are_refused() -> None:
    """Two changes of one part cannot be combined; of two parts they can."""
    with pytest.raises(UsageProblem, match="cannot be combined"):
        build(fault="expiry-never", variant="revision-grows-by-three")
    assert build(fault="expiry-never", variant="conflict-412") != build(fault="expiry-never")


@pytest.mark.parametrize("name", UNCONDITIONAL)
def test_a_spoilt_result_differs_where_any_call_shows_it(name: str) -> None:
    """A fault without a condition changes what an ordinary get, status or archive writes."""
    world, plain = World(build(fault=name)), World()
    plain.workspace, plain.evidence = world.workspace, world.evidence
    person, token = plain.principal()
    plain.move_clock("2026-03-01T11:00:00Z")
    plain.control("POST", "/conversations", {"principal_id": person, **world.document})
    same = {
        "conversation_id": world.conversation_id,
        "workspace_id": world.workspace,
        "run_id": world.document["runs"][0]["id"],
    }
    spoilt = [world.call(operation, **same).content for operation in (GET, STATUS)]
    right = [plain.call(operation, token=token, **same).content for operation in (GET, STATUS)]
    world.close()
    plain.close()
    assert spoilt != right
