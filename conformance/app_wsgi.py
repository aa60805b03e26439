"""Serves a WSGI application (PEP 3333) where an ASGI one is wanted: whole bodies, and a thread for each request.

No adapter of others is used: a2wsgi 1.10.10 goes round in its thread for ever once a client has dropped its connection
in the middle of a body, which checks of this suite do.
"""

from __future__ import annotations

import asyncio
import io
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from conformance.app_thread import AsgiApp, Message, Receive, Send

WsgiApp: TypeAlias = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_UNPREFIXED: Final = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


@dataclass
class _Answer:
    """What an application answers; ``status`` is empty until it has begun to."""

    status: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: list[bytes] = field(default_factory=list)

    def start(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
        """Take status and headers, as the application's ``start_response``."""
        del exc_info  # nothing has been sent yet, so an answer may always begin again
        self.status, self.headers = status, list(headers)
        return self.body.append


def as_asgi(app: WsgiApp) -> AsgiApp:
    """Return the application as an ASGI one, without a lifespan."""

    async def adapted(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(f"a WSGI application has no {scope['type']}")
        body = await _body(receive)
        if body is None:
            return
        answer = await _in_thread(lambda: _ask(app, _environ(scope, body)))
        code, _, _ = answer.status.partition(" ")
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": int(code), "headers": headers})
        await send({"type": "http.response.body", "body": b"".join(answer.body)})

    return adapted


async def _body(receive: Receive) -> bytes | None:
    """Return the whole body of a request, or ``None`` where the client has gone before its end."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _in_thread(work: Callable[[], _Answer]) -> _Answer:
    """Do the work in a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Answer] = loop.create_future()

    def settle(answer: _Answer | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        elif answer is not None:
            future.set_result(answer)

    def run() -> None:
        answer, error = None, None
        try:
            answer = work()
        except Exception as raised:  # noqa: BLE001 - the server answers 500 and logs it
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, answer, error)

    threading.Thread(target=run, name="target-app-request", daemon=True).start()
    return await future


def _ask(app: WsgiApp, environ: dict[str, Any]) -> _Answer:
    answer = _Answer()
    parts = app(environ, answer.start)
    try:
        # An application may begin its answer only when its first part is asked for.
        answer.body.extend(parts)
    finally:
        close = getattr(parts, "close", None)
        if close is not None:
            close()
    if not answer.status:
        raise RuntimeError("the application has returned without calling start_response")
    return answer


def _environ(scope: Message, body: bytes) -> dict[str, Any]:
    host, port = scope.get("server") or ("127.0.0.1", 80)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        # PEP 3333 wants bytes, decoded as Latin-1.
        "PATH_INFO": scope["path"].encode("utf-8").decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": (scope.get("client") or ("127.0.0.1", 0))[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        key = _UNPREFIXED.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    # The body is here as a whole, whether or not the client said how long it is.
    environ["CONTENT_LENGTH"] = str(len(body))
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    return environ
