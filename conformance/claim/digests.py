"""What a claim rests on, as digests that anybody can compute again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from conformance.claim.refused import ClaimRefused
from conformance.contract import Contract
from conformance.requirements import RequirementSet
from conformance.resources import data_folder

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_BUILD_DIGEST: Final = re.compile(r"([A-Za-z0-9_]+):([0-9a-fA-F]{40,128})")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(files: Iterable[tuple[str, Path]]) -> str:
    """Return the digest of files by their path in a folder, as in-toto's ``dirHash`` says.

    It is the SHA-256 of what ``sha256sum`` prints about the files in the order of their paths.
    """
    lines = (f"{file_digest(path)}  {name}\n" for name, path in sorted(files, key=lambda each: each[0].encode()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@cache
def suite_digest() -> str:
    """Return the digest of the suite: the package's files, and the tables among its fixtures as the wheel holds them.

    It is the same in a checkout and in a wheel, since the contract, which lies elsewhere in a checkout, has its own. It
    is computed once, as the code of this process is loaded once.
    """
    code = ((name, path) for name, path in _files(_PACKAGE) if not name.startswith("data/"))
    tables = ((f"data/fixtures/{path.name}", path) for path in data_folder("fixtures").glob("*.toml"))
    return folder_digest([*code, *tables])


def contract_digest(contract: Contract) -> str:
    """Return the digest of all files of the contract bundle."""
    return folder_digest(_files(contract.folder))


def requirement_set_digest(contract: Contract, frozen: RequirementSet) -> str:
    """Return the SHA-256 of the file that freezes the set.

    Raises:
        ClaimRefused: the bundle has no such file.
    """
    path = contract.folder / "requirement-sets" / f"{frozen.version}.toml"
    try:
        return file_digest(path)
    except OSError:
        raise ClaimRefused(
            f"The contract {contract.name} {contract.version} has no frozen requirement set, against which a claim "
            "could be complete."
        ) from None


def value_digest(value: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON value in its shortest form, with sorted names and nothing but ASCII."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def build_digest(text: str) -> dict[str, str]:
    """Return a digest set for ``ALGORITHM:HEX``, such as ``sha256:9f86...``.

    Raises:
        ClaimRefused: it is something else.
    """
    match = _BUILD_DIGEST.fullmatch(text)
    if match is None:
        raise ClaimRefused(f"The build digest {text!r} is not of the form ALGORITHM:HEX, such as sha256:9f86...")
    return {match[1]: match[2].lower()}


def _files(folder: Path) -> Iterable[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(folder).as_posix(), path
