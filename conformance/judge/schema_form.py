"""One form for schemas that say the same in other words, so that they can be compared as values.

It knows the usual ways to say one thing. Two schemas of one form mean the same; two of different forms may, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from conformance.judge.json_values import json_type

_ANNOTATIONS: Final = frozenset({
    "$schema", "$id", "$anchor", "$comment", "$vocabulary", "title", "description", "default", "examples",
    "deprecated", "readOnly", "writeOnly",
})  # fmt: skip
"""Keywords that allow and refuse nothing. A ``default`` is one: it says what a client may suggest."""

_SPEAKS_OF: Final[Mapping[str, str]] = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("items", "minItems", "maxItems", "uniqueItems"), "array"),
    **dict.fromkeys(
        ("properties", "required", "additionalProperties", "minProperties", "maxProperties", "propertyNames"), "object"
    ),
}
"""Keywords that concern values of one type alone; every other keyword may concern any."""

_VACUOUS: Final[tuple[tuple[str, Any], ...]] = (
    ("minLength", 0), ("minItems", 0), ("minProperties", 0), ("uniqueItems", False), ("additionalProperties", True),
    ("items", True), ("properties", {}), ("required", []), ("propertyNames", True),
)  # fmt: skip

_ALL_BOOLEANS: Final = [False, True]


def normal_form(schema: Any) -> Any:
    """Return a schema without references in its one form: booleans, or an object with sorted lists."""
    if not isinstance(schema, dict):
        return schema
    form = {name: _value(name, value) for name, value in schema.items() if name not in _ANNOTATIONS}
    _merge_all_of(form)
    if "const" in form and "enum" not in form:
        form["enum"] = [form.pop("const")]
    for name, value in _VACUOUS:
        if name in form and _text(form[name]) == _text(value):
            del form[name]
    return _by_type(form)


def same_form(one: Any, other: Any) -> bool:
    """Tell whether two schemas without references have the same form."""
    return _text(normal_form(one)) == _text(normal_form(other))


def _text(value: Any) -> str:
    return json.dumps(_numbers(value), sort_keys=True)


def _numbers(value: Any) -> Any:
    """Write numbers without a fraction in one way."""
    if isinstance(value, dict):
        return {name: _numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sorted(values: Iterable[Any]) -> list[Any]:
    by_text = {_text(value): value for value in values}
    return [by_text[text] for text in sorted(by_text)]


def _value(keyword: str, value: Any) -> Any:
    """Return what a keyword holds in its one form; of keywords that are not known here nothing is changed."""
    if keyword == "properties" and isinstance(value, dict):
        return {name: normal_form(child) for name, child in value.items()}
    if keyword in ("items", "additionalProperties", "not", "propertyNames") and isinstance(value, dict):
        inner = normal_form(value)
        return True if inner == {} else inner
    if keyword in ("anyOf", "allOf", "oneOf") and isinstance(value, list):
        return [normal_form(branch) for branch in value]
    if keyword in ("required", "enum") and isinstance(value, list):
        return _sorted(value)
    return value


def _merge_all_of(form: dict[str, Any]) -> None:
    """Take the parts of an ``allOf`` in, as far as no keyword comes together with another of its name."""
    if not isinstance(form.get("allOf"), list):
        return
    left = []
    for part in form.pop("allOf"):
        if isinstance(part, dict) and not part.keys() & form.keys():
            form.update(part)
        elif part is not True:
            left.append(part)
    if left:
        form["allOf"] = _sorted(left)


def _by_type(form: dict[str, Any]) -> Any:
    """Write what concerns values of several types as one branch for each of them."""
    branches = form.get("anyOf")
    if isinstance(branches, list):
        flat = [inner for branch in branches for inner in _branches_of(branch)]
        others = {name: value for name, value in form.items() if name != "anyOf"}
        return _joined(flat) if not others else {**others, "anyOf": _sorted(flat)}
    names = form.get("type")
    types: list[str] = []
    if isinstance(names, str):
        types = [names]
    elif isinstance(names, list):
        types = [name for name in names if not (name == "integer" and "number" in names)]
    elif "enum" in form:
        types = list(dict.fromkeys("number" if _is_number(value) else json_type(value) for value in form["enum"]))
    if not types:
        return form
    return _joined([branch for name in types if (branch := _of_type(form, name)) is not False])


def _branches_of(branch: Any) -> list[Any]:
    return list(branch["anyOf"]) if isinstance(branch, dict) and branch.keys() == {"anyOf"} else [branch]


def _joined(branches: list[Any]) -> Any:
    distinct = _sorted(branches)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _of_type(form: Mapping[str, Any], name: str) -> Any:
    """Return what the schema says of values of one type; ``False`` where it allows none."""
    speaks_of = "number" if name == "integer" else name
    branch = {key: value for key, value in form.items() if _SPEAKS_OF.get(key, speaks_of) == speaks_of}
    branch["type"] = name
    if name == "integer":
        _whole_bounds(branch)
    if "enum" in form:
        branch["enum"] = [value for value in form["enum"] if _HAS_TYPE[name](value)]
        if not branch["enum"]:
            return False
        # Which type the values have, they show themselves.
        del branch["type"]
    elif name in ("null", "boolean"):
        branch["enum"] = [None] if name == "null" else _ALL_BOOLEANS
        del branch["type"]
    return branch


def _whole_bounds(branch: dict[str, Any]) -> None:
    """Write the bounds of whole numbers as the least and the greatest one."""
    for exclusive, inclusive, step, tighter in (
        ("exclusiveMinimum", "minimum", 1, max),
        ("exclusiveMaximum", "maximum", -1, min),
    ):
        bound: Any = branch.get(exclusive)
        if _is_number(bound) and json_type(bound) == "integer":
            del branch[exclusive]
            nearest = int(bound) + step
            beside = branch.get(inclusive, nearest)
            branch[inclusive] = tighter(nearest, beside) if _is_number(beside) else nearest


def _has_type(name: str, value: Any) -> bool:
    return json_type(value) == name


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_HAS_TYPE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "number": _is_number,
    **{name: partial(_has_type, name) for name in ("integer", "null", "boolean", "string", "array", "object")},
}
