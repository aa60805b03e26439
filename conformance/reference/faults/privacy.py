# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults that let private text out by another way than a question or an answer, and that tell what others have."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Family
from conformance.reference.refusals import Conflict, NotFound, Refusal
from conformance.reference.rest import RestBinding
from conformance.reference.rules import Document, Rules
from conformance.reference.service import Arguments, Service
from conformance.reference.store import StoredConversation

family = Family()

_LONGEST_TITLE, _LONGEST_HEADER = 200, 900


def _questions(document: Document) -> Iterator[str]:
    """Yield the questions that are stored."""
    return (message["question"] for message in document["messages"] if message["question"])


@family.part("privacy-archived-title-from-question", "PRIVACY-BODY", observable="an archived conversation")
class ArchivedTitleFromQuestion(Rules):
    """An archived conversation gets its first question as its title, so that it can be told from others."""

    def archive(self, document: Document) -> None:
        question = next(_questions(document), None)
        super().archive(document)
        if question is not None:
            document["conversation"]["title"] = question[:_LONGEST_TITLE]


@family.part("privacy-question-in-model-version", "PRIVACY-BODY", observable="an archived conversation with runs")
class QuestionInModelVersion(Rules):
    """The archive keeps what was asked in base64, in a field of the run that is free."""

    def archive(self, document: Document) -> None:
        question = next(_questions(document), "")
        super().archive(document)
        for run in document["runs"][:1]:
            run["model_version"] = base64.b64encode(question.encode()).decode()[:128] or None


class _Remembers(Service):
    """Keeps in memory the last conversation that was looked at, as it is stored."""

    last: Document | None = None

    def look(self, stored: StoredConversation) -> Document:
        self.last = json.loads(json.dumps(stored.document))
        return super().look(stored)


class _TitleHeader(RestBinding):
    """Writes something of the conversation into a header of each success."""

    def text(self, document: Document) -> str:
        raise NotImplementedError

    def answer(self, operation: Operation, result: dict[str, Any]) -> Response:
        response = super().answer(operation, result)
        document = getattr(self.server.service, "last", None)
        if document is not None:
            response.headers["X-Debug"] = self.text(document)
        return response


@family.part("privacy-question-in-header", "PRIVACY-HEADER", observable="a header", also=(_Remembers,))
class QuestionInHeader(_TitleHeader):
    """A header for tracing has the first question as it is stored, percent-encoded."""

    def text(self, document: Document) -> str:
        return quote(next(_questions(document), ""), safe="")[:_LONGEST_HEADER]


@family.part("privacy-document-in-header", "PRIVACY-HEADER", observable="a header, in base64", also=(_Remembers,))
class DocumentInHeader(_TitleHeader):
    """A header for tracing has the beginning of the stored messages in base64."""

    def text(self, document: Document) -> str:
        return base64.urlsafe_b64encode(json.dumps(document["messages"]).encode()).decode()[:_LONGEST_HEADER]


@family.part(
    "privacy-conflict-quotes-text",
    "PRIVACY-ERROR-TEXT",
    "PRIVACY-MCP-CONTENT",
    "ACCESS-ARCHIVE-WITHOUT-TEXT",
    observable="a conflict where the text is withheld",
    reports=("https://github.com/modelcontextprotocol/ruby-sdk/issues/485",),
)
class ConflictQuotesText(Service):
    """A conflict says which conversation it is about, by its first question."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        try:
            super().guard(stored, arguments)
        except Conflict:
            raise Conflict(f"another revision of: {next(_questions(stored.document), '')}") from None


@family.part(
    "privacy-conflict-quotes-text-for-scripts",
    "PRIVACY-ERROR-TEXT",
    "PRIVACY-MCP-CONTENT",
    "ACCESS-ARCHIVE-WITHOUT-TEXT",
    observable="a conflict where the text is withheld",
)
class ConflictQuotesTextForScripts(Service):
    """A conflict quotes the first question as a script would write it, where all but letters and digits is escaped."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        try:
            super().guard(stored, arguments)
        except Conflict:
            question = next(_questions(stored.document), "")
            quoted = re.sub("[^0-9A-Za-z ]", lambda match: f"\\u{ord(match[0]):04x}", question)
            raise Conflict(f"another revision of '{quoted}'") from None


@family.part(
    "privacy-unknown-run-lists-text",
    "PRIVACY-ERROR-TEXT",
    "PRIVACY-MCP-CONTENT",
    observable="an unknown run of one's conversation",
)
class UnknownRunListsText(Service):
    """The refusal of an unknown run lists in capitals what was asked in the runs that there are."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        stored = self.find(caller, arguments)
        try:
            return super().status(caller, arguments)
        except NotFound:
            raise NotFound(f"none of: {' / '.join(_questions(stored.document)).upper()}") from None


@family.part("privacy-workspace-member-status", "PRIVACY-OTHER-USER", observable="a member of the workspace, status")
class WorkspaceMemberStatus(Service):
    """The status of a run asks for membership of the workspace and not for the owner."""

    members = False

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        self.members = True
        try:
            return super().status(caller, arguments)
        finally:
            self.members = False

    def may_open(self, caller: Caller, stored: StoredConversation, arguments: Arguments) -> bool:
        is_member = stored.workspace_id == arguments["workspace_id"] and stored.workspace_id in caller.workspaces
        return (self.members and is_member) or super().may_open(caller, stored, arguments)


@family.part(
    "privacy-open-to-whoever-follows",
    "PRIVACY-OTHER-USER",
    "PRIVACY-BODY",
    "PRIVACY-FOREIGN-LIKE-UNKNOWN",
    observable="another member of the workspace, after the owner has read",
    over=("rest", "mcp-http"),  # each child of stdio has a memory of its own
    reports=("https://github.com/IBM/mcp-context-forge/issues/2055",),
)
class OpenToWhoeverFollows(Service):
    """A gateway's callers share one session with the store: what the owner opened, others in the workspace read."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._opened: set[str] = set()
        self._is_read = False

    def get(self, caller: Caller, arguments: Arguments) -> Document:
        self._is_read = True
        try:
            result = super().get(caller, arguments)
        finally:
            self._is_read = False
        self._opened.add(arguments["conversation_id"])
        return result

    def may_open(self, caller: Caller, stored: StoredConversation, arguments: Arguments) -> bool:
        is_shared = stored.workspace_id == arguments["workspace_id"] and stored.workspace_id in caller.workspaces
        return super().may_open(caller, stored, arguments) or (
            self._is_read and is_shared and stored.id in self._opened
        )


class _SaysForeign(Service):
    """Lets the binding know that what was asked for exists and is not the caller's."""

    def not_found(self) -> NotFound:
        return NotFound("there is no such conversation or run")

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        try:
            return super().find(caller, arguments)
        except NotFound as refusal:
            if self.store.conversation(arguments["conversation_id"]) is not None:
                refusal.add_note("foreign")
            raise


@family.part(
    "privacy-foreign-by-header", "PRIVACY-FOREIGN-LIKE-UNKNOWN", observable="another person's id", also=(_SaysForeign,)
)
class ForeignByHeader(RestBinding):
    """What exists is answered with a header that what does not exist lacks."""

    def refuse(self, operation: Operation, refusal: Refusal) -> Response:
        response = super().refuse(operation, refusal)
        if "foreign" in getattr(refusal, "__notes__", ()):
            response.headers["Vary"] = "Authorization"
        return response


@family.part("privacy-foreign-run-other-text", "PRIVACY-FOREIGN-LIKE-UNKNOWN", observable="another person's run id")
class ForeignRunOtherText(Service):
    """A run that exists elsewhere is refused in other words than one that does not."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().status(caller, arguments)
        except NotFound:
            if self.store.conversation_of_run(arguments["run_id"]) is not None:
                raise NotFound("the run belongs to another conversation") from None
            raise


@family.part(
    "privacy-foreign-workspace-told", "PRIVACY-FOREIGN-LIKE-UNKNOWN", observable="another person's workspace id"
)
class ForeignWorkspaceTold(Service):
    """A workspace that somebody has is refused in other words than one that nobody has."""

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        try:
            return super().find(caller, arguments)
        except NotFound:
            row = self.store._row(  # noqa: SLF001 - the store of the faultless server has no such question
                "SELECT 1 FROM conversations WHERE workspace_id = ?", arguments["workspace_id"]
            )
            if row is not None and arguments["workspace_id"] not in caller.workspaces:
                raise NotFound("not your workspace") from None
            raise
