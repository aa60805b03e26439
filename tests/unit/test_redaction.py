"""Tokens stay out of everything that is shown, and what is shown can be printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.printable import printable
from conformance.redaction import Redaction, without_token
from conformance.target import Secret, Target

TOKEN = "s3cret-of-the-vendor"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nothing", "nothing"),
        (f"a {TOKEN} b{TOKEN}", "a $SOSOAPI_TOKEN b$SOSOAPI_TOKEN"),
        (TOKEN * 2, "$SOSOAPI_TOKEN$SOSOAPI_TOKEN"),
        ("cut: s3cret-of-the-ven", "cut: $SOSOAPI_TOKEN"),
        ("cut: s3cret-of-the... more", "cut: $SOSOAPI_TOKEN... more"),
        ("less than half: s3cret-o", "less than half: s3cret-o"),
    ],
)
def test_a_token_is_replaced_by_its_variable(text: str, shown: str) -> None:
    """Also where the end of it has been cut off."""
    assert shown == without_token(text, TOKEN)


def test_a_short_token_is_left() -> None:
    """It is made up for a check, and its letters stand elsewhere too."""
    assert "abcdefg" == without_token("abcdefg", "abcdefg")


def test_all_tokens_of_a_target_are_kept_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each under the variable that it comes from; one that is missing does not matter."""
    (tmp_path / "token").write_text("other-user-token\n", encoding="utf-8")
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    monkeypatch.setenv("MY_CONTROL", "control-token")
    tokens = {
        "reader": Secret("env", "MY_TOKEN"),
        "other_user": Secret("file", str(tmp_path / "token")),
        "without_scope": Secret("env", "NOT_SET"),
    }
    redaction = Redaction.of(Target("rest", tokens=tokens, control_token=Secret("env", "MY_CONTROL")))
    told = {TOKEN: [f"a {TOKEN}", ("other-user-token", 1, None)], "b": "control-token"}
    assert {
        "$MY_TOKEN": ["a $MY_TOKEN", ["$SOSOAPI_TOKEN_OTHER_USER", 1, None]],
        "b": "$MY_CONTROL",
    } == redaction.value(told)


def test_lone_surrogates_are_escaped() -> None:
    """No file and no message between processes can hold them."""
    assert "ä \\ud800" == Redaction({}).text("ä \ud800")
    assert "\\ud800\\xad\\ufffa\\U000e0041" == printable("\ud800\xad\ufffa\U000e0041")
