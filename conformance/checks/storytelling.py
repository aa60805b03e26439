"""Takes the steps of a story: calls and test control on one side, the model on the other, the story written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from conformance.cases.json_text import encode
from conformance.cases.stories import PERSONS, REVISIONS, Step, clock_after, story_document, worker_answer
from conformance.cases.texts import timestamp
from conformance.contract import Operation
from conformance.control.interface import AccessState, Principal
from conformance.judge.finding import Finding, NonConformance
from conformance.judge.model import Model
from conformance.judge.model_calls import Caller, ModelCall
from conformance.judge.model_state import ACTIVE, Channel, Result
from conformance.judge.outcome import answered
from conformance.report.story import Story, control_path, short_answer
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid

TOKENS: Final[Mapping[str, Caller]] = {
    label: caller
    for person in PERSONS
    for label, caller in (
        (person, Caller(person)),
        (f"{person}'s other token", Caller(person, "other")),
        (f"{person}'s token without the scope", Caller(person, "without scope", scoped=False)),
    )
}
"""Every token of a story by its label."""

_MOST_CONVERSATIONS = 3


@dataclass(frozen=True)
class Attempt:
    """An archive that was sent."""

    conversation: int
    arguments: Mapping[str, Any]

    @property
    def told(self) -> tuple[str, str, int]:
        """The arguments that make it this attempt and no other, as the model keeps them."""
        given = self.arguments
        return given["workspace_id"], given["conversation_id"], given["expected_revision"]


def _label(owner: str, role: str) -> str:
    """Return the label of the token that the role comes to."""
    if role == "the other person":
        return next(person for person in PERSONS if person != owner)
    return owner + role.removeprefix("the owner")


class Teller:
    """Tells one story on a live target; every step is judged when it is taken."""

    def __init__(self, session: Session, now: int | None) -> None:
        """``now`` is where the workspace's clock is to stand, or ``None`` where it cannot be set."""
        self.session = session
        self.model = Model()
        self.scenes: list[Scene] = []
        self.attempts: list[Attempt] = []
        self.freedoms: set[tuple[str, str]] = set()
        target = session.target
        self.story = Story((target.control_url or "").rstrip("/"), control_token=target.control_token is not None)
        (self._workspace_id,) = session.stage.workspaces(session.rng, 1)
        self._clock = now
        self._clock_set = False
        self._people: dict[str, Principal] = {}
        self._delivered: set[str] = set()

    def take(self, step: Step) -> None:
        """Take a step; one that is not possible now is left out.

        Raises:
            CouldNotRun: test control failed, or the target is gone.
            NonConformance: the answer is not one that the model allows; the story is in the findings.
        """
        kind, *choices = step
        takers: Mapping[str, Callable[..., None]] = {
            "begin": self.begin,
            "wait": self.wait,
            "access": self.set_access,
            "restart": self.restart,
            "deliver": self.deliver,
            "get": self.get,
            "look around": self.look_around,
            "status": self.status,
            "archive": self.archive,
            "archive available": self.archive_available,
            "repeat": self.repeat,
        }
        takers[kind](*choices)

    # Events

    def begin(self, owner: str, plan: str) -> None:
        """Store a conversation."""
        if len(self.scenes) == _MOST_CONVERSATIONS:
            return
        stage = self.session.stage
        if self._clock is not None and not self._clock_set:
            self._clock_set = True
            self._set_clock(self._clock)
        principal = self._principal(owner)
        now = stage.now() if self._clock is None else self._clock
        document = story_document(plan, now, self.session.rng, self._workspace_id)
        scene = stage.seeded(self.session.rng, document, principal)
        assert scene.document is not None
        self.scenes.append(scene)
        self.model.begin(owner, scene.document, Fraction(now, 1000))
        self.story.stored(
            owner,
            {"conversation": document.conversation, "messages": document.messages, "runs": document.runs},
        )
        conversation = scene.document.conversation
        self.story.event(
            f"Conversation {len(self.scenes)} of {owner} is stored ({plan}): revision {conversation['revision']}, "
            f"it is {timestamp(now)} and it expires at {conversation['expires_at']}"
        )

    def wait(self, wait: str, look: bool) -> None:  # noqa: FBT001 - a choice that is drawn
        """Move the workspace's clock on, and look around then or not."""
        assert self._clock is not None
        known = [self.model.conversation(scene.conversation_id) for scene in self.scenes]
        ends = {int(each.expires_at * 1000) for each in known}
        deadlines = {int(deadline * 1000) for each in known for deadline in each.deadlines}
        self._clock = clock_after(wait, self._clock, ends, deadlines)
        self._set_clock(self._clock)
        self.model.advance(self._workspace_id, Fraction(self._clock, 1000))
        self.story.event(f"The clock goes on {wait}: it is {timestamp(self._clock)}")
        if look:
            self.look_around()

    def set_access(self, number: int, state: AccessState) -> None:
        """Withdraw or grant access to a conversation or its source."""
        index, scene = self._scene(number)
        self.session.stage.control.set_access(scene.conversation_id, state)
        self.model.set_access(scene.conversation_id, state)
        self.story.control("PUT", control_path("conversations", scene.conversation_id, "access"), {"state": state})
        self.story.event(f"Access to conversation {index + 1} is now: {state}")

    def restart(self) -> None:
        """Restart the server."""
        self.session.stage.control.restart()
        self.model.restart()
        self.story.control("POST", "/restart")
        self.story.event("The server restarts")

    @property
    def deliverable(self) -> list[tuple[int, str]]:
        """The runs, as conversation and id, for which the worker still owes a result, wanted or not."""
        return [
            (index, run["id"])
            for index, scene in enumerate(self.scenes)
            if scene.document is not None
            for run in scene.document.runs
            if run["status"] in ACTIVE and run["id"] not in self._delivered
        ]

    def deliver(self, number: int) -> None:
        """Let the worker deliver a result for one of these runs."""
        if not self.deliverable:
            return
        index, run_id = self.deliverable[number % len(self.deliverable)]
        self._delivered.add(run_id)
        scene = self.scenes[index]
        assert scene.document is not None
        result = Result(worker_answer(scene.document, self.session.rng), "worker-model", "1")
        self.session.stage.control.deliver_result(run_id, result.answer, result.model_id, result.model_version)
        self.model.deliver(scene.conversation_id, run_id, result)
        body = {"answer": result.answer, "model_id": result.model_id, "model_version": result.model_version}
        self.story.control("POST", control_path("runs", run_id, "result"), body)
        place = scene.run_ids.index(run_id) + 1
        self.story.event(f"The worker delivers a result for run {place} of conversation {index + 1}")

    # Calls

    def get(self, number: int, role: str) -> None:
        """Read a conversation."""
        index, scene = self._scene(number)
        arguments = {"workspace_id": scene.workspace_id, "conversation_id": scene.conversation_id}
        self._call("get", _label(scene.principal.label, role), arguments, f"get conversation {index + 1}")

    def look_around(self) -> None:
        """Read every conversation as its owner."""
        for index in range(len(self.scenes)):
            self.get(index, "the owner")

    def status(self, number: int, run: int, role: str) -> None:
        """Read the status of a run; of a conversation without runs, read the conversation."""
        index, scene = self._scene(number)
        if not scene.run_ids:
            self.get(number, role)
            return
        place = run % len(scene.run_ids)
        arguments = {
            "workspace_id": scene.workspace_id,
            "conversation_id": scene.conversation_id,
            "run_id": scene.run_ids[place],
        }
        self._call(
            "status",
            _label(scene.principal.label, role),
            arguments,
            f"status of run {place + 1} of conversation {index + 1}",
        )

    def archive_available(self, number: int, attempt: int | None = None) -> None:
        """Archive as its owner, with the current revision, a conversation that is available, where there is one.

        The mutation id is a fresh one, or that of an earlier attempt on whatever conversation.
        """
        available = [
            index
            for index, scene in enumerate(self.scenes)
            if not (known := self.model.conversation(scene.conversation_id)).reasons and not known.formerly
        ]
        index = available[number % len(available)] if available else number
        self.archive(index, "the owner", "the current revision", attempt)

    def archive(self, number: int, role: str, revision: str, attempt: int | None = None) -> None:
        """Archive a conversation, under a fresh mutation id or under that of an earlier attempt."""
        index, scene = self._scene(number)
        current = self.model.conversation(scene.conversation_id).revision
        if attempt is None or not self.attempts:
            mutation_id = fresh_uuid(self.session.rng)
        else:
            mutation_id = self._earlier(attempt).arguments["mutation_id"]
        arguments = {
            "workspace_id": scene.workspace_id,
            "mutation_id": mutation_id,
            "conversation_id": scene.conversation_id,
            "expected_revision": REVISIONS[revision](current),
        }
        self._archive(Attempt(index, arguments), role, f" ({revision})")

    def repeat(self, attempt: int, role: str) -> None:
        """Send an earlier archive again, all its arguments the same."""
        if self.attempts:
            self._archive(self._earlier(attempt), role, "")

    def _earlier(self, number: int) -> Attempt:
        """Return an earlier attempt: those that were applied come first, the latest first of all."""
        used = self.model.world.keys.items()
        applied = {key: each.attempt for (_, key), each in used if each.applied}
        attempts = self.attempts[::-1]
        attempts.sort(key=lambda each: applied.get(each.arguments["mutation_id"], ()) != each.told)
        return attempts[number % len(attempts)]

    def _archive(self, attempt: Attempt, role: str, revision: str) -> None:
        mutation_id = attempt.arguments["mutation_id"]
        names = list(dict.fromkeys(each.arguments["mutation_id"] for each in [*self.attempts, attempt]))
        used = any(each.arguments["mutation_id"] == mutation_id for each in self.attempts)
        self.attempts.append(attempt)
        self._call(
            "archive",
            _label(self.scenes[attempt.conversation].principal.label, role),
            attempt.arguments,
            f"archive conversation {attempt.conversation + 1} with expected_revision "
            f"{attempt.arguments['expected_revision']}{revision} under "
            f"{'the used ' if used else ''}mutation id {names.index(mutation_id) + 1}",
        )

    def _call(self, channel: Channel, label: str, arguments: Mapping[str, Any], told: str) -> None:
        principal = self._principal(label)
        call = ModelCall(channel, TOKENS[label], arguments)
        allowed = self.model.allowed(call)
        answer = self.session.call(_operation(self.session, channel), encode(dict(arguments)), principal.credential)
        findings: tuple[Finding, ...] = tuple(answered(answer))
        value: Any = None
        if answer.result is not None:
            judged = self.session.results.judge(answer, arguments)
            value, findings = judged.value, judged.findings
        self.story.call(f"{label}: {told}", label, answer, short_answer(answer, value), allowed)
        if not findings or (answer.result is not None and not self.model.may_succeed(call)):
            judgement = self.model.judge(call, answer, value)
            findings = (*judgement.findings, *findings)
            self.freedoms |= judgement.freedoms
        if findings:
            story = self.story.text()
            raise NonConformance(tuple(replace(finding, story=story) for finding in findings))

    # What steps need

    def _scene(self, number: int) -> tuple[int, Scene]:
        index = number % len(self.scenes)
        return index, self.scenes[index]

    def _set_clock(self, now: int) -> None:
        self.session.stage.set_clock(self._workspace_id, now)
        self.story.control("PUT", "/clock", {"workspace_id": self._workspace_id, "now": timestamp(now)})

    def _principal(self, label: str) -> Principal:
        """Return the holder of this token, made when it is first needed."""
        if label in self._people:
            return self._people[label]
        stage, caller = self.session.stage, TOKENS[label]
        if caller.token == "first":  # noqa: S105 - a label
            made = stage.principal(self.session.rng, workspace_ids=(self._workspace_id,), label=label)
            self.story.person(label, {"scopes": list(made.scopes), "workspace_ids": [self._workspace_id]})
        else:
            # Another scope beside the contract's: keys belong to the person and not to the grant.
            scopes = (stage.scope, "agent:publish") if caller.scoped else ()
            made = stage.token(self._principal(caller.person), scopes, label)
            self.story.token(caller.person, label, {"scopes": list(scopes)})
        self._people[label] = made
        return made


def _operation(session: Session, channel: Channel) -> Operation:
    """Return the contract's operation of that channel.

    Raises:
        KeyError: the contract has none.
    """
    return operations(session)[channel]


def operations(session: Session) -> dict[Channel, Operation]:
    """Return the operations that the model speaks of, as far as the contract has them."""
    found: dict[Channel, Operation] = {}
    for operation in session.contract.operations:
        if operation.effect == "write" and operation.result == "conversation":
            found["archive"] = operation
        elif operation.effect == "read" and operation.result in ("conversation", "run"):
            found["get" if operation.result == "conversation" else "status"] = operation
    return found
