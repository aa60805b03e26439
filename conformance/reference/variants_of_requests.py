# ruff: noqa: D102  the docstring of each class says what its methods do differently
"""Conforming variants of how a request is received, read and judged. To fail one of them is a false alarm."""

from __future__ import annotations

import asyncio
import re
import zlib
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.refusals import Refusal
from conformance.reference.rest import BODY_LIMIT, Collaborators, RestBinding, statuses_with
from conformance.reference.service import Arguments, canonical
from conformance.reference.validation import Validator
from conformance.reference.variants import variant

_APPLYING_SECONDS: Final = 0.003
"""How long an archive takes: longer than the copies of a call are apart, and short beside a whole run."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_PUBLISHED_UUID: Final = re.compile(
    r".{14}[1-8].{4}[89ab].{16}|0{8}(-0{4}){3}-0{12}|f{8}(-f{4}){3}-f{12}", re.IGNORECASE
)


@variant("published-uuids-only", "OPEN-UUID-VERSION")
class PublishedUuidsOnly(Validator):
    """Ids are refused whose version or variant RFC 9562 does not define; its nil and max ids are read."""

    def read_uuid(self, text: str) -> str | None:
        return super().read_uuid(text) if _PUBLISHED_UUID.fullmatch(text) else None


class InProgress(Refusal):
    """The same call is being applied."""

    kind = "in_progress"


@variant("copy-told-to-wait", "OPEN-COPY-IN-PROGRESS")
class CopyToldToWait(RestBinding):
    """An archive takes a moment, and a copy that comes meanwhile is answered 425."""

    statuses = statuses_with(in_progress=425)

    def __init__(self, server: Collaborators) -> None:
        super().__init__(server)
        self._applying: set[tuple[str, str]] = set()

    async def perform(self, operation: Operation, caller: Caller, arguments: Arguments) -> dict[str, Any]:
        if operation.effect == "read":
            return await super().perform(operation, caller, arguments)
        call = (caller.principal_id, canonical(arguments))
        if call in self._applying:
            raise InProgress("the same call is being applied")
        self._applying.add(call)
        try:
            await asyncio.sleep(_APPLYING_SECONDS)
            return await super().perform(operation, caller, arguments)
        finally:
            self._applying.remove(call)


@variant("copy-in-progress-conflicts", "OPEN-COPY-IN-PROGRESS")
class CopyInProgressConflicts(CopyToldToWait):
    """An archive takes a moment, and a copy that comes meanwhile is answered 409, as any conflict."""

    statuses = statuses_with(in_progress=409)


@variant("wrong-method-404", "OPEN-WRONG-METHOD-STATUS")
class WrongMethod404(RestBinding):
    """A wrong method is answered 404, as an unknown path."""

    def application(self) -> Starlette:
        application = super().application()
        application.add_exception_handler(405, self._unknown)
        return application

    async def _unknown(self, request: Request, error: Exception) -> Response:
        del request, error
        return self.respond(404, b'{"error": "there is no such path"}')


@variant("gzip-accepted", "OPEN-CONTENT-ENCODING")
class GzipAccepted(RestBinding):
    """A request body may be compressed with gzip; the limit of its size counts what comes out."""

    def content_encoding(self, request: Request) -> str:
        named = super().content_encoding(request)
        return "identity" if named == "gzip" else named

    async def read_body(self, request: Request) -> bytes:
        raw = await super().read_body(request)
        if super().content_encoding(request) != "gzip":
            return raw
        try:
            return zlib.decompressobj(_GZIP).decompress(raw, BODY_LIMIT + 1)
        except zlib.error:
            # Left as it is, it is no JSON either and is refused as that.
            return raw


@variant("input-judged-before-caller", "OPEN-CHECK-ORDER")
class InputJudgedBeforeCaller(RestBinding):
    """Of several faults, one of the input is named first, and only then one of the caller."""

    async def handle(self, request: Request, operation: Operation) -> Response:
        raw = await self.read_body(request)
        validator, authenticator = self.server.validator, self.server.authenticator
        try:
            self.check_manners(request, raw)
            arguments = validator.check(operation, validator.decode(raw))
            caller = authenticator.identify(request.headers.getlist("authorization"))
            authenticator.authorise(caller, operation)
            result = await self.perform(operation, caller, arguments)
        except Refusal as refusal:
            return self.refuse(operation, refusal)
        return self.answer(operation, result)
