"""A headless Chromium, spoken to over a pipe in its own protocol: no driver and no port."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
)

_PATIENCE = 60.0
"""Seconds after which a browser that says nothing counts as ended."""


def browser_path() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Page:
    """One open page."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._read = bytearray()
        self._count = 0
        self._session = ""
        self.console: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.requests: list[str] = []

    def call(self, method: str, /, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result.

        Raises:
            RuntimeError: the browser refused it, or ended.
        """
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, path: Path) -> None:
        """Load a file and wait until it is there."""
        self.call("Page.navigate", url=path.as_uri())
        self._wait_for("Page.loadEventFired")

    def view(self, width: int, *, height: int = 900, scheme: str = "light", media: str = "") -> None:
        """Set the width of the window, the colour scheme and the medium (``print`` or none in particular)."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page, whose own policy does not concern it.

        Raises:
            RuntimeError: it threw.
        """
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key and let it go; ``code`` is the Windows virtual key code."""
        named = {"key": key, "code": key if len(key) > 1 else "Space", "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def screenshot(self, *, whole: bool = False) -> str:
        """Return a picture as base64 of a PNG, of the window or of the whole page."""
        data: str = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        return data

    def _wait_for(self, event: str) -> None:
        while self._next().get("method") != event:
            pass

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            is_readable, _, _ = select.select([self._from], [], [], _PATIENCE)
            piece = os.read(self._from, 1 << 16) if is_readable else b""
            if not piece:
                raise RuntimeError("the browser ended, or says nothing any more")
            self._read += piece
        line, _, rest = bytes(self._read).partition(b"\0")
        self._read = bytearray(rest)
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message.get("method") == "Log.entryAdded":
            self.console.append(parameters["entry"]["text"])
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])


@contextmanager
def open_browser(path: str, profile: Path) -> Iterator[Page]:
    """Start the browser with an empty profile in this folder, and end it."""
    read_commands, write_commands = _high_pipe()
    read_answers, write_answers = _high_pipe()
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    # The browser reads commands from descriptor 3 and writes answers to 4.
    plumbing = [(os.POSIX_SPAWN_DUP2, read_commands, 3), (os.POSIX_SPAWN_DUP2, write_answers, 4)]
    words = [path, *_FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
    process = os.posix_spawn(path, words, os.environ, file_actions=[*quiet, *plumbing])
    os.close(read_commands)
    os.close(write_answers)
    try:
        yield Page(write_commands, read_answers)
    finally:
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)
        os.close(write_commands)
        os.close(read_answers)


def _high_pipe() -> tuple[int, int]:
    """Return a pipe whose ends are none of the descriptors that the browser is given."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
