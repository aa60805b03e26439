"""Faults in the form of a result that show in one place alone: deep inside, for some states, or in long lists."""

from __future__ import annotations

from conformance.contract import Operation
from conformance.reference.faults.family import Family, Result
from conformance.reference.faults.walking import answers, messages, runs

family = Family()

_NINE = 9
"""Lists of more items than this come in a second page, which some servers write by other code."""

_LONGEST_STATEMENT, _LONG_VERSION = 2000, 100
_MOST_SUGGESTIONS = 5
_LARGEST = 2**53 - 1


def _archived(result: Result) -> bool:
    return bool(result.get("conversation", {}).get("archived"))


# Types


@family.result("output-question-false-when-archived", "OUTPUT-TYPE", "OUTPUT-UNION", observable="an archived question")
def question_false_when_archived(operation: Operation, result: Result) -> None:
    """Once archived, a question is written as what the lookup gave: false."""
    del operation
    for message in messages(result) if _archived(result) else ():
        message["question"] = False


@family.result("output-generation-as-text-in-long-lists", "OUTPUT-TYPE", observable="more than nine runs")
def generation_as_text_in_long_lists(operation: Operation, result: Result) -> None:
    """Runs from the tenth on come from a view that has numbers as text."""
    del operation
    for run in runs(result)[_NINE:]:
        run["generation"] = str(run["generation"])


@family.result("output-unknown-label-null", "OUTPUT-TYPE", "OUTPUT-UNION", observable="a sentiment that is unknown")
def unknown_label_null(operation: Operation, result: Result) -> None:
    """The label unknown is written as null."""
    del operation
    for answer in answers(result):
        for sentiment in answer["sentiment"]:
            sentiment["label"] = None if sentiment["label"] == "unknown" else sentiment["label"]


# Names


@family.result(
    "output-renamed-field-filtered",
    "OUTPUT-REQUIRED-FIELD",
    "OUTPUT-UNION",
    observable="an answer with suggestions",
    reports=("https://github.com/fastify/fast-json-stringify/pull/135",),
)
def renamed_field_filtered(operation: Operation, result: Result) -> None:
    """The rationale of suggestions got another name within, which the serialiser drops as one that it does not know."""
    del operation
    for answer in answers(result):
        for suggestion in answer["query_suggestions"]:
            del suggestion["rationale"]


@family.result("output-answer-omitted-when-archived", "OUTPUT-REQUIRED-FIELD", observable="an archived message")
def answer_omitted_when_archived(operation: Operation, result: Result) -> None:
    """Once archived, a message has no field for its answer."""
    del operation
    for message in messages(result) if _archived(result) else ():
        del message["answer"]


@family.result("output-archived-at-added", "OUTPUT-UNKNOWN-FIELD", observable="an archived conversation")
def archived_at_added(operation: Operation, result: Result) -> None:
    """Once archived, a conversation says when that was."""
    del operation
    if _archived(result):
        result["conversation"]["archived_at"] = result["conversation"]["expires_at"]


@family.result(
    "output-position-in-long-evidence", "OUTPUT-UNKNOWN-FIELD", observable="more than nine pieces of evidence"
)
def position_in_long_evidence(operation: Operation, result: Result) -> None:
    """Evidence of the context from the tenth piece on has its position in the list."""
    del operation
    if "conversation" in result:
        for position, item in enumerate(result["conversation"]["context"]["evidence"]):
            if position >= _NINE:
                item["position"] = position


# Constants and listed values


@family.result("output-processor-empty-while-queued", "OUTPUT-CONST", observable="a queued run")
def processor_empty_while_queued(operation: Operation, result: Result) -> None:
    """A run that nobody has taken yet names no processor."""
    del operation
    for run in runs(result):
        if run["status"] == "queued":
            run["processor"] = ""


@family.result(
    "output-inferred-called-derived", "OUTPUT-ENUM", "OUTPUT-UNION", observable="an inferred finding of an answer"
)
def inferred_called_derived(operation: Operation, result: Result) -> None:
    """The basis of findings that are inferred is called derived; that of the answer is not."""
    del operation
    for answer in answers(result):
        for finding in answer["findings"]:
            finding["basis"] = "derived" if finding["basis"] == "inferred" else finding["basis"]


@family.result("output-request-kind-shortened", "OUTPUT-ENUM", observable="a run that asked for query suggestions")
def request_kind_shortened(operation: Operation, result: Result) -> None:
    """The longest kind of request is cut to what fits the column."""
    del operation
    for run in runs(result):
        run["request_kind"] = run["request_kind"][:16]


@family.result(
    "output-archived-called-deleted", "OUTPUT-ENUM", "ARCHIVE-AVAILABILITY", observable="an archived conversation"
)
def archived_called_deleted(operation: Operation, result: Result) -> None:
    """The availability of what is archived has a name that the contract does not list."""
    del operation
    if _archived(result):
        result["conversation"]["availability"] = "deleted"


# Ids and times


@family.result(
    "output-evidence-id-urn-in-suggestions",
    "OUTPUT-UUID-FORMAT",
    "OUTPUT-UNION",
    observable="an answer with suggestions",
)
def evidence_id_urn_in_suggestions(operation: Operation, result: Result) -> None:
    """Evidence of suggestions is cited by its name as a urn."""
    del operation
    for answer in answers(result):
        for suggestion in answer["query_suggestions"]:
            for item in suggestion["evidence"]:
                item["evidence_id"] = f"urn:uuid:{item['evidence_id']}"


@family.result("output-message-id-bare-in-long-lists", "OUTPUT-UUID-FORMAT", observable="more than nine messages")
def message_id_bare_in_long_lists(operation: Operation, result: Result) -> None:
    """Messages from the tenth on are read from a column of 32 digits."""
    del operation
    for message in messages(result)[_NINE:]:
        message["id"] = message["id"].replace("-", "")


@family.result("output-run-expiry-without-offset-in-status", "OUTPUT-DATE-TIME", observable="a run's status, in UTC")
def run_expiry_without_offset_in_status(operation: Operation, result: Result) -> None:
    """Only the status writes the deadline of its run without an offset."""
    if operation.name == "sentiment_status":
        result["run"]["expires_at"] = result["run"]["expires_at"].removesuffix("Z")


@family.result("output-expiry-newline-when-archived", "OUTPUT-DATE-TIME", observable="an archived conversation")
def expiry_newline_when_archived(operation: Operation, result: Result) -> None:
    """Once archived, the deadline is read from a text file with its line feed."""
    del operation
    if _archived(result):
        result["conversation"]["expires_at"] += "\n"


# Ranges


@family.result(
    "output-sentiment-revision-zero", "OUTPUT-INTEGER-RANGE", "OUTPUT-UNION", observable="sentiment on a revision 1"
)
def sentiment_revision_zero(operation: Operation, result: Result) -> None:
    """The first revision of what a sentiment is about is counted as 0."""
    del operation
    for answer in answers(result):
        for sentiment in answer["sentiment"]:
            sentiment["revision"] -= sentiment["revision"] == 1


@family.result("output-project-revision-rounded-up", "OUTPUT-INTEGER-RANGE", observable="project_revision 2**53 - 1")
def project_revision_rounded_up(operation: Operation, result: Result) -> None:
    """The largest revision of a project is rounded to the next power of two."""
    del operation
    if "conversation" in result and result["conversation"]["context"]["project_revision"] == _LARGEST:
        result["conversation"]["context"]["project_revision"] = _LARGEST + 1


@family.result("output-run-revision-zero-while-queued", "OUTPUT-INTEGER-RANGE", observable="a queued run")
def run_revision_zero_while_queued(operation: Operation, result: Result) -> None:
    """A run that has not begun is at no revision yet, written as 0."""
    del operation
    for run in runs(result):
        if run["status"] == "queued":
            run["conversation_revision"] = 0


# Lengths


@family.result(
    "output-ellipsis-beyond-limit", "OUTPUT-LENGTH", "OUTPUT-UNION", observable="a finding of 2000 characters"
)
def ellipsis_beyond_limit(operation: Operation, result: Result) -> None:
    """A finding that fills its column may have been cut, and gets an ellipsis as its 2001st character."""
    del operation
    for answer in answers(result):
        for finding in answer["findings"]:
            if len(finding["statement"]) == _LONGEST_STATEMENT:
                finding["statement"] += "\N{HORIZONTAL ELLIPSIS}"


@family.result(
    "output-excluded-term-empty", "OUTPUT-LENGTH", "OUTPUT-UNION", observable="a suggestion without excluded terms"
)
def excluded_term_empty(operation: Operation, result: Result) -> None:
    """No excluded terms are an empty text that is split at commas: a list of one empty term."""
    del operation
    for answer in answers(result):
        for suggestion in answer["query_suggestions"]:
            suggestion["excluded_terms"] = suggestion["excluded_terms"] or [""]


@family.result("output-model-version-with-digest", "OUTPUT-LENGTH", "OUTPUT-UNION", observable="a long model_version")
def model_version_with_digest(operation: Operation, result: Result) -> None:
    """A model's version that is long is one of a build, and gets its digest of 40 characters."""
    del operation
    for run in runs(result):
        if run["model_version"] is not None and len(run["model_version"]) > _LONG_VERSION:
            run["model_version"] += "0" * 40


# Lists


@family.result(
    "output-suggestion-evidence-lost", "OUTPUT-ITEMS", "OUTPUT-UNION", observable="an answer with suggestions"
)
def suggestion_evidence_lost(operation: Operation, result: Result) -> None:
    """Suggestions are shown without the evidence that led to them."""
    del operation
    for answer in answers(result):
        for suggestion in answer["query_suggestions"]:
            suggestion["evidence"] = []


@family.result("output-sixth-suggestion", "OUTPUT-ITEMS", "OUTPUT-UNION", observable="an answer with five suggestions")
def sixth_suggestion(operation: Operation, result: Result) -> None:
    """A list of suggestions that is full has the best one once more at its end."""
    del operation
    for answer in answers(result):
        suggestions = answer["query_suggestions"]
        if len(suggestions) == _MOST_SUGGESTIONS:
            suggestions.append(suggestions[0])


@family.result(
    "output-excluded-terms-multiplied", "OUTPUT-ITEMS", "OUTPUT-UNION", observable="more than nine excluded terms"
)
def excluded_terms_multiplied(operation: Operation, result: Result) -> None:
    """A join counts each of more than nine excluded terms three times."""
    del operation
    for answer in answers(result):
        for suggestion in answer["query_suggestions"]:
            if len(suggestion["excluded_terms"]) > _NINE:
                suggestion["excluded_terms"] *= 3


# Branches


@family.result(
    "output-no-answer-as-object",
    "OUTPUT-UNION",
    "OUTPUT-REQUIRED-FIELD",
    "IDENTITY-ROLE-CONTENT",
    observable="a message of the user",
)
def no_answer_as_object(operation: Operation, result: Result) -> None:
    """Where there is no answer, an object without fields stands for it."""
    del operation
    for message in messages(result):
        if message["role"] == "user":
            message["answer"] = {}


@family.result(
    "output-failure-code-empty-in-status", "OUTPUT-UNION", "OUTPUT-ENUM", observable="status of a run without failure"
)
def failure_code_empty_in_status(operation: Operation, result: Result) -> None:
    """Only the status writes no failure code as an empty text."""
    if operation.name == "sentiment_status":
        result["run"]["failure_code"] = result["run"]["failure_code"] or ""


@family.result(
    "output-reason-none-as-text", "OUTPUT-UNION", "OUTPUT-ENUM", observable="an availability without a reason"
)
def reason_none_as_text(operation: Operation, result: Result) -> None:
    """No reason is written as the text None."""
    del operation
    result["availability"]["reason"] = result["availability"]["reason"] or "None"
