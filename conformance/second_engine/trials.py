"""Generated inputs, and what an answer to each of them can be judged for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, TypeVar

from conformance.judge.decode import DecodeFault, decode
from conformance.judge.json_values import pointer_parts
from conformance.judge.schema import SchemaJudge, Violation

_Item = TypeVar("_Item")

Standing = Literal["valid", "wrong", "open"]


@dataclass(frozen=True, slots=True)
class Trial:
    """What our judge makes of the JSON text of an input.

    ``wrong`` means wrong for exactly one reason: ``requirement`` then says which requirement it breaks, and ``what``
    completes the sentence "Accepted ...". ``open`` texts are those that a server may accept or refuse, or that are
    wrong in several ways at once: they are judged for server errors alone.
    """

    standing: Standing
    requirement: str = ""
    what: str = ""


OPEN: Final = Trial("open")
VALID: Final = Trial("valid")

_OPEN_DECODE_RULES: Final = frozenset(
    {"byte-order-mark", "duplicate-name", "lone-surrogate", "depth", "number-size", "size"}
)
"""Rules of the decoder that a server need not share: left open by the contract, or bounds of this suite alone."""

_REQUIREMENTS: Final[Mapping[str, str]] = {
    "required": "INPUT-REQUIRED-FIELD",
    "additionalProperties": "INPUT-UNKNOWN-FIELD",
    "minimum": "INPUT-INTEGER-RANGE",
    "maximum": "INPUT-INTEGER-RANGE",
    "exclusiveMinimum": "INPUT-INTEGER-RANGE",
    "exclusiveMaximum": "INPUT-INTEGER-RANGE",
}

INPUT_REQUIREMENTS: Final = (
    "INPUT-TYPE",
    "INPUT-OBJECT",
    "INPUT-WELL-FORMED",
    "INPUT-UUID-FORMAT",
    *dict.fromkeys(_REQUIREMENTS.values()),
)
"""Every requirement that a wrong input can break."""


def standing(text: bytes, judge: SchemaJudge) -> Trial:
    """Return what an answer to ``text`` can be judged for, by the input schema of ``judge``."""
    try:
        value = decode(text)
    except DecodeFault as fault:
        if fault.rule in _OPEN_DECODE_RULES:
            return OPEN
        if fault.rule == "empty":
            return Trial("wrong", "INPUT-OBJECT", "an empty body")
        return Trial("wrong", "INPUT-WELL-FORMED", f"random bytes that are no JSON: {fault.rule.replace('-', ' ')}")
    violations = judge.violations(value)
    if not violations:
        # The decoder reads 1.0 as 1, so the spelling is looked for in the text.
        return OPEN if _has_open_number(text) or any(map(_is_open_uuid, _strings(value))) else VALID
    if len(violations) > 1:
        return OPEN
    rule = violations[0].schema_pointer
    return Trial("wrong", _requirement(violations[0]), f"a random input that breaks the rule {rule}")


def wrong_members(generated: Any, judge: SchemaJudge) -> tuple[str, ...]:
    """Return the top-level members of a generated input that are wrong, unknown or missing, each once."""
    if not isinstance(generated, dict):
        return ()
    members: dict[str, None] = {}
    for violation in judge.violations(generated):
        steps = pointer_parts(violation.pointer)
        member = steps[0] if steps else violation.member
        if member is not None:
            members[member] = None
    return tuple(members)


def with_fault(arguments: Mapping[str, Any], generated: Mapping[str, Any], member: str) -> dict[str, Any]:
    """Return ``arguments`` with ``member`` as it is in ``generated``, or without it where it is missing there.

    A generated input points to nothing that is stored, and is often wrong in several places. This way each fault is
    tried alone, and a server that overlooks it would act on a stored conversation.
    """
    if member in generated:
        return {**arguments, member: generated[member]}
    return {name: value for name, value in arguments.items() if name != member}


def spread(items: Iterable[_Item], kind: Callable[[_Item], str], count: int) -> tuple[_Item, ...]:
    """Return at most ``count`` of the items, one of each kind in turn."""
    groups: dict[str, list[_Item]] = {}
    for item in items:
        groups.setdefault(kind(item), []).append(item)
    longest = max(map(len, groups.values()), default=0)
    in_turn = (group[turn] for turn in range(longest) for group in groups.values() if turn < len(group))
    return tuple(islice(in_turn, count))


def _requirement(violation: Violation) -> str:
    if violation.keyword == "format":
        return "INPUT-UUID-FORMAT" if "uuid" in violation.expected else "INPUT-TYPE"
    if violation.keyword == "type" and not violation.pointer:
        return "INPUT-OBJECT"
    return _REQUIREMENTS.get(violation.keyword, "INPUT-TYPE")


_QUOTED: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_FLOAT_FORM: Final = re.compile(rb"[0-9][.eE]")


def _has_open_number(text: bytes) -> bool:
    """Tell whether a number is written with a fraction or an exponent."""
    return _FLOAT_FORM.search(_QUOTED.sub(b"", text)) is not None


_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RFC_9562: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def _is_open_uuid(text: str) -> bool:
    """Tell whether a UUID is in upper case, or of a version or variant that RFC 9562 does not define."""
    return _UUID.fullmatch(text) is not None and _RFC_9562.fullmatch(text) is None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
