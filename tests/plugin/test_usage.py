"""Wrong options, files and keys end with status 4 and one sentence that names the right one."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite_run import assert_readable, run_pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target-ulr", "http://h"], "unknown option --target-ulr. Did you mean --target-url?"),
        (["--repot-dir=x"], "unknown option --repot-dir. Did you mean --report-dir?"),
        (["--sed", "1"], "unknown option --sed. Did you mean --seed?"),
        (["--profile", "fast"], "invalid choice: 'fast' (choose from 'quick', 'standard', 'certify')"),
        (["--seed", "x"], "invalid int value: 'x'"),
        (["--transport", "rset", "--target-url", "http://h"], "unknown transport 'rset'. Did you mean 'rest'?"),
        (["--target-url", ""], "--target-url: '' is not an http or https URL."),
        (["--target-config", "none.toml"], "none.toml: the target file cannot be read (no such file or directory)"),
        (["--control-url", "http://h"], "--control-url is given without a target. Give --target-url too."),
    ],
)  # fmt: skip
def test_a_wrong_option_is_named(arguments: list[str], message: str) -> None:
    """Before anything is collected, started or called."""
    ended = run_pytest(*arguments)
    assert 4 == ended.status, ended.last_words
    assert message in ended.output
    assert_readable(ended)


def test_a_wrong_key_is_named(tmp_path: Path) -> None:
    """With the file, the table and the nearest right key."""
    (tmp_path / "acme.toml").write_text('[target]\nurll = "http://h"\n', encoding="utf-8")
    ended = run_pytest("--target-config", str(tmp_path / "acme.toml"))
    assert 4 == ended.status
    assert "acme.toml, [target]: unknown key 'urll'. Did you mean 'url'?" in ended.output
    assert_readable(ended)


def test_a_report_folder_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    """Before the run, not after it."""
    (tmp_path / "file").touch()
    ended = run_pytest(f"--report-dir={tmp_path / 'file'}")
    assert 4 == ended.status
    assert "--report-dir:" in ended.output
    assert_readable(ended)
