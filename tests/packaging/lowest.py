"""Writes constraints that hold every direct dependency at the lowest release that ``pyproject.toml`` allows.

``python tests/packaging/lowest.py FILE``; then ``pip install --constraint FILE --editable .[test]``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
EXTRAS = ("schemathesis", "reference", "claims", "test")
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,-]+\])?(?P<specifier>.*)")
_LOWEST = re.compile(r">=\s*([\w.]+)")


def lowest(requirements: list[str], own_name: str) -> Iterator[str]:
    """Yield ``name==version`` for each requirement.

    Raises:
        ValueError: a requirement has no lower bound.
    """
    for requirement in requirements:
        parts = _REQUIREMENT.fullmatch(requirement)
        assert parts is not None
        if parts["name"] == own_name:
            continue
        bound = _LOWEST.search(parts["specifier"])
        if bound is None:
            raise ValueError(f"{requirement!r} has no lower bound (>=)")
        yield f"{parts['name']}=={bound[1]}"


def constraints(pyproject: dict[str, Any]) -> list[str]:
    """Return the constraints for the dependencies and the extras that the tests need."""
    project = pyproject["project"]
    requirements = list(project["dependencies"])
    for extra in EXTRAS:
        requirements += project["optional-dependencies"][extra]
    return sorted(lowest(requirements, project["name"]))


def main() -> int:
    """Write the file named on the command line."""
    pyproject = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    text = "\n".join(constraints(pyproject)) + "\n"
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
