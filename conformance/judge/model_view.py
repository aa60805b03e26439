"""Judges what a success shows of a conversation against the model, and learns from it what the server chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from conformance.judge.comparison import differences
from conformance.judge.formats import parse_instant
from conformance.judge.model_blame import has_text
from conformance.judge.model_messages import MessageView
from conformance.judge.model_state import ACTIVE, WITHHELD_FINISHED, Pins, Run

_GO_WITH_STATUS: Final = ("generation", "conversation_revision", "failure_code", "model_id", "model_version")


class Look(MessageView):
    """One answer's view of one conversation. ``state`` becomes what the model knows after it."""

    def conversation(self, value: Mapping[str, Any]) -> None:
        """Judge the result of *get* or of an archive, and learn from it."""
        self.looks_expired = value["conversation"]["availability"] == "expired"
        self._decide(value["messages"], value["conversation"]["availability"])
        self._revision(value["conversation"]["revision"], "/conversation/revision")
        self._head(value["conversation"])
        self._runs(value["runs"])
        if self.state.reasons:
            self.gone_messages(value["messages"])
        else:
            self.live_messages(value["messages"])
        self._pinned_conversation(value)
        self._learn(self._pinnable(value["conversation"]), value["runs"])
        if not self.findings:
            seen = tuple(value["messages"]) if self.channel == "get" else None
            causes = frozenset() if self.channel == "get" else frozenset({"ARCHIVE-READ-BACK"})
            pins = replace(self.state.pins, messages=seen)
            self.state = replace(self.state, pins=pins, viewed=True, causes=causes, restarted=False)

    def status(self, value: Mapping[str, Any]) -> None:
        """Judge the result of *status*, and learn from it."""
        message = value["message"]
        shown = [] if message is None else [message]
        self._decide(shown, None, value["run"]["id"].lower())
        self._revision(value["conversation_revision"], "/conversation_revision")
        run = self.state.run(value["run"]["id"])
        self._run(run, value["run"], "/run")
        if self.state.reasons:
            self.gone_status_message(run, message)
        else:
            self.live_status_message(run, message)
        self._pinned_status(run, value)
        self._learn(None, [value["run"]])
        if not self.findings:
            pins = self.state.pins
            kept = {**pins.status_messages, run.id: message}
            self.state = replace(self.state, pins=replace(pins, status_messages=kept))

    # Content that was withheld and may be back

    def _decide(
        self, messages: Sequence[Mapping[str, Any]], availability: str | None, run_id: str | None = None
    ) -> None:
        state = self.state
        if not state.undecided:
            return
        due = [each for each in state.messages if each.has_text and state.due(each) and run_id in (None, each.run_id)]
        if run_id is not None:
            due = [each for each in due if each.value["role"] == "assistant"]
        if any(has_text(message) for message in messages):
            self.freedoms.add(("OPEN-ACCESS-GRANTED-AGAIN", "comes back"))
            self.state = replace(state, formerly=frozenset())
        elif due or availability not in (None, "available"):
            self.freedoms.add(("OPEN-ACCESS-GRANTED-AGAIN", "stays gone"))
            self.state = replace(state, kept_away=True)

    # The conversation itself

    def _head(self, shown: Mapping[str, Any]) -> None:
        state, stored = self.state, self.state.value
        if shown["archived"] != state.archived:
            self.wrong(
                self.flag_requirement(),
                "An archived conversation is not marked so"
                if state.archived
                else "A conversation that was not archived is marked so",
                "/conversation/archived",
                str(state.archived).lower(),
                str(shown["archived"]).lower(),
            )
        self._availability(shown["availability"])
        for name in ("created_at", "expires_at"):
            if parse_instant(shown[name]) != parse_instant(stored[name]):
                requirement = self.blame("READ-UNCHANGED" if self.known else "IDENTITY-SEEDED-INSTANT")
                self.wrong(requirement, "A time of the conversation has changed", f"/conversation/{name}",
                           stored[name], shown[name])  # fmt: skip
        for name in ("title", "language", "context"):
            if not any(True for _ in differences(stored[name], shown[name])):
                self._kept(name, "kept")
            elif not state.reasons or (name == "title" and shown[name] is not None):
                self.wrong(self.usual, "The conversation is not shown as it was stored", f"/conversation/{name}",
                           ascii(stored[name])[:200], ascii(shown[name])[:200])  # fmt: skip
            else:
                self._kept(name, "gone" if name == "title" else "replaced")

    def _kept(self, name: str, choice: str) -> None:
        if self.state.value[name] is None:
            return
        if self.state.archived:
            self.freedoms.add((f"OPEN-ARCHIVED-{name.upper()}", choice))
        elif self.state.reasons and name == "title":
            self.freedoms.add(("OPEN-WITHHELD-TITLE", choice))

    def _availability(self, shown: str) -> None:
        state = self.state
        if shown in state.availabilities:
            if len(state.availabilities) > 1 and shown != "available":
                self.freedoms.add(("OPEN-AVAILABILITY-CHOICE", shown))
            return
        self.wrong(
            self.availability_requirement(shown),
            "The conversation shows an availability that does not apply",
            "/conversation/availability",
            " or ".join(sorted(state.availabilities)),
            shown,
        )

    def _revision(self, shown: int, place: str) -> None:
        state = self.state
        if shown == state.revision or (state.growth and shown > state.revision):
            if len(state.growth) == 1 and (freedom := next(iter(state.growth))).startswith("OPEN-"):
                self.freedoms.add((freedom, "grows" if shown > state.revision else "stays"))
            self.state = replace(state, revision=int(shown), growth=frozenset())
            return
        if "archive" in state.growth and self.channel == "archive":
            requirement = "REVISION-GROWS"
        else:
            requirement = self.blame("IDENTITY-STATUS-REVISION" if self.channel == "status" else self.usual)
            requirement = "REVISION-CHAINS" if requirement == "ARCHIVE-READ-BACK" else requirement
        expected = f"{'at least ' if state.growth else ''}{state.revision}"
        self.wrong(requirement, "The revision is another one than it can be", place, expected, str(shown))

    # Runs

    def _runs(self, shown: Sequence[Mapping[str, Any]]) -> None:
        known = [run.id for run in self.state.runs]
        if known != [each["id"].lower() for each in shown]:
            self.wrong(self.usual, "The runs are not those that were stored", "/runs",
                       f"{len(known)} runs in their order", f"{len(shown)} runs")  # fmt: skip
            return
        for index, (run, each) in enumerate(zip(self.state.runs, shown, strict=True)):
            self._run(run, each, f"/runs/{index}")

    def _run(self, run: Run, shown: Mapping[str, Any], place: str) -> None:
        state, status = self.state, shown["status"]
        allowed = state.statuses(run)
        if status not in allowed:
            self.wrong(
                self.status_requirement(run, status),
                f"A run is {status} where it cannot be",
                f"{place}/status",
                " or ".join(sorted(allowed)),
                status,
            )
            return
        self._run_freedoms(run, status)
        free = set()
        if not run.settled or status != run.value["status"]:
            free = {"status", *(_GO_WITH_STATUS if not run.settled else ("failure_code",))}
            if run.result:
                free.add("expires_at")
        if state.reasons:
            free |= {"model_id", "model_version"}
        for name in run.value.keys() - free:
            for difference in differences({name: run.value[name]}, {name: shown[name]}):
                self.differs(self.run_requirement(name), "A run is not as it was", place, difference)
        if status == "completed" and run.result and run.value["status"] != "completed" and not state.reasons:
            for name in ("model_id", "model_version"):
                if shown[name] not in (None, getattr(run.result, name)):
                    self.wrong("IDENTITY-SEEDED-CONTENT", "A run names another model than the worker did",
                               f"{place}/{name}", ascii(getattr(run.result, name)), ascii(shown[name]))  # fmt: skip

    def _run_freedoms(self, run: Run, status: str) -> None:
        state = self.state
        if run.possible & ACTIVE and state.withheld and not run.result:
            self.freedoms.add(("OPEN-ACTIVE-RUN-WITHHELD", status))
        elif (
            run.value["status"] not in ACTIVE
            and run.settled
            and status in (run.value["status"], "expired", "unavailable")
        ):
            choice = "its own" if status == run.value["status"] else status
            if state.expired or state.withheld:
                self.freedoms.add(("OPEN-FINISHED-RUN-WITHHELD", choice))
            elif state.past(run):
                self.freedoms.add(("OPEN-FINISHED-RUN-PAST-EXPIRY", choice))

    # What was shown before, and what is learned

    def _pinned_conversation(self, value: Mapping[str, Any]) -> None:
        pins = self.state.pins
        if self.findings:
            return
        pairs: list[tuple[str, Any, Any]] = []
        if pins.conversation is not None:
            shown = {name: value["conversation"][name] for name in pins.conversation}
            pairs.append(("/conversation", pins.conversation, shown))
        pairs += [
            (f"/runs/{index}", pins.runs[run["id"].lower()], run)
            for index, run in enumerate(value["runs"])
            if run["id"].lower() in pins.runs
        ]
        if pins.messages is not None:
            pairs.append(("/messages", list(pins.messages), value["messages"]))
        for place, before, now in pairs:
            for difference in differences(before, now):
                self.differs(self.blame("READ-UNCHANGED"), "Something has changed that nothing should have changed",
                              place, difference)  # fmt: skip

    def _pinnable(self, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a later read must show again: of several availabilities, not that of an archive's answer."""
        if self.channel == "get" or len(self.state.availabilities) == 1:
            return shown
        return {name: value for name, value in shown.items() if name != "availability"}

    def _pinned_status(self, run: Run, value: Mapping[str, Any]) -> None:
        pins = self.state.pins
        if self.findings:
            return
        if run.id in pins.runs:
            for difference in differences(pins.runs[run.id], value["run"]):
                self.differs(self.blame("IDENTITY-STATUS-RUN"), "The status shows another run object than before",
                              "/run", difference)  # fmt: skip
        if run.id in pins.status_messages:
            for difference in differences(pins.status_messages[run.id], value["message"]):
                self.differs(self.blame("READ-UNCHANGED"), "The status shows another message than before",
                              "/message", difference)  # fmt: skip

    def _learn(self, conversation: Mapping[str, Any] | None, runs: Sequence[Mapping[str, Any]]) -> None:
        if self.findings:
            return
        for shown in runs:
            self.state = self.state.with_run(self._learned_run(self.state.run(shown["id"]), shown))
        for message in self.learned:
            self.state = self.state.with_run(replace(self.state.run(message.run_id), result=None))
        messages = (*self.state.messages, *self.learned)
        pins = self.state.pins
        pinned_runs = {**pins.runs, **{run["id"].lower(): run for run in runs}}
        pins = Pins(conversation or pins.conversation, pins.messages, pinned_runs, pins.status_messages)
        self.state = replace(self.state, messages=messages, pins=pins)

    def _learned_run(self, run: Run, shown: Mapping[str, Any]) -> Run:
        state, status = self.state, shown["status"]
        if state.undecided or (state.withheld and not state.archived and not state.expired):
            # What an unfinished run shows meanwhile says nothing about what it is.
            return run
        if run.result and not state.reasons and not state.past(run):
            choice = "kept" if status == "completed" else "dropped"
            if run.result.requirement:
                self.freedoms.add(("OPEN-RESULT-WHILE-WITHHELD", choice))
            if choice == "dropped":
                run = replace(run, result=None, possible=run.possible - {"completed"})
        if status not in run.possible or (status in WITHHELD_FINISHED and len(run.possible) > 1 and state.past(run)):
            # A finished run may show another status than its own when its time is over.
            return run
        value = dict(shown)
        if state.reasons:
            value |= {name: run.value[name] for name in ("model_id", "model_version")}
        if state.kept_away:
            return replace(run, value=value)
        return replace(run, value=value, possible=frozenset({status}), settled=True,
                       expires_at=parse_instant(shown["expires_at"]))  # fmt: skip
