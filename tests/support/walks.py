"""Random walks through the reference model: events, and answers right and wrong, and what the model says of each.

A walk has a server of its own that keeps the contract in one of the ways that are open, but for the answers that are
spoilt on purpose. Nothing in a walk depends on what the model says.
"""

from __future__ import annotations

import copy
import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from told import ANN, BOB, FAILURES, KEYS, NO_SCOPE, OTHER_TOKEN, START, Told

from conformance.cases.conversations import Document
from conformance.cases.stories import PLANS
from conformance.judge.model_calls import Caller
from conformance.judge.model_state import Channel, Result

STEPS = 14
WALKS = 1600
EXPECTED = Path(__file__).with_name("walks.txt")
"""What the model said in each walk when its judgements were last found to be right: a digest in a line for each."""

_ACTIVE = ("queued", "processing")
_REFUSALS = ("conflict", "precondition", "not_found", "forbidden", "invalid_input", "in_progress")
_STRANGE_RUN = "00000000-0000-4000-8000-0000000000fe"


@dataclass
class _Stored:
    """What the server stores of one conversation, and how it goes about what is left open."""

    document: Document
    owner: str
    revision: int
    choices: random.Random
    archived: bool = False
    access: str = "granted"
    was_withheld: bool = False
    results: dict[int, Result] = field(default_factory=dict)
    late: dict[int, Result] = field(default_factory=dict)
    cancelled: set[int] = field(default_factory=set)
    comes_back: bool = True
    empty: bool = False
    keeps_title: bool = True
    own_status: bool = True
    step: int = 1

    def __post_init__(self) -> None:
        for name in ("comes_back", "empty", "keeps_title", "own_status"):
            setattr(self, name, self.choices.random() < 0.6)
        self.step = self.choices.choice((1, 1, 4))


def digests(seeds: Iterable[int]) -> list[str]:
    """Return what the model says in each walk, in short."""
    return [f"{seed} {hashlib.sha256(text.encode()).hexdigest()[:12]}" for seed in seeds for text in (told_in(seed),)]


def told_in(seed: int) -> str:
    """Return what the model says in one walk, a line for each step."""
    return "\n".join(Walk(seed).lines())


class Walk:
    """One walk. ``lines`` yields what is done and what the model says of it, step by step."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - test data
        self.told = Told(self.rng.choice(list(PLANS)), seed=seed)
        self.now = 0
        self.used: dict[tuple[str, int], tuple[tuple[str, int], Any]] = {}
        self.stored = [self._store(self.told.document, "Ann")]
        for owner in self.rng.choice(([], ["Bob"], ["Ann", "Bob"])):
            self.stored.append(self._store(self.told.another(owner), owner))

    def _store(self, document: Document, owner: str) -> _Stored:
        choices = random.Random(self.rng.random())  # noqa: S311 - test data
        return _Stored(document, owner, document.conversation["revision"], choices)

    def lines(self) -> Iterator[str]:
        """Take every step."""
        steps: tuple[Callable[[_Stored], str | None], ...] = (
            self._get, self._get, self._get, self._status, self._status, self._archive, self._archive, self._archive,
            self._wait, self._access, self._deliver, self._deliver, self._restart, self._lose,
        )  # fmt: skip
        for _ in range(STEPS):
            stored = self.stored[0] if self.rng.random() < 0.7 else self.rng.choice(self.stored)
            line = self.rng.choice(steps)(stored)
            if line is not None:
                yield line

    # Events

    def _wait(self, stored: _Stored) -> str:
        model = self.told.model.conversation(stored.document.conversation_id)
        ahead = sorted(int(each * 1000) - START for each in model.deadlines if int(each * 1000) - START > self.now)
        soon = self.now + 60_000
        deadline = self.rng.choice((soon, soon, min(ahead, default=soon), max(ahead, default=soon)))
        self.now = max(self.now, deadline + self.rng.choice((-1, 0, 0, 1, 3_600_000)))
        self.told.at(self.now)
        return f"wait until {self.now}"

    def _access(self, stored: _Stored) -> str:
        state: Any = self.rng.choice(("granted", "granted", "access_changed", "source_unavailable"))
        stored.access = state
        stored.was_withheld = stored.was_withheld or state != "granted"
        self.told.model.set_access(stored.document.conversation_id, state)
        return f"access {state}"

    def _deliver(self, stored: _Stored) -> str | None:
        if not stored.document.runs:
            return None
        runs = stored.document.runs
        active = [index for index, run in enumerate(runs) if run["status"] in _ACTIVE and index not in stored.results]
        index = self.rng.choice(active if active and self.rng.random() < 0.8 else range(len(runs)))
        run = runs[index]
        answer = copy.deepcopy(worker_answer_of(self.told, stored.document))
        result = Result(answer, self.rng.choice(("worker-model", None)), "1")
        self.told.model.deliver(stored.document.conversation_id, run["id"], result)
        in_time = run["status"] in _ACTIVE and index not in stored.results and not self._ended(stored, run)
        (stored.results if in_time else stored.late)[index] = result
        stored.revision += in_time and self.rng.random() < 0.5
        return f"deliver {index}"

    def _restart(self, _stored: _Stored) -> str:
        self.told.model.restart()
        return "restart"

    def _lose(self, stored: _Stored) -> str:
        key, applied = self.rng.randrange(4), self.rng.random() < 0.5
        caller = Caller(stored.owner)
        if (caller.person, key) in self.used or len(self.told.model.worlds) > 2:
            return "nothing lost"
        self.told.model.lose(self.told.archive_call(caller, key, stored.revision, stored.document))
        if applied and not stored.archived and not self._reasons(stored):
            self._apply(stored)
            self.used[caller.person, key] = ((stored.document.conversation_id, stored.revision - stored.step), None)
        return "lost"

    # What the server does

    def _ended(self, stored: _Stored, entry: Mapping[str, Any]) -> bool:
        return stored.archived or self.now >= min(self._until(entry), self._until(stored.document.conversation))

    @staticmethod
    def _until(entry: Mapping[str, Any]) -> int:
        from conformance.judge.formats import parse_instant  # noqa: PLC0415 - a mutated judge must not be held on to

        return int(parse_instant(entry["expires_at"]) * 1000) - START

    def _reasons(self, stored: _Stored) -> list[str]:
        found = ["archived"] * stored.archived
        found += ["expired"] * (self.now >= self._until(stored.document.conversation))
        found += [stored.access] * (stored.access != "granted")
        if not found and stored.was_withheld and not stored.comes_back:
            found = [stored.access]
        return found

    def _apply(self, stored: _Stored) -> None:
        for index, run in enumerate(stored.document.runs):
            if run["status"] in _ACTIVE and index not in stored.results and not self._ended(stored, run):
                stored.cancelled.add(index)
        stored.archived = True
        stored.revision += stored.step

    def shown(self, stored: _Stored) -> dict[str, Any]:
        """Return the conversation as the server shows it now."""
        value = self.told.live(stored.document, archived=stored.archived, revision=stored.revision)
        reasons = self._reasons(stored)
        value["conversation"]["availability"] = stored.choices.choice(reasons) if reasons else "available"
        for index, run in enumerate(value["runs"]):
            self._show_run(stored, index, run, reasons)
            if index in stored.results:
                value["messages"].append(_answer_message(run, stored.results[index]))
        for message in value["messages"]:
            if reasons or self.now >= self._until(message):
                message |= {"question": None, "answer": None}
        if reasons and stored.empty:
            value["messages"] = []
        if reasons and not stored.keeps_title:
            value["conversation"]["title"] = None
        return value

    def _show_run(self, stored: _Stored, index: int, run: dict[str, Any], reasons: list[str]) -> None:
        if index in stored.results:
            result = stored.results[index]
            run |= {"status": "completed", "model_id": result.model_id, "model_version": result.model_version}
        elif index in stored.cancelled:
            run |= {"status": "cancelled", "failure_code": "cancelled"}
        elif run["status"] in _ACTIVE and self.now >= min(self._until(run), self._until(stored.document.conversation)):
            run |= {"status": "expired", "failure_code": "expired"}
        elif reasons and not stored.own_status and run["status"] not in _ACTIVE and "archived" not in reasons:
            status = stored.choices.choice(("expired", "unavailable"))
            run |= {"status": status, "failure_code": FAILURES[status]}

    # Calls

    def _get(self, stored: _Stored) -> str:
        caller = self._caller(stored)
        came = self._answer(stored, caller, self.shown(stored), "get")
        return self._judged("get", caller, stored, came)

    def _status(self, stored: _Stored) -> str | None:
        if not stored.document.runs:
            return None
        caller, index = self._caller(stored), self.rng.randrange(len(stored.document.runs))
        value = self.shown(stored)
        own = [each for each in value["messages"] if each["run_id"] == value["runs"][index]["id"]]
        answers = [each for each in own if each["role"] == "assistant"]
        message = (answers or own or [None])[0] if self.rng.random() < 0.8 else None
        if answers and not self._reasons(stored):
            message = answers[0]
        right = {
            "run": value["runs"][index], "message": message, "availability": value["availability"],
            "conversation_revision": stored.revision,
        }  # fmt: skip
        came = self._answer(stored, caller, right, "status")
        return self._judged("status", caller, stored, came, run_id=value["runs"][index]["id"])

    def _archive(self, stored: _Stored) -> str:
        caller, key = self._caller(stored), self.rng.randrange(3)
        revision = max(1, stored.revision + self.rng.choice((0, 0, 0, 0, -1, 1, -stored.step)))
        attempt = (stored.document.conversation_id, revision)
        used = self.used.get((caller.person, key))
        if used is not None and self.rng.random() < 0.6:
            attempt = used[0]
            stored = next(each for each in self.stored if each.document.conversation_id == attempt[0])
            revision = attempt[1]
        came = self._archived(stored, caller, key, attempt)
        more = {"mutation_id": KEYS[key], "expected_revision": revision}
        return self._judged("archive", caller, stored, came, **more)

    def _archived(self, stored: _Stored, caller: Caller, key: int, attempt: tuple[str, int]) -> Any:
        used = self.used.get((caller.person, key))
        may = caller.scoped and caller.person == stored.owner
        if may and used is not None and used[0] == attempt:
            first = used[1] if used[1] is not None and self.rng.random() < 0.6 else self.shown(stored)
            first = copy.deepcopy(first)
            if self._reasons(stored) != ["archived"]:
                first["messages"] = [{**each, "question": None, "answer": None} for each in first["messages"]]
            return self._answer(stored, caller, first, "archive")
        if may and used is None and attempt[1] == stored.revision and not self._reasons(stored):
            self._apply(stored)
            value = self.shown(stored)
            self.used[caller.person, key] = (attempt, copy.deepcopy(value))
            return self._answer(stored, caller, value, "archive", often=0.75)
        refusal = self.rng.choice(("conflict", "conflict", "precondition"))
        return self._answer(stored, caller, self.shown(stored) if self.rng.random() < 0.3 else refusal, "archive")

    def _caller(self, stored: _Stored) -> Caller:
        if self.rng.random() < 0.8:
            return Caller(stored.owner)
        return self.rng.choice((ANN, BOB, OTHER_TOKEN, NO_SCOPE))

    def _answer(self, stored: _Stored, caller: Caller, right: Any, channel: str, *, often: float = 0.6) -> Any:
        """Return what is right, or something else."""
        if (not caller.scoped or caller.person != stored.owner) and self.rng.random() < 0.8:
            return self.rng.choice(("not_found", "forbidden"))
        if self.rng.random() < 0.06:
            return self.rng.choice(_REFUSALS)
        if isinstance(right, str) or self.rng.random() < often:
            return right
        spoilt = copy.deepcopy(right)
        for _ in range(self.rng.choice((1, 1, 2))):
            (self._spoil_status if channel == "status" else self._spoil)(stored, spoilt)
        return spoilt

    # Wrong answers

    def _spoil(self, stored: _Stored, value: dict[str, Any]) -> None:
        number = 13 if stored.late and self.rng.random() < 0.4 else self.rng.randrange(15)
        if number < 6:
            self._spoil_head(value["conversation"], number)
        else:
            self._spoil_lists(stored, value, number)

    def _spoil_head(self, conversation: dict[str, Any], number: int) -> None:
        rng = self.rng
        match number:
            case 0:
                conversation["archived"] = not conversation["archived"]
            case 1:
                names = ("available", "archived", "expired", "access_changed", "source_unavailable")
                conversation["availability"] = rng.choice(names)
            case 2:
                conversation["revision"] += rng.choice((-1, 1, 2))
            case 3:
                conversation[rng.choice(("title", "language"))] = rng.choice((None, "another"))
            case 4:
                conversation["context"] = {**conversation["context"], "evidence": []}
            case _:
                conversation[rng.choice(("created_at", "expires_at"))] = "2027-01-01T00:00:00Z"

    def _spoil_lists(self, stored: _Stored, value: dict[str, Any], number: int) -> None:
        rng = self.rng
        match number:
            case 6:
                value["messages"] = self.told.live(stored.document)["messages"]
            case 7 if value["runs"]:
                value["runs"].pop(rng.randrange(len(value["runs"])))
            case 8:
                value["runs"].reverse()
            case 9 | 10 if value["runs"]:
                self._spoil_run(rng.choice(value["runs"]))
            case 11 if value["messages"]:
                value["messages"].pop(rng.randrange(len(value["messages"])))
            case 12:
                value["messages"].reverse()
            case 13:
                self._invent(stored, value["messages"])
            case _:
                if value["messages"]:
                    self._spoil_message(rng.choice(value["messages"]))

    def _spoil_status(self, stored: _Stored, value: dict[str, Any]) -> None:
        rng = self.rng
        match rng.randrange(6):
            case 0:
                value["conversation_revision"] += rng.choice((-1, 1, 2))
            case 1 | 2:
                self._spoil_run(value["run"])
            case 3:
                own = [each for each in stored.document.messages if each["run_id"] == value["run"]["id"]]
                value["message"] = copy.deepcopy(rng.choice([*own, None]))
            case 4:
                invented: list[dict[str, Any]] = []
                self._invent(stored, invented, value["run"]["id"])
                value["message"] = invented[0] if invented else None
            case _:
                if value["message"]:
                    self._spoil_message(value["message"])

    def _spoil_run(self, run: dict[str, Any]) -> None:
        rng = self.rng
        match rng.randrange(5):
            case 0 | 1:
                status = rng.choice(("queued", "processing", "completed", *FAILURES))
                run |= {"status": status, "failure_code": FAILURES.get(status)}
            case 2:
                run[rng.choice(("model_id", "model_version"))] = rng.choice((None, "another"))
            case 3:
                run[rng.choice(("created_at", "expires_at"))] = "2027-01-01T00:00:00Z"
            case _:
                run[rng.choice(("generation", "conversation_revision"))] += 1

    def _spoil_message(self, message: dict[str, Any]) -> None:
        rng = self.rng
        match rng.randrange(4):
            case 0:
                message |= {"question": None, "answer": None}
            case 1:
                message["question"] = "another"
            case 2:
                message[rng.choice(("created_at", "expires_at"))] = "2027-01-01T00:00:00Z"
            case _:
                message["role"] = "assistant" if message["role"] == "user" else "user"

    def _invent(self, stored: _Stored, messages: list[dict[str, Any]], run_id: str | None = None) -> None:
        """Add a message that the server does not have: of a result that came late, or of nothing."""
        rng = self.rng
        results = {**stored.results, **stored.late}
        entries = [each for each in stored.document.runs if run_id in (None, each["id"])]
        if not entries:
            return
        entry = rng.choice(entries)
        index = stored.document.runs.index(entry)
        answer = results[index].answer if index in results else worker_answer_of(self.told, stored.document)
        made = _answer_message(entry, Result(answer, None, None))
        match rng.randrange(6):
            case 0:
                made["answer"] = None
            case 1:
                made |= {"role": "user", "answer": None, "question": "a question that nobody has asked"}
            case 2:
                made["run_id"] = entry["id"] if run_id else _STRANGE_RUN
            case 3:
                made["expires_at"] = "2026-09-21T20:00:00Z"
        messages.append(made)

    # What the model says

    def _judged(self, channel: Channel, caller: Caller, stored: _Stored, came: Any, **more: Any) -> str:
        call = self.told.call(channel, caller, stored.document, **more)
        header, refusal = "", b"{}"
        texts = [str(each["question"] or each["answer"]) for each in stored.document.messages]
        texts += [str(each.answer) for each in (*stored.results.values(), *stored.late.values())]
        if texts and self.rng.random() < 0.04:
            header = self.rng.choice(texts)
        if texts and isinstance(came, str) and self.rng.random() < 0.08:
            refusal = self.rng.choice(texts).encode()
        if texts and isinstance(came, dict) and self.rng.random() < 0.03:
            came = {**came, "debug": self.rng.choice(texts).encode().hex()}
        expected = self.told.model.allowed(call), self.told.model.may_succeed(call)
        self.told.freedoms = set()
        found = self.told.judge(call, came, header, refusal)
        kind = came if isinstance(came, str) else "success"
        freedoms = sorted(f"{name}={choice}" for name, choice in self.told.freedoms)
        return (
            f"{channel} by {caller.person}, {caller.token}: {kind} ({expected[0]}, {expected[1]}): {found} {freedoms}"
        )


def worker_answer_of(told: Told, document: Document) -> dict[str, Any]:
    """Return an answer to a run of the document with a marker of its own."""
    from conformance.cases.stories import worker_answer  # noqa: PLC0415 - as above

    return worker_answer(document, told.rng)


def _answer_message(run: Mapping[str, Any], result: Result) -> dict[str, Any]:
    return {
        "id": f"{run['id'][:-4]}00aa", "run_id": run["id"], "role": "assistant", "question": None,
        "answer": copy.deepcopy(result.answer), "created_at": run["created_at"], "expires_at": run["expires_at"],
    }  # fmt: skip


if __name__ == "__main__":
    EXPECTED.write_text("\n".join([*digests(range(WALKS)), ""]), encoding="utf-8")
