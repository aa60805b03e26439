"""What went wrong in an answer, and which requirement that breaks: the part of the model that puts names to faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.judge.finding import Finding
from conformance.judge.json_values import Difference
from conformance.judge.model_state import ACTIVE, Channel, Conversation, Run
from conformance.transport.exchange import Answer

_WITHOUT_TEXT: Final[Mapping[str, Mapping[Channel, str]]] = {
    "archived": {
        "get": "ARCHIVE-GET-WITHOUT-TEXT",
        "status": "ARCHIVE-STATUS-WITHOUT-TEXT",
        "archive": "ARCHIVE-ANSWER-WITHOUT-TEXT",
    },
    "expired": {
        "get": "EXPIRY-GET-WITHOUT-TEXT",
        "status": "EXPIRY-STATUS-WITHOUT-TEXT",
        "archive": "EXPIRY-ARCHIVE-WITHOUT-TEXT",
    },
    "access_changed": {
        "get": "ACCESS-WITHDRAWN-GET-WITHOUT-TEXT",
        "status": "ACCESS-WITHDRAWN-STATUS-WITHOUT-TEXT",
        "archive": "ACCESS-ARCHIVE-WITHOUT-TEXT",
    },
    "source_unavailable": {
        "get": "ACCESS-SOURCE-GET-WITHOUT-TEXT",
        "status": "ACCESS-SOURCE-STATUS-WITHOUT-TEXT",
        "archive": "ACCESS-ARCHIVE-WITHOUT-TEXT",
    },
}
_AVAILABILITY: Final[Mapping[str, str]] = {
    "archived": "ARCHIVE-AVAILABILITY",
    "expired": "EXPIRY-AVAILABILITY",
    "access_changed": "ACCESS-WITHDRAWN-AVAILABILITY",
    "source_unavailable": "ACCESS-SOURCE-AVAILABILITY",
}
_BLAME: Final = (
    "REPLAY-APPLIED-ONCE",
    "REPLAY-REFUSED-UNCHANGED",
    "REVISION-CONFLICT-UNCHANGED",
    "ARCHIVE-OTHER-USER",
    "AUTH-REFUSED-UNCHANGED",
    "ARCHIVE-OTHERS-UNTOUCHED",
    "ACCESS-OTHERS-UNTOUCHED",
    "ARCHIVE-READ-BACK",
    "READ-FAILED-UNCHANGED",
    "READ-UNCHANGED",
)
"""The requirements under which something must not have changed, the most telling first."""


def has_text(message: Mapping[str, Any]) -> bool:
    """Tell whether a message shows anything private."""
    return message["question"] is not None or message["answer"] is not None


class Blame:
    """One answer's view of one conversation: ``state`` is what the model knows, ``findings`` what contradicts it."""

    def __init__(self, state: Conversation, channel: Channel, answer: Answer) -> None:
        self.state = state
        self.channel = channel
        self.findings: list[Finding] = []
        self.freedoms: set[tuple[str, str]] = set()
        self._answer = answer

    # Findings

    def wrong(self, requirement: str, summary: str, place: str = "", expected: str = "", found: str = "") -> None:
        """Note a finding, shown by this answer."""
        exchange = self._answer.exchange
        operation = self._answer.call.operation.name
        self.findings.append(Finding(requirement, operation, summary, place, expected, found, (exchange,)))

    def differs(self, requirement: str, summary: str, place: str, difference: Difference) -> None:
        """Note a difference below ``place``."""
        expected, found = ascii(difference.expected)[:200], ascii(difference.found)[:200]
        self.wrong(requirement, summary, f"{place}{difference.pointer}", expected, found)

    def blame(self, default: str) -> str:
        """Return the requirement that a change breaks which nothing in the model explains.

        It is the most telling of the state's causes; where there were only reads, a restart, else ``default``.
        """
        state = self.state
        found = next((each for each in _BLAME if each in state.causes), "READ-UNCHANGED")
        if not found.startswith("READ-") and not (state.restarted and found == "ARCHIVE-READ-BACK"):
            return found
        if state.restarted and (state.archived or state.expired):
            return self.since("archived" if state.archived else "expired")
        return found if default == "READ-UNCHANGED" else default

    def since(self, reason: str) -> str:
        """Return the requirement by which what was ``archived`` or ``expired`` stays so."""
        lasting = {"archived": "ARCHIVE-LASTS", "expired": "EXPIRY-FINAL"}
        restarted = {"archived": "ARCHIVE-SURVIVES-RESTART", "expired": "EXPIRY-SURVIVES-RESTART"}
        return (restarted if self.state.restarted else lasting)[reason]

    def seen(self, reason: str, *channels: Channel) -> bool:
        """Tell whether text was seen to be gone for this reason in one of these channels."""
        return any((reason, channel) in self.state.gone_in for channel in channels)

    @property
    def usual(self) -> str:
        """What is broken when something is not as it was stored, or not as it was shown before."""
        return self.blame("READ-UNCHANGED" if self.known else "IDENTITY-SEEDED-CONTENT")

    @property
    def known(self) -> bool:
        """Whether anything was asked or tried before, so that a difference may have come about since it was stored."""
        return self.state.viewed or bool(self.state.causes)

    def lasted(self, reason: str) -> bool:
        """Tell whether it was shown to be archived or expired, and something has happened since."""
        state = self.state
        since = state.restarted or state.pins.conversation is None or state.causes != {"ARCHIVE-READ-BACK"}
        return self.seen(reason, "get") or (since and self.seen(reason, "archive"))

    def flag_requirement(self) -> str:
        """Return the requirement that a wrong ``archived`` breaks."""
        if not self.state.archived:
            return self.usual
        return self.since("archived") if self.lasted("archived") else "ARCHIVE-FLAG"

    def availability_requirement(self, shown: str) -> str:
        """Return the requirement that an availability breaks which does not apply."""
        state = self.state
        reason = state.reasons[0] if state.reasons else ""
        if reason in ("archived", "expired") and self.lasted(reason):
            return self.since(reason)
        if reason == "expired" and state.now == state.expires_at:
            return "EXPIRY-AT-INSTANT"
        if not reason:
            return "EXPIRY-BEFORE" if shown == "expired" else self.blame("READ-AVAILABLE")
        return _AVAILABILITY[reason]

    def text_requirement(self, message: Mapping[str, Any]) -> str:
        """Return the requirement that the text of this message breaks by being shown."""
        state = self.state
        run = next((run for run in state.runs if run.id == message["run_id"].lower()), None)
        is_new = not any(each.id == message["id"].lower() for each in state.messages)
        if run and is_new and message["answer"] is not None:
            late = run.late or (run.result if state.reasons else None)
            if late and late.requirement:
                return late.requirement
        # Of several reasons the archive's own answer is judged by the one that was there before it.
        reason = state.reasons[-1 if self.channel == "archive" else 0] if state.reasons else ""
        seen = self.seen(reason, self.channel) or (state.restarted and self.seen(reason, "get", "status", "archive"))
        if reason in ("archived", "expired") and seen:
            return self.since(reason)
        if reason == "expired" and self.channel == "get" and state.now == state.expires_at:
            return "EXPIRY-AT-INSTANT"
        return _WITHOUT_TEXT[reason][self.channel] if reason else "EXPIRY-MESSAGE"

    def run_requirement(self, name: str) -> str:
        """Return the requirement that a change of this field of a run breaks."""
        if self.channel == "status":
            return self.blame("IDENTITY-STATUS-RUN")
        if name == "generation" and self.known and not self.blame(""):
            return "READ-NEVER-GENERATES"
        if name in ("created_at", "expires_at") and not self.known:
            return "IDENTITY-SEEDED-INSTANT"
        return self.usual

    def status_requirement(self, run: Run, shown: str) -> str:
        """Return the requirement that a run breaks by showing a status that it cannot have."""
        state = self.state
        was_active = run.value["status"] in ACTIVE or run.ran_out
        if state.archived:
            cause = self.blame("")
            if run.settled and self.channel != "archive" and cause not in ("", "ARCHIVE-READ-BACK"):
                return cause
            if self.lasted("archived") or self.seen("archived", "status"):
                return self.since("archived")
            return "ARCHIVE-ACTIVE-CANCELLED" if was_active else "ARCHIVE-FINISHED-KEPT"
        if state.past(run) and was_active:
            return "EXPIRY-RUNS-EXPIRED" if state.expired else "EXPIRY-RUN"
        if shown == "expired":
            return "EXPIRY-BEFORE"
        return self.run_requirement("status")
