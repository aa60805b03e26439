"""Keeps the run's tokens out of everything that is shown or written, whoever repeats them."""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from conformance.errors import UsageProblem
from conformance.target import CONTROL_TOKEN_VARIABLE, DEFAULT_TOKEN_VARIABLE, Secret, Target

SHORTEST: Final = 8
"""A shorter token is made up for a check, and may well stand elsewhere in the text."""


def without_token(text: str, token: str, variable: str = DEFAULT_TOKEN_VARIABLE) -> str:
    """Return the text with the name of a shell variable in place of the token, as it is or encoded.

    The first half of a token counts as one: what a target said may have been cut.
    """
    if len(token) < SHORTEST:
        return text
    head = token[: max(SHORTEST, len(token) // 2)]
    if head in text:
        first, *others = text.split(head)
        text = first + "".join(f"${variable}{_without_beginning(other, token[len(head) :])}" for other in others)
    for form in _encoded(head):
        if form in text:
            text = _pattern(form).sub(lambda _: f"${variable}", text)
    return text


@lru_cache(1024)
def _encoded(head: str) -> tuple[str, ...]:
    """Return how the beginning of a token reads in base64 at each alignment, and with each character escaped."""
    plain = head.encode()
    found = {plain.hex(), plain.hex().upper()}
    for escape in ("%{:02x}", "%{:02X}", "\\u{:04x}", "\\u{:04X}"):
        found.add("".join(map(escape.format, plain)))
    for before in range(3):
        text = base64.b64encode(b"\0" * before + plain).decode()
        inner = text[-(-before * 8 // 6) : (before + len(plain)) * 8 // 6]
        found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return (*sorted(found), *({quote(head, safe="")} - {head}))


@lru_cache(64)
def _pattern(form: str) -> re.Pattern[str]:
    """Return what matches a form and all that goes on like it: the rest of the token, and what surrounds it."""
    return re.compile(rf"[A-Za-z0-9+/_-]{{0,4}}{re.escape(form)}[A-Za-z0-9+/_=%\\-]*")


def _without_beginning(text: str, beginning: str) -> str:
    """Return the text without what it has in common with the beginning."""
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(text, beginning, strict=False))
    return text[sum(1 for _ in alike) :]


class Redaction:
    """The tokens that the user gave, each with the variable that stands for it."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = dict(variables)

    @classmethod
    def of(cls, target: Target) -> Redaction:
        """Return the redaction of a target's tokens; one that cannot be read is none that can be told."""
        named: list[tuple[Secret, str]] = [
            (secret, DEFAULT_TOKEN_VARIABLE if role == "reader" else f"{DEFAULT_TOKEN_VARIABLE}_{role.upper()}")
            for role, secret in target.tokens.items()
        ]
        if target.control_token is not None:
            named.append((target.control_token, CONTROL_TOKEN_VARIABLE))
        variables: dict[str, str] = {}
        for secret, variable in named:
            try:
                variables[secret.read()] = secret.name if secret.source == "env" else variable
            except UsageProblem:
                continue
        return cls(variables)

    def names(self) -> dict[str, str]:
        """Return for each token the name of the variable that stands for it."""
        return dict(self._variables)

    def text(self, text: str) -> str:
        """Return the text without tokens, and with escapes in place of lone surrogates, which no file can hold."""
        for token, variable in self._variables.items():
            text = without_token(text, token, variable)
        return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")

    def value(self, value: Any) -> Any:
        """Return a JSON value with all its texts, names included, so treated."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(name): self.value(member) for name, member in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(member) for member in value]
        return value
