"""Acts as a reader of the documents would: in a folder, with servers beside it, one command after the other."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import IO, Final, Self

from suite_run import CHECKOUT, Ended, clean_environment

PORTS: Final = ("8000", "8001", "8400", "8401")
"""The ports of the documents; each stage has free ones in their place."""

SECONDS: Final = 2400
"""Within which the longest command ends on a machine with much else to do."""

_SERVER: Final = re.compile(r"sosoapi-conformance serve\b(?!.*--list-faults)|([A-Z_]+=\S+ )*npm start\b")
_READY: Final = re.compile(r"control\b.* http://")


@dataclass
class Server:
    """A server that a document tells to start, and what it has printed so far."""

    text: str
    process: subprocess.Popen[str]
    printed: list[str] = field(default_factory=list)
    ready: Event = field(default_factory=Event)

    @property
    def output(self) -> str:
        """What it has printed."""
        return "".join(self.printed)

    def read(self, stream: IO[str]) -> None:
        """Keep all that it prints, to its end; it is ready once it has named test control, or is over."""
        with stream:
            for line in stream:
                self.printed.append(line)
                if _READY.search(line):
                    self.ready.set()
        self.ready.set()

    def stop(self) -> None:
        """Stop it, together with what it has started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                os.killpg(self.process.pid, number)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                continue
            return


class Stage:
    """A folder to act in, with free ports in place of the documents' ones; left, it stops its servers."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = clean_environment(
            PATH=path, COLUMNS="80", PYTHONUNBUFFERED="1",
            # What Hypothesis computes once for a machine need not be computed for each folder.
            HYPOTHESIS_STORAGE_DIRECTORY=str(CHECKOUT / ".hypothesis"), **(environment or {}),
        )  # fmt: skip
        self.ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self.servers: list[Server] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_servers()

    def here(self, text: str) -> str:
        """Return a text of a document with the ports of this stage."""
        return re.sub(rf"\b({'|'.join(PORTS)})\b", lambda found: self.ports[found[0]], text)

    def run(self, text: str) -> Ended:
        """Run a command to its end; what it prints to the two streams is taken together, as on a terminal."""
        ended = subprocess.run(  # noqa: S603 - a command of our own documents
            [_bash(), "-c", self.here(text)], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=SECONDS,
        )  # fmt: skip
        return Ended(ended.returncode, ended.stdout.decode("utf-8", "backslashreplace"))

    def start(self, text: str) -> Server:
        """Start a server, in place of the one before it if that is another one, and wait until it answers."""
        running = [each for each in self.servers if each.text == text and each.process.poll() is None]
        if running:
            return running[0]
        self.stop_servers()
        process = subprocess.Popen(  # noqa: S603 - a command of our own documents
            [_bash(), "-c", self.here(text)], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None
        server = Server(text, process)
        self.servers.append(server)
        Thread(target=server.read, args=(process.stdout,), daemon=True).start()
        assert server.ready.wait(timeout=120), f"{text} did not start: {server.output}"
        assert process.poll() is None, f"{text} ended: {server.output}"
        return server

    def stop_servers(self) -> None:
        """Stop what runs."""
        while self.servers:
            self.servers.pop().stop()

    def write(self, name: str, text: str) -> None:
        """Write a file of a document."""
        (self.folder / name).write_text(self.here(text), encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        """Change one place of a file, which has to be there."""
        text = (self.folder / name).read_text(encoding="utf-8")
        assert 1 == text.count(old), f"{name} has {old!r} {text.count(old)} times"
        (self.folder / name).write_text(text.replace(old, new), encoding="utf-8")


Step = Callable[[Stage], None]


def is_server(text: str) -> bool:
    """Tell whether a command runs until it is stopped."""
    return _SERVER.match(text) is not None


def copied_checkout(folder: Path) -> Mapping[str, str]:
    """Copy into the folder what a clone has, and return the variable by which its modules are found.

    A real copy, since some commands write into the checkout; compiled modules are taken along to save time.
    """
    kept_out = shutil.ignore_patterns("node_modules", "dist", "state.db*", ".hypothesis", ".pytest_cache")
    for name in ("conformance", "contracts", "fixtures", "tests"):
        shutil.copytree(CHECKOUT / name, folder / name, ignore=kept_out)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy2(CHECKOUT / name, folder / name)
    (folder / "reports").mkdir()
    for name in ("README.md", "report.schema.json", "golden"):
        part = CHECKOUT / "reports" / name
        (shutil.copytree if part.is_dir() else shutil.copy2)(part, folder / "reports" / name)
    return {"PYTHONPATH": str(folder)}


def free_ports(count: int) -> list[str]:
    """Return ports on which nothing listens, out of a range from which no system gives any by itself.

    Between the choice and the use nobody who asks for just any free port can get one of them.
    """
    chosen: list[str] = []
    draw = random.SystemRandom()
    while len(chosen) < count:
        port = draw.randrange(20_000, 30_000)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        if str(port) not in chosen:
            chosen.append(str(port))
    return chosen


def _bash() -> str:
    found = shutil.which("bash")
    assert found is not None, "the documents' commands need bash"
    return found
