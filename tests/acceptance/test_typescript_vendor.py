"""A server that a vendor could have written, in another language, conforms on all three transports."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest
from node import lacking
from suite_run import CHECKOUT, Ended, assert_readable, clean_environment, command

VENDOR: Final = CHECKOUT / "fixtures" / "vendors" / "typescript-zod"
TRANSPORTS: Final = ("rest", "mcp-http", "mcp-stdio")
SECONDS: Final = 1200
"""Within which a build or a run ends on a machine with much else to do; on an idle one a minute is enough."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the server in a folder of its own, as its guide says, and return that folder."""
    if reason := lacking():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("vendor") / "server"
    shutil.copytree(VENDOR, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "report", "state.db*"))
    # Where there is no ready-made binary of a module it is compiled, and that is to be quick here.
    environment = clean_environment(CFLAGS="-O0", CXXFLAGS="-O0", JOBS="2")
    for line in ("npm ci --prefer-offline --no-audit --no-fund", "npm run build"):
        ended = subprocess.run(  # noqa: S603  our own commands
            line.split(), cwd=folder, env=environment, capture_output=True, text=True, check=False,
            timeout=SECONDS,
        )  # fmt: skip
        assert 0 == ended.returncode, ended.stdout[-2000:] + ended.stderr[-2000:]
    return folder


@contextmanager
def served(built: Path, state: Path) -> Iterator[Path]:
    """Start the server on free ports and state of its own, and yield a target file that leads to it."""
    database = state / "state.db"
    environment = clean_environment(PORT="0", CONTROL_PORT="0", DATABASE=str(database))
    start = ["node", "dist/main.js", "start"]
    with subprocess.Popen(start, cwd=built, env=environment, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            assert server.stdout is not None
            ports = [re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline()) for _ in range(2)]
            yield written_target(state, database, *(each[1] for each in ports if each))
        finally:
            # It ends its own child first.
            server.terminate()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()


def written_target(state: Path, database: Path, port: str = "", control_port: str = "") -> Path:
    """Write the vendor's own target file for these ports and this database."""
    assert port, "the server did not start"
    assert control_port, "test control did not start"
    text = (VENDOR / "target.toml").read_text(encoding="utf-8")
    text = text.replace(":8000", f":{port}").replace(":8001", f":{control_port}").replace('"state.db"', f"'{database}'")
    path = state / "target.toml"
    path.write_text(text, encoding="utf-8")
    return path


def judged(transport: str, built: Path, target: Path) -> Ended:
    """Run the suite over one transport, in the server's folder: its target file names a child's command from there."""
    report = target.parent / "report"
    ended = subprocess.run(  # noqa: S603  our own command
        command("--pyargs", "conformance", "--profile=quick", "--seed=20", f"--transport={transport}",
                f"--target-config={target}", f"--report-dir={report}"),
        cwd=built, env=clean_environment(), capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    written = report / "report.json"
    found = json.loads(written.read_text(encoding="utf-8")) if written.exists() else None
    return Ended(ended.returncode, ended.stdout + ended.stderr, found)


@pytest.mark.parametrize(
    "transports", [("rest",), pytest.param(TRANSPORTS[1:], marks=pytest.mark.thorough)], ids="+".join
)
def test_a_server_in_typescript_conforms(transports: tuple[str, ...], built: Path, tmp_path: Path) -> None:
    """Written with Zod and the official MCP SDK, it is found to conform, each transport being judged in its turn."""
    with ExitStack() as running:
        targets = {}
        for transport in transports:
            (tmp_path / transport).mkdir()
            targets[transport] = running.enter_context(served(built, tmp_path / transport))

        # One server and one run for each, all at once: most of a run is waiting.
        with ThreadPoolExecutor(len(transports)) as together:
            runs = {name: together.submit(judged, name, built, target) for name, target in targets.items()}
        ended_runs = {name: run.result() for name, run in runs.items()}
    for transport, ended in ended_runs.items():
        assert_readable(ended)
        assert 0 == ended.status, f"{transport}: {ended.last_words}"
        assert ended.report is not None
        assert ("conforms", transport) == (ended.report["verdict"], ended.report["transport"])
        assert "level: behaviour" in ended.output
        assert [] == [each["id"] for each in ended.report["requirements"] if each["outcome"] in ("fail", "warning")]


def test_its_lock_file_names_no_registry() -> None:
    """The lock file is good for every registry, and pins a digest of each package."""
    lock = (VENDOR / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert lock.count('"integrity"') > 10
    assert "omit-lockfile-registry-resolved=true" in (VENDOR / ".npmrc").read_text(encoding="utf-8")
