"""Gives each token of a run a name of its own, which stands in its place wherever it would be written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from conformance.redaction import SHORTEST, without_token
from conformance.target import DEFAULT_TOKEN_VARIABLE

_WORD: Final = re.compile(rf"[^\s\"'<>,;:(){{}}\[\]\\]{{{SHORTEST},}}")
"""What a token may be where it stands by itself in a text."""


class TokenNames:
    """The tokens that a run has met. Names look like shell variables; numbers tell people apart."""

    def __init__(self, given: Mapping[str, str]) -> None:
        """Begin with the tokens that the user gave, each with the name of its variable."""
        self._names = dict(given)
        self._count = 0

    def name(self, token: str) -> str:
        """Return the name of a token, a new one where it is new. One that is too short to be secret has none."""
        if len(token) < SHORTEST:
            return ""
        if token not in self._names:
            self._count += 1
            self._names[token] = f"{DEFAULT_TOKEN_VARIABLE}_{self._count}"
        return self._names[token]

    def any_text(self, text: str) -> str:
        """Return a text of nobody in particular without any token that the run has met, in whatever form."""
        for token, name in self._names.items():
            text = without_token(text, token, name)
        return text

    def text(self, text: str, token: str) -> str:
        """Return a text without this token in whatever form, nor any other one that stands in it by itself."""
        if token:
            text = without_token(text, token, self.name(token))
        strangers = {word for word in _WORD.findall(text) if word in self._names}
        for word in strangers:
            text = text.replace(word, f"${self._names[word]}")
        return text
