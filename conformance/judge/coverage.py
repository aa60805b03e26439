"""Which assertions of an output schema the results of a run really exercised, at their bounds and inside them.

A coverage point is one way to exercise one assertion: a member of an enumeration seen, a length at its maximum, a
branch of an ``anyOf`` taken. Its id is the schema pointer of the assertion, ``#``, and the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from math import ceil, floor
from typing import Any, Final, Literal, TypeAlias

from conformance.judge.assertions import Assertion, enumerate_assertions
from conformance.judge.json_values import json_equal, json_type, pointer

Test: TypeAlias = Callable[[Any], bool]
Needs: TypeAlias = Literal["clock", "access", "archive", "server", "never"]


@dataclass(frozen=True)
class Point:
    """One way to exercise one assertion; ``instance_path`` is the pointer of the values, ``*`` for any array item."""

    id: str
    instance_path: str
    keyword: str
    way: str


@dataclass(frozen=True)
class Obstacle:
    """Why seeding alone cannot make sure that a point is reached.

    ``needs`` says what it takes: the capability ``clock`` or ``access`` of test control, an ``archive`` call, or a
    choice that the contract leaves to the ``server``; with ``never`` no conforming server reaches it.
    """

    needs: Needs
    reason: str


class Coverage:
    """The coverage points of one schema, and those that the recorded values have reached.

    Raises:
        UsageProblem: the schema uses what this suite cannot judge.
    """

    def __init__(self, schema: Mapping[str, Any], source: str = "schema") -> None:
        self._assertions = {each.schema_pointer: each for each in enumerate_assertions(schema, source)}
        self.points: dict[str, Point] = {}
        self.reached: set[str] = set()
        self._root = self._place(schema, ())

    @property
    def missing(self) -> set[str]:
        """The ids of the points that no recorded value has reached."""
        return self.points.keys() - self.reached

    def record(self, value: Any) -> None:
        """Note what a decoded result exercises. Only results that keep the schema should be recorded."""
        self._root.visit(value, self.reached)

    def merge(self, other: Coverage) -> None:
        """Add what ``other``, of the same schema, has reached."""
        self.add(other.reached)

    def add(self, points: Iterable[str]) -> None:
        """Add points as ``to_json`` gave them.

        Raises:
            ValueError: a point is not one of this schema.
        """
        added = set(points)
        if unknown := added - self.points.keys():
            raise ValueError(f"not a coverage point of this schema: {min(unknown)}")
        self.reached |= added
        self._root.forget(self.reached)

    def to_json(self) -> list[str]:
        """Return the reached points as a JSON value, in a stable order."""
        return sorted(self.reached)

    def reachability(self, operation_name: str) -> dict[str, Obstacle]:
        """Return the points that seeding alone is not sure to reach in results of that operation, and why.

        Every other point is reached by the directed documents; for an operation that is not known here all are
        taken to be reachable.
        """
        rules = (*_RULES.get(operation_name, ()), *_TIMESTAMPS)
        # The first rule that concerns a point counts, so the last one is written first.
        return {point: rule.obstacle for rule in reversed(rules) for point in self.points if rule.concerns(point)}

    def _place(self, schema: Mapping[str, Any], parts: tuple[str | int, ...]) -> _Place:
        place = _Place()
        for keyword in schema:
            if keyword == "required":
                for index in range(len(schema["required"])):
                    self._add_points(place, schema, (*parts, keyword, index))
            else:
                self._add_points(place, schema, (*parts, keyword))
        for name, child in schema.get("properties", {}).items():
            place.members[name] = self._place(child, (*parts, "properties", name))
        if "items" in schema:
            place.items = self._place(schema["items"], (*parts, "items"))
        for index, branch in enumerate(schema.get("anyOf", ())):
            place.branches.append((branch["type"], self._place(branch, (*parts, "anyOf", index))))
        return place

    def _add_points(self, place: _Place, schema: Mapping[str, Any], parts: tuple[str | int, ...]) -> None:
        assertion = self._assertions.get(pointer(parts))
        if assertion is None:
            return
        for way, test in _ways(assertion, schema):
            point = Point(f"{assertion.schema_pointer}#{way}", assertion.instance_path, assertion.keyword, way)
            self.points[point.id] = point
            place.pending.append((point.id, test))


@dataclass
class _Place:
    """A place in the schema: the points not yet reached here, and the places below it."""

    pending: list[tuple[str, Test]] = field(default_factory=list)
    members: dict[str, _Place] = field(default_factory=dict)
    items: _Place | None = None
    branches: list[tuple[str | list[str], _Place]] = field(default_factory=list)
    done: bool = False

    def visit(self, value: Any, reached: set[str]) -> None:
        """Note the points that ``value`` reaches; what is done is never looked at again."""
        if self.pending:
            found = [point for point, test in self.pending if test(value)]
            if found:
                reached.update(found)
                self.pending = [entry for entry in self.pending if entry[0] not in reached]
        self._visit_below(value, reached)
        self.done = not self.pending and all(place.done for place in self._below())

    def _visit_below(self, value: Any, reached: set[str]) -> None:
        if isinstance(value, dict):
            for name, member in self.members.items():
                if not member.done and name in value:
                    member.visit(value[name], reached)
        elif isinstance(value, list) and self.items is not None:
            for item in value:
                if self.items.done:
                    break
                self.items.visit(item, reached)
        for kind, branch in self.branches:
            if not branch.done and _has_type(kind, value):
                branch.visit(value, reached)

    def forget(self, reached: set[str]) -> None:
        """Drop the points that were reached elsewhere."""
        self.pending = [entry for entry in self.pending if entry[0] not in reached]
        for place in self._below():
            place.forget(reached)
        self.done = not self.pending and all(place.done for place in self._below())

    def _below(self) -> Iterator[_Place]:
        yield from self.members.values()
        yield from (branch for _, branch in self.branches)
        if self.items is not None:
            yield self.items


def _ways(assertion: Assertion, schema: Mapping[str, Any]) -> Iterator[tuple[str, Test]]:
    """Yield each way to exercise an assertion, and how to see that a value does."""
    keyword, value = assertion.keyword, assertion.value
    if keyword in _SIZES:
        yield from _size_ways(keyword, value, schema)
    elif keyword in _RANGES:
        yield from _range_ways(keyword, schema)
    elif keyword == "enum":
        for member in value:
            yield member if isinstance(member, str) else json.dumps(member), partial(json_equal, member)
    elif keyword == "anyOf":
        for index, branch in enumerate(value):
            yield f"branch-{index}", partial(_has_type, branch["type"])
    else:
        yield "seen", _sees(keyword, value)
        if keyword == "type" and value == "boolean" and not {"const", "enum"} & schema.keys():
            yield "true", partial(json_equal, True)  # noqa: FBT003 - the JSON value, not a flag
            yield "false", partial(json_equal, False)  # noqa: FBT003 - the JSON value, not a flag
        if keyword == "format" and value == "date-time":
            yield from _DATE_TIME_WAYS


def _sees(keyword: str, value: Any) -> Test:
    """Return how to see that a keyword had anything to assert about a value."""
    match keyword:
        case "type":
            return partial(_has_type, value)
        case "const":
            return partial(json_equal, value)
        case "required":
            return lambda found: isinstance(found, dict) and value in found
        case "uniqueItems":
            return lambda found: isinstance(found, list) and len(found) > 1
        case _:
            return partial(_has_type, {"additionalProperties": "object", "multipleOf": "number"}.get(keyword, "string"))


_SIZES: Final[Mapping[str, tuple[type[Sized], str]]] = {
    "minLength": (str, "maxLength"),
    "maxLength": (str, "minLength"),
    "minItems": (list, "maxItems"),
    "maxItems": (list, "minItems"),
    "minProperties": (dict, "maxProperties"),
    "maxProperties": (dict, "minProperties"),
}
"""Keyword that bounds a size: the Python type concerned, and the keyword of the opposite bound."""


def _size_ways(keyword: str, bound: int, schema: Mapping[str, Any]) -> Iterator[tuple[str, Test]]:
    kind, opposite = _SIZES[keyword]
    lower = keyword.startswith("min")
    least = bound if lower else schema.get(opposite, 0)
    most = schema.get(opposite, float("inf")) if lower else bound
    yield ("minimum" if lower else "maximum"), lambda found: isinstance(found, kind) and len(found) == bound
    if not lower and least == 0 < bound:
        yield "empty", lambda found: isinstance(found, kind) and not found
    if most - least > 1:
        yield "inside", lambda found: isinstance(found, kind) and least < len(found) < most


_RANGES: Final = {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}


def _range_ways(keyword: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, Test]]:
    least, most = _least(schema), _most(schema)
    if keyword in {"minimum", "exclusiveMinimum"} and least is not None:
        yield "lowest", lambda found: _is_number(found) and found == least
    if keyword in {"maximum", "exclusiveMaximum"} and most is not None:
        yield "highest", lambda found: _is_number(found) and found == most
    low: float = schema.get("exclusiveMinimum", float("-inf")) if least is None else least
    high: float = schema.get("exclusiveMaximum", float("inf")) if most is None else most
    if schema.get("type") != "integer" or high - low > 1:
        yield "inside", lambda found: _is_number(found) and low < found < high


def _least(schema: Mapping[str, Any]) -> float | None:
    """Return the least number allowed, if there is one: above an exclusive bound only integers have one."""
    bounds: list[float] = [schema["minimum"]] if "minimum" in schema else []
    if schema.get("type") == "integer" and "exclusiveMinimum" in schema:
        bounds.append(floor(schema["exclusiveMinimum"]) + 1)
    return max(bounds, default=None)


def _most(schema: Mapping[str, Any]) -> float | None:
    """Return the greatest number allowed, if there is one."""
    bounds: list[float] = [schema["maximum"]] if "maximum" in schema else []
    if schema.get("type") == "integer" and "exclusiveMaximum" in schema:
        bounds.append(ceil(schema["exclusiveMaximum"]) - 1)
    return min(bounds, default=None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _has_type(expected: str | list[str], value: Any) -> bool:
    """Tell whether a value has the type, or one of the types, that a draft-07 ``type`` names."""
    found = json_type(value)
    names = (expected,) if isinstance(expected, str) else expected
    return found in names or (found == "integer" and "number" in names)


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.search(value) is not None


_DATE_TIME_WAYS: Final = (
    ("utc", partial(_matches, re.compile(r"[Zz]\Z"))),
    ("offset", partial(_matches, re.compile(r"[+-][0-9]{2}:[0-9]{2}\Z"))),
    ("fraction", partial(_matches, re.compile(r":[0-9]{2}\.[0-9]"))),
    ("leap-day", partial(_matches, re.compile(r"\A[0-9]{4}-02-29[Tt]"))),
)


@dataclass(frozen=True)
class _Rule:
    """An obstacle and the points concerned, as globs over their ids."""

    obstacle: Obstacle
    patterns: tuple[str, ...]

    def concerns(self, point: str) -> bool:
        return any(fnmatchcase(point, pattern) for pattern in self.patterns)


def _rule(needs: Needs, reason: str, *patterns: str) -> _Rule:
    return _Rule(Obstacle(needs, reason), patterns)


_TIMESTAMPS: Final = (
    _rule("server", "a server may write the same instant with another offset", "*/format#utc", "*/format#offset"),
    _rule("clock", "the clock must stand at a 29 February", "*/format#leap-day"),
)

_SERVER_STATE: Final = (
    _rule(
        "server",
        "the server speaks of its own configuration, which cannot be seeded",
        "/properties/availability/properties/configured/type#true",
        "/properties/availability/properties/configured/type#false",
        "/properties/availability/properties/reason/*",
    ),
)

_CONVERSATION: Final = "/properties/conversation/properties"
_MESSAGE: Final = "/properties/message/anyOf/0/properties"
_MESSAGES: Final = "/properties/messages/items/properties"

_RULES: Final[Mapping[str, tuple[_Rule, ...]]] = {
    "conversations_get": (
        *_SERVER_STATE,
        _rule(
            "archive",
            "a seeded conversation is not archived",
            f"{_CONVERSATION}/archived/type#true",
            f"{_CONVERSATION}/availability/enum#archived",
        ),
        _rule("clock", "a seeded conversation is not expired", f"{_CONVERSATION}/availability/enum#expired"),
        _rule(
            "access",
            "a seeded conversation is accessible",
            f"{_CONVERSATION}/availability/enum#access_changed",
            f"{_CONVERSATION}/availability/enum#source_unavailable",
        ),
    ),
    "sentiment_status": (
        *_SERVER_STATE,
        _rule(
            "server",
            "for a run that has only a question, the message may be left out",
            f"{_MESSAGE}/role/enum#user",
            f"{_MESSAGE}/question/anyOf#branch-0",
            f"{_MESSAGE}/question/anyOf/0/*",
            f"{_MESSAGE}/answer/anyOf#branch-1",
            f"{_MESSAGE}/answer/anyOf/1/*",
        ),
    ),
    "conversations_archive": (
        *_SERVER_STATE,
        _rule(
            "never",
            "an archived conversation has no private text and no active runs, and is not available",
            f"{_CONVERSATION}/archived/type#false",
            f"{_CONVERSATION}/availability/enum#available",
            f"{_MESSAGES}/question/anyOf#branch-0",
            f"{_MESSAGES}/question/anyOf/0/*",
            f"{_MESSAGES}/answer/anyOf#branch-0",
            f"{_MESSAGES}/answer/anyOf/0/*",
            "/properties/runs/items/properties/status/enum#queued",
            "/properties/runs/items/properties/status/enum#processing",
        ),
        _rule(
            "never",
            "an archive raises the revision, and none is tried at the top of the range",
            f"{_CONVERSATION}/revision/exclusiveMinimum#lowest",
            f"{_CONVERSATION}/revision/maximum#highest",
        ),
        _rule(
            "server",
            "when expiry or access applies as well, the server chooses which availability it shows",
            f"{_CONVERSATION}/availability/enum#expired",
            f"{_CONVERSATION}/availability/enum#access_changed",
            f"{_CONVERSATION}/availability/enum#source_unavailable",
        ),
        _rule(
            "server",
            "title, language, context and messages without their text may or may not survive an archive",
            f"{_CONVERSATION}/title/*",
            f"{_CONVERSATION}/language/*",
            f"{_CONVERSATION}/context/*",
            "/properties/messages/maxItems#*",
            "/properties/messages/items/*",
        ),
    ),
}
