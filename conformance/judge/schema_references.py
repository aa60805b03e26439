"""Puts what a schema refers to in the place of each ``$ref``. What lies outside the schema is never fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from conformance.judge.json_values import pointer

_MOST_PLACES: Final = 50_000
_DEEPEST: Final = 200
_MAPS: Final = ("properties", "patternProperties", "dependentSchemas", "definitions", "$defs")
"""Keywords whose members are called by names of the schema's author, each with a schema."""
_LITERALS: Final = ("enum", "const", "default", "examples", "type")
"""Keywords that hold values in which nothing is a schema."""
_DEFINITIONS: Final = ("definitions", "$defs")
_DYNAMIC: Final = ("$dynamicRef", "$recursiveRef")

Parts = tuple[str | int, ...]


@dataclass
class SchemaUnusable(Exception):
    """A schema cannot be used to judge anything; ``place`` is the JSON Pointer of the culprit, ``reason`` a clause."""

    place: str
    reason: str


@dataclass
class SchemaNotJudged(Exception):
    """A schema may be right, but uses something that this suite does not judge."""

    place: str
    reason: str


def without_references(schema: Mapping[str, Any], *, siblings_count: bool) -> dict[str, Any]:
    """Return a schema of the same meaning that has no reference and no definitions.

    ``siblings_count`` says whether keywords beside ``$ref`` count, as they do since 2019-09.

    Raises:
        SchemaUnusable: it refers to something outside or to nothing, or to itself without end, or grows too large.
        SchemaNotJudged: it refers dynamically.
    """
    inlined = _Inliner(schema, siblings_count=siblings_count).inline(schema, "", ())
    return inlined if isinstance(inlined, dict) else {"allOf": [inlined]}


@dataclass
class _Resources:
    """The schemas that have an ``$id``, by URI, the whole one also by ``""``; and those that have an anchor."""

    schemas: dict[str, Any] = field(default_factory=dict)
    anchors: dict[tuple[str, str], Any] = field(default_factory=dict)

    def enter(self, schema: Any, base: str) -> str:
        """Take note of one schema's names; return the base URI inside it."""
        inner = _base_in(schema, base)
        if inner != base or not self.schemas:
            self.schemas[inner] = schema
        if isinstance(schema, dict):
            identifier = schema.get("$id")
            anchor = identifier[1:] if isinstance(identifier, str) and identifier.startswith("#") else None
            for name in (anchor, schema.get("$anchor")):
                if isinstance(name, str) and name:
                    self.anchors[inner, name] = schema
        return inner


def _base_in(schema: Any, base: str) -> str:
    identifier = schema.get("$id") if isinstance(schema, dict) else None
    if not isinstance(identifier, str) or identifier.startswith("#"):
        return base
    return _resolved(base, identifier)[0]


def _resolved(base: str, reference: str) -> tuple[str, str]:
    """Return the URI and the fragment that a reference means."""
    try:
        uri, fragment = urldefrag(urljoin(base, reference))
    except ValueError:
        raise SchemaUnusable("", f"it names {reference[:100]!a}, which is no URI") from None
    return uri, fragment


def _children(schema: Any) -> Iterator[tuple[Parts, Any]]:
    """Yield the schemas directly in a schema, with the steps to them."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in _LITERALS:
            continue
        if keyword in _MAPS and isinstance(value, dict):
            yield from (((keyword, name), child) for name, child in value.items())
        elif isinstance(value, dict):
            yield (keyword,), value
        elif isinstance(value, list):
            yield from (((keyword, index), child) for index, child in enumerate(value) if isinstance(child, dict))


class _Inliner:
    def __init__(self, root: Mapping[str, Any], *, siblings_count: bool) -> None:
        self._siblings_count = siblings_count
        self._places = 0
        self._open: list[tuple[str, str]] = []
        self._resources = _Resources()
        pending: list[tuple[Any, str]] = [(root, "")]
        while pending:
            schema, base = pending.pop()
            inner = self._resources.enter(schema, base)
            pending += ((child, inner) for _, child in _children(schema))

    def inline(self, schema: Any, base: str, parts: Parts) -> Any:
        """Return one schema without references; ``parts`` lead to it as it is written."""
        self._places += 1
        if self._places > _MOST_PLACES:
            raise SchemaUnusable(pointer(parts), f"with all that it refers to it has more than {_MOST_PLACES} places")
        if len(parts) > _DEEPEST:
            raise SchemaUnusable("", f"with all that it refers to it is more than {_DEEPEST} steps deep")
        if not isinstance(schema, dict):
            return schema
        for keyword in _DYNAMIC:
            if keyword in schema:
                raise SchemaNotJudged(pointer((*parts, keyword)), f"it uses {keyword}")
        reference = schema.get("$ref")
        if isinstance(reference, str) and not self._siblings_count:
            return self._target(reference, base, (*parts, "$ref"))
        inner = _base_in(schema, base)
        inlined: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword in _DEFINITIONS or (keyword == "$ref" and isinstance(value, str)):
                continue
            inlined[keyword] = self._value(keyword, value, inner, (*parts, keyword))
        if isinstance(reference, str):
            target = self._target(reference, inner, (*parts, "$ref"))
            return {**inlined, "allOf": [*inlined.get("allOf", ()), target]} if inlined else target
        return inlined

    def _value(self, keyword: str, value: Any, base: str, parts: Parts) -> Any:
        if keyword in _LITERALS:
            return value
        if keyword in _MAPS and isinstance(value, dict):
            return {name: self.inline(child, base, (*parts, name)) for name, child in value.items()}
        if isinstance(value, list):
            return [self.inline(child, base, (*parts, index)) for index, child in enumerate(value)]
        return self.inline(value, base, parts)

    def _target(self, reference: str, base: str, parts: Parts) -> Any:
        # Joining may write the base in another way than the schema does.
        uri, fragment = _resolved("" if reference.startswith("#") else base, reference)
        uri = uri or base
        if (uri, fragment) in self._open:
            raise SchemaUnusable(pointer(parts), "it refers to itself without end")
        found, inner = self._find(uri, fragment, reference, parts)
        self._open.append((uri, fragment))
        try:
            return self.inline(found, inner, parts)
        finally:
            self._open.pop()

    def _find(self, uri: str, fragment: str, reference: str, parts: Parts) -> tuple[Any, str]:
        """Return the schema that is referred to, and the base URI around it."""
        if uri not in self._resources.schemas:
            raise SchemaUnusable(pointer(parts), f"it refers to {reference[:100]!a}, which is outside of it")
        if fragment and not fragment.startswith("/"):
            found = self._resources.anchors.get((uri, unquote(fragment)))
            if found is None:
                raise SchemaUnusable(pointer(parts), f"it refers to {reference[:100]!a}, which is not there")
            return found, uri
        found = self._resources.schemas[uri]
        for step in unquote(fragment).split("/")[1:]:
            uri = _base_in(found, uri)
            found = _step(found, step.replace("~1", "/").replace("~0", "~"))
            if found is None:
                raise SchemaUnusable(pointer(parts), f"it refers to {reference[:100]!a}, which is not there")
        return found, uri


def _step(found: Any, name: str) -> Any:
    if isinstance(found, dict):
        return found.get(name)
    if isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
        return found[int(name)]
    return None
