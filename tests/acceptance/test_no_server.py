"""Where nothing listens, nothing can be said about conformance: status 6 and one sentence."""

from __future__ import annotations

from pathlib import Path

from raw_server import raw_server, response, sending, unused_port
from suite_run import assert_readable, run_pytest


def test_nothing_listens(tmp_path: Path) -> None:
    """The address, the reason and what to do; a report of an earlier run is not left to be taken for this one's."""
    (tmp_path / "report.json").write_text("{}", encoding="utf-8")
    port = unused_port()
    ended = run_pytest("-q", "--target-url", f"http://127.0.0.1:{port}", f"--report-dir={tmp_path}")
    assert 6 == ended.status, ended.last_words
    assert f"no usable answer from http://127.0.0.1:{port}: cannot connect to 127.0.0.1:{port}" in ended.output
    assert "Start the server, or correct --target-url." in ended.output
    assert ended.report is not None
    assert ("not run", 6, False) == tuple(ended.report[name] for name in ("verdict", "exit_status", "complete"))
    assert "connection refused" in ended.report["problems"][0]
    assert_readable(ended)


def test_no_test_control_answers() -> None:
    """The target is there, its test control is not."""
    port = unused_port()
    with raw_server(sending(response())) as server:
        ended = run_pytest("-q", "--target-url", server.url, "--control-url", f"http://127.0.0.1:{port}")
    assert 6 == ended.status, ended.last_words
    assert f"test control did not answer GET http://127.0.0.1:{port}/capabilities" in ended.output
    assert_readable(ended)


def test_test_control_is_something_else() -> None:
    """What answers at the control URL does not speak the interface."""
    with raw_server(sending(response(b"<html>", "200 OK"))) as server:
        ended = run_pytest("-q", "--target-url", server.url, "--control-url", server.url)
    assert 6 == ended.status, ended.last_words
    assert "with something that is not JSON" in ended.output
    assert_readable(ended)
