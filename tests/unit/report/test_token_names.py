"""Every token has a name of its own in the log."""

from __future__ import annotations

from conformance.report.token_names import TokenNames

GIVEN, FIRST, SECOND = "given-by-the-user", "first-persons-token", "second-persons-token"


def test_people_are_told_apart() -> None:
    """By numbers; a token that the user gave keeps the name of its variable, and a short one is no secret."""
    names = TokenNames({GIVEN: "MY_TOKEN"})
    assert ["SOSOAPI_TOKEN_1", "SOSOAPI_TOKEN_2", "SOSOAPI_TOKEN_1", "MY_TOKEN", ""] == [
        names.name(each) for each in (FIRST, SECOND, FIRST, GIVEN, "short")
    ]


def test_a_token_is_named_in_whatever_form_and_others_where_they_stand() -> None:
    """One person's token in an answer to another is kept out too."""
    names = TokenNames({})
    names.name(SECOND)
    text = f'{{"a": "{FIRST.encode().hex()}", "b": "{SECOND}"}} {FIRST}'
    assert '{"a": "$SOSOAPI_TOKEN_2", "b": "$SOSOAPI_TOKEN_1"} $SOSOAPI_TOKEN_2' == names.text(text, FIRST)


def test_a_text_of_nobody_in_particular_has_nobodys_token_in_it() -> None:
    """Encoded or not: what a child writes unasked may be about anybody."""
    names = TokenNames({GIVEN: "MY_TOKEN"})
    names.name(FIRST)
    assert "$SOSOAPI_TOKEN_1 and $MY_TOKEN" == names.any_text(f"{FIRST.encode().hex()} and {GIVEN}")
