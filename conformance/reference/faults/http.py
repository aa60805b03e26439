# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in the manners of HTTP."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conformance.contract import Operation
from conformance.reference.faults.family import Crash, Family
from conformance.reference.refusals import Refusal, TooLarge, UnsupportedMediaType
from conformance.reference.rest import RestBinding, statuses_with
from conformance.reference.service import Arguments

family = Family()

_OTHER_METHODS = ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS")


class _AnswersOtherMethods(RestBinding):
    """Adds routes for other methods than POST."""

    methods: tuple[str, ...]

    def routes(self) -> list[Route]:
        operations = self.server.contract.operations
        more = [Route(one.path, self.other(one), methods=self.methods) for one in operations]
        return [*super().routes(), *more]

    def other(self, operation: Operation) -> Any:
        raise NotImplementedError


@family.part("http-get-answered", "HTTP-WRONG-METHOD", observable="GET with the input in the query")
class GetAnswered(_AnswersOtherMethods):
    """GET works as POST does, archive among it, with the input in the query string."""

    methods = ("GET",)

    def other(self, operation: Operation) -> Any:
        async def handle(request: Request) -> Response:
            arguments: Arguments = {
                name: int(text) if text.isdecimal() else text.lower() for name, text in request.query_params.items()
            }
            try:
                caller = self.server.authenticator.identify(request.headers.getlist("authorization"))
                self.server.authenticator.authorise(caller, operation)
                arguments = self.server.validator.check(operation, arguments)
                return self.answer(operation, await self.perform(operation, caller, arguments))
            except Refusal as refusal:
                return self.refuse(operation, refusal)

        return handle


@family.part("http-put-answered", "HTTP-WRONG-METHOD", observable="PUT with a valid body")
class PutAnswered(_AnswersOtherMethods):
    """PUT works as POST does."""

    methods = ("PUT",)

    def other(self, operation: Operation) -> Any:
        return self.endpoint(operation)


@family.part("http-wrong-method-500", "HTTP-WRONG-METHOD", "HTTP-NO-SERVER-ERROR")
class WrongMethodCrashes(_AnswersOtherMethods):
    """Another method than POST raises an error that is not caught."""

    methods = _OTHER_METHODS

    def other(self, operation: Operation) -> Any:
        async def handle(request: Request) -> Response:
            del request
            return self.refuse(operation, Crash("internal error"))

        return handle


@family.part("http-unknown-path-200", "HTTP-UNKNOWN-PATH", observable="any other path")
class UnknownPathAnswered(RestBinding):
    """Unknown paths are answered by a page with status 200."""

    def routes(self) -> list[Route]:
        async def page(request: Request) -> Response:
            del request
            return Response("<!doctype html><title>Research</title>", media_type="text/html")

        return [*super().routes(), Route("/{rest:path}", page, methods=["POST", *_OTHER_METHODS])]


@family.part("http-oversized-body-500", "HTTP-OVERSIZED-BODY", "HTTP-NO-SERVER-ERROR")
class OversizedBodyCrashes(RestBinding):
    """A body over the limit raises an error that is not caught."""

    def check_manners(self, request: Request, raw: bytes) -> None:
        try:
            super().check_manners(request, raw)
        except TooLarge:
            raise Crash("internal error") from None


@family.part("http-content-type-500", "HTTP-CONTENT-TYPE", "HTTP-NO-SERVER-ERROR")
class ContentTypeCrashes(RestBinding):
    """A body that is not called JSON raises an error that is not caught."""

    def check_manners(self, request: Request, raw: bytes) -> None:
        try:
            super().check_manners(request, raw)
        except UnsupportedMediaType:
            raise Crash("internal error") from None


@family.part("http-oversized-body-409", "HTTP-OVERSIZED-BODY", observable="a body over the limit")
class OversizedBodyConflicts(RestBinding):
    """A body over the limit is refused as a conflict."""

    statuses = statuses_with(too_large=409)


@family.part("http-content-type-404", "HTTP-CONTENT-TYPE", observable="a body that is not called JSON")
class ContentTypeNotFound(RestBinding):
    """A body that is not called JSON selects no handler, and is answered like a path that does not exist."""

    statuses = statuses_with(unsupported_media_type=404)


@family.part("http-unknown-coding-500", "HTTP-NO-SERVER-ERROR", observable="an unknown Content-Encoding")
class UnknownCodingCrashes(RestBinding):
    """A Content-Encoding that the server does not know raises an error that is not caught; gzip is refused."""

    def check_manners(self, request: Request, raw: bytes) -> None:
        if self.content_encoding(request) not in ("identity", "gzip"):
            raise Crash("internal error")
        super().check_manners(request, raw)


@family.part("http-broken-gzip-500", "HTTP-NO-SERVER-ERROR", observable="a plain body called gzip")
class BrokenGzipCrashes(RestBinding):
    """A body that is called gzip is unpacked before it is refused; one that is not raises an error uncaught."""

    def check_manners(self, request: Request, raw: bytes) -> None:
        if self.content_encoding(request) == "gzip":
            try:
                gzip.decompress(raw)
            except (OSError, EOFError, zlib.error):
                raise Crash("internal error") from None
        super().check_manners(request, raw)


@family.part("http-archive-answered-201", "HTTP-SUCCESS-STATUS", observable="archive", ordinary=False)
class ArchiveAnswered201(RestBinding):
    """A successful archive is answered 201, as if something were created."""

    def answer(self, operation: Operation, result: dict[str, Any]) -> Response:
        response = super().answer(operation, result)
        if operation.effect == "write":
            response.status_code = 201
        return response


@family.part("http-refusals-200", "READ-UNKNOWN-ID", "INPUT-ERROR-KIND", "AUTH-TOKEN-MISSING", "REVISION-CONFLICT-KIND")
class RefusalsAnswered200(RestBinding):
    """Every refusal is answered 200 with an error in the body."""

    statuses = dict.fromkeys(RestBinding.statuses, 200)


@family.part("http-oversized-body-blocks", "HTTP-STILL-ANSWERS", observable="the call after an oversized body")
class OversizedBodyBlocks(RestBinding):
    """A client that sent an oversized body is turned away once more, whatever it asks for next."""

    blocked = False

    def check_manners(self, request: Request, raw: bytes) -> None:
        if self.blocked:
            self.blocked = False
            raise TooLarge("the client is blocked")
        try:
            super().check_manners(request, raw)
        except TooLarge:
            self.blocked = True
            raise
