# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in what ends at expires_at: when it ends, for what, for how long, and by which way it comes back."""

from __future__ import annotations

import copy
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from conformance.contract import Operation
from conformance.reference.authentication import Caller
from conformance.reference.clock import Clock
from conformance.reference.faults.family import Crash, Family
from conformance.reference.instants import Instant, parse_instant
from conformance.reference.rest import RestBinding
from conformance.reference.rules import ACTIVE, Document, Rules
from conformance.reference.service import Arguments, Service
from conformance.reference.store import Store, StoredConversation

family = Family()

_MINUTE, _DAY = 60, 24 * 60 * 60


@family.part("expiry-in-whole-minutes", "EXPIRY-BEFORE", observable="a clock within the minute of expires_at")
class ExpiryInWholeMinutes(Rules):
    """A job that runs each minute expires all that ends within the minute, so content goes too early."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        return now.second // _MINUTE >= parse_instant(expires_at).second // _MINUTE


@family.part(
    "expiry-with-leeway",
    "EXPIRY-AT-INSTANT",
    "EXPIRY-AVAILABILITY",
    "EXPIRY-GET-WITHOUT-TEXT",
    "EXPIRY-STATUS-WITHOUT-TEXT",
    "EXPIRY-OFFSET",
    "EXPIRY-FRACTION",
    "EXPIRY-MESSAGE",
    "EXPIRY-RUN",
    "EXPIRY-RUNS-EXPIRED",
    "EXPIRY-WITHOUT-TRAFFIC",
    "PRIVACY-BODY",
    observable="the first five minutes after expires_at",
    reports=("https://github.com/Altinn/altinn-studio/issues/4085",),
)
class ExpiryWithLeeway(Rules):
    """A library allows for clocks that differ by five minutes, and content stays for that much longer."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        return super().has_passed(expires_at, Instant(now.second - 5 * _MINUTE, now.fraction))


@family.part(
    "expiry-after-2106-500",
    "READ-AVAILABLE",
    "HTTP-NO-SERVER-ERROR",
    "IDENTITY-SEEDED-INSTANT",
    observable="a deadline after 2106-02-07",
    reports=("https://github.com/getsentry/sentry/pull/113920",),
)
class ExpiryAfter2106Crashes(Rules):
    """A deadline that does not fit unsigned seconds of 32 bits raises an error that is not caught."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        if parse_instant(expires_at).second >= 2**32:
            raise Crash("internal error")
        return super().has_passed(expires_at, now)


@family.part("expiry-offset-in-whole-hours", "EXPIRY-OFFSET", observable="an offset with minutes")
class ExpiryOffsetInWholeHours(Rules):
    """The minutes of an offset are dropped."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        has_offset = expires_at[-6] in "+-" if len(expires_at) > 6 else False
        return super().has_passed(f"{expires_at[:-2]}00" if has_offset else expires_at, now)


class _Withheld(Service):
    """Knows the stored text that should not be shown now."""

    def stored_messages(self, caller: Caller, arguments: Arguments) -> list[dict[str, Any]]:
        return list(self.find(caller, arguments).document["messages"])

    def is_expired(self, caller: Caller, arguments: Arguments) -> bool:
        stored = self.find(caller, arguments)
        return self.rules.has_passed(stored.document["conversation"]["expires_at"], self.clock.now(stored.workspace_id))


@family.part(
    "expiry-status-keeps-text",
    "EXPIRY-STATUS-WITHOUT-TEXT",
    "PRIVACY-BODY",
    observable="status only",
    reports=("https://github.com/matrixarkai/TemporalStore/pull/1708",),
)
class ExpiryStatusKeepsText(_Withheld):
    """The status of a run joins the stored message; only get looks at the deadline."""

    def status(self, caller: Caller, arguments: Arguments) -> Document:
        result = super().status(caller, arguments)
        if self.is_expired(caller, arguments):
            stored = {"messages": self.stored_messages(caller, arguments)}
            result["message"] = self.cited_output(stored, arguments["run_id"])
        return result


@family.part(
    "expiry-archive-shows-text", "EXPIRY-ARCHIVE-WITHOUT-TEXT", "PRIVACY-BODY", observable="an archive after expiry"
)
class ExpiryArchiveShowsText(_Withheld):
    """An archive after the deadline answers with the conversation as it is stored, before it is emptied."""

    def archive(self, caller: Caller, arguments: Arguments) -> Document:
        is_expired = self.is_expired(caller, arguments)
        messages = self.stored_messages(caller, arguments) if is_expired else []
        result = copy.deepcopy(super().archive(caller, arguments))
        return {**result, "messages": messages} if is_expired else result


@family.part(
    "expiry-noticed-by-a-read",
    "EXPIRY-WITHOUT-TRAFFIC",
    observable="the first call after the deadline",
    reports=("https://github.com/alphaonedev/ai-memory-mcp/issues/3392",),
)
class ExpiryNoticedByARead(Service):
    """The first read after the deadline marks the conversation as expired, after it has shown it."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._noticed: set[str] = set()

    def look(self, stored: StoredConversation) -> Document:
        conversation = stored.document["conversation"]
        now = self.clock.now(stored.workspace_id)
        if self.rules.has_passed(conversation["expires_at"], now) and stored.id not in self._noticed:
            self._noticed.add(stored.id)
            return self.rules.view(stored.document, stored.access, parse_instant(conversation["created_at"]))
        return super().look(stored)


@family.part("expiry-lasts-a-day", "EXPIRY-FINAL", observable="a clock more than a day after expires_at")
class ExpiryLastsADay(Rules):
    """The mark of what has expired is swept away with other day-old marks, and the text is still there."""

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        return super().has_passed(expires_at, now) and now.second - parse_instant(expires_at).second <= _DAY


_STARTED = "started"
_ANY_INSTANT = "2000-01-01T00:00:00Z"


@family.part("expiry-forgotten-at-restart", "EXPIRY-SURVIVES-RESTART", observable="a restart")
class ExpiryForgottenAtRestart(Service):
    """Deadlines are timers in memory that are set when a conversation is stored: after a restart there are none."""

    def __init__(self, store: Store, clock: Clock, rules: Rules) -> None:
        super().__init__(store, clock, rules)
        self._restarted = store.clock(_STARTED) is not None

    def look(self, stored: StoredConversation) -> Document:
        # The clocks' table keeps one more row, which tells the next process that it is not the first.
        self.store.set_clock(_STARTED, _ANY_INSTANT)
        if self._restarted:
            return self.rules.view(
                stored.document, stored.access, parse_instant(stored.document["conversation"]["created_at"])
            )
        return super().look(stored)


@family.part(
    "expiry-slides-with-reads", "EXPIRY-NOT-PROLONGED", "EXPIRY-AT-INSTANT", observable="a read shortly before"
)
class ExpirySlidesWithReads(Service):
    """What was read within the last minute is kept for another minute, as in a session cache."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._read: dict[str, Instant] = {}

    def look(self, stored: StoredConversation) -> Document:
        now, last = self.clock.now(stored.workspace_id), self._read.get(stored.id)
        expires_at = stored.document["conversation"]["expires_at"]
        if not self.rules.has_passed(expires_at, now):
            self._read[stored.id] = now
        elif last is not None and now.second - last.second < _MINUTE:
            return self.rules.view(stored.document, stored.access, last)
        return super().look(stored)


@family.part("expiry-of-unfinished-only", "EXPIRY-EVERY-STATE", observable="a conversation whose runs have finished")
class ExpiryOfUnfinishedOnly(Rules):
    """The job that expires conversations looks for those with unfinished runs."""

    def availability(self, document: Document, access: str, now: Instant) -> str:
        shown = super().availability(document, access, now)
        is_finished = not any(run["status"] in ACTIVE for run in document["runs"])
        return "available" if shown == "expired" and is_finished and document["runs"] else shown

    def view(self, document: Document, access: str, now: Instant) -> Document:
        if self.availability(document, access, now) == "available":
            now = min(now, parse_instant(document["conversation"]["created_at"]))
        return super().view(document, access, now)


@family.part("expiry-undone-by-grant", "EXPIRY-EVERY-STATE", observable="access granted again after the deadline")
class ExpiryUndoneByGrant(Rules):
    """What was withheld when the deadline passed is not looked at again, and comes back when access does."""

    _withheld: set[str]

    def __init__(self) -> None:
        self._withheld = set()

    def has_passed(self, expires_at: str, now: Instant) -> bool:
        return expires_at not in self._withheld and super().has_passed(expires_at, now)

    def availability(self, document: Document, access: str, now: Instant) -> str:
        expires_at = document["conversation"]["expires_at"]
        if access != "granted" and not self.has_passed(expires_at, now):
            self._withheld.add(expires_at)
        return super().availability(document, access, now)


class _Copies(RestBinding):
    """Keeps a copy of each successful answer by what was asked."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.copies: dict[tuple[str, str, bytes], Response] = {}

    def copy_for(self, request: Request, key: tuple[str, str, bytes]) -> Response | None:
        raise NotImplementedError

    async def handle(self, request: Request, operation: Operation) -> Response:
        raw = await request.body()
        key = (operation.name, request.headers.get("authorization", ""), raw)
        known = self.copy_for(request, key)
        if known is not None:
            return known
        response = await super().handle(request, operation)
        if response.status_code == 200 and operation.effect == "read":
            self.copies.setdefault(key, response)
        return response

    async def read_body(self, request: Request) -> bytes:
        return await request.body()


@family.part("expiry-stale-copy-on-request", "EXPIRY-NO-STALE-COPY", observable="Cache-Control: max-stale")
class StaleCopyOnRequest(_Copies):
    """A cache in front honours max-stale: who asks for a stale copy gets one."""

    def copy_for(self, request: Request, key: tuple[str, str, bytes]) -> Response | None:
        return self.copies.get(key) if "max-stale" in request.headers.get("cache-control", "") else None


@family.part(
    "expiry-not-modified",
    "EXPIRY-NO-STALE-COPY",
    observable="If-None-Match after the deadline",
    reports=("https://github.com/lucko/bytebin/pull/6",),
)
class NotModified(_Copies):
    """A conditional request for what was answered before is answered 304, however old that is."""

    def copy_for(self, request: Request, key: tuple[str, str, bytes]) -> Response | None:
        is_conditional = "if-none-match" in request.headers
        return Response(status_code=304) if is_conditional and key in self.copies else None
