# ruff: noqa: D102  the docstring of each class says what its one method does differently
"""Conforming variants: other ways that the contract leaves open. To fail one of them is a false alarm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from conformance.contract import Operation
from conformance.reference.faults.family import AnyPart, Variant, summary_of
from conformance.reference.faults.walking import TIMES, objects, rewrite
from conformance.reference.instants import Instant
from conformance.reference.presentation import Presenter
from conformance.reference.refusals import Conflict, InvalidInput
from conformance.reference.rest import RestBinding, statuses_with
from conformance.reference.rules import Document, Rules
from conformance.reference.service import Service
from conformance.reference.store import StoredConversation
from conformance.reference.validation import Validator

VARIANTS: list[Variant] = []


def variant(name: str, *left_open: str) -> Callable[[AnyPart], AnyPart]:
    """Declare the decorated class as a variant."""

    def declare(part: AnyPart) -> AnyPart:
        VARIANTS.append(Variant(name, summary_of(part), (part,), left_open))
        return part

    return declare


@variant("conflict-412", "OPEN-CONFLICT-STATUS")
class Conflict412(RestBinding):
    """A conflict is answered 412."""

    statuses = statuses_with(conflict=412)


@variant("invalid-422", "OPEN-INVALID-INPUT-STATUS", "OPEN-OVERSIZED-STATUS")
class Invalid422(RestBinding):
    """Invalid input, oversized or not called JSON too, is answered 422."""

    statuses = statuses_with(invalid_input=422, too_large=422, unsupported_media_type=422)


@variant("unknown-403", "OPEN-UNKNOWN-ID-KIND")
class Unknown403(RestBinding):
    """Unknown and foreign ids alike are answered 403."""

    statuses = statuses_with(not_found=403)


@variant("withheld-as-empty-list", "OPEN-WITHHELD-FORM", "OPEN-WITHHELD-STATUS-FORM")
class WithheldAsEmptyList(Rules):
    """Withheld content is shown as no messages at all, and as a null message in a status."""

    def view(self, document: Document, access: str, now: Instant) -> Document:
        view = super().view(document, access, now)
        if view["conversation"]["availability"] != "available":
            view["messages"] = []
        return view


@variant("offset-instead-of-z", "OPEN-TIME-FORM")
class OffsetInsteadOfZ(Presenter):
    """Times in UTC end in +00:00."""

    def shape(self, operation: Operation, result: dict[str, Any]) -> dict[str, Any]:
        rewrite(result, TIMES, lambda text: f"{text[:-1]}+00:00" if text.endswith("Z") else text)
        return super().shape(operation, result)


@variant("revision-grows-by-three", "OPEN-REVISION-STEP")
class RevisionGrowsByThree(Rules):
    """Each change raises the revision by three."""

    def raise_revision(self, document: Document) -> None:
        for _ in range(3):
            super().raise_revision(document)


@variant("result-keeps-revision", "OPEN-RESULT-REVISION")
class ResultKeepsRevision(Rules):
    """A worker's result does not raise the revision."""

    def add_result(self, document: Document, run: dict[str, Any], result: dict[str, Any], now: Instant) -> None:
        revision = document["conversation"]["revision"]
        super().add_result(document, run, result, now)
        document["conversation"]["revision"] = revision


@variant("archived-title-null", "OPEN-ARCHIVED-TITLE", "OPEN-ARCHIVED-LANGUAGE")
class ArchivedTitleNull(Rules):
    """The title counts as private text and goes with an archive; the language becomes undetermined."""

    def archive(self, document: Document) -> None:
        super().archive(document)
        document["conversation"].update(title=None, language="und")


@variant("withheld-title-null", "OPEN-WITHHELD-TITLE")
class WithheldTitleNull(Rules):
    """The title is withheld with the text, for whatever reason."""

    def view(self, document: Document, access: str, now: Instant) -> Document:
        view = super().view(document, access, now)
        if view["conversation"]["availability"] != "available":
            view["conversation"]["title"] = None
        return view


@variant("float-integers-refused", "OPEN-INTEGER-FLOAT-FORM", "OPEN-INTEGER-LOST-FRACTION")
class FloatIntegersRefused(Validator):
    """1.0 and 1e0 are refused where an integer is meant."""

    def prepare(self, operation: Operation, value: Any) -> Any:
        if isinstance(value, dict) and any(isinstance(item, float) for item in value.values()):
            raise InvalidInput("the body does not keep the input schema")
        return super().prepare(operation, value)


@variant("upper-case-uuids-refused", "OPEN-UUID-UPPER-CASE")
class UpperCaseUuidsRefused(Validator):
    """Ids in upper case are refused as invalid."""

    def read_uuid(self, text: str) -> str | None:
        return super().read_uuid(text) if text == text.lower() else None


@variant("careless-parser", "OPEN-DUPLICATE-NAME", "OPEN-BYTE-ORDER-MARK")
class CarelessParser(Validator):
    """The last of two equal names counts, and a byte order mark is skipped."""

    def decode(self, raw: bytes) -> Any:
        text = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            plain = json.dumps(json.loads(text.decode("utf-8")), ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            return super().decode(text)
        # Only the names are merged here; all else about the text is still judged strictly.
        return super().decode(plain)


@variant("content-type-ignored", "OPEN-CONTENT-TYPE")
class ContentTypeIgnored(RestBinding):
    """Whatever the content type says, the body is read as JSON."""

    def media_type(self, request: Request) -> str:
        del request
        return "application/json"


@variant("second-archive-conflicts", "OPEN-SECOND-ARCHIVE")
class SecondArchiveConflicts(Service):
    """Archiving an archived conversation under a new key is a conflict."""

    def apply_archive(self, stored: StoredConversation) -> Document:
        if stored.document["conversation"]["archived"]:
            raise Conflict("the conversation is archived")
        return super().apply_archive(stored)


@variant("withheld-archive-conflicts", "OPEN-ARCHIVE-EXPIRED", "OPEN-ARCHIVE-WITHHELD")
class WithheldArchiveConflicts(Service):
    """Archiving a conversation that is expired or withheld is a conflict."""

    def apply_archive(self, stored: StoredConversation) -> Document:
        now = self.clock.now(stored.workspace_id)
        if self.rules.availability(stored.document, stored.access, now) in (
            "expired",
            "access_changed",
            "source_unavailable",
        ):
            raise Conflict("the conversation is not available")
        return super().apply_archive(stored)


@variant("question-as-status-message", "OPEN-QUESTION-ONLY-MESSAGE")
class QuestionAsStatusMessage(Service):
    """The status of a run that has only a question shows the question."""

    def cited_output(self, view: Document, run_id: str) -> dict[str, Any] | None:
        asked = (message for message in view["messages"] if message["run_id"].lower() == run_id)
        return super().cited_output(view, run_id) or next(asked, None)


@variant("integers-as-floats")
class IntegersAsFloats(Presenter):
    """Integers below a million are written with a fraction of zero: 24.0. JSON makes no difference."""

    def shape(self, operation: Operation, result: dict[str, Any]) -> dict[str, Any]:
        for holder in objects(result):
            for name, value in holder.items():
                if type(value) is int and value < 1_000_000:
                    holder[name] = float(value)
        return super().shape(operation, result)


@variant("upper-case-ids-written")
class UpperCaseIdsWritten(Presenter):
    """Ids are written in upper case: they are compared without regard to it."""

    def shape(self, operation: Operation, result: dict[str, Any]) -> dict[str, Any]:
        for holder in objects(result):
            for name, value in holder.items():
                if isinstance(value, str) and (name == "id" or name.endswith("_id")) and name != "model_id":
                    holder[name] = value.upper()
        return super().shape(operation, result)


@variant("escaped-and-spaced")
class EscapedAndSpaced(Presenter):
    """Answers are written with Unicode escapes, spaces and names in another order."""

    def encode(self, result: dict[str, Any]) -> bytes:
        return json.dumps(result, ensure_ascii=True, indent=1, sort_keys=True).encode()


@variant("extra-headers")
class ExtraHeaders(RestBinding):
    """Answers carry further headers and a content type with a charset."""

    def respond(self, status: int, body: bytes) -> Response:
        response = super().respond(status, body)
        response.headers.update({"X-Request-Id": "1", "Vary": "Authorization", "ETag": '"1"'})
        response.headers["Content-Type"] = "application/json; charset=utf-8"
        return response


@variant("never-a-reason", "OPEN-AVAILABILITY-REASON")
class NeverAReason(Presenter):
    """Analysis is shown as not configured, and even so no reason is given."""

    def shape(self, operation: Operation, result: dict[str, Any]) -> dict[str, Any]:
        result["availability"].update(configured=False, reason=None)
        return super().shape(operation, result)


@variant("lengths-in-utf-16-units", "OPEN-LENGTH-UNIT")
class LengthsInUtf16Units(Presenter):
    """The limits of texts are counted in UTF-16 units, and a longer text is cut there."""

    def shape(self, operation: Operation, result: dict[str, Any]) -> dict[str, Any]:
        for name, limit in _limits(operation.output_schema):
            rewrite(result, {name}, partial(_cut, units=limit))
        return super().shape(operation, result)


def _limits(schema: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Yield the names of the members that hold texts of bounded length, and the bounds."""
    if not isinstance(schema, dict):
        return
    if "maxLength" in schema:
        yield name, schema["maxLength"]
    for member, inner in schema.get("properties", {}).items():
        yield from _limits(inner, member)
    for inner in (schema.get("items"), *schema.get("anyOf", ())):
        yield from _limits(inner, name)


def _cut(text: str, units: int) -> str:
    # A surrogate pair that is cut in two goes as a whole.
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore")
