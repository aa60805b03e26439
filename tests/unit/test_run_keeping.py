"""The report folder: a run that was attested is not written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.errors import UsageProblem
from conformance.run_setup import prepare_folder


def test_an_earlier_run_makes_room(tmp_path: Path) -> None:
    """Its reports would be taken for those of the new one."""
    (tmp_path / "report.json").write_text("{}", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    prepare_folder(tmp_path)
    assert ["notes.txt"] == [path.name for path in tmp_path.iterdir()]


def test_a_run_with_a_claim_is_kept(tmp_path: Path) -> None:
    """Nothing of it is lost, and the problem says which option to change."""
    for name in ("claim.json", "exchanges.jsonl", "report.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(UsageProblem, match="has a signed claim") as told:
        prepare_folder(tmp_path)
    assert "--report-dir" == told.value.where
    assert {"claim.json", "exchanges.jsonl", "report.json"} == {path.name for path in tmp_path.iterdir()}
