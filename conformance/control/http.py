"""Test control over HTTP. Anything but a 2xx answer means that the suite could not run, never that the target fails."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from conformance.control.interface import (
    AccessState,
    Capabilities,
    ControlFailed,
    Principal,
    read_capabilities,
    read_principal,
)
from conformance.judge.formats import is_date_time
from conformance.transport.exchange import Exchange, Observer, Request, Response, is_token
from conformance.transport.wire import Origin, Wire, WireFault, WireLimits

_LIMITS: Final = WireLimits(seconds=30.0)


class HttpControl:
    """A client of the test-control API."""

    def __init__(self, url: str, token: str | None, make_wire: Callable[[Origin, WireLimits], Wire] = Wire) -> None:
        self._wire = make_wire(Origin.parse(url, "--control-url"), _LIMITS)
        self._url = self._wire.origin.url
        self._headers = (
            ("Host", self._wire.origin.authority),
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            *((("Authorization", f"Bearer {token}"),) if token else ()),
        )
        self.calls = 0
        self.observe: Observer | None = None

    def capabilities(self) -> Capabilities:
        """See ``TestControl``."""
        return read_capabilities(self._call("GET", "/capabilities"), self._url)

    def create_principal(self, scopes: tuple[str, ...], workspace_ids: tuple[str, ...], label: str) -> Principal:
        """See ``TestControl``."""
        document = self._call("POST", "/principals", {"scopes": list(scopes), "workspace_ids": list(workspace_ids)})
        return read_principal(document, f"POST {self._url}/principals", scopes, workspace_ids, label)

    def create_token(self, principal: Principal, scopes: tuple[str, ...]) -> Principal:
        """See ``TestControl``."""
        path = f"/principals/{quote(principal.principal_id, safe='')}/tokens"
        document = self._call("POST", path, {"scopes": list(scopes)})
        token = document.get("token") if isinstance(document, dict) else None
        if not isinstance(token, str) or not is_token(token):
            raise ControlFailed(f"POST {path} gave no token", "See 'test control' in the target interface.")
        return replace(principal, token=token, scopes=scopes)

    def seed_conversation(self, principal: Principal, conversation: Any, messages: Any, runs: Any) -> Mapping[str, str]:
        """See ``TestControl``."""
        body = {
            "principal_id": principal.principal_id,
            "conversation": conversation,
            "messages": messages,
            "runs": runs,
        }
        document = self._call("POST", "/conversations", body)
        ids = (document.get("ids") if isinstance(document, dict) else None) or {}
        if not isinstance(ids, dict) or not all(isinstance(actual, str) for actual in ids.values()):
            raise ControlFailed(
                f"POST /conversations gave ids {ids!r:.120}", "See 'test control' in the target interface."
            )
        return ids

    def read_clock(self, workspace_id: str) -> str:
        """See ``TestControl``."""
        document = self._call("GET", f"/clock?workspace_id={workspace_id}")
        now = document.get("now") if isinstance(document, dict) else None
        if not isinstance(now, str) or not is_date_time(now):
            raise ControlFailed("GET /clock gave no time", "See 'test control' in the target interface.")
        return now

    def set_clock(self, workspace_id: str, now: str) -> None:
        """See ``TestControl``."""
        self._call("PUT", "/clock", {"workspace_id": workspace_id, "now": now})

    def release_clock(self, workspace_id: str) -> None:
        """See ``TestControl``."""
        self._call("DELETE", f"/clock?workspace_id={workspace_id}")

    def set_access(self, conversation_id: str, state: AccessState) -> None:
        """See ``TestControl``."""
        self._call("PUT", f"/conversations/{conversation_id}/access", {"state": state})

    def deliver_result(self, run_id: str, answer: Any, model_id: str | None, model_version: str | None) -> None:
        """See ``TestControl``."""
        body = {"answer": answer, "model_id": model_id, "model_version": model_version}
        self._call("POST", f"/runs/{run_id}/result", body)

    def restart(self) -> None:
        """See ``TestControl``."""
        self._call("POST", "/restart")

    def reset(self) -> None:
        """See ``TestControl``."""
        self._call("POST", "/reset")

    def close(self) -> None:
        """Close all connections."""
        self._wire.close()

    def _call(self, method: str, path: str, document: Any = None) -> Any:
        """Make one call and return the decoded answer, ``None`` where there is no body."""
        self.calls += 1
        where = f"{method} {self._url}{path}"
        try:
            response = self._send(method, path, document)
        except WireFault as fault:
            raise ControlFailed(
                f"test control did not answer {where} ({fault})", "Start it, or correct --control-url."
            ) from None
        if not 200 <= response.status < 300:
            text = response.body[:200].decode("utf-8", "replace")
            raise ControlFailed(
                f"test control answered {where} with {response.status} {text!r}",
                "A call that test control offers must answer 2xx; see 'test control' in the target interface.",
            )
        if not response.body:
            return None
        try:
            return json.loads(response.body)
        except (ValueError, RecursionError):
            raise ControlFailed(
                f"test control answered {where} with something that is not JSON", "See the target interface."
            ) from None

    def _send(self, method: str, path: str, document: Any) -> Response:
        body = b"" if document is None else json.dumps(document).encode("ascii")
        headers = self._headers
        if document is not None:
            headers = (*headers, ("Content-Type", "application/json"), ("Content-Length", str(len(body))))
        elif method != "GET":
            headers = (*headers, ("Content-Length", "0"))
        request = Request(method, self._url + path, headers, body)
        started = time.monotonic()
        response = self._wire.send(request, self._wire.origin.prefix + path)
        if self.observe is not None:
            self.observe(Exchange("", "test control", request, response, None, time.monotonic() - started))
        return response
