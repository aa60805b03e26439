# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in what calls do: the revision guard, replay, archive, expiry, access and late results."""

from __future__ import annotations

import copy
from typing import Any

from conformance.reference.authentication import Caller
from conformance.reference.faults.family import Family
from conformance.reference.instants import Instant, format_instant, parse_instant
from conformance.reference.refusals import Conflict
from conformance.reference.rules import ACTIVE, Document, Rules
from conformance.reference.service import Arguments, Service, canonical
from conformance.reference.store import StoredConversation, StoredMutation

family = Family()


@family.part("archive-ignores-revision", "REVISION-STALE-REFUSED", "REVISION-AHEAD-REFUSED")
class ArchiveIgnoresRevision(Service):
    """expected_revision is checked for its form and not compared."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        del stored, arguments


@family.part("archive-accepts-revision-ahead", "REVISION-AHEAD-REFUSED", observable="a revision that is not reached")
class ArchiveAcceptsRevisionAhead(Service):
    """The guard refuses an older revision only."""

    def guard(self, stored: StoredConversation, arguments: Arguments) -> None:
        if arguments["expected_revision"] < stored.document["conversation"]["revision"]:
            super().guard(stored, arguments)


@family.part("archive-applied-on-conflict", "REVISION-CONFLICT-UNCHANGED", observable="a read after a conflict")
class ArchiveAppliedOnConflict(Service):
    """The revision is raised before it is compared, and stays so when the call is refused."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        try:
            return super().archive(caller, arguments)
        except Conflict:
            with self.store.transaction():
                stored = self.find(caller, arguments)
                self.rules.raise_revision(stored.document)
                self.store.replace_document(stored.id, stored.document)
            raise


@family.part(
    "archive-keeps-revision",
    "REVISION-GROWS",
    observable="the revision after an archive",
    reports=("https://github.com/open-metadata/OpenMetadata/pull/30497",),
)
class ArchiveKeepsRevision(Rules):
    """Archiving does not count as a change."""

    def archive(self, document: Document) -> None:
        revision = document["conversation"]["revision"]
        super().archive(document)
        document["conversation"]["revision"] = revision


@family.part(
    "archive-keeps-text",
    "ARCHIVE-ANSWER-WITHOUT-TEXT",
    "ARCHIVE-GET-WITHOUT-TEXT",
    "ARCHIVE-STATUS-WITHOUT-TEXT",
    "PRIVACY-BODY",
)
class ArchiveKeepsText(Rules):
    """Archiving sets the flag and leaves the text where it was."""

    def archive(self, document: Document) -> None:
        messages = copy.deepcopy(document["messages"])
        super().archive(document)
        document["messages"] = messages

    def view(self, document: Document, access: str, now: Instant) -> Document:
        messages = copy.deepcopy(document["messages"])
        view = super().view(document, access, now)
        if view["conversation"]["availability"] == "archived":
            view["messages"] = messages
        return view


class _StatusOfStoredText(Service):
    """Takes the message of a status from the stored document."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().status(caller, arguments)
        stored = self.find(caller, arguments)
        if stored.document["conversation"]["archived"]:
            result["message"] = self.cited_output(stored.document, arguments["run_id"])
        return result


@family.part("archive-status-keeps-text", "ARCHIVE-STATUS-WITHOUT-TEXT", "PRIVACY-BODY", also=(_StatusOfStoredText,))
class ArchiveStatusKeepsText(Rules):
    """The text is hidden from get and from the archive's answer; the status of a run still shows it."""

    def archive(self, document: Document) -> None:
        messages = copy.deepcopy(document["messages"])
        super().archive(document)
        document["messages"] = messages


@family.part("archive-leaves-active-runs", "ARCHIVE-ACTIVE-CANCELLED", observable="queued and processing runs")
class ArchiveLeavesActiveRuns(Rules):
    """Archiving cancels nothing."""

    def archive(self, document: Document) -> None:
        runs = copy.deepcopy(document["runs"])
        super().archive(document)
        document["runs"] = runs


@family.part("archive-leaves-processing-runs", "ARCHIVE-ACTIVE-CANCELLED", observable="a processing run")
class ArchiveLeavesProcessingRuns(Rules):
    """Only queued runs are cancelled; those in the worker's hands go on."""

    def archive(self, document: Document) -> None:
        processing = [run for run in document["runs"] if run["status"] == "processing"]
        super().archive(document)
        for run in processing:
            run.update(status="processing", failure_code=None)


@family.part("archive-cancels-finished-runs", "ARCHIVE-FINISHED-KEPT", observable="a completed run")
class ArchiveCancelsFinishedRuns(Rules):
    """Archiving cancels every run, finished or not."""

    def archive(self, document: Document) -> None:
        super().archive(document)
        for run in document["runs"]:
            run.update(status="cancelled", failure_code="cancelled")


class _Replay(Service):
    """Does something wrong when it recognises a replay."""

    def replayed(self, caller: Caller, arguments: Arguments, result: Document) -> Document:
        raise NotImplementedError

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        result = super().recall(caller, arguments)
        return None if result is None else self.replayed(caller, arguments, result)


@family.part("replay-applied-twice", "REPLAY-APPLIED-ONCE", observable="a read after a replay")
class ReplayAppliedTwice(_Replay):
    """A replay gets the first result, but the revision is raised once more."""

    def replayed(self, caller: Caller, arguments: Arguments, result: Document) -> Document:
        stored = self.find(caller, arguments)
        self.rules.raise_revision(stored.document)
        self.store.replace_document(stored.id, stored.document)
        return result


@family.part(
    "replay-guarded-first",
    "REPLAY-AFTER-REVISION-MOVED",
    "REPLAY-SAME-RESULT",
    reports=("https://github.com/prebid/salesagent/issues/1685",),
)
class ReplayGuardedFirst(_Replay):
    """The revision is compared before the replay is recognised, so a retry conflicts with its own first try."""

    def replayed(self, caller: Caller, arguments: Arguments, result: Document) -> Document:
        self.guard(self.find(caller, arguments), arguments)
        return result


@family.part(
    "replay-other-arguments-answered",
    "REPLAY-OTHER-ARGUMENTS-REFUSED",
    "REPLAY-CONFLICT-KIND",
    reports=("https://github.com/josipmusa/idempotency4j/issues/12",),
)
class ReplayOtherArgumentsAnswered(Service):
    """A used mutation id gets its first result whatever the other arguments are."""

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        mutation = self.store.mutation(self.key_owner(caller), arguments["mutation_id"])
        return None if mutation is None else mutation.result


@family.part("replay-forgotten-at-restart", "REPLAY-AFTER-RESTART", "REPLAY-SAME-RESULT", observable="a restart")
class ReplayForgottenAtRestart(Service):
    """Applied mutation ids are kept in memory only, so after a restart the retry conflicts."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._seen: dict[tuple[str, str], StoredMutation] = {}

    def recall(self, caller: Caller, arguments: Arguments) -> Document | None:
        mutation = self._seen.get((caller.principal_id, arguments["mutation_id"]))
        if mutation is None:
            return None
        if mutation.arguments != canonical(arguments):
            raise Conflict("the mutation id was used with other arguments")
        return copy.deepcopy(mutation.result)

    def remember(self, caller: Caller, arguments: Arguments, result: Document) -> None:
        mutation = StoredMutation(canonical(arguments), copy.deepcopy(result))
        self._seen[caller.principal_id, arguments["mutation_id"]] = mutation


@family.part(
    "expiry-compared-as-text",
    "EXPIRY-OFFSET",
    "EXPIRY-FRACTION",
    observable="an offset or a fraction",
    reports=("https://github.com/alphaonedev/ai-memory-mcp/issues/2418",),
)
class ExpiryComparedAsText(Rules):
    """expires_at is compared as text with the time in UTC."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        return format_instant(now) >= expires_at


@family.part(
    "expiry-never",
    "EXPIRY-AVAILABILITY",
    "EXPIRY-AT-INSTANT",
    "EXPIRY-GET-WITHOUT-TEXT",
    "EXPIRY-STATUS-WITHOUT-TEXT",
    "EXPIRY-RUNS-EXPIRED",
    "EXPIRY-MESSAGE",
    "EXPIRY-RUN",
    "PRIVACY-BODY",
    reports=("https://github.com/weaviate/docs/pull/544",),
)
class ExpiryNever(Rules):
    """Nothing looks at expires_at."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        del expires_at, now
        return False


@family.part("expiry-after-instant", "EXPIRY-AT-INSTANT", observable="a clock that stands at expires_at")
class ExpiryAfterInstant(Rules):
    """At the very instant of expires_at the content is still there."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        return now > parse_instant(expires_at)


@family.part("expiry-in-whole-seconds", "EXPIRY-FRACTION", observable="a clock within the second of expires_at")
class ExpiryInWholeSeconds(Rules):
    """Fractions of a second are dropped from both sides, so content goes up to a second early."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        return now.second >= parse_instant(expires_at).second


@family.part("expiry-of-runs-ignored", "EXPIRY-RUNS-EXPIRED", "EXPIRY-RUN", observable="an unfinished run")
class ExpiryOfRunsIgnored(Rules):
    """The text goes; unfinished runs stay queued or processing for ever."""

    def view(self, document: Document, access: str, now: Instant) -> Document:
        active = [(run, run["status"], run["failure_code"]) for run in document["runs"] if run["status"] in ACTIVE]
        view = super().view(document, access, now)
        for run, status, failure_code in active:
            run.update(status=status, failure_code=failure_code)
        return view


@family.part("expiry-of-messages-ignored", "EXPIRY-MESSAGE", observable="a message that expires before the rest")
class ExpiryOfMessagesIgnored(Rules):
    """A message's own expires_at is not looked at, only the conversation's."""

    def view(self, document: Document, access: str, now: Instant) -> Document:
        expires_at = [message["expires_at"] for message in document["messages"]]
        for message in document["messages"]:
            message["expires_at"] = document["conversation"]["expires_at"]
        view = super().view(document, access, now)
        for message, own in zip(view["messages"], expires_at, strict=True):
            message["expires_at"] = own
        return view


@family.part("read-raises-revision", "READ-UNCHANGED", observable="two reads, or a read and an archive", ordinary=False)
class ReadRaisesRevision(Service):
    """Each get stores an access time, and with it a new revision."""

    def get(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().get(caller, arguments)
        with self.store.transaction():
            stored = self.find(caller, arguments)
            self.rules.raise_revision(stored.document)
            self.store.replace_document(stored.id, stored.document)
        return result


@family.part(
    "status-generates-again",
    "READ-NEVER-GENERATES",
    "READ-UNCHANGED",
    observable="two reads of a status",
    reports=("https://github.com/onetimesecret/onetimesecret/issues/3633",),
)
class StatusGeneratesAgain(Service):
    """Asking for the status of a failed run starts its next generation."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().status(caller, arguments)
        if result["run"]["status"] == "failed":
            with self.store.transaction():
                stored = self.find(caller, arguments)
                for run in stored.document["runs"]:
                    if run["id"] == result["run"]["id"]:
                        run["generation"] = min(run["generation"] + 1, 2**53 - 1)
                self.store.replace_document(stored.id, stored.document)
        return result


@family.part(
    "access-ignored",
    "ACCESS-WITHDRAWN-AVAILABILITY",
    "ACCESS-WITHDRAWN-GET-WITHOUT-TEXT",
    "ACCESS-WITHDRAWN-STATUS-WITHOUT-TEXT",
    "ACCESS-SOURCE-AVAILABILITY",
    "ACCESS-SOURCE-GET-WITHOUT-TEXT",
    "ACCESS-SOURCE-STATUS-WITHOUT-TEXT",
    "PRIVACY-BODY",
    observable="access withdrawn, or a source gone",
)
class AccessIgnored(Rules):
    """Access is checked when a conversation begins and never again."""

    def availability(self, document: Document, access: str, now: Instant) -> str:
        del access
        return super().availability(document, "granted", now)


@family.part("late-result-reopens", "LATE-AFTER-ARCHIVE", "ARCHIVE-LASTS", observable="a result after an archive")
class LateResultReopens(Rules):
    """The worker writes back the conversation as it was when the run began: not archived, with the new answer."""

    def takes_result(self, view: Document, run: dict[str, Any], answer: dict[str, Any]) -> bool:
        archived = view["conversation"]["availability"] == "archived"
        return (archived and run["status"] == "cancelled") or super().takes_result(view, run, answer)

    def add_result(self, document: Document, run: dict[str, Any], result: dict[str, Any], now: Instant) -> None:
        super().add_result(document, run, result, now)
        document["conversation"]["archived"] = False
