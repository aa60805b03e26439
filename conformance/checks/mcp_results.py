"""Judges how an answer over MCP carries its result or its refusal, one requirement at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from conformance.checks.messages import excerpt, finding
from conformance.judge.decode import DecodeFault, decode
from conformance.judge.finding import Finding
from conformance.judge.json_values import json_type
from conformance.judge.outcome import answered, refused, succeeded
from conformance.session import Session
from conformance.transport.exchange import Answer
from conformance.transport.mcp.answers import McpAnswer
from conformance.transport.mcp.frame_schema import judge_frame, unknown_envelope_keys
from conformance.transport.mcp.journal import SpokenFrame

ResultJudge = Callable[[Session, str, McpAnswer], Iterator[Finding]]
"""Yields what is wrong with an answer; the text says to what kind of call."""

_MOST_MESSAGES: Final = 3000
"""How many messages are judged at most, the newest ones: a run may have exchanged very many."""


def in_structured_content(session: Session, what: str, answer: McpAnswer) -> Iterator[Finding]:
    """Yield a finding where a success does not carry its result as an object in ``structuredContent``."""
    del session
    yield from succeeded(answer, "READ-AVAILABLE", what)
    if answer.result is not None and not answer.result.startswith(b"{"):
        yield finding(
            "PROTOCOL-STRUCTURED-CONTENT", answer, f"The success of {what} does not carry its result",
            "/result/structuredContent", "an object", excerpt(answer.result or None),
        )  # fmt: skip


def with_content(session: Session, what: str, answer: McpAnswer) -> Iterator[Finding]:
    """Yield a finding where a tool's result, be it a success or a refusal, has no array of ``content``."""
    del session
    yield from answered(answer)
    frame = answer.frame
    if frame is None or frame.kind != "result":
        return
    content = frame.text("result", "content")
    if content is None or not content.startswith(b"["):
        yield finding(
            "PROTOCOL-CONTENT", answer, f"The result of {what} has no content", "/result/content",
            "an array", excerpt(content),
        )  # fmt: skip


def unmarked(session: Session, what: str, answer: McpAnswer) -> Iterator[Finding]:
    """Yield a finding where what carries a result is marked as an error."""
    yield from answered(answer)
    carried = answer.frame.text("result", "structuredContent") if answer.frame is not None else None
    if answer.outcome == "refused" and carried is not None and _obeys_schema(session, answer, carried):
        yield finding(
            "PROTOCOL-SUCCESS-UNMARKED", answer, f"The success of {what} is marked as an error",
            "/result/isError", "false, or nothing", "true",
        )  # fmt: skip
    else:
        yield from succeeded(answer, "READ-AVAILABLE", what)


def _obeys_schema(session: Session, answer: Answer, text: bytes) -> bool:
    try:
        return session.results.schema(answer.call.operation).is_valid(decode(text))
    except DecodeFault:
        return False


def marked(session: Session, what: str, answer: McpAnswer) -> Iterator[Finding]:
    """Yield a finding where what must be refused looks like a success."""
    del session
    yield from refused(answer, "PROTOCOL-ERROR-MARKED", what)


def with_boolean(session: Session, what: str, answer: McpAnswer) -> Iterator[Finding]:
    """Yield a finding where ``isError`` is given and is no boolean."""
    del session
    given = answer.frame.text("result", "isError") if answer.frame is not None else None
    if given not in (None, b"true", b"false"):
        yield finding(
            "PROTOCOL-IS-ERROR-BOOLEAN", answer, f"isError in the answer to {what} is no boolean",
            "/result/isError", "true, false, or nothing", excerpt(given),
        )  # fmt: skip
    else:
        yield from answered(answer)


def mirrored(session: Session, what: str, answer: McpAnswer) -> Iterator[Finding]:
    """Yield a finding where there is a JSON object among the texts in ``content``, and none equals the result.

    Other text, for people to read, may stand there too, or alone; a JSON text may be cut into several.
    """
    del session
    yield from succeeded(answer, "READ-AVAILABLE", what)
    frame = answer.frame
    if frame is None or not answer.result:
        return
    try:
        result = decode(answer.result)
    except DecodeFault:
        # Another requirement is broken, and checked with every result.
        return
    texts = texts_of(frame.elements("result", "content") or ())
    objects = [value for text in (*texts, "".join(texts)) if (value := _as_object(text)) is not None]
    if objects and not any(same_with_types(result, value) for value in objects):
        place = next(iter(_first_difference(result, objects[0], "")), "")
        yield finding(
            "PROTOCOL-CONTENT-MIRROR", answer, f"The JSON text in the content of {what} is not the result",
            f"/result/content{place and f' at {place}'}", "the value of structuredContent", "another value",
        )  # fmt: skip


def texts_of(items: tuple[bytes, ...]) -> list[str]:
    """Return the texts of those items of ``content`` that are text."""
    texts = []
    for item in items:
        try:
            value = decode(item)
        except DecodeFault:
            continue
        if isinstance(value, dict) and value.get("type") == "text" and isinstance(value.get("text"), str):
            texts.append(value["text"])
    return texts


def _as_object(text: str) -> dict[str, Any] | None:
    try:
        value = decode(text.encode("utf-8", "surrogatepass"))
    except DecodeFault:
        return None
    return value if isinstance(value, dict) else None


def same_with_types(one: Any, other: Any) -> bool:
    """Tell whether two decoded values are equal, and alike in the JSON type of everything in them."""
    return not any(_first_difference(one, other, ""))


def _first_difference(one: Any, other: Any, place: str) -> Iterator[str]:
    """Yield the pointers of places where two values differ."""
    if json_type(one) != json_type(other):
        yield place or "/"
    elif isinstance(one, dict):
        for name in {**one, **other}:
            if name in one and name in other:
                yield from _first_difference(one[name], other[name], f"{place}/{name}")
            else:
                yield f"{place}/{name}"
    elif isinstance(one, list):
        if len(one) != len(other):
            yield place or "/"
        for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
            yield from _first_difference(mine, theirs, f"{place}/{index}")
    elif one != other:
        yield place or "/"


JUDGES: Final[Mapping[str, ResultJudge]] = {
    "PROTOCOL-STRUCTURED-CONTENT": in_structured_content,
    "PROTOCOL-CONTENT": with_content,
    "PROTOCOL-CONTENT-MIRROR": mirrored,
    "PROTOCOL-ERROR-MARKED": marked,
    "PROTOCOL-SUCCESS-UNMARKED": unmarked,
    "PROTOCOL-IS-ERROR-BOOLEAN": with_boolean,
}
"""How each of these requirements is judged."""


def spoken(session: Session, since: int = 0) -> tuple[SpokenFrame, ...]:
    """Return the server's messages after a mark in the journal that are in the revision in use, the newest 3000.

    A client that is still finding out which revision the server speaks may ask in one that it does not speak.
    """
    in_use = session.mcp.revision or ""
    frames = session.mcp.journal.frames(since)[-_MOST_MESSAGES:]
    return tuple(
        frame for frame in frames if frame.revision == in_use or (frame.answers == "initialize" and not frame.revision)
    )


def in_schema(session: Session, since: int = 0) -> Iterator[Finding]:
    """Yield findings where messages break the published schema of the revision in use."""
    revision = session.mcp.revision or ""
    for frame in spoken(session, since):
        for fault in judge_frame(revision, "server", frame.raw, frame.answers):
            yield Finding(
                "PROTOCOL-FRAME-SCHEMA", "", f"A message of the server breaks the published schema of MCP {revision}",
                fault.path, f"as {revision} has it", f"{fault.message[:160]} in {excerpt(frame.raw)}",
            )  # fmt: skip


def without_unknown_keys(session: Session, since: int = 0) -> Iterator[Finding]:
    """Yield findings where the envelope of an answer has keys that JSON-RPC does not know."""
    for frame in spoken(session, since):
        unknown = unknown_envelope_keys(frame.raw) if frame.answers else ()
        if unknown:
            yield Finding(
                "PROTOCOL-ENVELOPE-KEYS", "", "The envelope of an answer has keys that the protocol does not know",
                "envelope", "jsonrpc, id, and result or error", f"{', '.join(unknown)} in {excerpt(frame.raw)}",
            )  # fmt: skip
