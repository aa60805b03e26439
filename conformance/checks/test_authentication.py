"""Who may call: only a token that the server knows, with exactly the scope that the contract names."""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance.cases.conversations import markers, title_markers
from conformance.cases.json_text import encode
from conformance.checks.declare import case, cases, each_operation, needs
from conformance.checks.steps import take_snapshot, unchanged
from conformance.contract import Contract, Operation
from conformance.judge.finding import NonConformance, must_hold
from conformance.judge.outcome import not_refused_as, refused_as
from conformance.judge.privacy import shows_nothing
from conformance.session import Session
from conformance.stage import Scene
from conformance.transport.exchange import Credential, ErrorKind

_UNAUTHENTICATED: frozenset[ErrorKind] = frozenset({"unauthenticated"})
_FORBIDDEN: frozenset[ErrorKind] = frozenset({"forbidden"})
_ALSO = ("AUTH-NO-CONTENT", "AUTH-REFUSED-UNCHANGED", "HTTP-NO-SERVER-ERROR")

MALFORMED_CREDENTIALS = {
    "scheme-alone": "Bearer",
    "basic": "Basic dXNlcjpwYXNzd29yZA==",
    "no-scheme": "not-a-token",
    "other-scheme": "Digest not-a-token",
    "braces": "Bearer {}",
}
"""Values of the authorisation header that hold no bearer token which any server could have issued."""

NEAR_MISS_SCOPES = {
    "longer": "agent:researcher",
    "deeper": "agent:research:read",
    "suffix": "agent:research-readonly",
    "upper-case": "AGENT:RESEARCH",
    "capitalised": "Agent:Research",
    "shorter": "agent:researc",
    "prefix-alone": "agent",
    "last-part-alone": "research",
    "longer-in-front": "subagent:research",
    "other": "agent:publish",
    "other-separator": "agent.research",
}
"""Scopes that resemble the contract's and are not it."""


def _per_operation(identifier: str, names: Any) -> Any:
    def factory(contract: Contract) -> list[Any]:
        return [
            case((operation, name), identifier, f"{operation.name}-{name}", *_ALSO)
            for operation in contract.operations
            for name in names
        ]

    return factory


def _refused(
    session: Session, scene: Scene, operation: Operation, credential: Credential, expected: tuple[Any, str, str]
) -> None:
    """Call with a credential that does not let in; judge the refusal, what it shows, and that nothing changed."""
    kinds, identifier, what = expected
    take_snapshot(session, scene)
    answer = session.call(operation, encode(scene.arguments(operation)), credential)
    private = markers(scene.document) | title_markers(scene.document) if scene.document else frozenset()
    try:
        must_hold(
            refused_as(answer, kinds, identifier, identifier, what),
            shows_nothing(answer.exchange, private, "AUTH-NO-CONTENT", f"the answer to {what}"),
            unchanged(session, scene, "AUTH-REFUSED-UNCHANGED", what, answer.exchange),
        )
    except NonConformance:
        session.drop_scene(scene)
        raise


@cases("operation", each_operation("AUTH-TOKEN-MISSING", *_ALSO))
def test_a_call_without_a_token_is_refused(operation: Operation, session: Session) -> None:
    """No token: unauthenticated, no content, no change."""
    expected = (_UNAUTHENTICATED, "AUTH-TOKEN-MISSING", "a call without a token")
    _refused(session, session.shared_scene("input"), operation, Credential("nobody", None), expected)


@cases("attempt", _per_operation("AUTH-TOKEN-MALFORMED", MALFORMED_CREDENTIALS))
def test_a_malformed_credential_is_refused(attempt: tuple[Operation, str], session: Session) -> None:
    """A header that holds no bearer token: unauthenticated, no content, no change."""
    operation, name = attempt
    credential = Credential(f"nobody ({name})", MALFORMED_CREDENTIALS[name])
    expected = (_UNAUTHENTICATED, "AUTH-TOKEN-MALFORMED", "a call with a malformed credential")
    _refused(session, session.shared_scene("input"), operation, credential, expected)


@needs("token")
@cases("operation", each_operation("AUTH-TOKEN-MALFORMED", *_ALSO))
def test_a_good_token_behind_another_scheme_is_refused(operation: Operation, session: Session) -> None:
    """The owner's token behind Basic is no bearer token: unauthenticated, no content, no change."""
    scene = session.shared_scene("input")
    credential = Credential("owner (Basic instead of Bearer)", f"Basic {scene.principal.token}")
    expected = (_UNAUTHENTICATED, "AUTH-TOKEN-MALFORMED", "a good token behind another scheme")
    _refused(session, scene, operation, credential, expected)


def unknown_tokens(token: str, rng: random.Random) -> dict[str, str]:
    """Return tokens that nobody was given, most of them close to ``token``, which somebody was."""
    middle = len(token) // 2
    replacement = "A" if token[middle : middle + 1] != "A" else "B"
    return {
        "random": f"{rng.getrandbits(256):064x}",
        "one-character-changed": token[:middle] + replacement + token[middle + 1 :],
        "half": token[:middle],
        "doubled": token + token,
        "reversed": token[::-1],
    }


@needs("token")
@cases(
    "attempt",
    _per_operation("AUTH-TOKEN-UNKNOWN", ("random", "one-character-changed", "half", "doubled", "reversed")),
)
def test_an_unknown_token_is_refused(attempt: tuple[Operation, str], session: Session) -> None:
    """A token that was never issued: unauthenticated, no content, no change."""
    operation, name = attempt
    scene = session.shared_scene("input")
    token = unknown_tokens(scene.principal.token, session.random("unknown token"))[name]
    if not token or token == scene.principal.token:
        pytest.skip("the reader's token has no such neighbour")
    credential = Credential.bearer(f"nobody ({name} token)", token)
    expected = (_UNAUTHENTICATED, "AUTH-TOKEN-UNKNOWN", "a call with a token that was never issued")
    _refused(session, scene, operation, credential, expected)


# Without a conversation the id would be unknown too, and which of the two is seen first is left open.
@needs("scope", "conversation")
@cases("operation", each_operation("AUTH-SCOPE-MISSING", *_ALSO))
def test_a_token_without_the_scope_is_refused(operation: Operation, session: Session) -> None:
    """The owner's token without any scope: forbidden, no content, no change."""
    scene, credential = session.stage.with_scopes(session.shared_scene("input"), ())
    _refused(session, scene, operation, credential, (_FORBIDDEN, "AUTH-SCOPE-MISSING", "a token without the scope"))


@needs("seed")
@cases("attempt", _per_operation("AUTH-SCOPE-EXACT", NEAR_MISS_SCOPES))
def test_a_near_miss_of_the_scope_is_refused(attempt: tuple[Operation, str], session: Session) -> None:
    """A token of the owner with a scope that only resembles the right one: forbidden, no content, no change."""
    operation, name = attempt
    scope = NEAR_MISS_SCOPES[name]
    scene, credential = session.stage.with_scopes(session.shared_scene("input"), (scope,))
    _refused(session, scene, operation, credential, (_FORBIDDEN, "AUTH-SCOPE-EXACT", f"the scope {scope}"))


@needs("conversation")
@cases("operation", each_operation("AUTH-EVERY-CALL", *_ALSO))
def test_every_call_is_checked_by_itself(operation: Operation, session: Session) -> None:
    """After a call that was let in, one without a token on the same connection is refused, and the next is let in."""
    scene = session.shared_scene("input")
    good = scene.principal.credential
    expected = (_UNAUTHENTICATED, "AUTH-EVERY-CALL", "a call without a token after one that was let in")
    reads = [each for each in session.contract.operations if each.effect == "read"]
    for credential in (good, good):
        for read in reads:
            answer = session.call(read, encode(scene.arguments(read)), credential)
            must_hold(not_refused_as(answer, "unauthenticated", "AUTH-EVERY-CALL", "the owner's token"))
        _refused(session, scene, operation, Credential("nobody", None), expected)
