"""Which versions of libraries draw cases and judge answers here."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Final

_NAMES: Final = (
    "h11", "hypothesis", "hypothesis-jsonschema", "jsonschema", "jsonschema-rs", "pytest", "regress", "schemathesis",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Return the version of Python and of each library by its name; one that is not installed is left out."""
    found = {"python": platform.python_version()}
    for name in _NAMES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
