# ruff: noqa: D102  the docstring of each class says what its one method does differently
"""Conforming variants of what a server does over time. To fail one of them is a false alarm."""

from __future__ import annotations

import re
from typing import Any

from conformance.reference.authentication import Caller
from conformance.reference.faults.walking import TIMES, rewrite
from conformance.reference.instants import Instant
from conformance.reference.refusals import Conflict
from conformance.reference.rules import ACTIVE, Document, Rules
from conformance.reference.service import Arguments, Service
from conformance.reference.store import StoredConversation
from conformance.reference.variants import variant


@variant("status-of-sentiment-runs-only", "OPEN-STATUS-RUN-KIND")
class StatusOfSentimentRunsOnly(Service):
    """The status of a run of any other kind than sentiment is not found."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().status(caller, arguments)
        if result["run"]["request_kind"] != "sentiment":
            raise self.not_found()
        return result


@variant("expired-archive-cancels", "OPEN-ARCHIVE-EXPIRED", "OPEN-FINISHED-RUN-PAST-EXPIRY")
class ExpiredArchiveCancels(Service):
    """An archive after the deadline cancels what was unfinished when the deadline came."""

    def apply_archive(self, stored: StoredConversation) -> Document:
        active = {run["id"] for run in stored.document["runs"] if run["status"] in ACTIVE}
        super().apply_archive(stored)
        for run in stored.document["runs"]:
            if run["id"] in active:
                run["status"] = run["failure_code"] = "cancelled"
        self.store.replace_document(stored.id, stored.document)
        return self.look(stored)


@variant("finished-runs-unavailable-when-withheld", "OPEN-FINISHED-RUN-WITHHELD", "OPEN-ACTIVE-RUN-WITHHELD")
class FinishedRunsUnavailableWhenWithheld(Rules):
    """While access is withdrawn or the source is gone, every run but a cancelled or expired one is unavailable."""

    def view(self, document: Document, access: str, now: Instant) -> Document:
        view = super().view(document, access, now)
        if view["conversation"]["availability"] in ("access_changed", "source_unavailable"):
            for run in view["runs"]:
                if run["status"] not in ("cancelled", "expired"):
                    run["status"], run["failure_code"] = "unavailable", view["conversation"]["availability"]
        return view


@variant("finished-runs-expire-too", "OPEN-FINISHED-RUN-WITHHELD", "OPEN-FINISHED-RUN-PAST-EXPIRY")
class FinishedRunsExpireToo(Rules):
    """Completed and failed runs show as expired once the conversation, or they themselves, have expired."""

    def view(self, document: Document, access: str, now: Instant) -> Document:
        view = super().view(document, access, now)
        conversation = view["conversation"]
        for run in view["runs"]:
            is_past = self.has_passed(conversation["expires_at"], now) or self.has_passed(run["expires_at"], now)
            if is_past and run["status"] in ("completed", "failed") and not conversation["archived"]:
                run["status"] = run["failure_code"] = "expired"
        return view


@variant("expired-before-archived", "OPEN-AVAILABILITY-CHOICE")
class ExpiredBeforeArchived(Rules):
    """Of several availabilities that apply, expired is shown first and withdrawn access next."""

    def availability(self, document: Document, access: str, now: Instant) -> str:
        if self.has_passed(document["conversation"]["expires_at"], now):
            return "expired"
        return access if access != "granted" else super().availability(document, access, now)


@variant("expiry-raises-revision", "OPEN-EXPIRY-REVISION")
class ExpiryRaisesRevision(Service):
    """The revision grows once when the conversation expires, at the first call that notices it."""

    def find(self, caller: Caller, arguments: Arguments) -> StoredConversation:
        stored = super().find(caller, arguments)
        conversation = stored.document["conversation"]
        expired = self.rules.has_passed(conversation["expires_at"], self.clock.now(stored.workspace_id))
        if expired and conversation["availability"] != "expired":
            conversation["availability"] = "expired"
            self.rules.raise_revision(stored.document)
            self.store.replace_document(stored.id, stored.document)
        return stored


@variant("result-kept-while-withheld", "OPEN-RESULT-WHILE-WITHHELD")
class ResultKeptWhileWithheld(Rules):
    """A worker's result that comes while access is withdrawn is kept, and shown once access is granted again."""

    def takes_result(self, view: Document, run: dict[str, Any], answer: dict[str, Any]) -> bool:
        if view["conversation"]["availability"] not in ("access_changed", "source_unavailable"):
            return super().takes_result(view, run, answer)
        shown = view["conversation"]["availability"]
        view["conversation"]["availability"] = "available"
        try:
            return super().takes_result(view, run, answer)
        finally:
            view["conversation"]["availability"] = shown


@variant("refused-attempt-binds-its-key", "OPEN-REFUSED-KEY")
class RefusedAttemptBindsItsKey(Service):
    """A mutation id whose first attempt met a conflict is used up: with other arguments its owner meets one again."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        key = stored.owner_id, arguments["mutation_id"]
        try:
            super().guard(stored, arguments)
        except Conflict:
            self._refused[key] = dict(arguments)
            raise
        if self._refused.get(key, arguments) != arguments:
            raise Conflict("the mutation id was used with other arguments")

    @property
    def _refused(self) -> dict[tuple[str, str], Arguments]:
        kept: dict[tuple[str, str], Arguments] = self.__dict__.setdefault("refused", {})
        return kept


@variant("replay-of-the-withheld-refused", "OPEN-REPLAY-EXPIRED", "OPEN-REPLAY-WITHHELD")
class ReplayOfTheWithheldRefused(Service):
    """A replay that comes when the conversation has expired, or is withheld, is refused as a conflict."""

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        result = super().recall(caller, arguments)
        if result is not None:
            stored = self.find(caller, arguments)
            now = self.clock.now(stored.workspace_id)
            if stored.access != "granted" or self.rules.has_passed(stored.document["conversation"]["expires_at"], now):
                raise Conflict("the result is no longer available")
        return result


@variant("archived-context-reduced", "OPEN-ARCHIVED-CONTEXT")
class ArchivedContextReduced(Rules):
    """An archive keeps only the first piece of evidence in the context."""

    def archive(self, document: Document) -> None:
        super().archive(document)
        context = document["conversation"]["context"]
        context["evidence"] = context["evidence"][:1]


@variant("withdrawn-for-good", "OPEN-ACCESS-GRANTED-AGAIN")
class WithdrawnForGood(Service):
    """What was withdrawn once stays withheld: granting access again brings nothing back."""

    def change_access(self, conversation_id: str, access: str) -> bool:
        stored = self.store.conversation(conversation_id)
        if stored is not None and stored.access != "granted" and access == "granted":
            return True
        return super().change_access(conversation_id, access)


@variant("times-cut-to-milliseconds", "OPEN-TIME-PRECISION")
class TimesCutToMilliseconds(Service):
    """Times are cut to milliseconds, for what is shown and for what has expired."""

    def look(self, stored: StoredConversation) -> Document:
        rewrite(stored.document, TIMES, lambda text: re.sub(r"(\.[0-9]{3})[0-9]+", r"\1", text))
        return super().look(stored)


@variant("reason-also-when-configured", "OPEN-AVAILABILITY-REASON")
class ReasonAlsoWhenConfigured(Rules):
    """A configured server too gives a reason while a conversation is expired or withheld."""

    def view(self, document: Document, access: str, now: Instant) -> Document:
        view = super().view(document, access, now)
        shown = view["conversation"]["availability"]
        if shown in ("expired", "access_changed", "source_unavailable"):
            view["availability"]["reason"] = shown
        return view
