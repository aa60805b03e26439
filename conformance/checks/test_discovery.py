"""What an MCP client is shown: which tools, by which schemas, under which hints, in which profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from conformance.cases.conversations import markers, title_markers
from conformance.cases.json_text import encode
from conformance.cases.schema_corpus import input_examples, output_examples
from conformance.checks.declare import case, cases, each_operation, needs
from conformance.checks.discovering import (
    Listings,
    breaks_off,
    named,
    needed_entry,
    no_switch,
    same_tools,
    schema_findings,
    shown_in,
)
from conformance.checks.steps import take_snapshot, unchanged
from conformance.checks.views import View, can_read, changes, look, read_all
from conformance.contract import Contract, Operation
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.finding import Finding, NonConformance, must_hold
from conformance.judge.listed_schema import DRAFT_07
from conformance.judge.outcome import refused, succeeded
from conformance.judge.privacy import shows_nothing
from conformance.recorder import Recorder
from conformance.run_plugin import SESSION
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Call, Credential
from conformance.transport.mcp.binding import CORE, FULL
from conformance.transport.mcp.discovery import Listing

_NO_CORE: Final = "the target file does not say how to choose the profile core (mcp.profiles.core)"


@pytest.fixture(scope="module")
def listings(pytestconfig: pytest.Config) -> Listings:
    """Return the listings of this process."""
    return Listings(pytestconfig.stash[SESSION])


def _profile_or_skip(session: Session, profile: str) -> str:
    if not session.mcp.binding.offers(profile):
        pytest.skip(_NO_CORE)
    return profile


def _in_profile(identifier: str, profile: str, *, belongs: bool) -> Callable[[Contract], list[Any]]:
    def factory(contract: Contract) -> list[Any]:
        return [
            case(operation, identifier, operation.name)
            for operation in contract.operations
            if (profile in operation.profiles) == belongs
        ]

    return factory


@needs("token")
@cases("operation", _in_profile("DISCOVERY-TOOLS-FULL", FULL, belongs=True))
def test_a_tool_is_listed_in_full(operation: Operation, listings: Listings, record: Recorder) -> None:
    """In the profile full the operation's tool is listed under its exact name, whatever else is listed."""
    listing = listings.of()
    tool = named(listing, operation)
    if tool is None:
        names = ", ".join(sorted(str(name)[:80] for name in listing.names)) or "no tool at all"
        found = f"{listing.problem}; listed: {names}" if listing.problem else names
        must_hold(
            [
                Finding(
                    "DISCOVERY-TOOLS-FULL",
                    operation.name,
                    "A tool of the contract is not listed",
                    "tools",
                    operation.tool,
                    ascii(found)[1:-1][:400],
                    shown_in(listing),
                )
            ]
        )
        return
    record.freedom("OPEN-OUTPUT-SCHEMAS-UNASKED", "listed" if b'"outputSchema"' in tool.raw else "not listed")


@needs("token")
@cases("operation", _in_profile("DISCOVERY-TOOLS-CORE", CORE, belongs=False))
def test_a_tool_of_full_is_not_listed_in_core(operation: Operation, session: Session, listings: Listings) -> None:
    """In the profile core a tool that belongs to full alone is not listed."""
    listing = listings.of(_profile_or_skip(session, CORE))
    if listing.problem and not breaks_off(listing):
        pytest.skip(f"the profile core cannot be listed: {listing.problem}")
    if named(listing, operation) is not None:
        must_hold(
            [
                Finding(
                    "DISCOVERY-TOOLS-CORE",
                    operation.name,
                    "A tool of the profile full is listed in core",
                    "tools",
                    "not listed",
                    operation.tool,
                    shown_in(listing),
                )
            ]
        )


_STRANGERS: Final = ("without-scope", "without-token", "other-user")


def _strangers(contract: Contract) -> list[Any]:
    return [
        case((operation, profile, who), "DISCOVERY-PROFILE-PERMISSIONS", f"{operation.name}-{profile}-{who}")
        for operation in contract.operations
        for profile in (FULL, CORE)
        for who in _STRANGERS
    ]


@needs("seed", "second principal")
@cases("attempt", _strangers)
def test_a_profile_permits_nothing(attempt: tuple[Operation, str, str], session: Session) -> None:
    """Whoever may not call is refused in each profile, sees nothing and changes nothing."""
    operation, profile, who = attempt
    _profile_or_skip(session, profile)
    scene, credential = _stranger(session, who)
    take_snapshot(session, scene)
    answer = _call_in(session, profile, operation, scene, credential)
    private = markers(scene.document) | title_markers(scene.document) if scene.document else frozenset()
    requirement, what = "DISCOVERY-PROFILE-PERMISSIONS", f"a call {who.replace('-', ' ')} in the profile {profile}"
    try:
        must_hold(
            refused(answer, requirement, what),
            shows_nothing(answer.exchange, private, requirement, f"the answer to {what}"),
            unchanged(session, scene, requirement, what, answer.exchange),
        )
    except NonConformance:
        session.drop_scene(scene)
        raise


def _stranger(session: Session, who: str) -> tuple[Scene, Credential]:
    scene = session.shared_scene("discovery")
    if who == "without-token":
        return scene, Credential("nobody", None)
    if who == "without-scope":
        return session.stage.with_scopes(scene, ())
    other = session.stage.principal(session.rng, workspace_ids=(fresh_uuid(session.rng),), label="other user")
    return scene, other.credential


def _call_in(
    session: Session,
    profile: str,
    operation: Operation,
    scene: Scene,
    credential: Credential,
    *,
    output_schemas: bool = False,
) -> Answer:
    """Call in a session of that profile and switch, watched as every call is."""
    way = session.mcp.session(credential, profile, output_schemas=output_schemas)
    with session.canaries.calling():
        answer = way.call(Call(operation, encode(scene.arguments(operation)), credential))
    session.canaries.answered(answer)
    return answer


def _pagings(contract: Contract) -> list[Any]:
    del contract
    return [case(profile, "DISCOVERY-PAGING-ENDS", profile) for profile in (FULL, CORE)]


@needs("token")
@cases("profile", _pagings)
def test_a_listing_ends_and_repeats_nothing(profile: str, session: Session, listings: Listings) -> None:
    """The pages come to an end, each with tools, and no tool is on two of them or twice on one."""
    listing = listings.of(_profile_or_skip(session, profile))
    if listing.problem and not breaks_off(listing):
        pytest.skip(f"the tools cannot be listed: {listing.problem}")
    must_hold(_paging_findings(listing))


def _paging_findings(listing: Listing) -> Iterator[Finding]:
    requirement, exchanges = "DISCOVERY-PAGING-ENDS", shown_in(listing)
    if listing.problem:
        summary, place = "The list of tools does not come to an end", f"page {len(listing.pages)}"
        yield Finding(
            requirement, "", summary, place, "a last page without nextCursor", ascii(listing.problem)[1:-1], exchanges
        )
    names = [name for name in listing.names if name is not None]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Finding(
            requirement,
            "",
            "A tool is listed twice",
            ascii(name)[1:-1][:100],
            "once",
            f"{names.count(name)} times on {len(listing.pages)} pages",
            exchanges,
        )


def _again(contract: Contract) -> list[Any]:
    del contract
    return [case(way, "DISCOVERY-STABLE", way) for way in ("second-listing", "third-listing", "second-session")]


@needs("token")
@cases("way", _again)
def test_another_listing_shows_the_same(way: str, session: Session, listings: Listings) -> None:
    """Listed again, in the same session or in another one, the tools are the same."""
    first = _whole(listings.of())
    if way == "second-session":
        another = session.mcp.open_session(listings.credential)
        again = another.list_tools()
        another.close()
    else:
        for _ in range(2 if way == "third-listing" else 1):
            again = session.mcp.list_tools(listings.credential)
    must_hold(same_tools(first, again, "DISCOVERY-STABLE", f"A {way.replace('-', ' ')}"))


def _others(contract: Contract) -> list[Any]:
    del contract
    return [case("other user", "DISCOVERY-STABLE", "other-user")]


@needs("token", "second principal")
@cases("label", _others)
def test_another_user_is_shown_the_same(label: str, session: Session, listings: Listings) -> None:
    """Another user with the same scope is shown the same tools."""
    first = _whole(listings.of())
    other = session.stage.principal(session.rng, workspace_ids=(fresh_uuid(session.rng),), label=label)
    again = session.mcp.list_tools(other.credential)
    must_hold(same_tools(first, again, "DISCOVERY-STABLE", "The listing of another user"))


def _whole(listing: Listing) -> Listing:
    if listing.problem:
        pytest.skip(f"the tools cannot be listed: {listing.problem}")
    return listing


@needs("token")
@cases("operation", each_operation("DISCOVERY-INPUT-SCHEMA"))
def test_the_listed_input_schema_means_the_same(operation: Operation, session: Session, listings: Listings) -> None:
    """The listed input schema allows and refuses what the contract's does."""
    judge = session.input_judge(operation)
    requirement = "DISCOVERY-INPUT-SCHEMA"
    must_hold(schema_findings(session, listings.of(), operation, "inputSchema", requirement, judge, input_examples))


@needs("token")
@cases("operation", each_operation("DISCOVERY-OUTPUT-SCHEMA"))
def test_the_listed_output_schema_means_the_same(operation: Operation, session: Session, listings: Listings) -> None:
    """With the switch the tool lists an output schema, which allows and refuses what the contract's does."""
    judge = session.results.schema(operation)
    listing = listings.with_output_schemas()
    requirement = "DISCOVERY-OUTPUT-SCHEMA"
    must_hold(schema_findings(session, listing, operation, "outputSchema", requirement, judge, output_examples))


def _with_dialect(contract: Contract) -> list[Any]:
    declaring = (operation for operation in contract.operations if "$schema" in operation.output_schema)
    return [case(operation, "DISCOVERY-OUTPUT-DIALECT", operation.name) for operation in declaring]


@needs("token")
@cases("operation", _with_dialect)
def test_the_listed_output_schema_keeps_its_dialect(operation: Operation, listings: Listings) -> None:
    """The listed output schema says, as the contract's does, that it is draft-07."""
    listing = listings.with_output_schemas()
    requirement = "DISCOVERY-OUTPUT-DIALECT"
    value, findings = needed_entry(listing, operation, requirement)
    must_hold(findings)
    schema = value.get("outputSchema")
    if not isinstance(schema, dict):
        pytest.skip("no output schema is listed: see DISCOVERY-OUTPUT-SCHEMA")
    declared = schema.get("$schema")
    if not isinstance(declared, str) or declared.removesuffix("#") != DRAFT_07:
        must_hold(
            [
                Finding(
                    requirement,
                    operation.name,
                    "The listed output schema does not say that it is draft-07",
                    "outputSchema/$schema",
                    str(operation.output_schema["$schema"]),
                    ascii(declared)[:100] if "$schema" in schema else "nothing",
                    shown_in(listing),
                )
            ]
        )


def _either_way(contract: Contract) -> list[Any]:
    return [
        case((operation, way == "with-switch"), "DISCOVERY-RESULTS-EITHER-WAY", f"{operation.name}-{way}")
        for operation in contract.operations
        for way in ("with-switch", "without-switch")
    ]


@needs("seed")
@cases("attempt", _either_way)
def test_results_are_structured_either_way(attempt: tuple[Operation, bool], session: Session) -> None:
    """Where output schemas are asked for, and where they are not, a success carries the structured result."""
    operation, switched = attempt
    if switched and no_switch(session):
        pytest.skip(no_switch(session))
    scene = session.stage.scene(session.rng)
    answer = _call_in(session, FULL, operation, scene, scene.principal.credential, output_schemas=switched)
    what = f"a valid call {'with' if switched else 'without'} the output-schema switch"
    must_hold(succeeded(answer, "DISCOVERY-RESULTS-EITHER-WAY", what), _structured(session, operation, answer, what))


def _structured(session: Session, operation: Operation, answer: Answer, what: str) -> Iterator[Finding]:
    if answer.result is None:
        return
    found, place = "nothing", "structuredContent"
    if answer.result:
        try:
            value = decode(answer.result)
        except DecodeFault as fault:
            found = fault.message
        else:
            violations = session.results.schema(operation).violations(value, 1)
            if not violations:
                return
            place, found = f"structuredContent{violations[0].pointer}", violations[0].sentence
    yield Finding(
        "DISCOVERY-RESULTS-EITHER-WAY",
        operation.name,
        f"The result of {what} is not structured",
        ascii(place)[1:-1],
        "the result by the output schema",
        found,
        (answer.exchange,),
    )


@needs("token")
@cases("operation", each_operation("DISCOVERY-ANNOTATIONS"))
def test_the_annotations_are_those_published(operation: Operation, listings: Listings) -> None:
    """Each published annotation is listed as the boolean that it is; others may stand beside them."""
    listing = listings.of()
    requirement = "DISCOVERY-ANNOTATIONS"
    value, findings = needed_entry(listing, operation, requirement)
    must_hold(findings, _annotation_findings(operation, value.get("annotations"), listing))


def _annotation_findings(operation: Operation, listed: Any, listing: Listing) -> Iterator[Finding]:
    shown = listed if isinstance(listed, dict) else {}
    for name, expected in operation.annotations.items():
        if shown.get(name) is not expected:
            yield Finding(
                "DISCOVERY-ANNOTATIONS",
                operation.name,
                "An annotation is not listed as published",
                f"annotations/{name}",
                str(expected).lower(),
                ascii(shown[name])[:80] if name in shown else "nothing",
                shown_in(listing),
            )


def _hints(contract: Contract) -> list[Any]:
    names = ("readOnlyHint", "idempotentHint") if can_read(contract) else ()
    return [
        case((operation, name), "DISCOVERY-ANNOTATIONS-TRUE", f"{operation.name}-{name}")
        for operation in contract.operations
        for name in names
    ]


@needs("seed")
@cases("hint", _hints)
def test_what_a_tool_is_listed_as_is_true(hint: tuple[Operation, str], session: Session, listings: Listings) -> None:
    """What is listed as read-only changes nothing, and what is listed as idempotent nothing more when called again."""
    operation, name = hint
    requirement = "DISCOVERY-ANNOTATIONS-TRUE"
    value, findings = needed_entry(listings.of(), operation, requirement)
    must_hold(findings)
    annotations = value.get("annotations")
    if not isinstance(annotations, dict) or annotations.get(name) is not True:
        # Nothing is promised; whether it should have been, DISCOVERY-ANNOTATIONS tells.
        return
    scene = session.stage.scene(session.rng)
    arguments = encode(scene.arguments(operation))
    before = read_all(session, scene)
    if name == "idempotentHint":
        session.call(operation, arguments, scene.principal.credential)
        after_one, problems = look(session, scene)
        if after_one is None:
            must_hold(problems)
            return
        before = after_one
    answer = session.call(operation, arguments, scene.principal.credential)
    again, problems = look(session, scene, requirement, "a read after the call")
    what = "a call listed as read-only" if name == "readOnlyHint" else "the same call again, listed as idempotent"
    must_hold(
        (replace(problem, requirement=requirement) for problem in problems), _changed(before, again, what, answer)
    )


def _changed(before: View, again: View | None, what: str, answer: Answer) -> Iterator[Finding]:
    if again is not None:
        yield from changes(before, again, "DISCOVERY-ANNOTATIONS-TRUE", what, answer.exchange)
