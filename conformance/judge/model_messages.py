"""Judges the messages that an answer shows against the model: which must be there, and which without their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.judge.comparison import differences
from conformance.judge.formats import parse_instant
from conformance.judge.model_blame import Blame, has_text
from conformance.judge.model_state import Channel, Conversation, Message, Run
from conformance.transport.exchange import Answer


class MessageView(Blame):
    """The messages of one answer.

    ``learned`` are those that came with a worker's result and were not known yet; ``looks_expired`` says that the
    answer calls the conversation expired, rightly or not.
    """

    def __init__(self, state: Conversation, channel: Channel, answer: Answer) -> None:
        super().__init__(state, channel, answer)
        self.learned: list[Message] = []
        self.looks_expired = False

    def _shows_text(self, message: Mapping[str, Any], place: str) -> None:
        self.wrong(self.text_requirement(message), "Private text is shown that must be gone", place,
                   "null", "a text")  # fmt: skip

    def gone_messages(self, shown: Sequence[Mapping[str, Any]]) -> None:
        """Judge messages that may keep their frame but no text."""
        known = {each.id: each for each in self.state.messages}
        if any(each.has_text for each in self.state.messages):
            self.freedoms.add(("OPEN-WITHHELD-FORM", "null fields" if shown else "empty list"))
        for index, message in enumerate(shown):
            place = f"/messages/{index}"
            if has_text(message):
                self._shows_text(message, place)
            stored = known.get(message["id"].lower())
            if stored is None:
                self._unknown_frame(message, place)
            else:
                self._frame(stored, message, place)
        if not self.findings and self.state.reasons:
            self._saw_gone()

    def _saw_gone(self) -> None:
        seen = {(reason, self.channel) for reason in self.state.reasons}
        self.state = replace(self.state, gone_in=self.state.gone_in | seen)

    def _frame(self, stored: Message, shown: Mapping[str, Any], place: str) -> None:
        """Judge a message without text by what remains of it."""
        bare = {name: value for name, value in stored.value.items() if name not in ("question", "answer")}
        for difference in differences(bare, {name: shown[name] for name in bare}):
            self.differs(self.usual, "A message is not as it was", place, difference)

    def _unknown_frame(self, message: Mapping[str, Any], place: str) -> None:
        run = next((run for run in self.state.runs if run.id == message["run_id"].lower()), None)
        if run is None or not (run.result or run.late) or message["role"] != "assistant":
            self.wrong(self.usual, "A message is shown that was never stored", place, "no such message",
                       message["role"])  # fmt: skip

    def live_messages(self, shown: Sequence[Mapping[str, Any]]) -> None:
        """Judge messages of an available conversation: each as it was stored unless its own time is over."""
        state = self.state
        places = {message["id"].lower(): index for index, message in enumerate(shown)}
        order = [places[each.id] for each in state.messages if each.stored and each.id in places]
        if order != sorted(order):
            self.wrong(self.usual, "The messages are not in their order", "/messages", "the order as stored", "another")
        for known in state.messages:
            if known.id not in places and state.due(known):
                self.wrong(
                    self._missing(), "A message is missing", "/messages", "every message", f"{len(shown)} entries"
                )
        by_id = {each.id: each for each in state.messages}
        for index, message in enumerate(shown):
            self._live_message(by_id.get(message["id"].lower()), message, f"/messages/{index}")

    def _missing(self) -> str:
        early = self.looks_expired or self.state.now > self.state.begun
        return "EXPIRY-BEFORE" if early and self.usual.startswith(("READ-", "IDENTITY-")) else self.usual

    def _live_message(self, stored: Message | None, shown: Mapping[str, Any], place: str) -> None:
        state = self.state
        if stored is None:
            self._new_message(shown, place)
        elif has_text(shown) and state.past(stored):
            self._shows_text(shown, place)
        elif stored.has_text and not has_text(shown):
            if state.due(stored):
                self.wrong(self._missing(), "The text of an available message is missing", place, "its text", "null")
            self._frame(stored, shown, place)
        else:
            for difference in differences(stored.value, shown):
                self.differs(self.usual, "A message is not as it was stored", place, difference)

    def _new_message(self, shown: Mapping[str, Any], place: str) -> None:
        """Judge a message that can only have come with a worker's result; learn it."""
        run = next((run for run in self.state.runs if run.id == shown["run_id"].lower()), None)
        if not has_text(shown):
            self._unknown_frame(shown, place)
        elif run is not None and run.late and shown["role"] == "assistant":
            self._shows_text(shown, place)
        elif run is None or run.result is None or shown["role"] != "assistant":
            self.wrong(self.usual, "A message is shown that was never stored", place, "no such message", shown["role"])
        else:
            for difference in differences(run.result.answer, shown["answer"]):
                self.differs("IDENTITY-SEEDED-CONTENT", "An answer is not the one that the worker delivered",
                              f"{place}/answer", difference)  # fmt: skip
            expires_at = parse_instant(shown["expires_at"])
            if self.state.now >= expires_at:
                self._shows_text(shown, place)
            due_until = min(expires_at, run.expires_at)
            self.learned.append(Message(shown, expires_at, due_until, stored=False))

    def gone_status_message(self, run: Run, shown: Mapping[str, Any] | None) -> None:
        """Judge the message beside a run whose text is gone: none, or one without text."""
        own = [each for each in self.state.messages if each.run_id == run.id and each.has_text]
        # Of a run that has only a question, no message need be shown at any time.
        if own and (shown is not None or any(each.value["role"] == "assistant" for each in own)):
            self.freedoms.add(("OPEN-WITHHELD-STATUS-FORM", "null fields" if shown else "null message"))
        if shown is not None and has_text(shown):
            self._shows_text(shown, "/message")
        if not self.findings:
            self._saw_gone()

    def live_status_message(self, run: Run, shown: Mapping[str, Any] | None) -> None:
        """Judge the message beside a run of an available conversation: its answer, else its question or none."""
        own = [each for each in self.state.messages if each.run_id == run.id]
        answers = [each for each in own if each.value["role"] == "assistant"]
        stored = next((each for each in own if shown is not None and each.id == shown["id"].lower()), None)
        answer_missing = shown is None or (stored is not None and stored.value["role"] == "user")
        if answer_missing and any(self.state.due(each) for each in answers):
            self.wrong(
                self.blame("IDENTITY-STATUS-MESSAGE"),
                "The status does not show the answer of a run that has one",
                "/message",
                "the answer of the run",
                "null" if shown is None else "its question",
            )
        elif answer_missing and own and not answers:
            self.freedoms.add(("OPEN-QUESTION-ONLY-MESSAGE", "null" if shown is None else "the question"))
        if shown is not None:
            self._live_message(stored, shown, "/message")
