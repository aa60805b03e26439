"""Sends recorded requests to a live server again, byte for byte but for what that server itself has given out anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from conformance.errors import NotReplayable
from conformance.recorded.bodies import body_bytes
from conformance.recorded.description import NOT_WRITTEN
from conformance.recorded.translation import Place, Translation
from conformance.transport.exchange import Failure, Request, Response
from conformance.transport.mcp.binding import McpBinding
from conformance.transport.mcp.stdio import StdioCommand
from conformance.transport.mcp.streaming import StreamingWire
from conformance.transport.prepared import Prepared
from conformance.transport.wire import BodyWatch, Origin, WireFault, WireLimits

Whom = Literal["target", "control"]

_SESSION: Final = "mcp-session-id"
_LISTS: Final = '"method":"tools/list"'


@dataclass(frozen=True)
class Resent:
    """How often something was sent, and how often the answer was the recorded one in status and body."""

    sent: int = 0
    same: int = 0


class Resender:
    """The live side of a replay. ``command`` and ``binding`` are for children, where the target has any."""

    def __init__(
        self,
        places: Mapping[Whom, Place],
        limits: WireLimits,
        translation: Translation,
        command: StdioCommand | None = None,
        binding: McpBinding | None = None,
    ) -> None:
        self._places = places
        self.limits = limits
        self.command = command
        self.binding = binding or McpBinding()
        self._wires: dict[str, StreamingWire] = {}
        self.translation = translation
        self.resent = Resent()
        self._nobody_answered = True

    def send(self, request: Request, to: Whom, recorded: Mapping[str, Any], watch: BodyWatch | None = None) -> Response:
        """Send a request of the record and return the live answer in the words of the record.

        Raises:
            WireFault: no usable answer came.
            NotReplayable: there was none either to what was sent before, and then there was one: nobody is there.
        """
        live, path = self.translation.request(request, self._places[to])
        try:
            response = self._wire(live.url).send(live, path, watch)
        except WireFault as fault:
            if self._nobody_answered and recorded["answer"] is not None:
                raise NotReplayable(
                    f"no usable answer from {live.url}: {fault.failure.message}", f"Start it, or correct --{to}-url."
                ) from None
            raise
        return self.came(response, recorded)

    def drop(self, request: Request, to: Whom, path: str, sent: bytes, awaits: Literal["", "answer", "byte"]) -> None:
        """Send a part of a request again, and drop the connection as then."""
        del path
        live, live_path = self.translation.request(request, self._places[to])
        self._wire(live.url).drop(live, live_path, live.body[: len(sent)], awaits)

    def prepared(self, prepared: Prepared, recorded: Mapping[str, Any]) -> Prepared:
        """Return a call of a race as it is to be sent now."""
        live, path = self.translation.request(prepared.request, self._places["target"])

        def finish(response: Response | None, failure: Failure | None, elapsed: float) -> Any:
            answer = None if response is None else self.came(response, recorded)
            return prepared.finish(answer, failure, elapsed)

        return Prepared(self._wire(live.url), path, live, finish, prepared.watch)

    def came(self, response: Response, recorded: Mapping[str, Any]) -> Response:
        """Learn from an answer what the server has given out, and return it in the words of the record."""
        self._nobody_answered = False
        then = recorded["answer"]
        if then is not None:
            self._learn(response, then)
        translated = self.translation.response(response)
        is_same = then is not None and (then["status"], then["body"]) == (
            translated.status,
            translated.body.decode("utf-8", "replace"),
        )
        self.resent = Resent(self.resent.sent + 1, self.resent.same + is_same)
        return translated

    def silent(self, recorded: Mapping[str, Any]) -> None:
        """Count a message that a live child did not answer."""
        self.resent = Resent(self.resent.sent + 1, self.resent.same + (recorded["answer"] is None))

    def again(self, line: Mapping[str, Any]) -> None:
        """Send a request from a line of the log, for what it does; that nothing comes back does not matter here.

        Raises:
            ValueError: its body was too long to be recorded.
        """
        try:
            self.send(request_of(line), line["to"], line)
        except WireFault:
            return

    def close(self) -> None:
        """Close connections."""
        for wire in self._wires.values():
            wire.close()

    def _wire(self, url: str) -> StreamingWire:
        origin = replace(Origin.parse(url.partition("?")[0], "target"), prefix="")
        return self._wires.setdefault(origin.url, StreamingWire(origin, self.limits))

    def _learn(self, response: Response, then: Mapping[str, Any]) -> None:
        session = next((value for name, value in then["headers"] if name.lower() == _SESSION), "")
        self.translation.learn(session, response.header(_SESSION) or "")
        before, now = _object(then["body"]), _object(response.body)
        for name in ("token", "principal_id"):
            recorded, live = before.get(name), now.get(name)
            if isinstance(recorded, str) and isinstance(live, str):
                (self.translation.token if name == "token" else self.translation.learn)(recorded, live)
        given, given_now = before.get("ids"), now.get("ids")
        if isinstance(given, dict) or isinstance(given_now, dict):
            given, given_now = given or {}, given_now or {}
            for original in given.keys() | given_now.keys():
                self.translation.learn(str(given.get(original, original)), str(given_now.get(original, original)))


def _object(body: Any) -> Mapping[str, Any]:
    try:
        value = json.loads(body) if isinstance(body, (str, bytes)) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def request_of(line: Mapping[str, Any]) -> Request:
    """Return the request of a line of the log, without headers whose values neither it has nor the body tells.

    Raises:
        ValueError: its body was too long to be recorded.
    """
    request = line["request"]
    body = body_bytes(request["body"])
    known = {"mcp-method": str(_object(body).get("method", NOT_WRITTEN))}
    headers = tuple((name, known.get(name.lower(), value)) for name, value in request["headers"])
    written = tuple((name, value) for name, value in headers if value != NOT_WRITTEN)
    return Request(request["method"], request["target"], written, body)


def needed_before(
    case_lines: Sequence[Mapping[str, Any]], earlier: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the exchanges of earlier cases without which those of a case make no sense: people, text, sessions."""
    gives = [frozenset(_gives(line)) for line in earlier]
    words = {word for line in case_lines for word in _words(line)}
    chosen: set[int] = set()
    while more := {index for index, names in enumerate(gives) if index not in chosen and names & words}:
        chosen |= more
        words |= {word for index in more for word in _words(earlier[index])}
    needed = {name for index in chosen for name in gives[index]}
    follow = {index for index, line in enumerate(earlier) if index not in chosen and _acts_on(line, needed)}
    return [earlier[index] for index in sorted(chosen | follow)]


_WORD: Final = re.compile(r"[^\s\"'/?=&,{}\[\]]+")


def _words(line: Mapping[str, Any]) -> set[str]:
    request = line["request"]
    body = request["body"] if isinstance(request["body"], str) else ""
    texts = (request["target"], body, *(value for _, value in request["headers"]))
    return {word for text in texts for word in _WORD.findall(text)}


def _gives(line: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of what came into being with an exchange, as later ones would have them."""
    answer = line["answer"]
    if answer is None:
        return
    if line["to"] == "target":
        yield from (value for name, value in answer["headers"] if name.lower() == _SESSION)
        return
    path, body, asked = line["request"]["target"], _object(answer["body"]), _object(line["request"]["body"])
    if "/principals" in path:
        yield from (body[name] for name in ("principal_id", "token") if isinstance(body.get(name), str))
        yield from asked.get("workspace_ids", ())
    elif path.endswith("/conversations"):
        given = str(asked.get("conversation", {}).get("id", ""))
        yield str((body.get("ids") or {}).get(given, given))


def _acts_on(line: Mapping[str, Any], needed: set[str]) -> bool:
    """Tell whether an exchange of an earlier case sets up something that is needed: a clock, access, a session."""
    request = line["request"]
    if line["to"] == "control":
        is_setting = request["method"] in ("PUT", "DELETE") or request["target"].endswith("/result")
        return is_setting and bool(_words(line) & needed)
    body = str(request["body"])
    if _LISTS in body:
        # What is listed may depend on how often it was; children are told by the sessions that they belong to.
        return request["method"] != "STDIO" and bool(_words(line) & needed)
    in_session = any(value in needed for name, value in request["headers"] if name.lower() == _SESSION)
    return in_session and '"notifications/initialized"' in body
