"""``--target-app``: a Python application is served in the process of the run, and what is wrong with it is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from suite_run import CHECKOUT, Ended, run_pytest

GUIDE = CHECKOUT / "fixtures" / "vendors" / "python-in-process.md"
FEW = "test_archive and ARCHIVE-ACCEPTED"

WSGI = """\
import asyncio
import threading

import acme_app

loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()


def app(environ, start_response):
    return asyncio.run_coroutine_threadsafe(answer(environ, start_response), loop).result()


async def answer(environ, start_response):
    body, sent = environ["wsgi.input"].read(), []
    names = {name[5:].lower().replace("_", "-"): value for name, value in environ.items() if name[:5] == "HTTP_"}
    names |= {"content-type": environ.get("CONTENT_TYPE", ""), "content-length": environ["CONTENT_LENGTH"]}
    scope = {
        "type": "http", "http_version": "1.1", "method": environ["REQUEST_METHOD"], "scheme": "http",
        "path": environ["PATH_INFO"], "raw_path": environ["PATH_INFO"].encode(), "root_path": "",
        "query_string": environ["QUERY_STRING"].encode(), "server": ("127.0.0.1", 80), "client": None,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in names.items() if value],
    }

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    await acme_app.app(scope, receive, send)
    headers = [(name.decode(), value.decode("latin-1")) for name, value in sent[0]["headers"]]
    start_response(f"{sent[0]['status']} Said", headers)
    return [message.get("body", b"") for message in sent[1:]]
"""

ODD = """\
import acme_app


def make():
    return acme_app.app


async def failing(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "Traceback: ...\\nOSError: the database is away"})

"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the guide tells a vendor to write, and a module with what can be wrong."""
    folder = tmp_path_factory.mktemp("vendor")
    for name, code in re.findall(r"`(\w+\.py)`[^`]*```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        (folder / name).write_text(code, encoding="utf-8")
    (folder / "acme_wsgi.py").write_text(WSGI, encoding="utf-8")
    (folder / "odd.py").write_text(ODD, encoding="utf-8")
    (folder / "raises.py").write_text("raise ValueError('no setting ACME_DATABASE')\n", encoding="utf-8")
    return folder


def run(folder: Path, app: str, *arguments: str) -> Ended:
    """Run few cases against an application."""
    return run_pytest(
        "--pyargs", "conformance", "-q", "--profile=quick", "--seed=7", "-k", FEW, f"--target-app={app}", *arguments,
        folder=folder,
    )  # fmt: skip


@pytest.mark.parametrize("app", ["acme_app:app", "acme_wsgi:app", "odd:make()"])
def test_an_application_is_tested_in_process(app: str, folder: Path, tmp_path: Path) -> None:
    """ASGI, WSGI, and what a function makes: with test control from conftest.py the cases pass."""
    ended = run(folder, app, f"--report-dir={tmp_path}")
    assert 0 == ended.status, ended.last_words
    assert ended.report is not None
    assert "control" == ended.report["tier"]
    assert ended.report["cases"]["passed"] > 3
    assert 0 == sum(ended.report["cases"][name] for name in ("failed", "error", "could_not_run", "not_assessed"))


def test_with_workers_each_serves_its_own(folder: Path) -> None:
    """Two processes have two applications, each with the test control of its own process."""
    ended = run(folder, "acme_app:app", "-n2")
    assert 0 == ended.status, ended.last_words


def test_below_a_path_over_mcp(folder: Path) -> None:
    """The path after the application is that of its address, and suggests the transport."""
    ended = run(folder, "acme_app:app/mcp", f"--report-dir={folder / 'report'}")
    assert 0 == ended.status, ended.last_words
    assert ended.report is not None
    assert "mcp-http" == ended.report["transport"]


@pytest.mark.parametrize(
    ("app", "status", "said"),
    [
        ("acme_ap:app", 4, "there is no module 'acme_ap'. Did you mean 'acme_app'?"),
        ("acme_app:ap", 4, "the module acme_app has no attribute 'ap'. Did you mean 'app'?"),
        ("raises:app", 6, "raises cannot be imported (ValueError: no setting ACME_DATABASE, raises.py line 1)"),
        ("odd:failing", 6, "odd:failing does not start (OSError: the database is away)"),
    ],
)  # fmt: skip
def test_what_can_be_wrong(app: str, status: int, said: str, folder: Path) -> None:
    """A wrong name is wrong usage, with the nearest right one; an application that raises could not be run."""
    ended = run(folder, app)
    assert status == ended.status, ended.last_words
    assert said in ended.output


def test_a_run_that_cannot_begin_leaves_a_report(folder: Path, tmp_path: Path) -> None:
    """With the sentence that says why."""
    ended = run(folder, "raises:app", f"--report-dir={tmp_path}")
    assert ended.report is not None
    assert any("no setting ACME_DATABASE" in problem for problem in ended.report["problems"])


def test_one_target_is_enough(folder: Path) -> None:
    """An address beside an application is wrong usage."""
    ended = run(folder, "acme_app:app", "--target-url=http://127.0.0.1:1")
    assert 4 == ended.status
    assert "--target-app is given beside another target. A run has one target: give one." in ended.output


def test_collecting_imports_nothing(folder: Path) -> None:
    """What is only to be listed needs no application."""
    ended = run(folder, "raises:app", "--collect-only")
    assert 0 == ended.status, ended.last_words
