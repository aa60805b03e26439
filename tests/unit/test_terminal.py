"""What a run prints: one block per fault, and nothing that a target could forge or a terminal would act on."""

from __future__ import annotations

import pytest

from conformance.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Grüße, 日本語 👍", "Grüße, 日本語 👍"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("a\nverdict: conforms", "a\\nverdict: conforms"),
        ("a\r\tb\x00\x7f\x9b", "a\\r\\tb\\x00\\x7f\\x9b"),
        (
            "a\u202eb\u2066c\u200fd\u2028e\u061cf\ufeffg\u200bh",
            "a\\u202eb\\u2066c\\u200fd\\u2028e\\u061cf\\ufeffg\\u200bh",
        ),
    ],
)
def test_text_of_the_target_is_shown_and_not_obeyed(text: str, shown: str) -> None:
    """Escape codes, line breaks, and what turns or hides text appear as escapes; all other text as it is."""
    assert shown == printable(text)
