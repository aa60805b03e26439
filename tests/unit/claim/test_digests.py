"""Digests that anybody can compute again."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.claim.digests import (
    build_digest,
    contract_digest,
    folder_digest,
    requirement_set_digest,
    suite_digest,
    value_digest,
)
from conformance.claim.refused import ClaimRefused
from conformance.contract import load_contract
from conformance.decision import frozen_set
from conformance.requirements import load_registry


def test_a_folder_is_digested_as_sha256sum_prints_it(tmp_path: Path) -> None:
    """In the order of the bytes of the paths, whatever the order in which files are found."""
    files = {"b": b"2", "B": b"1", "a/c": b"3"}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    lines = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in ("B", "a/c", "b"))
    expected = hashlib.sha256(lines.encode()).hexdigest()
    assert expected == folder_digest((name, tmp_path / name) for name in files)


def test_a_contract_is_another_one_with_another_byte(tmp_path: Path) -> None:
    """In any of its files; a copy elsewhere is the same."""
    contract = load_contract()
    shutil.copytree(contract.folder, tmp_path / "copy")
    copy = replace(contract, folder=tmp_path / "copy")
    assert contract_digest(contract) == contract_digest(copy)
    with (tmp_path / "copy" / "contract.toml").open("a") as file:
        file.write("\n")
    assert contract_digest(contract) != contract_digest(copy)


def test_the_set_is_digested_as_its_file() -> None:
    """A bundle without a frozen set has nothing that a claim could be complete against."""
    contract = load_contract()
    frozen = frozen_set(load_registry(contract), contract)
    path = contract.folder / "requirement-sets" / f"{frozen.version}.toml"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == requirement_set_digest(contract, frozen)
    with pytest.raises(ClaimRefused, match="has no frozen requirement set"):
        requirement_set_digest(contract, replace(frozen, version="99"))


def test_the_suite_has_one_digest() -> None:
    """As long as a process lasts."""
    assert suite_digest() == suite_digest()
    assert 64 == len(suite_digest())


def test_values_are_digested_whatever_their_order() -> None:
    """In their shortest form."""
    assert hashlib.sha256(b'{"a":"\\u00e4","b":1}').hexdigest() == value_digest({"b": 1, "a": "ä"})
    assert value_digest({"b": 1, "a": 2}) == value_digest(json.loads('{"a": 2, "b": 1}'))


def test_build_digests() -> None:
    """Any algorithm of in-toto, in lower case; nothing shorter than SHA-1 has."""
    assert {"sha256": "ab" * 32} == build_digest(f"sha256:{'AB' * 32}")
    assert {"gitCommit": "0" * 40} == build_digest(f"gitCommit:{'0' * 40}")
    for text in ("sha256:0123456789abcdef", "0" * 64, f"sha256:{'x' * 64}", "", f"sha 256:{'0' * 64}"):
        with pytest.raises(ClaimRefused, match="is not of the form ALGORITHM:HEX"):
            build_digest(text)
