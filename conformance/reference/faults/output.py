"""Faults in the form of a result: types, names, constants, lists, and the bytes it is written in."""

from __future__ import annotations

import json
import struct

from conformance.contract import Operation
from conformance.reference.faults.family import Family, Result
from conformance.reference.faults.walking import answers, messages, objects, runs

family = Family()


@family.result("output-extra-key-in-conversation", "OUTPUT-UNKNOWN-FIELD", observable="get and archive")
def extra_key_in_conversation(operation: Operation, result: Result) -> None:
    """The row's owner column is written with the conversation."""
    del operation
    if "conversation" in result:
        result["conversation"]["owner"] = "owner"


@family.result("output-extra-key-in-context", "OUTPUT-UNKNOWN-FIELD", observable="get and archive")
def extra_key_in_context(operation: Operation, result: Result) -> None:
    """The context has a field that a later version of the contract may bring."""
    del operation
    if "conversation" in result:
        result["conversation"]["context"]["corpus_name"] = None


@family.result("output-extra-key-in-status", "OUTPUT-UNKNOWN-FIELD", observable="status only")
def extra_key_in_status(operation: Operation, result: Result) -> None:
    """Only the status carries an envelope field."""
    if operation.name == "sentiment_status":
        result["ok"] = True


@family.result("output-extra-key-in-run", "OUTPUT-UNKNOWN-FIELD", observable="a failed run")
def extra_key_in_run(operation: Operation, result: Result) -> None:
    """Failed runs carry a message beside their code."""
    del operation
    for run in runs(result):
        if run["status"] == "failed":
            run["failure_message"] = "failed"


@family.result(
    "output-extra-key-in-suggestion", "OUTPUT-UNKNOWN-FIELD", "OUTPUT-UNION", observable="an answer with suggestions"
)
def extra_key_in_suggestion(operation: Operation, result: Result) -> None:
    """Deep in messages[].answer.query_suggestions[] a rank slipped in."""
    del operation
    for answer in answers(result):
        for rank, suggestion in enumerate(answer["query_suggestions"]):
            suggestion["rank"] = rank


@family.result("output-processor-renamed", "OUTPUT-CONST")
def processor_renamed(operation: Operation, result: Result) -> None:
    """The processor's name is written in another case."""
    del operation
    result["availability"]["processor"] = "Google gemini"


@family.result("output-retention-as-text", "OUTPUT-CONST", "OUTPUT-TYPE")
def retention_as_text(operation: Operation, result: Result) -> None:
    """retention_hours comes from a text setting and is written as "24"."""
    del operation
    result["availability"]["retention_hours"] = "24"


@family.result("output-retention-23", "OUTPUT-CONST")
def retention_23(operation: Operation, result: Result) -> None:
    """retention_hours is what is left of it, rounded down."""
    del operation
    result["availability"]["retention_hours"] = 23


@family.result(
    "output-quantitative-claims-zero",
    "OUTPUT-CONST",
    "OUTPUT-TYPE",
    "OUTPUT-UNION",
    observable="a message with an answer",
    reports=("https://github.com/python-jsonschema/jsonschema/pull/1208",),
)
def quantitative_claims_zero(operation: Operation, result: Result) -> None:
    """quantitative_claims is 0, which the server's language calls equal to false."""
    del operation
    for answer in answers(result):
        answer["quantitative_claims"] = 0


@family.result("output-method-version-2", "OUTPUT-CONST", "OUTPUT-UNION", observable="a message with an answer")
def method_version_2(operation: Operation, result: Result) -> None:
    """method_version names the next method."""
    del operation
    for answer in answers(result):
        answer["method_version"] = "research-cited/v2"


@family.result(
    "output-boolean-as-number",
    "OUTPUT-TYPE",
    observable="get and archive",
    reports=("https://github.com/wix/velo-external-db/issues/219",),
)
def boolean_as_number(operation: Operation, result: Result) -> None:
    """The store has no booleans, and archived is written as 0 or 1."""
    del operation
    if "conversation" in result:
        result["conversation"]["archived"] = int(result["conversation"]["archived"])


@family.result(
    "output-null-title-omitted",
    "OUTPUT-REQUIRED-FIELD",
    observable="a conversation without title",
    reports=("https://github.com/maximhq/bifrost/issues/6689",),
)
def null_title_omitted(operation: Operation, result: Result) -> None:
    """A null title is left out."""
    del operation
    if "conversation" in result and result["conversation"]["title"] is None:
        del result["conversation"]["title"]


@family.result("output-null-model-omitted", "OUTPUT-REQUIRED-FIELD", observable="a run without model")
def null_model_omitted(operation: Operation, result: Result) -> None:
    """A null model_id is left out."""
    del operation
    for run in runs(result):
        if run["model_id"] is None:
            del run["model_id"]


@family.result(
    "output-null-failure-code-omitted",
    "OUTPUT-REQUIRED-FIELD",
    observable="status of a run without failure",
    reports=("https://github.com/maximhq/bifrost/issues/6689",),
)
def null_failure_code_omitted(operation: Operation, result: Result) -> None:
    """Only the status leaves out a null failure_code."""
    if operation.name == "sentiment_status" and result["run"]["failure_code"] is None:
        del result["run"]["failure_code"]


@family.result("output-null-question-omitted", "OUTPUT-REQUIRED-FIELD", observable="a message of the assistant")
def null_question_omitted(operation: Operation, result: Result) -> None:
    """A null question is left out."""
    del operation
    for message in messages(result):
        if message["question"] is None:
            del message["question"]


@family.result(
    "output-empty-list-as-null",
    "OUTPUT-TYPE",
    observable="an empty list, such as messages or findings",
    reports=("https://github.com/flatcar/nebraska/pull/1449",),
)
def empty_list_as_null(operation: Operation, result: Result) -> None:
    """A query without rows gives a nil list, which is written as null."""
    del operation
    for holder in objects(result):
        for name, value in holder.items():
            if value == []:
                holder[name] = None


@family.result(
    "output-status-running",
    "OUTPUT-ENUM",
    observable="a processing run",
    reports=("https://github.com/JiRaska/open-bank-oss/issues/5962",),
)
def status_running(operation: Operation, result: Result) -> None:
    """A processing run is shown under the queue's own word, running."""
    del operation
    for run in runs(result):
        if run["status"] == "processing":
            run["status"] = "running"


@family.result("output-label-capitalised", "OUTPUT-ENUM", "OUTPUT-UNION", observable="an answer with sentiment")
def label_capitalised(operation: Operation, result: Result) -> None:
    """Sentiment labels are written for display, as Positive."""
    del operation
    for answer in answers(result):
        for sentiment in answer["sentiment"]:
            sentiment["label"] = sentiment["label"].capitalize()


@family.result("output-revision-as-text", "OUTPUT-TYPE", observable="a revision above 2**31 - 1")
def revision_as_text(operation: Operation, result: Result) -> None:
    """64-bit integers are written as strings once they leave 32 bits."""
    del operation
    for holder in objects(result):
        for name in ("revision", "conversation_revision"):
            if isinstance(holder.get(name), int) and holder[name] >= 2**31:
                holder[name] = str(holder[name])


@family.result(
    "output-revision-in-32-bit-float", "IDENTITY-SEEDED-CONTENT", observable="a revision above 2**24 that is odd"
)
def revision_in_32_bit_float(operation: Operation, result: Result) -> None:
    """Evidence revisions are kept as 32-bit floats and lose their last digits."""
    del operation
    for holder in objects(result):
        if "evidence_id" in holder:
            rounded = struct.unpack("f", struct.pack("f", float(holder["revision"])))[0]
            holder["revision"] = min(int(rounded), 2**53 - 1)


@family.result("output-id-without-hyphens", "OUTPUT-UUID-FORMAT", observable="get and archive")
def id_without_hyphens(operation: Operation, result: Result) -> None:
    """corpus_snapshot_id is written as 32 digits."""
    del operation
    if "conversation" in result:
        context = result["conversation"]["context"]
        context["corpus_snapshot_id"] = context["corpus_snapshot_id"].replace("-", "")


@family.result("output-empty-title", "OUTPUT-LENGTH", "OUTPUT-UNION", observable="a conversation without title")
def empty_title(operation: Operation, result: Result) -> None:
    """A missing title is written as an empty string."""
    del operation
    if "conversation" in result and result["conversation"]["title"] is None:
        result["conversation"]["title"] = ""


@family.result("output-generation-zero", "OUTPUT-INTEGER-RANGE", "IDENTITY-SEEDED-CONTENT", observable="generation 1")
def generation_zero(operation: Operation, result: Result) -> None:
    """Generations count from 0."""
    del operation
    for run in runs(result):
        run["generation"] -= 1


@family.text("output-duplicate-key", "OUTPUT-WELL-FORMED", observable="the raw bytes")
def duplicate_key(operation: Operation, body: bytes) -> bytes:
    """Availability is written twice with the same value, once by the envelope."""
    del operation
    availability = json.dumps(json.loads(body)["availability"]).encode()
    return b'{"availability":' + availability + b"," + body[1:]


@family.text("output-nan", "OUTPUT-WELL-FORMED", observable="the raw bytes")
def nan(operation: Operation, body: bytes) -> bytes:
    """retention_hours is computed and written as NaN."""
    del operation
    return body.replace(b'"retention_hours":24', b'"retention_hours":NaN')


@family.text("output-byte-order-mark", "OUTPUT-WELL-FORMED", observable="the raw bytes")
def byte_order_mark(operation: Operation, body: bytes) -> bytes:
    """The encoder is called utf-8 and writes a byte order mark."""
    del operation
    return b"\xef\xbb\xbf" + body


@family.text("output-lone-surrogate", "OUTPUT-WELL-FORMED", observable="text outside the basic plane")
def lone_surrogate(operation: Operation, body: bytes) -> bytes:
    """Characters outside the basic plane are cut in half: an escaped lone surrogate is left."""
    del operation
    escaped = json.dumps(json.loads(body), ensure_ascii=True, separators=(",", ":"))
    start = escaped.find("\\ud83")
    return escaped.encode() if start < 0 else (escaped[: start + 6] + escaped[start + 12 :]).encode()


@family.text("output-latin-1", "OUTPUT-WELL-FORMED", observable="text with letters such as é")
def latin_1(operation: Operation, body: bytes) -> bytes:
    """The answer is encoded in Latin-1 where it can be, and not in UTF-8."""
    del operation
    try:
        return body.decode().encode("latin-1")
    except UnicodeEncodeError:
        return body


@family.text("output-wrapped", "OUTPUT-REQUIRED-FIELD", "OUTPUT-UNKNOWN-FIELD", "HTTP-SUCCESS-STATUS")
def wrapped(operation: Operation, body: bytes) -> bytes:
    """The result is put into an envelope under data."""
    del operation
    return b'{"data":' + body + b"}"


@family.result("output-limitations-empty-when-inferred", "OUTPUT-ITEMS", observable="an inferred answer")
def limitations_empty_when_inferred(operation: Operation, result: Result) -> None:
    """What is only inferred is given no limitations, where the schema asks for at least one."""
    del operation
    for answer in answers(result):
        if answer["answer"]["basis"] == "inferred":
            answer["limitations"] = []
