"""The canary watch: what is found in which form, and when it is judged."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import pytest
from made_answers import ARCHIVE, exchange, request

from conformance.canaries import CanaryWatch, WatchedControl
from conformance.canary_places import Place
from conformance.cases.conversations import DAY, MINUTE, Document, markers, small, title_markers
from conformance.cases.json_text import encode
from conformance.control.interface import Capabilities, Principal
from conformance.judge.markers import markers_in
from conformance.transport.exchange import Answer, Call, Credential, Exchange, Response

NOW = 20_000 * DAY
SCOPE = "agent:research"
MARKER = "canary-0123456789abcdef"
OWNER = Principal("owner", "owner-token", (SCOPE,), ())
STRANGER = Principal("stranger", "stranger-token", (SCOPE,), ())
WITHOUT_SCOPE = Principal("owner", "scopeless-token", (), ())


def document() -> Document:
    """Return a conversation with private texts, at ten minutes before its end."""
    return small(random.Random(1), NOW, expires_in=10 * MINUTE)  # noqa: S311 - test data, not secrets


def watch(seeded: Document) -> CanaryWatch:
    """Return a watch that knows three tokens and one conversation."""
    made = CanaryWatch(SCOPE)
    for principal in (OWNER, STRANGER, WITHOUT_SCOPE):
        made.knows(principal)
    made.seeded(OWNER, seeded)
    return made


def shown(
    text: str, principal: Principal | None = OWNER, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Exchange:
    """Return an exchange of a person, or of nobody, in which the text comes back."""
    token = principal.token if principal else "unknown"
    sent = request(b"{}", ("Authorization", f"Bearer {token}"))
    return Exchange("conversations_get", "x", sent, Response(status, "", headers, text.encode()), None, 0.0)


def seen_by(watching: CanaryWatch, exchanges: list[Exchange]) -> list[str]:
    """Return the requirements that the exchanges break."""
    watching.begin_case()
    for each in exchanges:
        with watching.calling():
            watching.look(each)
    return [leak.requirement for leak in watching.leaks()]


FORMS: Mapping[str, Callable[[str], str]] = {
    "plain": str,
    "upper case": str.upper,
    "reversed case": str.swapcase,
    "JSON escapes": lambda text: "".join(f"\\u{ord(sign):04x}" for sign in text),
    "escapes in escapes": lambda text: "".join(f"\\\\u{ord(sign):04X}" for sign in text),
    "an escaped hyphen": lambda text: text.replace("-", "\\u002d"),
    "one escaped letter": lambda text: text.replace("y", "\\u0079"),
    "one letter in percent": lambda text: text.replace("y", "%59"),
    "percent": lambda text: "".join(f"%{ord(sign):02X}" for sign in text),
    "percent twice": lambda text: quote("".join(f"%{ord(sign):02x}" for sign in text)),
    "hexadecimal": lambda text: text.encode().hex().upper(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, aligned by one": lambda text: base64.b64encode(b"?" + text.encode() + b"?").decode(),
    "base64, aligned by two": lambda text: base64.urlsafe_b64encode(b"??" + text.encode() + b"\xff\xff").decode(),
    "base64 for addresses, after others": lambda text: base64.urlsafe_b64encode(b"\xff\xff" + text.encode()).decode(),
    "base64 of a document": lambda text: base64.b64encode(json.dumps({"a": text}).encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_marker_is_found_in_every_form(form: str) -> None:
    """Alone, and among other text."""
    assert {MARKER} == markers_in(FORMS[form](MARKER).encode())
    assert {MARKER} == markers_in(f'{{"a": "{FORMS[form](MARKER)}", "b": 1}}'.encode())


@pytest.mark.parametrize("text", ["canary", "canary-", "canary-0123", "Canary islands - 0123456789abcdef", "Y2FuYXJ5L"])
def test_what_only_resembles_a_marker_is_none(text: str) -> None:
    """A beginning alone is no marker."""
    assert frozenset() == markers_in(text.encode())


def test_the_owner_may_see_what_is_available() -> None:
    """Texts and title, in a result or in an error."""
    seeded = document()
    text = encode([seeded.conversation, seeded.messages]).decode()
    assert [] == seen_by(watch(seeded), [shown(text), shown(text, status=404)])


def test_another_person_sees_nothing_ever() -> None:
    """Not even a title; nor does a token without the scope, or one of nobody."""
    seeded = document()
    title = str(seeded.conversation["title"])
    watching = watch(seeded)
    assert ["PRIVACY-OTHER-USER"] == seen_by(watching, [shown(title, STRANGER)])
    assert ["AUTH-NO-CONTENT"] == seen_by(watching, [shown(title, WITHOUT_SCOPE, 403)])
    assert ["AUTH-NO-CONTENT"] == seen_by(watching, [shown(title, None, 401)])


GONE: Mapping[str, Callable[[CanaryWatch, Document], None]] = {
    "archived": lambda watching, seeded: watching.answered(an_archive(seeded)),
    "expired": lambda watching, seeded: watching.clock_stands(seeded.workspace_id, NOW + 10 * MINUTE),
    "expired at a global clock": lambda watching, _: watching.clock_stands(None, NOW + 10 * MINUTE),
    "withheld": lambda watching, seeded: watching.access_changed(seeded.conversation_id, granted=False),
}


def an_archive(seeded: Document, arguments: Mapping[str, Any] | None = None) -> Answer:
    """Return the answer to a successful archive."""
    asked = arguments or {"conversation_id": seeded.conversation_id.upper()}
    result = encode({"conversation": {**seeded.conversation, "archived": True}})
    call = Call(ARCHIVE, encode(dict(asked)), Credential.bearer("owner", OWNER.token))
    return Answer(call, shown("{}"), "success", frozenset(), result)


@pytest.mark.parametrize("state", GONE)
def test_text_that_is_gone_is_not_shown(state: str) -> None:
    """Not to the owner either: in a result, an error or a header; the title may stay."""
    seeded = document()
    watching = watch(seeded)
    GONE[state](watching, seeded)
    text, title = min(markers(seeded)), min(title_markers(seeded))
    assert ["PRIVACY-BODY"] == seen_by(watching, [shown(text), shown(text)])
    assert ["PRIVACY-ERROR-TEXT"] == seen_by(watching, [shown(text, status=409)])
    assert ["PRIVACY-HEADER"] == seen_by(watching, [shown("", headers=(("X-A", "b"), ("X-Text", text)))])
    assert "header X-Text" == watching.leaks()[0].place
    assert [] == seen_by(watching, [shown(title)])


def test_a_reason_phrase_is_looked_at() -> None:
    """It counts as a header."""
    seeded = document()
    watching = watch(seeded)
    watching.answered(an_archive(seeded))
    phrase = exchange(409, reason=min(markers(seeded)))
    told = Exchange("conversations_get", "x", shown("").request, phrase.response, None, 0.0)
    assert ["PRIVACY-HEADER"] == seen_by(watching, [told])
    assert "reason phrase" == watching.leaks()[0].place


def test_an_archive_must_show_nothing_itself() -> None:
    """The answer to the very archive is judged as archived."""
    seeded = document()
    watching = watch(seeded)
    call = Call(ARCHIVE, encode({"conversation_id": seeded.conversation_id}), Credential.bearer("x", OWNER.token))
    result = encode({"conversation": {**seeded.conversation, "archived": True}, "messages": seeded.messages})
    watching.answered(Answer(call, shown(result.decode()), "success", frozenset(), result))
    assert ["PRIVACY-BODY"] == [leak.requirement for leak in watching.leaks()]


def test_only_what_was_surely_archived_counts() -> None:
    """Arguments and result that name two conversations say nothing of either."""
    seeded = document()
    watching = watch(seeded)
    watching.answered(an_archive(seeded, {"conversation_id": seeded.workspace_id}))
    watching.answered(an_archive(seeded, {"other": 1}))
    assert [] == seen_by(watching, [shown(min(markers(seeded)))])


def test_a_call_that_a_change_overtakes_is_not_judged() -> None:
    """What began before the text went may still show it; what begins afterwards may not."""
    seeded = document()
    watching = watch(seeded)
    text = shown(min(markers(seeded)))
    with watching.calling():
        watching.answered(an_archive(seeded))
        watching.look(text)
    assert () == watching.leaks()
    # Without a known beginning, a second is allowed for.
    watching.look(text)
    assert () == watching.leaks()
    assert ["PRIVACY-BODY"] == seen_by(watching, [text])


def test_access_that_is_granted_again_may_bring_text_back() -> None:
    """Whether it does is left open."""
    seeded = document()
    watching = watch(seeded)
    watching.access_changed(seeded.conversation_id, granted=False)
    watching.access_changed(seeded.conversation_id, granted=True)
    assert [] == seen_by(watching, [shown(min(markers(seeded)))])


def test_nothing_is_judged_by_a_clock_that_runs_or_before_the_deadline() -> None:
    """Only an instant at which a clock stands says what has expired."""
    seeded = document()
    watching = watch(seeded)
    text = shown(min(markers(seeded)))
    watching.clock_stands(seeded.workspace_id, NOW + 10 * MINUTE - 1)
    assert [] == seen_by(watching, [text])
    watching.clock_stands(seeded.workspace_id, NOW + 10 * MINUTE)
    watching.clock_runs(seeded.workspace_id)
    assert [] == seen_by(watching, [text])


def test_a_late_result_belongs_to_its_conversation() -> None:
    """Its text is the owner's, and is gone when the conversation's is."""
    seeded = document()
    watching = watch(seeded)
    watching.delivered(seeded.runs[0]["id"].upper(), {"answer": MARKER})
    assert [] == seen_by(watching, [shown(MARKER)])
    assert ["PRIVACY-OTHER-USER"] == seen_by(watching, [shown(MARKER, STRANGER)])
    watching.answered(an_archive(seeded))
    assert ["PRIVACY-BODY"] == seen_by(watching, [shown(MARKER)])


def test_further_parts_of_an_answer_are_judged_alike() -> None:
    """What another binding brings, such as stderr, is a part with a requirement of its own."""
    seeded = document()
    watching = watch(seeded)
    watching.answered(an_archive(seeded))
    part = Place("stderr", min(markers(seeded)).encode(), "PRIVACY-STDERR")
    watching.examine(shown(""), (part,), float("inf"))
    assert [("PRIVACY-STDERR", "stderr")] == [(leak.requirement, leak.place) for leak in watching.leaks()]


def test_leaks_belong_to_one_case_and_are_told_once() -> None:
    """A thousand leaks of one kind are one finding, and the next case begins without it."""
    seeded = document()
    watching = watch(seeded)
    assert ["PRIVACY-OTHER-USER"] == seen_by(watching, [shown(min(markers(seeded)), STRANGER)] * 1000)
    watching.begin_case()
    assert () == watching.leaks()


class FakeControl:
    """Test control in memory that gives every conversation another id."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def carry_out(*arguments: Any) -> Any:
            self.done.append(name)
            made = {
                "create_principal": OWNER,
                "create_token": WITHOUT_SCOPE,
                "read_clock": "2026-01-01T00:00:00Z",
                "seed_conversation": {arguments[1]["id"]: "actual"} if name == "seed_conversation" else {},
            }
            return made.get(name)

        return carry_out


def test_what_test_control_does_is_known_to_the_watch() -> None:
    """Seeding under another id, a clock, access, a delivery and a reset, each passed on as it is."""
    seeded = document()
    watching, control = CanaryWatch(SCOPE), FakeControl()
    watched = WatchedControl(control, watching, Capabilities(frozenset()))
    watching.knows(STRANGER)
    owner = watched.create_principal((SCOPE,), (), "owner")
    assert WITHOUT_SCOPE == watched.create_token(owner, ())
    changed = watched.seed_conversation(owner, seeded.conversation, seeded.messages, seeded.runs)
    assert {seeded.conversation_id: "actual"} == changed
    text = shown(min(markers(seeded)))
    assert [] == seen_by(watching, [text])
    watched.set_access("actual", "source_unavailable")
    assert ["PRIVACY-BODY"] == seen_by(watching, [text])
    watched.set_access("actual", "granted")
    assert [] == seen_by(watching, [text])
    watched.set_clock(seeded.workspace_id, str(seeded.conversation["expires_at"]))
    assert ["PRIVACY-BODY"] == seen_by(watching, [text])
    watched.release_clock(seeded.workspace_id)
    watched.deliver_result(seeded.runs[0]["id"], {"answer": MARKER}, None, None)
    assert ["PRIVACY-OTHER-USER"] == seen_by(watching, [shown(MARKER, STRANGER)])
    watched.restart()
    assert "2026-01-01T00:00:00Z" == watched.read_clock("any")
    watched.reset()
    assert [] == seen_by(watching, [shown(MARKER, STRANGER)])
    assert Capabilities(frozenset()) == watched.capabilities()
    assert [
        "create_principal", "create_token", "seed_conversation", "set_access", "set_access", "set_clock",
        "release_clock", "deliver_result", "restart", "read_clock", "reset",
    ] == control.done  # fmt: skip
