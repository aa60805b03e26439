"""A uvicorn server in a thread, which tells when its application answers, or why it never will."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import uvicorn

_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 5.0

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


class _Server(uvicorn.Server):
    """A server that says when it answers."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()


class ServerThread(threading.Thread):
    """Serves one application on a bound socket, from ``start`` to :meth:`end`."""

    def __init__(self, app: AsgiApp, bound: socket.socket) -> None:
        super().__init__(name="target-app", daemon=True)
        self._app = app
        self._socket = bound
        self._settled = threading.Event()
        self._problem = ""
        self._end: Callable[[], None] = lambda: None

    def run(self) -> None:
        """Serve; what goes wrong is kept for :meth:`problem`."""
        try:
            asyncio.run(self._serve())
        except SystemExit:
            # This is how uvicorn ends when the application has said that it cannot start.
            self._problem = self._problem or "it ended the interpreter"
        except BaseException as error:  # noqa: BLE001 - the caller's thread tells of it
            self._problem = f"{type(error).__name__}: {error}"
        finally:
            self._settled.set()

    def problem(self) -> str:
        """Wait until the application answers; return why it does not, or an empty string."""
        if not self._settled.wait(_START_SECONDS):
            self._problem = f"it has not come up after {_START_SECONDS:g} s"
        return self._problem

    def end(self) -> None:
        """Ask the server to stop, and wait for it."""
        self._end()
        self.join(_STOP_SECONDS)

    async def _serve(self) -> None:
        config = uvicorn.Config(
            self._watched,
            interface="asgi3",
            log_config=None,
            log_level="error",
            access_log=False,
            lifespan="auto",
            ws="none",
            timeout_graceful_shutdown=1,
            # Longer than any client keeps an idle connection, so that none is closed under a request.
            timeout_keep_alive=75,
        )
        server, loop = _Server(config, self._settled.set), asyncio.get_running_loop()

        def stop() -> None:
            server.should_exit = True

        def end() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop)

        self._end = end
        await server.serve(sockets=[self._socket])
        if not self._settled.is_set():
            self._problem = self._problem or "the server ended before it began"

    async def _watched(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass everything on, and note why an application says that it cannot start."""

        async def noting(message: Message) -> None:
            if message["type"] == "lifespan.startup.failed":
                lines = str(message.get("message", "")).strip().splitlines()
                self._problem = lines[-1] if lines else "it says that its startup has failed"
            await send(message)

        await self._app(scope, receive, noting if scope["type"] == "lifespan" else send)
