"""An archive that is sent again in another envelope is the same attempt: another id, another _meta, another session."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.cases.json_text import encode
from conformance.checks.archiving import archived_result, each
from conformance.checks.declare import cases, needs
from conformance.checks.messages import speaker
from conformance.checks.views import needed_operation, read_all, same_result, still
from conformance.judge.finding import must_hold
from conformance.session import Session
from conformance.transport.exchange import Call


@dataclass(frozen=True)
class _Envelope:
    """What goes around a call: its id, further members of ``_meta``, and whether it comes in another session."""

    identifier: Any = "first"
    meta: Mapping[str, Any] = field(default_factory=dict)
    in_another_session: bool = False


_FIRST: Final = _Envelope(meta={"com.example/trace": "a"})
_OTHERS: Final[Mapping[str, _Envelope]] = {
    "other-id": _Envelope("second", _FIRST.meta),
    "numeric-id": _Envelope(2**40, _FIRST.meta),
    "same-id": _FIRST,
    "progress-token": _Envelope("second", {**_FIRST.meta, "progressToken": "progress-1"}),
    "other-meta": _Envelope("second", {"com.example/trace": "b", "com.example/more": {"a": [1, None]}}),
    "no-further-meta": _Envelope("second"),
    "other-session": _Envelope("second", _FIRST.meta, in_another_session=True),
}
"""The envelopes of the second time, by how they differ from that of the first."""


@needs("seed")
@cases("other", each("REPLAY-OTHER-ENVELOPE", _OTHERS, "REPLAY-SAME-RESULT", "REPLAY-APPLIED-ONCE"))
def test_another_envelope_is_the_same_attempt(other: str, session: Session) -> None:
    """The attempt succeeds again with the first result and changes nothing that reads show."""
    identifier, what = "REPLAY-OTHER-ENVELOPE", f"a replay in another envelope ({other.replace('-', ' ')})"
    heard = speaker(session)
    scene = heard.scene
    operation = needed_operation(session, "write", "conversation")
    arguments = scene.arguments(operation)
    call = Call(operation, encode(arguments), scene.principal.credential)

    def sent(envelope: _Envelope) -> Any:
        params = heard.params(operation, call.arguments, **envelope.meta)
        frame = heard.request(envelope.identifier, "tools/call", params)
        if not envelope.in_another_session:
            return heard.send(frame, as_call=call)
        with closing(session.mcp.open_session(call.credential)) as fresh:
            return heard.send(frame, through=fresh, as_call=call)

    first = archived_result(session, sent(_FIRST), arguments)
    seen = [(scene, read_all(session, scene))]
    answer = sent(_OTHERS[other])
    again = archived_result(session, answer, arguments, identifier, what)
    must_hold(
        same_result(first, again, identifier, what),
        still(session, seen, identifier, what, answer.exchange),
    )
