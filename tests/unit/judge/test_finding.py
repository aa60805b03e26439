"""Findings: what is raised, and what private text is found in an answer."""

from __future__ import annotations

import pytest
from made_answers import exchange, silence

from conformance.judge.finding import Finding, NonConformance, must_hold
from conformance.judge.privacy import seen_in, shows_nothing

FINDING = Finding("A-B", "conversations_get", "It is wrong")
MARKER = "canary-0123456789abcdef"


def test_findings_are_raised_together() -> None:
    """All of the case, in order; without one nothing is raised."""
    other = Finding("C-D", "conversations_get", "It is wrong too")
    must_hold((), [])
    with pytest.raises(NonConformance, match="A-B: It is wrong; C-D: It is wrong too") as caught:
        must_hold((FINDING,), [], [other])
    assert (FINDING, other) == caught.value.findings


def test_private_text_is_found_wherever_it_comes_back() -> None:
    """In the body, the reason phrase and each header; where there is no answer there is none."""
    markers = [MARKER, "canary-ffffffffffffffff"]
    text = MARKER.encode()
    assert [(MARKER, "body")] == list(seen_in(exchange(200, text), markers))
    assert [(MARKER, "reason phrase")] == list(seen_in(exchange(reason=MARKER), markers))
    assert [(MARKER, "header X-A")] == list(seen_in(exchange(200, b"", ("X-A", MARKER)), markers))
    assert [] == list(seen_in(exchange(), markers))
    assert [] == list(seen_in(silence(), markers))


def test_one_marker_is_told() -> None:
    """Of several that an answer gives away the first, with the exchange."""
    shown = exchange(404, b"canary-ffffffffffffffff " + MARKER.encode())
    expected = Finding(
        "A-B", shown.operation, "Private text is shown in an error", "body", "no private text", MARKER, (shown,)
    )
    assert [expected] == list(shows_nothing(shown, {MARKER, "canary-ffffffffffffffff"}, "A-B", "an error"))
    assert [] == list(shows_nothing(exchange(), {MARKER}, "A-B", "an error"))
