"""The test-control API, version 1: how a suite puts state into the reference server, moves its clock, restarts it."""

from __future__ import annotations

import secrets
import sqlite3
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from jsonschema_rs import Draft7Validator
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from conformance.reference.clock import ClockWouldGoBackError
from conformance.reference.instants import Instant, format_instant, parse_instant
from conformance.reference.validation import decode_strictly, is_uuid

if TYPE_CHECKING:
    from conformance.reference.runtime import Reference

CAPABILITIES = ("principals", "tokens", "seed", "clock", "access", "worker", "restart", "reset")
_ACCESS_STATES = ("granted", "access_changed", "source_unavailable")
_AVAILABILITY = {"configured": True, "reason": None, "processor": "Google Gemini", "retention_hours": 24}
_EMPTY = 204

Handler = Callable[[Request], Awaitable[Response]]


class ControlProblemError(Exception):
    """A control call that cannot be carried out: the suite has to say "could not run"."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def control_application(reference: Reference) -> Starlette:
    """Return the ASGI application of the test-control API."""
    control = _Control(reference)
    application = Starlette(
        routes=[
            Route("/capabilities", _answering(control.capabilities), methods=["GET"]),
            Route("/principals", _answering(control.add_principal), methods=["POST"]),
            Route("/principals/{principal_id}/tokens", _answering(control.add_token), methods=["POST"]),
            Route("/conversations", _answering(control.add_conversation), methods=["POST"]),
            Route("/clock", _answering(control.read_clock), methods=["GET"]),
            Route("/clock", _answering(control.set_clock), methods=["PUT"]),
            Route("/clock", _answering(control.release_clock), methods=["DELETE"]),
            Route("/conversations/{conversation_id}/access", _answering(control.set_access), methods=["PUT"]),
            Route("/runs/{run_id}/result", _answering(control.deliver), methods=["POST"]),
            Route("/restart", _answering(control.restart), methods=["POST"]),
            Route("/reset", _answering(control.reset), methods=["POST"]),
        ]
    )
    application.router.redirect_slashes = False
    return application


def _answering(handle: Handler) -> Handler:
    async def answer(request: Request) -> Response:
        try:
            return await handle(request)
        except ControlProblemError as problem:
            return JSONResponse({"error": str(problem)}, problem.status)

    return answer


class _Control:
    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        get = reference.contract.operation("conversations_get").output_schema
        answer = get["properties"]["messages"]["items"]["properties"]["answer"]["anyOf"][0]
        run = get["properties"]["runs"]["items"]["properties"]
        self._document = Draft7Validator(dict(get), validate_formats=True, formats={"uuid": is_uuid})
        self._result = Draft7Validator(
            {
                "type": "object",
                "properties": {"answer": answer, "model_id": run["model_id"], "model_version": run["model_version"]},
                "required": ["answer", "model_id", "model_version"],
                "additionalProperties": False,
            },
            validate_formats=True,
            formats={"uuid": is_uuid},
        )

    async def capabilities(self, request: Request) -> Response:
        del request
        return JSONResponse({"interface": 1, "capabilities": list(CAPABILITIES), "clock_scope": "workspace"})

    async def add_principal(self, request: Request) -> Response:
        body = await _body(request)
        scopes, workspaces = _texts(body, "scopes"), _texts(body, "workspace_ids")
        principal_id, token = str(uuid.uuid4()), secrets.token_urlsafe(24)
        store = self._reference.store
        with store.transaction():
            store.add_principal(principal_id, workspaces)
            store.add_token(token, principal_id, scopes)
        return JSONResponse({"principal_id": principal_id, "token": token}, 201)

    async def add_token(self, request: Request) -> Response:
        scopes = _texts(await _body(request), "scopes")
        store, principal_id = self._reference.store, request.path_params["principal_id"].lower()
        if store.workspaces(principal_id) is None:
            raise ControlProblemError(404, "there is no such principal")
        token = secrets.token_urlsafe(24)
        store.add_token(token, principal_id, scopes)
        return JSONResponse({"token": token}, 201)

    async def add_conversation(self, request: Request) -> Response:
        body = await _body(request)
        principal_id = _text(body, "principal_id").lower()
        document = {"availability": _AVAILABILITY, **{name: body[name] for name in body if name != "principal_id"}}
        _check(self._document, document)
        conversation = document["conversation"]
        store = self._reference.store
        workspaces = store.workspaces(principal_id)
        if workspaces is None:
            raise ControlProblemError(404, "there is no such principal")
        if conversation["workspace_id"].lower() not in workspaces:
            raise ControlProblemError(400, "the conversation is not in a workspace of its owner")
        if conversation["archived"] or conversation["availability"] != "available":
            raise ControlProblemError(400, "a conversation is seeded available and not archived")
        if self._reference.clock.now(conversation["workspace_id"]) >= _instant(conversation["expires_at"]):
            raise ControlProblemError(400, "the conversation is expired at the clock of its workspace: set that first")
        try:
            with store.transaction():
                store.add_conversation(principal_id, document)
        except sqlite3.IntegrityError:
            raise ControlProblemError(409, "the id of the conversation or of a run is taken") from None
        return JSONResponse({"ids": {}}, 201)

    async def read_clock(self, request: Request) -> Response:
        return JSONResponse({"now": format_instant(self._reference.clock.now(_workspace(request)))})

    async def set_clock(self, request: Request) -> Response:
        body = await _body(request)
        try:
            self._reference.clock.stand_still(_text(body, "workspace_id"), _instant(_text(body, "now")))
        except ClockWouldGoBackError:
            raise ControlProblemError(409, "the clock of the workspace stands at a later instant") from None
        return Response(status_code=_EMPTY)

    async def release_clock(self, request: Request) -> Response:
        self._reference.clock.run(_workspace(request))
        return Response(status_code=_EMPTY)

    async def set_access(self, request: Request) -> Response:
        state = _text(await _body(request), "state")
        if state not in _ACCESS_STATES:
            raise ControlProblemError(400, f"state is one of {', '.join(_ACCESS_STATES)}")
        if not self._reference.service.change_access(request.path_params["conversation_id"].lower(), state):
            raise ControlProblemError(404, "there is no such conversation")
        return Response(status_code=_EMPTY)

    async def deliver(self, request: Request) -> Response:
        body = await _body(request)
        _check(self._result, body)
        if self._reference.service.deliver(request.path_params["run_id"].lower(), dict(body)) is None:
            raise ControlProblemError(404, "there is no such run")
        return Response(status_code=_EMPTY)

    async def restart(self, request: Request) -> Response:
        del request
        self._reference.restart()
        return Response(status_code=_EMPTY)

    async def reset(self, request: Request) -> Response:
        del request
        with self._reference.store.transaction():
            self._reference.store.reset()
        return Response(status_code=_EMPTY)


async def _body(request: Request) -> Mapping[str, Any]:
    try:
        body = decode_strictly(await request.body())
    except (ValueError, RecursionError):
        raise ControlProblemError(400, "the body is not strict JSON") from None
    if not isinstance(body, dict):
        raise ControlProblemError(400, "the body is not a JSON object")
    return body


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise ControlProblemError(400, f"{name} must be a string")
    return value


def _texts(body: Mapping[str, Any], name: str) -> list[str]:
    value = body.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ControlProblemError(400, f"{name} must be a list of strings")
    return value


def _workspace(request: Request) -> str:
    workspace = request.query_params.get("workspace_id")
    if not workspace:
        raise ControlProblemError(400, "workspace_id is needed")
    return workspace


def _instant(text: str) -> Instant:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise ControlProblemError(400, f"not an instant: {error}") from None


def _check(validator: Draft7Validator, value: Any) -> None:
    error = next(iter(validator.iter_errors(value)), None)
    if error is not None:
        location = "/".join(str(step) for step in error.instance_path)
        raise ControlProblemError(400, f"at /{location}: {error.message}")
