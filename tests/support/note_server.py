"""A server for the made-up operation ``notes_pin``, strict by the operation's own schemas, or broken on purpose."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from conformance.contract import Contract
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.schema import SchemaJudge

TOKEN = "a-token-for-the-notes"
_LARGEST_BODY = 65536


class _Handler(BaseHTTPRequestHandler):
    """Answers one request; the class attributes say how."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two of them would wait for each other's acknowledgement
    contract: ClassVar[Contract]
    ignored_members: ClassVar[frozenset[str]]
    result: ClassVar[dict[str, Any]]

    def do_POST(self) -> None:
        """Check path, token and input, in this order, and answer with the result."""
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length)
        operation = next((each for each in self.contract.operations if each.path == self.path), None)
        if operation is None:
            self.answer(404)
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401)
        elif length > _LARGEST_BODY:
            self.answer(413)
        elif self.headers.get("Content-Type") != "application/json":
            self.answer(415)
        elif not self.is_valid(body, SchemaJudge(operation.input_schema)):
            self.answer(400)
        else:
            self.answer(200, self.result)

    def is_valid(self, body: bytes, judge: SchemaJudge) -> bool:
        """Tell whether the input is accepted."""
        try:
            value = decode(body)
        except DecodeFault:
            return False
        if isinstance(value, dict):
            value = {name: item for name, item in value.items() if name not in self.ignored_members}
        return judge.is_valid(value)

    def do_other(self) -> None:
        """Answer every other method."""
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.answer(405)

    do_GET = do_PUT = do_DELETE = do_PATCH = do_other  # noqa: N815 - the names that the library looks for

    def answer(self, status: int, document: Any = None) -> None:
        """Send a status and a JSON body."""
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def note_server(
    contract: Contract, result: dict[str, Any], ignored_members: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Run the server and yield its address; it answers with ``result`` and overlooks ``ignored_members`` of inputs."""
    attributes = {"contract": contract, "result": result, "ignored_members": ignored_members}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), attributes))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
