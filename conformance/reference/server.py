"""Runs the two applications of the reference server on loopback ports, in one event loop, until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from conformance.errors import UsageProblem
from conformance.reference.database import Database
from conformance.reference.mcp.endpoint import McpOptions
from conformance.reference.mcp.nursery_process import nursery, require_nursery
from conformance.reference.parts import Parts
from conformance.reference.runtime import Reference

_LARGEST_PORT = 65_535


@dataclass(frozen=True)
class Settings:
    """How to run: port 0 is any free port; ``database`` is a path, ``memory``, or None for a temporary file.

    ``anonymous_token`` is a token that MCP requests without one are taken to carry. It belongs to a person who is in
    no workspace. ``nursery`` is None, or the options with which the children of a nursery serve, beside
    ``--stdio --database``; the nursery runs as long as the server.
    """

    host: str = "127.0.0.1"
    port: int = 0
    control_port: int = 0
    database: str | None = None
    parts: Parts = field(default_factory=Parts)
    anonymous_token: str | None = None
    nursery: Sequence[str] | None = None


@dataclass(frozen=True)
class Addresses:
    """Where a running server answers, as ``http://host:port``.

    ``mcp`` is the address for MCP, None where the SDK is not installed. ``database`` is the file with the stored state,
    on which a child process may serve as well; None in memory. ``door`` is the command that fetches a child from the
    nursery, None without one.
    """

    target: str
    control: str
    mcp: str | None = None
    database: Path | None = None
    door: Sequence[str] | None = None


class _Server(uvicorn.Server):
    """A uvicorn server that says when it answers, and leaves the process's signals alone: two share one process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answering = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.answering.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(settings: Settings, announce: Callable[[Addresses], None], stop: asyncio.Event) -> None:
    """Serve until ``stop`` is set; ``announce`` is called once both ports answer.

    Raises:
        UsageProblem: a port or the database cannot be used, or there can be no nursery.
    """
    with contextlib.ExitStack() as stack:
        target_socket = stack.enter_context(_bind(settings.host, settings.port))
        control_socket = stack.enter_context(_bind(settings.host, settings.control_port))
        reference = _open(settings)
        stack.callback(reference.close)
        door = None
        if settings.nursery is not None:
            door = stack.enter_context(nursery(require_nursery(reference.database_path), settings.nursery))
        servers = [_server(reference.target), _server(reference.control)]
        tasks = [
            asyncio.create_task(server.serve(sockets=[bound]))
            for server, bound in zip(servers, (target_socket, control_socket), strict=True)
        ]
        for server in servers:
            await server.answering.wait()
        target = _url(settings.host, target_socket)
        mcp = f"{target}/mcp" if reference.speaks_mcp else None
        announce(Addresses(target, _url(settings.host, control_socket), mcp, reference.database_path, door))
        await stop.wait()
        await reference.end_sessions()
        for server in servers:
            server.should_exit = True
        await asyncio.gather(*tasks)


def serve_in_process(settings: Settings, announce: Callable[[Addresses], None], *, stop_with_parent: bool) -> None:
    """Serve until SIGINT, SIGTERM or, where asked, the end of standard input. For the main thread of a process.

    Raises:
        UsageProblem: a port or the database cannot be used.
    """

    async def run() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def end(_signal: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(stop.set)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        if stop_with_parent:
            threading.Thread(target=_await_end_of_input, args=(loop, stop), daemon=True).start()
        await serve(settings, announce, stop)

    asyncio.run(run())


@contextlib.contextmanager
def running(settings: Settings | None = None) -> Iterator[Addresses]:
    """Run a server in a thread of this process for the length of a ``with`` block.

    Raises:
        UsageProblem: a port or the database cannot be used.
    """
    thread = _ServerThread(settings or Settings())
    thread.start()
    try:
        yield thread.addresses()
    finally:
        thread.end()


class _ServerThread(threading.Thread):
    def __init__(self, settings: Settings) -> None:
        super().__init__(name="reference-server", daemon=True)
        self._settings = settings
        self._ready = threading.Event()
        self._addresses: Addresses | None = None
        self._failure: BaseException | None = None
        self._end: Callable[[], None] = lambda: None

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as failure:  # noqa: BLE001  the caller's thread raises it
            self._failure = failure
        finally:
            self._ready.set()

    def addresses(self) -> Addresses:
        """Wait until the server answers and return where."""
        self._ready.wait()
        if self._addresses is None:
            raise self._failure or RuntimeError("the server ended before it began")
        return self._addresses

    def end(self) -> None:
        """Stop the server and wait for its end."""
        # The loop is closed already where the server could not start.
        with contextlib.suppress(RuntimeError):
            self._end()
        self.join()

    async def _serve(self) -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def end() -> None:
            loop.call_soon_threadsafe(stop.set)

        self._end = end
        await serve(self._settings, self._announce, stop)

    def _announce(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._ready.set()


def _bind(host: str, port: int) -> socket.socket:
    if not 0 <= port <= _LARGEST_PORT:
        raise UsageProblem(
            "no such port", f"{host}:{port}", f"Give one from 1 to {_LARGEST_PORT}, or 0 for a free one."
        )
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio turns Nagle's algorithm off only for sockets that name TCP; without that, answers wait for 40 ms.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise UsageProblem(f"not an address of this machine ({error})", host, "Give another --host.") from None
    try:
        # Without this a port stays taken for a minute after a run.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        # A second server on the port must fail here, not later inside the event loop.
        bound.listen(128)
    except OSError as error:
        bound.close()
        raise UsageProblem(
            f"the port cannot be used ({error})", f"{host}:{port}", "Give another port, or 0 for a free one."
        ) from None
    return bound


def _open(settings: Settings) -> Reference:
    database = Database(settings.database)
    try:
        mcp = McpOptions(hosts=(_bracketed(settings.host),), anonymous_token=settings.anonymous_token)
        reference = Reference(database, settings.parts, mcp=mcp)
        if settings.anonymous_token is not None:
            _admit(reference, settings.anonymous_token)
        return reference  # noqa: TRY300  the database is closed for whatever goes wrong
    except BaseException:
        database.close()
        raise


def _admit(reference: Reference, token: str) -> None:
    """Store the token, with every scope, of a person who is in no workspace."""
    with reference.store.transaction():
        if reference.store.token(token) is None:
            person = str(uuid.uuid4())
            reference.store.add_principal(person, [])
            reference.store.add_token(token, person, sorted({each.scope for each in reference.contract.operations}))


def _server(application: Any) -> _Server:
    return _Server(
        uvicorn.Config(
            application,
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
            # Longer than any client keeps an idle connection, so that none is closed under a request.
            timeout_keep_alive=75,
        )
    )


def _url(host: str, bound: socket.socket) -> str:
    return f"http://{_bracketed(host)}:{bound.getsockname()[1]}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _await_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    # os.read holds no lock of the interpreter's stdin object, so the process can end while this waits.
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(stop.set)
