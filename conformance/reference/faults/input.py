# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in what the server takes for valid input."""

from __future__ import annotations

import contextlib
import json
import math
import re
import unicodedata
import uuid
from dataclasses import replace
from typing import Any

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Crash, Family
from conformance.reference.refusals import InvalidInput, Refusal
from conformance.reference.rest import RestBinding, statuses_with
from conformance.reference.service import Arguments, Service
from conformance.reference.store import StoredConversation
from conformance.reference.validation import Validator

family = Family()

_NIL = str(uuid.UUID(int=0))
_GUARD = "expected_revision"
_LARGEST = 2**53 - 1
_LARGEST_32_BIT = 2**31 - 1
_UUID_LENGTH = 36
_DEEP = 64


def _known(operation: Operation, value: Any) -> Any:
    """Drop the names that the input schema does not have."""
    if not isinstance(value, dict):
        return value
    return {name: item for name, item in value.items() if name in operation.input_schema["properties"]}


def _loosely(raw: bytes) -> Any:
    """Decode as a careless parser does: last duplicate wins, NaN and surrogates pass; None when even that fails."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


class _LaxGuard(Validator):
    """Takes values for the revision that the schema does not: ``read`` gives the integer, or None to leave it."""

    def read(self, item: Any) -> int | None:
        raise NotImplementedError

    def check(self, operation: Operation, value: Any) -> dict[str, Any]:
        if isinstance(value, dict) and _GUARD in value:
            number = self.read(value[_GUARD])
            if number is not None:
                return super().check(operation, {**value, _GUARD: 1}) | {_GUARD: number}
        return super().check(operation, value)


class _Crashing(Validator):
    """Crashes on bodies that ``is_fatal`` instead of refusing them."""

    def is_fatal(self, raw: bytes) -> bool:
        raise NotImplementedError

    def decode(self, raw: bytes) -> Any:
        if self.is_fatal(raw):
            raise Crash("internal error")
        return super().decode(raw)


@family.part(
    "input-unknown-field-ignored",
    "INPUT-UNKNOWN-FIELD",
    reports=("https://github.com/fastify/fastify/issues/1093",),
)
class UnknownFieldIgnored(Validator):
    """The framework's default drops unknown fields instead of refusing them."""

    def prepare(self, operation: Operation, value: Any) -> Any:
        return _known(operation, value)


@family.part("input-unknown-field-ignored-by-archive", "INPUT-UNKNOWN-FIELD", observable="archive only")
class UnknownFieldIgnoredByArchive(Validator):
    """Only the write ignores unknown fields: its handler binds the body to a class by itself."""

    def prepare(self, operation: Operation, value: Any) -> Any:
        return _known(operation, value) if operation.effect == "write" else value


@family.part("input-unknown-null-ignored", "INPUT-UNKNOWN-FIELD", observable="an unknown field whose value is null")
class UnknownNullIgnored(Validator):
    """Fields that are null count as absent, so an unknown one passes when it is null."""

    def prepare(self, operation: Operation, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: item for name, item in value.items() if item is not None or name in _known(operation, value)}


@family.part("input-camel-case-accepted", "INPUT-UNKNOWN-FIELD", observable="names such as expectedRevision")
class CamelCaseAccepted(Validator):
    """A naming policy reads workspaceId and expectedRevision as the contract's names."""

    def prepare(self, operation: Operation, value: Any) -> Any:
        del operation
        if not isinstance(value, dict):
            return value
        return {re.sub("(?<=[a-z])([A-Z])", r"_\1", name).lower(): item for name, item in value.items()}


@family.part(
    "input-boolean-as-integer",
    "INPUT-TYPE",
    reports=("https://github.com/CZ-NIC/yangson/issues/37",),
)
class BooleanAsInteger(_LaxGuard):
    """In the server's language true is an integer, so it passes as revision 1 and false as 0."""

    def read(self, item: Any) -> int | None:
        return int(item) if isinstance(item, bool) else None


@family.part("input-text-as-integer", "INPUT-TYPE", observable="the revision as a decimal string")
class TextAsInteger(_LaxGuard):
    """Type coercion reads "7" as 7."""

    def read(self, item: Any) -> int | None:
        return int(item) if isinstance(item, str) and re.fullmatch("[0-9]{1,16}", item) else None


@family.part(
    "input-overflowing-text-as-integer",
    "INPUT-TYPE",
    "INPUT-ERROR-KIND",
    observable="the text 1e999: a conflict",
    reports=("https://github.com/ajv-validator/ajv/pull/2661",),
)
class OverflowingTextAsInteger(_LaxGuard):
    """Coercion turns the text 1e999 into infinity, which has no fraction and so passes as an integer."""

    def read(self, item: Any) -> int | None:
        if not isinstance(item, str) or not re.fullmatch("[0-9]+e[0-9]+", item, re.ASCII):
            return None
        return _LARGEST if math.isinf(float(item)) else None


@family.part("input-fraction-truncated", "INPUT-TYPE", observable="the revision plus a half")
class FractionTruncated(_LaxGuard):
    """Numbers are cast to integers, so 7.5 guards as 7."""

    def read(self, item: Any) -> int | None:
        return int(item) if isinstance(item, float) and not item.is_integer() else None


@family.part(
    "input-null-as-zero", "INPUT-TYPE", "INPUT-ERROR-KIND", observable="a null revision: answered as a conflict"
)
class NullAsZero(_LaxGuard):
    """Coercion reads null as 0, which is then a stale revision instead of invalid input."""

    def read(self, item: Any) -> int | None:
        return 0 if item is None else None


@family.part("input-null-id-as-nil", "INPUT-TYPE", observable="a null id: answered as not found")
class NullIdAsNil(Validator):
    """A null id becomes the nil UUID, so the answer is not found instead of invalid input."""

    def prepare(self, operation: Operation, value: Any) -> Any:
        del operation
        if not isinstance(value, dict):
            return value
        return {name: _NIL if item is None and name != _GUARD else item for name, item in value.items()}


@family.part(
    "input-zero-accepted", "INPUT-INTEGER-RANGE", "INPUT-ERROR-KIND", observable="revision 0: answered as a conflict"
)
class ZeroAccepted(_LaxGuard):
    """exclusiveMinimum is read as minimum, so 0 reaches the revision check."""

    def read(self, item: Any) -> int | None:
        return 0 if type(item) is int and item == 0 else None


@family.part(
    "input-negative-accepted", "INPUT-INTEGER-RANGE", "INPUT-ERROR-KIND", observable="a negative revision: a conflict"
)
class NegativeAccepted(_LaxGuard):
    """Only 0 is refused, as what an unset field holds; negative numbers pass."""

    def read(self, item: Any) -> int | None:
        return item if type(item) is int and item < 0 else None


@family.part(
    "input-above-maximum-accepted", "INPUT-INTEGER-RANGE", "INPUT-ERROR-KIND", observable="revision 2**53: a conflict"
)
class AboveMaximumAccepted(_LaxGuard):
    """The upper bound is that of a 64-bit integer, so 2**53 passes."""

    def read(self, item: Any) -> int | None:
        return item if type(item) is int and _LARGEST < item < 2**63 else None


@family.part("input-large-revision-refused", "INPUT-VALID-ACCEPTED", observable="a revision above 2**31 - 1")
class LargeRevisionRefused(Validator):
    """The revision is kept in 32 bits and larger ones are refused as invalid, though the schema allows 2**53 - 1."""

    def check(self, operation: Operation, value: Any) -> dict[str, Any]:
        arguments = super().check(operation, value)
        if arguments.get(_GUARD, 1) > _LARGEST_32_BIT:
            raise InvalidInput("the revision is too large")
        return arguments


@family.part(
    "input-nan-accepted", "INPUT-WELL-FORMED", "INPUT-ERROR-KIND", observable="expected_revision NaN: a conflict"
)
class NanAccepted(_LaxGuard):
    """The JSON parser reads NaN, and it is compared as a revision."""

    def decode(self, raw: bytes) -> Any:
        value = _loosely(raw) if b"NaN" in raw else None
        return super().decode(raw) if value is None else value

    def read(self, item: Any) -> int | None:
        return 0 if isinstance(item, float) and math.isnan(item) else None


class _Unguarded(Service):
    """Treats the revision 0, which cannot be sent, as no guard."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        if arguments[_GUARD] != 0:
            super().guard(stored, arguments)


@family.part(
    "input-zero-is-no-guard",
    "INPUT-INTEGER-RANGE",
    "INPUT-REFUSED-UNCHANGED",
    observable="revision 0: archived whatever the revision is",
    also=(_Unguarded,),
)
class ZeroIsNoGuard(_LaxGuard):
    """A revision of 0 means that any will do."""

    def read(self, item: Any) -> int | None:
        return 0 if type(item) is int and item == 0 else None


@family.part(
    "input-trailing-bytes-ignored",
    "INPUT-WELL-FORMED",
    "INPUT-REFUSED-UNCHANGED",
    observable="whatever follows the JSON document",
)
class TrailingBytesIgnored(Validator):
    """The parser stops after the first JSON document, and nobody looks whether anything follows."""

    def decode(self, raw: bytes) -> Any:
        try:
            text = raw.decode("utf-8")
            _, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            return super().decode(raw)
        return super().decode(text[:end].encode())


@family.part(
    "input-single-array-unwrapped",
    "INPUT-OBJECT",
    "INPUT-REFUSED-UNCHANGED",
    observable="the input as the only item of an array",
    over=("rest",),
)
class SingleArrayUnwrapped(Validator):
    """An array with one item counts as that item, as in languages where the two are told apart badly."""

    def prepare(self, operation: Operation, value: Any) -> Any:
        is_wrapped = isinstance(value, list) and len(value) == 1
        return super().prepare(operation, value[0] if is_wrapped else value)


@family.part(
    "input-missing-guard-unguarded",
    "INPUT-REQUIRED-FIELD",
    "INPUT-REFUSED-UNCHANGED",
    also=(_Unguarded,),
    reports=(
        "https://github.com/tinyhumansai/opencompany/issues/1013",
        "https://github.com/saxix/django-concurrency/issues/36",
    ),
)
class MissingGuardUnguarded(Validator):
    """expected_revision is optional; without it the archive is applied unguarded."""

    def check(self, operation: Operation, value: Any) -> dict[str, Any]:
        if operation.effect == "write" and isinstance(value, dict) and _GUARD not in value:
            return super().check(operation, {**value, _GUARD: 1}) | {_GUARD: 0}
        return super().check(operation, value)


@family.part(
    "input-misspelt-guard-unguarded",
    "INPUT-REQUIRED-FIELD",
    "INPUT-REFUSED-UNCHANGED",
    observable="an archive whose guard has a wrong name",
    also=(_Unguarded,),
    reports=("https://github.com/loonfs/loonfs/pull/535",),
)
class MisspeltGuardUnguarded(Validator):
    """Without any guard an archive is refused; one under a name that nobody knows is dropped, and passes unguarded."""

    def check(self, operation: Operation, value: Any) -> dict[str, Any]:
        if operation.effect == "write" and isinstance(value, dict) and _GUARD not in value:
            known = _known(operation, value)
            if len(known) < len(value):
                return super().check(operation, {**known, _GUARD: 1}) | {_GUARD: 0}
        return super().check(operation, value)


@family.part("input-missing-mutation-id-invented", "INPUT-REQUIRED-FIELD", "INPUT-REFUSED-UNCHANGED")
class MissingMutationIdInvented(Validator):
    """A missing mutation_id gets a random default, so a retry is a new call."""

    def prepare(self, operation: Operation, value: Any) -> Any:
        if operation.effect == "write" and isinstance(value, dict):
            return {"mutation_id": str(uuid.uuid4()), **value}
        return value


class _WorkspaceGuessed(Service):
    """Takes the workspace of the conversation where none is named."""

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        if not arguments["workspace_id"]:
            stored = self.store.conversation(arguments["conversation_id"])
            arguments["workspace_id"] = stored.workspace_id if stored else _NIL
        return super().find(caller, arguments)


@family.part(
    "input-missing-workspace-guessed",
    "INPUT-REQUIRED-FIELD",
    observable="a read without a workspace",
    also=(_WorkspaceGuessed,),
)
class MissingWorkspaceGuessed(Validator):
    """A read needs no workspace: that of the conversation is taken."""

    def check(self, operation: Operation, value: Any) -> dict[str, Any]:
        if operation.effect == "read" and isinstance(value, dict) and "workspace_id" not in value:
            return super().check(operation, {**value, "workspace_id": _NIL}) | {"workspace_id": ""}
        return super().check(operation, value)


@family.part(
    "input-mutation-id-any-text",
    "INPUT-UUID-FORMAT",
    "INPUT-REFUSED-UNCHANGED",
    observable="an archive whose mutation_id is no UUID",
)
class MutationIdAnyText(Validator):
    """The other ids are checked; a mutation id is any text, since it is only compared."""

    def check(self, operation: Operation, value: Any) -> dict[str, Any]:
        key = value.get("mutation_id") if isinstance(value, dict) else None
        if operation.effect == "write" and isinstance(key, str) and key and self.read_uuid(key) is None:
            value = {**value, "mutation_id": str(uuid.uuid5(uuid.NAMESPACE_URL, key))}
        return super().check(operation, value)


@family.part("input-run-id-trimmed", "INPUT-UUID-FORMAT", observable="a status whose run_id has white space around it")
class RunIdTrimmed(Validator):
    """The id of a run, and no other, is trimmed before it is judged."""

    def prepare(self, operation: Operation, value: Any) -> Any:
        del operation
        run_id = value.get("run_id") if isinstance(value, dict) else None
        return {**value, "run_id": run_id.strip()} if isinstance(run_id, str) else value


@family.part("input-uuid-braces-accepted", "INPUT-UUID-FORMAT", observable="a seeded id in braces")
class UuidBracesAccepted(Validator):
    """The UUID parser takes {...}."""

    def read_uuid(self, text: str) -> str | None:
        braced = re.fullmatch(r"\{(.*)\}", text)
        return super().read_uuid(braced[1] if braced else text)


@family.part("input-uuid-urn-accepted", "INPUT-UUID-FORMAT", observable="a seeded id after urn:uuid:")
class UuidUrnAccepted(Validator):
    """The UUID parser takes urn:uuid: in front."""

    def read_uuid(self, text: str) -> str | None:
        return super().read_uuid(re.sub("^urn:uuid:", "", text, flags=re.IGNORECASE))


@family.part("input-uuid-without-hyphens-accepted", "INPUT-UUID-FORMAT", observable="a seeded id without hyphens")
class UuidWithoutHyphensAccepted(Validator):
    """32 hexadecimal digits in a row are taken."""

    def read_uuid(self, text: str) -> str | None:
        return str(uuid.UUID(text)) if re.fullmatch("[0-9a-fA-F]{32}", text) else super().read_uuid(text)


@family.part("input-uuid-misplaced-hyphens-accepted", "INPUT-UUID-FORMAT", observable="32 digits, hyphens elsewhere")
class UuidMisplacedHyphensAccepted(Validator):
    """Hyphens are removed before the digits are counted, so 36 characters with hyphens anywhere pass."""

    def read_uuid(self, text: str) -> str | None:
        digits = text.replace("-", "")
        lax = len(text) == _UUID_LENGTH and re.fullmatch("[0-9a-fA-F]{32}", digits)
        return str(uuid.UUID(digits)) if lax else super().read_uuid(text)


@family.part(
    "input-uuid-newline-accepted",
    "INPUT-UUID-FORMAT",
    observable="a seeded id and one line feed",
    reports=("https://github.com/brekkylab/backlot/issues/105",),
)
class UuidNewlineAccepted(Validator):
    """The pattern ends in a dollar sign, which in this engine also matches before a final line feed."""

    def read_uuid(self, text: str) -> str | None:
        return super().read_uuid(text.removesuffix("\n"))


@family.part("input-uuid-spaces-accepted", "INPUT-UUID-FORMAT", observable="a seeded id between spaces")
class UuidSpacesAccepted(Validator):
    """Strings are trimmed before they are judged."""

    def read_uuid(self, text: str) -> str | None:
        return super().read_uuid(text.strip(" "))


@family.part("input-uuid-full-width-accepted", "INPUT-UUID-FORMAT", observable="a full-width digit in a seeded id")
class UuidFullWidthAccepted(Validator):
    r"""The pattern says \d, which in this engine is any Unicode digit; parsing turns them into 0 to 9."""

    def read_uuid(self, text: str) -> str | None:
        return super().read_uuid("".join(str(unicodedata.digit(sign, sign)) for sign in text))


@family.part("input-uuid-too-long-accepted", "INPUT-UUID-FORMAT", observable="a seeded id with something after it")
class UuidTooLongAccepted(Validator):
    """The pattern has no end anchor: what follows the first 36 characters is not looked at."""

    def read_uuid(self, text: str) -> str | None:
        return super().read_uuid(text[:_UUID_LENGTH])


@family.part("input-uuid-prefix-ignored", "INPUT-UUID-FORMAT", observable="a seeded id with something before it")
class UuidPrefixIgnored(Validator):
    """The pattern has no start anchor: what comes before the last 36 characters is not looked at."""

    def read_uuid(self, text: str) -> str | None:
        return super().read_uuid(text[-_UUID_LENGTH:])


@family.part("input-uuid-non-hexadecimal-accepted", "INPUT-UUID-FORMAT", observable="a letter g to z: not found")
class UuidNonHexadecimalAccepted(Validator):
    """Only length and hyphens are checked, so letters beyond f are not found instead of invalid."""

    def read_uuid(self, text: str) -> str | None:
        shape = "[0-9a-z]{8}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{12}"
        return text.lower() if re.fullmatch(shape, text, re.IGNORECASE | re.ASCII) else None


@family.part("input-uuid-any-text-accepted", "INPUT-UUID-FORMAT", observable="any text as an id: not found")
class UuidAnyTextAccepted(Validator):
    """The format keyword is an annotation to this validator, so any string is looked up."""

    def read_uuid(self, text: str) -> str | None:
        return text.lower()


@family.part("input-uuid-version-7-refused", "INPUT-VALID-ACCEPTED", observable="a version 7 id")
class UuidVersion7Refused(Validator):
    """The pattern knows versions 1 to 5 only."""

    def read_uuid(self, text: str) -> str | None:
        return None if text[14:15] in ("6", "7", "8") else super().read_uuid(text)


@family.part("input-uuid-nil-refused", "INPUT-VALID-ACCEPTED", observable="the nil UUID as an unknown id")
class UuidNilRefused(Validator):
    """The nil UUID is refused as if it were an unset field."""

    def read_uuid(self, text: str) -> str | None:
        return None if text == _NIL else super().read_uuid(text)


@family.part("input-malformed-json-500", "INPUT-WELL-FORMED", "INPUT-ERROR-KIND", "HTTP-NO-SERVER-ERROR")
class MalformedJsonCrashes(_Crashing):
    """The parser's error on malformed JSON is not caught."""

    def is_fatal(self, raw: bytes) -> bool:
        try:
            json.loads(raw.decode("utf-8", "replace"))
        except ValueError:
            return True
        except RecursionError:
            return False
        return False


@family.part("input-invalid-utf8-500", "INPUT-WELL-FORMED", "INPUT-ERROR-KIND", "HTTP-NO-SERVER-ERROR")
class InvalidUtf8Crashes(_Crashing):
    """Bytes that are not UTF-8 raise an error that is not caught."""

    def is_fatal(self, raw: bytes) -> bool:
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            return True
        return False


@family.part(
    "input-overflowing-number-500",
    "INPUT-WELL-FORMED",
    "INPUT-INTEGER-RANGE",
    "INPUT-ERROR-KIND",
    "HTTP-NO-SERVER-ERROR",
    observable="expected_revision 1e400",
)
class OverflowingNumberCrashes(_Crashing):
    """1e400 becomes infinity, and the conversion to an integer raises an error that is not caught."""

    def is_fatal(self, raw: bytes) -> bool:
        value = _loosely(raw)
        return isinstance(value, dict) and value.get(_GUARD) in (math.inf, -math.inf)


@family.part("input-array-body-500", "INPUT-OBJECT", "INPUT-ERROR-KIND", "HTTP-NO-SERVER-ERROR")
class ArrayBodyCrashes(_Crashing):
    """The handler asks an array for its fields."""

    def is_fatal(self, raw: bytes) -> bool:
        return isinstance(_loosely(raw), list)


@family.part("input-deep-nesting-500", "INPUT-WELL-FORMED", "INPUT-ERROR-KIND", "HTTP-NO-SERVER-ERROR")
class DeepNestingCrashes(_Crashing):
    """Nesting exhausts the parser's stack (here from 64 opening brackets on)."""

    def is_fatal(self, raw: bytes) -> bool:
        return raw.count(b"[") + raw.count(b"{") >= _DEEP


@family.part(
    "input-lone-surrogate-500",
    "INPUT-WELL-FORMED",
    "INPUT-ERROR-KIND",
    "HTTP-NO-SERVER-ERROR",
    reports=("https://github.com/opendataloader-project/opendataloader-pdf/pull/207",),
)
class LoneSurrogateCrashes(_Crashing):
    """An escaped lone surrogate passes the parser and fails when it is encoded."""

    def is_fatal(self, raw: bytes) -> bool:
        try:
            json.dumps(_loosely(raw), ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            return True
        return False


@family.part("input-duplicate-name-500", "INPUT-DUPLICATE-NAME-EFFECT", "HTTP-NO-SERVER-ERROR")
class DuplicateNameCrashes(_Crashing):
    """A name that occurs twice raises an error that is not caught."""

    def is_fatal(self, raw: bytes) -> bool:
        try:
            pairs = json.loads(raw, object_pairs_hook=list)
        except (ValueError, RecursionError):
            return False
        return raw.lstrip().startswith(b"{") and len({name for name, _ in pairs}) != len(pairs)


@family.part(
    "input-duplicate-id-checked-and-used-apart",
    "INPUT-DUPLICATE-NAME-EFFECT",
    "PRIVACY-OTHER-USER",
    "PRIVACY-BODY",
    "ARCHIVE-OTHER-USER",
    observable="one's own conversation and another person's in one input",
    reports=("https://github.com/serde-rs/json/issues/762",),
)
class DuplicateIdCheckedAndUsedApart(RestBinding):
    """Of two values under one name the gateway checks the first; the service behind trusts it and uses the last."""

    async def carry_out(self, operation: Operation, caller: Caller, raw: bytes) -> dict[str, Any]:
        try:
            pairs = json.loads(raw, object_pairs_hook=list)
        except (ValueError, RecursionError):
            pairs = []
        if not raw.lstrip().startswith(b"{") or len({name for name, _ in pairs}) == len(pairs):
            return await super().carry_out(operation, caller, raw)
        service, validator = self.server.service, self.server.validator
        service.find(caller, validator.check(operation, dict(reversed(pairs))))
        arguments = validator.check(operation, dict(pairs))
        stored = service.store.conversation(arguments["conversation_id"])
        trusted = caller if stored is None else replace(caller, principal_id=stored.owner_id)
        return await self.perform(operation, trusted, arguments)


@family.part(
    "input-duplicate-name-refused-but-applied",
    "INPUT-DUPLICATE-NAME-EFFECT",
    observable="an archive with a name that occurs twice",
)
class DuplicateNameRefusedButApplied(RestBinding):
    """A name that occurs twice is noticed after the archive has been applied; the answer is 400 all the same."""

    async def carry_out(self, operation: Operation, caller: Caller, raw: bytes) -> dict[str, Any]:
        try:
            pairs = json.loads(raw, object_pairs_hook=list)
        except (ValueError, RecursionError):
            pairs = []
        is_doubled = raw.lstrip().startswith(b"{") and len({name for name, _ in pairs}) != len(pairs)
        if not is_doubled:
            return await super().carry_out(operation, caller, raw)
        if operation.effect == "write":
            with contextlib.suppress(Refusal):
                await self.perform(operation, caller, self.server.validator.check(operation, dict(pairs)))
        raise InvalidInput("a name occurs twice")


@family.part(
    "input-empty-body-accepted", "INPUT-OBJECT", "INPUT-ERROR-KIND", observable="no body: answered as not found"
)
class EmptyBodyAccepted(Validator):
    """No body counts as all defaults, so the nil UUID is looked up and not found."""

    def decode(self, raw: bytes) -> Any:
        return None if not raw else super().decode(raw)

    def check(self, operation: Operation, value: Any) -> dict[str, Any]:
        if value is None:
            value = {name: 1 if name == _GUARD else _NIL for name in operation.input_schema["required"]}
        return super().check(operation, value)


@family.part("input-invalid-answered-404", "INPUT-ERROR-KIND", observable="invalid input is answered 404")
class InvalidAnswered404(RestBinding):
    """A body that cannot be bound selects no handler, so invalid input is answered 404."""

    statuses = statuses_with(invalid_input=404)


@family.part("input-invalid-answered-409", "INPUT-ERROR-KIND", observable="invalid input is answered 409")
class InvalidAnswered409(RestBinding):
    """All refusals of the domain share status 409, invalid input among them."""

    statuses = statuses_with(invalid_input=409)


@family.part("input-refused-but-applied", "INPUT-REFUSED-UNCHANGED", observable="an archive with an unknown field")
class RefusedButApplied(RestBinding):
    """The archive is applied before the unknown field is noticed; the answer is 400 all the same."""

    async def carry_out(self, operation: Operation, caller: Caller, raw: bytes) -> dict[str, Any]:
        try:
            return await super().carry_out(operation, caller, raw)
        except InvalidInput:
            if operation.effect == "write":
                with contextlib.suppress(Refusal):
                    arguments = self.server.validator.check(operation, _known(operation, _loosely(raw)))
                    await self.perform(operation, caller, arguments)
            raise
