"""Faults in what a result says: texts, times and lists as stored, and the ties between its parts."""

from __future__ import annotations

import re
import unicodedata
from datetime import timedelta

from conformance.contract import Operation
from conformance.reference.faults.family import Family, Result
from conformance.reference.faults.walking import TEXTS, TIMES, messages, objects, rewrite, runs
from conformance.reference.instants import Instant, format_instant, parse_instant

family = Family()

_DAY = int(timedelta(days=1).total_seconds())
_SHORT, _COLUMN = 40, 256
_MOST_EVIDENCE, _MOST_RUNS, _MOST_MESSAGES = 9, 10, 20


@family.result(
    "content-truncated-in-utf16",
    "IDENTITY-SEEDED-CONTENT",
    observable="long text outside the basic plane",
    reports=("https://github.com/softwaremill/tapir/issues/3201",),
)
def truncated_in_utf16(operation: Operation, result: Result) -> None:
    """Texts longer than 40 code points lose as many characters as they have outside the basic plane."""
    del operation

    def cut(text: str) -> str:
        astral = sum(character > "\uffff" for character in text)
        return text[: len(text) - astral] if astral and len(text) - astral > _SHORT else text

    rewrite(result, TEXTS, cut)


@family.result("content-normalised", "IDENTITY-SEEDED-CONTENT", observable="text in NFD")
def normalised(operation: Operation, result: Result) -> None:
    """Texts are brought to NFC."""
    del operation
    rewrite(result, TEXTS, lambda text: unicodedata.normalize("NFC", text))


@family.result("content-line-separator-dropped", "IDENTITY-SEEDED-CONTENT", observable="U+2028 in a text")
def line_separator_dropped(operation: Operation, result: Result) -> None:
    """U+2028 and U+2029 are removed, as for a script."""
    del operation
    rewrite(result, TEXTS, lambda text: re.sub("[\u2028\u2029]", "", text) or text)


@family.result("content-trimmed", "IDENTITY-SEEDED-CONTENT", observable="space at the end of a text")
def trimmed(operation: Operation, result: Result) -> None:
    """Spaces around a text are trimmed where something is left."""
    del operation
    rewrite(result, TEXTS, lambda text: text.strip(" ") or text)


@family.result("content-newlines-changed", "IDENTITY-SEEDED-CONTENT", observable="CR LF in a text")
def newlines_changed(operation: Operation, result: Result) -> None:
    """CR LF becomes LF."""
    del operation
    rewrite(result, TEXTS, lambda text: text.replace("\r\n", "\n"))


@family.result("content-html-escaped", "IDENTITY-SEEDED-CONTENT", observable="an ampersand in a text")
def html_escaped(operation: Operation, result: Result) -> None:
    """Questions are escaped for HTML, within the limit of their length."""
    del operation
    rewrite(result, {"question"}, lambda text: text.replace("&", "&amp;") if len(text) < _COLUMN else text)


@family.result("content-empty-question-as-null", "IDENTITY-SEEDED-CONTENT", observable="an empty question")
def empty_question_as_null(operation: Operation, result: Result) -> None:
    """The store makes no difference between an empty text and none."""
    del operation
    for message in messages(result):
        message["question"] = message["question"] or None


@family.result("content-language-shortened", "IDENTITY-SEEDED-CONTENT", observable="a language with a region")
def language_shortened(operation: Operation, result: Result) -> None:
    """Only the first part of the language tag is kept."""
    del operation
    rewrite(result, {"language"}, lambda text: text.partition("-")[0] or text)


@family.result("content-evidence-sorted", "IDENTITY-SEEDED-CONTENT", observable="two pieces of evidence")
def evidence_sorted(operation: Operation, result: Result) -> None:
    """The context's evidence is read without an order and comes back by id."""
    del operation
    if "conversation" in result:
        result["conversation"]["context"]["evidence"].sort(key=lambda item: item["evidence_id"])


@family.result("content-evidence-cut", "IDENTITY-SEEDED-CONTENT", observable="ten pieces of evidence in a statement")
def evidence_cut(operation: Operation, result: Result) -> None:
    """Answers keep nine pieces of evidence at most."""
    del operation
    for message in messages(result):
        for holder in objects(message):
            if "evidence" in holder:
                holder["evidence"] = holder["evidence"][:_MOST_EVIDENCE]


@family.result("content-evidence-revision-other", "IDENTITY-EVIDENCE-CITED", "IDENTITY-SEEDED-CONTENT")
def evidence_revision_other(operation: Operation, result: Result) -> None:
    """Citations show the revision of their evidence before the one that was read."""
    del operation
    for message in messages(result):
        for holder in objects(message):
            if "evidence_id" in holder:
                holder["revision"] = holder["revision"] - 1 if holder["revision"] > 1 else 2


@family.result("content-cited-evidence-lost", "IDENTITY-EVIDENCE-CITED", observable="two pieces of evidence, one cited")
def cited_evidence_lost(operation: Operation, result: Result) -> None:
    """The context lists one piece of evidence less than there is, and answers cite it."""
    del operation
    if "conversation" in result and len(result["conversation"]["context"]["evidence"]) > 1:
        result["conversation"]["context"]["evidence"].pop()


@family.result("content-runs-cut", "IDENTITY-SEEDED-CONTENT", "IDENTITY-MESSAGE-RUN", observable="more than ten runs")
def runs_cut(operation: Operation, result: Result) -> None:
    """A page of ten runs is all."""
    del operation
    if "runs" in result:
        result["runs"] = result["runs"][:_MOST_RUNS]


@family.result("content-messages-cut", "IDENTITY-SEEDED-CONTENT", observable="more than twenty messages")
def messages_cut(operation: Operation, result: Result) -> None:
    """A page of twenty messages is all."""
    del operation
    if "messages" in result:
        result["messages"] = result["messages"][:_MOST_MESSAGES]


@family.result("content-messages-reversed", "IDENTITY-SEEDED-CONTENT", observable="two messages")
def messages_reversed(operation: Operation, result: Result) -> None:
    """The newest message comes first."""
    del operation
    if "messages" in result:
        result["messages"].reverse()


@family.result(
    "content-time-without-seconds",
    "OUTPUT-DATE-TIME",
    observable="a time at a full minute",
    reports=("https://github.com/json-schema-org/JSON-Schema-Test-Suite/pull/1149",),
)
def time_without_seconds(operation: Operation, result: Result) -> None:
    """Seconds that are zero are left out, as Java's LocalDateTime does."""
    del operation
    rewrite(result, TIMES, lambda text: re.sub(r"(T\d\d:\d\d):00(?=[Z+-])", r"\1", text))


@family.result(
    "content-time-zone-twice",
    "OUTPUT-DATE-TIME",
    reports=("https://github.com/spec-first/connexion/pull/67",),
)
def time_zone_twice(operation: Operation, result: Result) -> None:
    """The serialiser adds Z to a time that has an offset, +00:00Z."""
    del operation
    rewrite(result, TIMES, lambda text: text.removesuffix("Z") + ("+00:00Z" if text.endswith("Z") else "Z"))


@family.result("content-time-lower-case", "OUTPUT-DATE-TIME")
def time_lower_case(operation: Operation, result: Result) -> None:
    """The letters of times are written in lower case."""
    del operation
    rewrite(result, TIMES, str.lower)


@family.result(
    "content-time-without-offset",
    "OUTPUT-DATE-TIME",
    observable="a time in UTC",
    reports=("https://github.com/modelcontextprotocol/csharp-sdk/issues/728",),
)
def time_without_offset(operation: Operation, result: Result) -> None:
    """Times in UTC are written without an offset."""
    del operation
    rewrite(result, TIMES, lambda text: text.removesuffix("Z"))


@family.result(
    "content-offset-without-colon",
    "OUTPUT-DATE-TIME",
    observable="a conversation whose deadline has an offset",
    reports=("https://github.com/ajv-validator/ajv-formats/issues/117",),
)
def offset_without_colon(operation: Operation, result: Result) -> None:
    """The deadline of a conversation has an offset of four digits without a colon, +0530."""
    del operation
    if "conversation" in result:
        conversation = result["conversation"]
        conversation["expires_at"] = re.sub(r"([+-]\d\d):(\d\d)$", r"\1\2", conversation["expires_at"])


@family.result("content-time-with-space", "OUTPUT-DATE-TIME")
def time_with_space(operation: Operation, result: Result) -> None:
    """Times are written as SQL does, with a space for the T."""
    del operation
    rewrite(result, TIMES, lambda text: text.replace("T", " "))


@family.result("content-leap-day-moved", "IDENTITY-SEEDED-INSTANT", observable="a time on 29 February")
def leap_day_moved(operation: Operation, result: Result) -> None:
    """29 February is read as 1 March."""
    del operation
    rewrite(result, TIMES, lambda text: re.sub(r"-02-29T", "-03-01T", text))


@family.result(
    "content-impossible-leap-day",
    "OUTPUT-DATE-TIME",
    observable="1 March of an ordinary year",
    reports=("https://github.com/validatorjs/validator.js/pull/2841",),
)
def impossible_leap_day(operation: Operation, result: Result) -> None:
    """Every year divisible by two has a 29 February, so 1 March of 2026 is written as one."""
    del operation
    rewrite(result, TIMES, lambda text: re.sub(r"^(\d{3}[26])-03-01T", r"\1-02-29T", text))


@family.result("content-century-leap-day", "OUTPUT-DATE-TIME", observable="1 March of 2100 or 2200")
def century_leap_day(operation: Operation, result: Result) -> None:
    """Every year divisible by four has a 29 February, so 1 March of 2100 is written as one."""
    del operation
    rewrite(result, TIMES, lambda text: re.sub(r"^(2[12]00)-03-01T", r"\1-02-29T", text))


@family.result(
    "content-fraction-scale",
    "IDENTITY-SEEDED-INSTANT",
    observable="a fraction of one or two digits",
    reports=("https://github.com/zozzz/yapic.json/issues/11",),
)
def fraction_scale(operation: Operation, result: Result) -> None:
    """A short fraction is padded on the left: .5 becomes .005."""
    del operation
    rewrite(result, TIMES, lambda text: re.sub(r"\.(\d{1,2})(?=\D)", lambda match: f".{match[1]:0>3}", text))


@family.result("content-fraction-dropped", "IDENTITY-SEEDED-INSTANT", observable="a fraction of a second")
def fraction_dropped(operation: Operation, result: Result) -> None:
    """The store keeps whole seconds."""
    del operation
    rewrite(result, TIMES, lambda text: re.sub(r"\.\d+", "", text))


@family.result("content-offset-dropped", "IDENTITY-SEEDED-INSTANT", observable="a time with an offset other than zero")
def offset_dropped(operation: Operation, result: Result) -> None:
    """The wall clock time is kept and the offset replaced by Z."""
    del operation
    rewrite(result, TIMES, lambda text: re.sub(r"[+-]\d\d:\d\d$", "Z", text))


@family.result("content-year-2038-wrapped", "IDENTITY-SEEDED-INSTANT", observable="a time after 2038-01-19")
def year_2038_wrapped(operation: Operation, result: Result) -> None:
    """Seconds since 1970 are kept in 32 bits."""
    del operation

    def wrap(text: str) -> str:
        instant = parse_instant(text)
        if instant.second < 2**31:
            return text
        return format_instant(Instant((instant.second + 2**31) % 2**32 - 2**31, instant.fraction))

    rewrite(result, TIMES, wrap)


@family.result("content-expires-before-created", "IDENTITY-TIME-ORDER", "IDENTITY-SEEDED-INSTANT")
def expires_before_created(operation: Operation, result: Result) -> None:
    """The two times of messages are swapped."""
    del operation
    for message in messages(result):
        message["created_at"], message["expires_at"] = message["expires_at"], message["created_at"]


@family.result("content-window-too-long", "IDENTITY-TIME-WINDOW", "IDENTITY-SEEDED-INSTANT")
def window_too_long(operation: Operation, result: Result) -> None:
    """Runs are shown with an expires_at a day later than stored."""
    del operation
    for run in runs(result):
        instant = parse_instant(run["expires_at"])
        run["expires_at"] = format_instant(Instant(instant.second + _DAY, instant.fraction))


@family.result("content-run-of-other-conversation", "IDENTITY-RUN-MEMBERSHIP", "IDENTITY-RUN-ASKED")
def run_of_other_conversation(operation: Operation, result: Result) -> None:
    """conversation_id of runs holds the id of the run."""
    del operation
    for run in runs(result):
        run["conversation_id"] = run["id"]


@family.result("content-message-of-unknown-run", "IDENTITY-MESSAGE-RUN", "IDENTITY-SEEDED-CONTENT")
def message_of_unknown_run(operation: Operation, result: Result) -> None:
    """run_id of messages holds the id of the message."""
    del operation
    for message in messages(result):
        message["run_id"] = message["id"]


@family.result("content-run-revision-ahead", "IDENTITY-RUN-REVISION", observable="get and archive with runs")
def run_revision_ahead(operation: Operation, result: Result) -> None:
    """Runs name the revision that the conversation will have next."""
    del operation
    if "conversation" in result:
        for run in result["runs"]:
            run["conversation_revision"] = min(result["conversation"]["revision"] + 1, 2**53 - 1)


@family.result("content-user-message-with-answer", "IDENTITY-ROLE-CONTENT", observable="a question with its answer")
def user_message_with_answer(operation: Operation, result: Result) -> None:
    """A question is joined with the answer to it."""
    del operation
    by_run = {message["run_id"]: message["answer"] for message in messages(result) if message["answer"]}
    for message in messages(result):
        if message["role"] == "user" and message["question"] is not None:
            message["answer"] = by_run.get(message["run_id"])


@family.result("content-failure-code-when-completed", "IDENTITY-FAILURE-CODE", observable="a completed run")
def failure_code_when_completed(operation: Operation, result: Result) -> None:
    """A completed run keeps the failure of its first try."""
    del operation
    for run in runs(result):
        if run["status"] == "completed":
            run["failure_code"] = "provider_unavailable"


@family.result("content-no-failure-code-when-failed", "IDENTITY-FAILURE-CODE", observable="a failed run")
def no_failure_code_when_failed(operation: Operation, result: Result) -> None:
    """A failed run has no code."""
    del operation
    for run in runs(result):
        if run["status"] == "failed":
            run["failure_code"] = None


@family.result("content-duplicate-message-ids", "IDENTITY-UNIQUE-IDS", observable="two messages of one run")
def duplicate_message_ids(operation: Operation, result: Result) -> None:
    """Messages are shown under the id of the first one of their run."""
    del operation
    first: dict[str, str] = {}
    for message in messages(result):
        message["id"] = first.setdefault(message["run_id"], message["id"])


@family.result("content-status-revision-of-run", "IDENTITY-STATUS-REVISION", observable="a run older than the revision")
def status_revision_of_run(operation: Operation, result: Result) -> None:
    """conversation_revision beside a run's status is the run's and not the conversation's."""
    del operation
    if "run" in result:
        result["conversation_revision"] = result["run"]["conversation_revision"]


@family.result("content-status-run-older", "IDENTITY-STATUS-RUN", observable="status of a run with a model")
def status_run_older(operation: Operation, result: Result) -> None:
    """The status reads a table without the model's version."""
    del operation
    if "run" in result:
        result["run"]["model_version"] = None


@family.result("content-status-without-message", "IDENTITY-STATUS-MESSAGE", observable="status of a completed run")
def status_without_message(operation: Operation, result: Result) -> None:
    """The status of a completed run has no cited output."""
    del operation
    if "run" in result:
        result["message"] = None


@family.result(
    "content-workspace-is-the-project",
    "IDENTITY-CONVERSATION-ASKED",
    "IDENTITY-RUN-MEMBERSHIP",
    observable="every get and archive",
)
def workspace_is_the_project(operation: Operation, result: Result) -> None:
    """The conversation's workspace is read from the wrong column, that of its project."""
    del operation
    if "conversation" in result:
        result["conversation"]["workspace_id"] = result["conversation"]["context"]["project_id"]


@family.result("content-cancelled-as-expired", "IDENTITY-FAILURE-CODE-NAME", observable="a cancelled run")
def cancelled_as_expired(operation: Operation, result: Result) -> None:
    """One code stands for every run that ended without a result of its own."""
    del operation
    for run in runs(result):
        if run["status"] == "cancelled":
            run["failure_code"] = "expired"
