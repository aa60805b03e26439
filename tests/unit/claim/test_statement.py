"""The statement of a claim: what it is about, what it sums up, and what is no such statement."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_runs import FACTS

from conformance.claim.badge import badge
from conformance.claim.refused import ClaimRefused
from conformance.claim.statement import EXTENSION, decoded, settings, subject, summary
from conformance.target import Implementation

DIGEST = "0" * 64
NAMED = Implementation("Acme", "1.4", "Acme Ltd")


def test_a_build_digest_is_the_subject() -> None:
    """The name is for people."""
    facts = replace(FACTS, implementation=replace(NAMED, build_digest=f"sha256:{DIGEST}"))
    assert {"name": "Acme@1.4", "digest": {"sha256": DIGEST}} == subject(facts, {})
    nameless = replace(facts, implementation=Implementation(build_digest=f"sha256:{DIGEST}"))
    assert {"name": "_", "digest": {"sha256": DIGEST}} == subject(nameless, {})


def test_name_and_version_are_the_subject_otherwise() -> None:
    """Under an algorithm that nobody takes for the digest of a build, and told apart by it."""
    found = subject(replace(FACTS, implementation=NAMED), {})
    assert ("Acme@1.4", ["nameAndVersion"]) == (found["name"], [*found["digest"]])
    assert found != subject(replace(FACTS, implementation=replace(NAMED, version="1.5")), {})


@pytest.mark.parametrize("tested", [Implementation(), Implementation("Acme"), Implementation(version="1")])
def test_a_run_must_say_what_was_tested(tested: Implementation) -> None:
    """With the keys of the target file that say it."""
    with pytest.raises(ClaimRefused, match="write 'build_digest', or 'name' and 'version'"):
        subject(replace(FACTS, implementation=tested), {})


def test_the_embedded_server_is_a_part_of_the_suite() -> None:
    """So its digest is that of the suite."""
    found = subject(replace(FACTS, embedded=True), {"dirHash": DIGEST})
    assert {"name": "sosoapi-conformance reference server@1", "digest": {"dirHash": DIGEST}} == found


@pytest.mark.parametrize(
    ("verdict", "outcomes", "result"),
    [
        ("conforms", ["pass", "not assessed", "not applicable"], "PASSED"),
        ("conforms", ["pass", "waived"], "WARNED"),
        ("conforms", ["pass", "warning"], "WARNED"),
        ("does not conform", ["pass", "fail", "waived"], "FAILED"),
        ("does not conform", ["known"], "FAILED"),
    ],
)
def test_result(verdict: str, outcomes: list[str], result: str) -> None:
    """A breach that is excused is a warning; one that is known is a failure all the same."""
    assert result == summary(verdict, ((str(number), each) for number, each in enumerate(outcomes)))["result"]


def test_requirements_are_listed_by_what_they_came_to() -> None:
    """What was not assessed stands in no list of in-toto's."""
    outcomes = zip("abcdefgh", ("pass", "fail", "warning", "not applicable", "not assessed", "no check yet", "waived",
                                "known"), strict=True)  # fmt: skip
    found = summary("does not conform", outcomes)
    assert (["a"], ["c", "g"], ["b", "h"]) == (found["passedTests"], found["warnedTests"], found["failedTests"])


def test_settings_are_those_that_cases_are_drawn_from() -> None:
    """Capabilities in an order that does not depend on the target's."""
    found = settings(replace(FACTS, capabilities=("tokens", "seed")))
    assert (1, "quick", "control", ["seed", "tokens"]) == (
        found["seed"], found["profile"], found["tier"], found["capabilities"],
    )  # fmt: skip


@pytest.mark.parametrize("payload", [b"{}", b"[]", b"null", b'{"_type":"https://in-toto.io/Statement/v0.1"}'])
def test_what_is_no_statement(payload: bytes) -> None:
    """It is refused before anything in it is looked at."""
    with pytest.raises(ClaimRefused, match="The statement is not of the form of a claim"):
        decoded(payload)


@pytest.mark.parametrize(
    ("level", "colour"),
    [("full", "brightgreen"), ("behaviour", "green"), ("schema", "yellowgreen"), ("none", "yellow")],
)
def test_badges_of_servers_that_conform(level: str, colour: str) -> None:
    """The level is said, and so is who has run the suite."""
    claim = {
        "verdict": "conforms", "level": level, "contract": "c", "contract_version": "1",
        "requirements": [{"outcome": "pass"}], "attested_by": {"independent": True, "name": "Lab"},
    }  # fmt: skip
    expected = {"schemaVersion": 1, "label": "c 1", "message": f"conforms ({level}), independent", "color": colour}
    assert expected == badge({"predicate": {EXTENSION: claim}})


def test_badge_of_a_server_that_does_not_conform() -> None:
    """It is red, and tells no level."""
    claim = {
        "verdict": "does not conform", "level": "none", "contract": "c", "contract_version": "1",
        "requirements": [], "attested_by": {"independent": False, "name": ""},
    }  # fmt: skip
    found = badge({"predicate": {EXTENSION: claim}})
    assert ("does not conform, self-attested", "red") == (found["message"], found["color"])
