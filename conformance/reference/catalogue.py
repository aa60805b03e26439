"""All seeded faults and conforming variants by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from conformance.errors import UsageProblem, nearest
from conformance.reference import (  # they declare variants
    variants_of_behaviour,  # noqa: F401
    variants_of_mcp,  # noqa: F401
    variants_of_messages,  # noqa: F401
    variants_of_requests,  # noqa: F401
)
from conformance.reference.faults import (
    access,
    archive,
    authentication,
    behaviour,
    content,
    discovery,
    equivalence,
    expiry,
    http,
    identity,
    input,  # noqa: A004  the family is called so
    late,
    mcp,
    mcp_messages,
    mcp_revisions,
    output,
    output_places,
    privacy,
    race,
    read,
    replay,
    revision,
)
from conformance.reference.faults.family import Change, Fault, Variant
from conformance.reference.parts import Parts
from conformance.reference.variants import VARIANTS

FAMILIES = (
    input.family,
    output.family,
    output_places.family,
    content.family,
    authentication.family,
    http.family,
    identity.family,
    behaviour.family,
    read.family,
    revision.family,
    archive.family,
    replay.family,
    race.family,
    expiry.family,
    access.family,
    late.family,
    privacy.family,
    mcp.family,
    mcp_messages.family,
    mcp_revisions.family,
    discovery.family,
    equivalence.family,
)
_AnyChange = TypeVar("_AnyChange", bound=Change)


def faults() -> Mapping[str, Fault]:
    """Return the seeded faults by name, family by family."""
    return _by_name(fault for family in FAMILIES for fault in family.faults)


def variants() -> Mapping[str, Variant]:
    """Return the conforming variants by name."""
    return _by_name(VARIANTS)


def build(*, fault: str | None = None, variant: str | None = None) -> Parts:
    """Return the parts of a server with that fault and that variant, or those variants, joined by ``+``.

    Raises:
        UsageProblem: there is no such fault or variant, or two of them change the same part.
    """
    parts = Parts()
    changes: list[Change] = [_find(name, variants(), "--variant") for name in variant.split("+")] if variant else []
    if fault is not None:
        changes.append(_find(fault, faults(), "--fault"))
    for number, change in enumerate(changes):
        try:
            parts = change.applied_to(parts)
        except ValueError as error:
            others = " and ".join(each.name for each in changes[:number])
            raise UsageProblem(
                f"{change.name} and {others} cannot be combined: {error}", "serve", "Leave one of them out."
            ) from None
    return parts


def _by_name(changes: Iterable[_AnyChange]) -> Mapping[str, _AnyChange]:
    return {change.name: change for change in changes}


def _find(name: str, known: Mapping[str, _AnyChange], option: str) -> _AnyChange:
    if name not in known:
        raise UsageProblem(f"{name!r} is not known", option, nearest(name, known))
    return known[name]
