"""Upper bounds of dependencies: each says why it is there and tells when it can go."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BROKEN_BY = "6.170.10"


def test_hypothesis_is_capped_for_hypothesis_jsonschema() -> None:
    """hypothesis-jsonschema 0.23.1 fails on every object schema with hypothesis 6.170.10 and later.

    ``'many' object has no attribute 'more'``. When this fails because a later release of it is installed, see whether
    ``from_schema({"type": "object", "properties": {"a": {}}})`` can be drawn from with the newest hypothesis; if so,
    take the cap out of pyproject.toml and this test with it.
    """
    requirements = {each.name: each for each in map(Requirement, PROJECT["dependencies"])}
    assert BROKEN_BY not in requirements["hypothesis"].specifier
    assert "6.170.9" in requirements["hypothesis"].specifier
    assert "0.23.1" == version("hypothesis-jsonschema"), "a later release: see whether the cap on hypothesis can go"


def test_there_is_no_other_cap() -> None:
    """An upper bound keeps users from fixes of others, so each needs a reason and a test here."""
    optional = [each for group in PROJECT["optional-dependencies"].values() for each in group]
    capped = {
        requirement.name
        for requirement in map(Requirement, [*PROJECT["dependencies"], *optional])
        if any(specifier.operator in ("<", "<=", "==", "~=", "!=") for specifier in requirement.specifier)
    }
    assert {"hypothesis"} == capped
