"""The ``rest`` binding: JSON over HTTP, a status by kind of refusal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conformance.contract import Contract, Operation
from conformance.reference.authentication import Authenticator, Caller
from conformance.reference.presentation import Presenter
from conformance.reference.refusals import Refusal, TooLarge, UnsupportedMediaType
from conformance.reference.service import Arguments, Service
from conformance.reference.validation import Validator

BODY_LIMIT = 64 * 1024
_DRAIN_LIMIT = 16 * 1024 * 1024


_STATUSES: Mapping[str, int] = {
    "invalid_input": 400,
    "too_large": 413,
    "unsupported_media_type": 415,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "internal": 500,
}


def statuses_with(**changed: int) -> Mapping[str, int]:
    """Return the status for each kind of refusal, some of them changed."""
    return {**_STATUSES, **changed}


@dataclass(frozen=True)
class Collaborators:
    """What a binding needs of the rest of the server."""

    contract: Contract
    validator: Validator
    authenticator: Authenticator
    service: Service
    presenter: Presenter


class RestBinding:
    """Reads requests, writes answers. Everything from the body's last byte on happens without waiting."""

    statuses: ClassVar[Mapping[str, int]] = _STATUSES
    headers: ClassVar[Mapping[str, str]] = {"Cache-Control": "no-store"}

    def __init__(self, server: Collaborators) -> None:
        self.server = server

    def application(self) -> Starlette:
        """Return the ASGI application."""
        application = Starlette(routes=self.routes())
        application.router.redirect_slashes = False
        return application

    def routes(self) -> list[Route]:
        """Return one POST route per operation; anything else is 404 or 405."""
        return [
            Route(operation.path, self.endpoint(operation), methods=["POST"])
            for operation in self.server.contract.operations
        ]

    def endpoint(self, operation: Operation) -> Any:
        """Return the handler of one operation."""

        async def handle(request: Request) -> Response:
            return await self.handle(request, operation)

        return handle

    async def handle(self, request: Request, operation: Operation) -> Response:
        """Answer one request."""
        # The body is read first whatever the outcome: a connection with an unread body cannot be used again.
        raw = await self.read_body(request)
        try:
            caller = self.server.authenticator.identify(request.headers.getlist("authorization"))
            self.server.authenticator.authorise(caller, operation)
            self.check_manners(request, raw)
            result = await self.carry_out(operation, caller, raw)
        except Refusal as refusal:
            return self.refuse(operation, refusal)
        return self.answer(operation, result)

    async def read_body(self, request: Request) -> bytes:
        """Return the body, or a little more than the limit of a longer one."""
        kept, seen = bytearray(), 0
        async for chunk in request.stream():
            seen += len(chunk)
            kept += chunk[: BODY_LIMIT + 1 - len(kept)]
            if seen > _DRAIN_LIMIT:
                break
        return bytes(kept)

    def check_manners(self, request: Request, raw: bytes) -> None:
        """Pass a body of bounded size that says it is plain JSON.

        Raises:
            TooLarge: it is over 64 kB.
            UnsupportedMediaType: the content type is not JSON, or a content encoding is set.
        """
        if len(raw) > BODY_LIMIT:
            raise TooLarge("the body is over 64 kB")
        if self.media_type(request) != "application/json":
            raise UnsupportedMediaType("the content type must be application/json")
        if self.content_encoding(request) != "identity":
            raise UnsupportedMediaType("no content encoding is accepted")

    def media_type(self, request: Request) -> str:
        """Return the media type that the request names, in lower case and without parameters."""
        return request.headers.get("content-type", "").partition(";")[0].strip().lower()

    def content_encoding(self, request: Request) -> str:
        """Return the content encoding that the request names, in lower case; identity where it names none."""
        return request.headers.get("content-encoding", "identity").lower()

    async def carry_out(self, operation: Operation, caller: Caller, raw: bytes) -> dict[str, Any]:
        """Return the result of the call that the body describes."""
        validator = self.server.validator
        return await self.perform(operation, caller, validator.check(operation, validator.decode(raw)))

    async def perform(self, operation: Operation, caller: Caller, arguments: Arguments) -> dict[str, Any]:
        """Let the service do it. It is a coroutine only so that a seeded race can wait inside."""
        return self.server.service.perform(operation.name, caller, arguments)

    def answer(self, operation: Operation, result: dict[str, Any]) -> Response:
        """Return a success."""
        presenter = self.server.presenter
        return self.respond(200, presenter.encode(presenter.shape(operation, result)))

    def refuse(self, operation: Operation, refusal: Refusal) -> Response:
        """Return a failure. Refusals of one kind and message are the same to the byte."""
        del operation
        body = json.dumps({"error": {"kind": refusal.kind, "message": str(refusal)}}).encode()
        response = self.respond(self.statuses[refusal.kind], body)
        if response.status_code == self.statuses["unauthenticated"]:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response

    def respond(self, status: int, body: bytes) -> Response:
        """Return an answer of JSON bytes."""
        return Response(body, status, self.headers, "application/json")
