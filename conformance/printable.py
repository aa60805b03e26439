"""Text of a target, made fit for a terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """Return text of the target without anything that a terminal would act on, line breaks among it."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)
