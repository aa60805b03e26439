"""Tables of a target file: typed values by name, and every key that nobody asked for is an error."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from conformance.errors import UsageProblem, nearest

_Value = TypeVar("_Value")
_NAMES: Mapping[type, str] = {
    str: "a string",
    int: "a whole number",
    dict: "a table",
    list: "a list",
    datetime.date: "a date such as 2026-12-31",
}


class Table:
    """One table of the file: hands out typed values, and at the end complains of what nobody asked for."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = values
        self.where = where
        self._known: set[str] = set()

    def get(self, key: str, kind: type[_Value], default: _Value) -> _Value:
        """Return the value of ``key``, which must be of ``kind``."""
        self._known.add(key)
        value: object = self._values.get(key, default)
        # To Python, true is a whole number too, and a moment a date.
        is_more = isinstance(value, (bool, datetime.datetime)) and type(value) is not kind
        if isinstance(value, kind) and not is_more:
            return value
        # What stands where a table belongs may be a token that somebody wrote inline: it is not repeated.
        shown = "not a table" if kind is dict else repr(value)
        raise UsageProblem(f"{key} is {shown}", self.where, f"It must be {_NAMES.get(kind, kind.__name__)}.")

    def require(self, key: str, kind: type[_Value]) -> _Value:
        """Return the value of ``key``, which must be there."""
        if key not in self._values:
            self._known.add(key)
            unknown = sorted(set(self._values) - self._known)
            hint = f" The file has {', '.join(map(repr, unknown))} instead." if unknown else ""
            raise UsageProblem(f"{key} is missing", self.where, f"Add it.{hint}")
        value: _Value = self.get(key, kind, self._values[key])
        return value

    def table(self, key: str) -> Table:
        """Return a table inside this one, empty where it is missing."""
        return Table(self.get(key, dict, {}), f"{self.where}, [{key}]")

    def tables(self, key: str) -> Iterator[Table]:
        """Yield the tables of a list."""
        for number, entry in enumerate(self.get(key, list, []), 1):
            where = f"{self.where}, {key} number {number}"
            if not isinstance(entry, dict):
                raise UsageProblem(f"{entry!r} is not a table", where, "Write it as [[...]] or {...}.")
            yield Table(entry, where)

    def strings(self) -> Mapping[str, str]:
        """Return the whole table as names and strings, whatever the names."""
        for key in self._values:
            self.get(key, str, "")
        return dict(self._values)

    def finish(self) -> None:
        """Complain of the first key that nothing asked for."""
        for key in self._values:
            if key not in self._known:
                raise UsageProblem(f"unknown key {key!r}", self.where, nearest(key, self._known))
