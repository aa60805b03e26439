"""Every seeded fault shows: some probe is answered otherwise than by the faultless server."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from reference_world import ARCHIVE, EXPIRES, GET, STATUS, World, answer_object, contract, fresh

from conformance.reference.catalogue import build
from conformance.reference.faults import authentication, behaviour, content, http, identity, input, output  # noqa: A004  the family is called so
from conformance.reference.instants import parse_instant
from conformance.reference.parts import Parts

TEXT = "e\u0301 \u2028 & \r\n \U0001d11e\U0001f600 that is longer than forty characters, by some "
KEY, UNKNOWN, VERSION_7 = fresh(), fresh(), "01890a5d-ac96-774b-bcce-b302099a8057"
LARGE = 2**40 + 1
JSON = {"Content-Type": "application/json"}
WINDOWS: tuple[dict[str, str], ...] = (
    {},
    {"created_at": "2028-02-29T10:00:00.5+05:30", "expires_at": "2028-03-01T10:00:00.5+05:30"},
    {"created_at": "2040-02-29T10:00:00Z", "expires_at": "2040-03-01T10:00:00Z"},
)


@functools.cache
def documents() -> tuple[World, list[dict[str, Any]]]:
    """Return a world to borrow ids from, and conversations rich enough for every fault, the same in each trace."""
    world = World()
    numbered = [{"evidence_id": fresh(), "revision": number} for number in range(2**30 + 1, 2**30 + 12)]
    world.evidence = sorted(numbered, key=lambda item: str(item["evidence_id"]), reverse=True)
    made = []
    for window in WINDOWS:
        document = world.new_document(**window)
        question, answer = document["messages"]
        answer["answer"]["answer"]["basis"] = "inferred"
        question["question"] = document["conversation"]["title"] = TEXT
        run = document["runs"][0]
        more = [{**copy.deepcopy(run), "id": fresh()} for _ in range(10)]
        document["runs"] += more
        for extra in more:
            document["messages"] += [{**copy.deepcopy(question), "id": fresh(), "run_id": extra["id"], "question": ""}]
            document["messages"] += [{**copy.deepcopy(answer), "id": fresh(), "run_id": extra["id"]}]
        document["conversation"]["revision"] = LARGE
        made.append(document)
    latin = world.new_document()
    latin["conversation"]["title"] = None
    latin["messages"][0]["question"] = "\u00e9"
    # These two expire by themselves while the conversation does not.
    latin["runs"][1]["expires_at"] = latin["messages"][0]["expires_at"] = "2026-03-01T11:00:01.500+00:00"
    made.append(latin)
    # One to be withheld, with a cancelled run and a deadline with an offset, and one to be archived while it is.
    for _ in range(2):
        withheld = world.new_document(expires_at="2026-03-02T15:30:00+05:30")
        withheld["conversation"]["title"] = None
        withheld["runs"].append(
            {**withheld["runs"][3], "id": fresh(), "status": "cancelled", "failure_code": "cancelled"}
        )
        made.append(withheld)
    made.append(world.new_document(created_at="2100-02-28T10:00:00Z", expires_at="2100-03-01T10:00:00Z"))
    return world, made


PROBED = tuple(
    fault.name
    for module in (input, output, content, authentication, http, identity, behaviour)
    for fault in module.family.faults
)
"""The faults that single probes show. Those of the other families take a story, and the checks that tell it."""


class ShownError(Exception):
    """An answer differs from the faultless server's: there is no need to go on."""


class Trace:
    """Asks one server everything, and keeps what it answered, until an answer differs from the expected ones."""

    def __init__(self, parts: Parts | None = None, expected: list[tuple[int, str]] | None = None) -> None:
        self.expected = expected
        borrowed, made = documents()
        self.made = copy.deepcopy(made)
        self.world = World(parts)
        self.world.workspace = borrowed.workspace
        self.person, self.token = self.world.principal()
        self.world.person, self.world.token = self.person, self.token
        _, self.stranger = self.world.principal()
        self.answers: list[tuple[int, str]] = []

    def run(self) -> list[tuple[int, str]]:
        """Return status and text of every answer."""
        self.world.move_clock("2026-03-01T11:00:00Z")
        for document in self.made:
            self.seed(document)
        try:
            self.authentication()
            self.requests()
            self.reads()
            self.changes()
        finally:
            self.world.close()
        return self.answers

    def seed(self, document: dict[str, Any], owner: str | None = None) -> None:
        """Store a conversation."""
        made = self.world.control("POST", "/conversations", {"principal_id": owner or self.person, **document})
        assert made.status_code == 201, made.text

    def keep(self, answer: httpx.Response) -> None:
        """Keep an answer: its body, and those headers that no refusal or result needs."""
        more = [answer.headers.get(name, "") for name in ("X-Debug", "Vary")]
        self.note(answer.status_code, " ".join([answer.content.decode("utf-8", "backslashreplace"), *more]))

    def note(self, status: int, text: str) -> None:
        """Keep a status and a text, and stop where the expected ones differ."""
        self.answers.append((status, text))
        if self.expected is not None and self.answers[-1] != self.expected[len(self.answers) - 1]:
            raise ShownError

    def ask(self, operation: str, document: dict[str, Any] | None = None, **changed: Any) -> None:
        """Call an operation on a conversation, or the first one."""
        document = document or self.made[0]
        usual = {
            "conversation_id": document["conversation"]["id"],
            "run_id": document["runs"][0]["id"],
            "expected_revision": document["conversation"]["revision"],
            "mutation_id": KEY,
        }
        self.keep(self.world.call(operation, **{**usual, **changed}))

    def arguments(self, operation: str, **changed: Any) -> dict[str, Any]:
        """Return valid arguments but for what is changed; a revision that is stale, so that nothing happens."""
        usual = {
            "workspace_id": self.world.workspace,
            "conversation_id": self.made[0]["conversation"]["id"],
            "run_id": self.made[0]["runs"][0]["id"],
            "mutation_id": fresh(),
            "expected_revision": 2,
        }
        properties = contract().operation(operation).input_schema["properties"]
        return {name: value for name, value in usual.items() if name in properties} | changed

    def authentication(self) -> None:
        """Ask with odd tokens and scopes."""
        token = self.world.token
        for operation in (GET, STATUS, ARCHIVE):
            arguments = self.arguments(operation)
            path = contract().operation(operation).path
            for header in (None, "Bearer unknown", "Bearer", f"Basic {token}", token):
                headers = {} if header is None else {"Authorization": header}
                self.keep(self.world._call(self.world.reference.target, "POST", path, headers=headers, json=arguments))
            for scope in ("agent", "agent:research-preview", "AGENT:RESEARCH", "other"):
                made = self.world.control("POST", f"/principals/{self.person}/tokens", {"scopes": [scope]})
                self.ask(operation, token=made.json()["token"], mutation_id=fresh())
            for conversation_id in (self.made[0]["conversation"]["id"], UNKNOWN):
                self.ask(operation, token=self.stranger, conversation_id=conversation_id, mutation_id=fresh())
            self.ask(operation, workspace_id=UNKNOWN, mutation_id=fresh())
        self.ask(STATUS, run_id=self.made[1]["runs"][0]["id"])
        self.ask(STATUS, run_id=UNKNOWN)
        self.ask(GET)

    def requests(self) -> None:
        """Send bodies that are not valid, and other requests that are not."""
        valid = self.arguments(GET)
        plain = valid["conversation_id"]
        digits = plain.replace("-", "")
        wide = "".join(chr(ord(sign) + 0xFEE0) if sign.isdecimal() else sign for sign in plain)
        spellings = [f"{{{plain}}}", f"urn:uuid:{plain}", f"{plain}\n", f" {plain} ", digits, f"{plain}0", f"0{plain}"]
        spellings += [f"{digits[:9]}----{digits[9:]}", wide, f"g{plain[1:]}", "text", VERSION_7, f"{0:032x}"]
        spellings += ["00000000-0000-0000-0000-000000000000"]
        for text in spellings:
            self.ask(GET, conversation_id=text)
        self.ask(STATUS, run_id=f"{self.made[0]['runs'][0]['id']}\t")
        del valid["workspace_id"]
        self.keep(self.world.post(GET, json=valid))
        valid = self.arguments(GET)
        for raw in self.bodies(valid):
            self.keep(self.world.post(GET, content=raw, headers=JSON))
        for revision in ("true", '"2"', '"1e999"', "2.5", "null", "0", "-1", str(2**53), "NaN", "1e400", str(2**32)):
            body = json.dumps(self.arguments(ARCHIVE)).replace(": 2}", f": {revision}}}")
            self.keep(self.world.post(ARCHIVE, content=body.encode(), headers=JSON))
        for name in ("expected_revision", "mutation_id"):
            arguments = self.arguments(ARCHIVE, expected_revision=LARGE)
            del arguments[name]
            document = self.made[2]["conversation"]["id"]
            self.keep(self.world.post(ARCHIVE, json={**arguments, "conversation_id": document}))
        arguments = self.arguments(ARCHIVE, conversation_id=self.made[2]["conversation"]["id"], expected_revision=LARGE)
        self.keep(self.world.post(ARCHIVE, json={**arguments, "mutation_id": "text"}))
        arguments["expected_revison"] = arguments.pop("expected_revision")
        self.keep(self.world.post(ARCHIVE, json=arguments))
        target, headers = self.world.reference.target, {"Authorization": f"Bearer {self.token}"}
        path = contract().operation(GET).path
        self.keep(self.world._call(target, "GET", path, headers=headers, params=valid))
        self.keep(self.world._call(target, "PUT", path, headers=headers, json=valid))
        self.keep(self.world._call(target, "POST", "/unknown", headers=headers, json=valid))
        self.keep(self.world.post(GET, json=valid, headers={"Content-Type": "text/plain"}))
        for coding in ("gzip", "x-none"):
            self.keep(self.world.post(GET, json=valid, headers={**JSON, "Content-Encoding": coding}))

    def bodies(self, valid: dict[str, Any]) -> Iterator[bytes]:
        """Yield bodies for get, one fault each."""
        text = json.dumps(valid)
        yield f"{text} and more".encode()
        yield f"[{text}]".encode()
        yield from (b"", b"{", b"\xff", b"[]", b"[" * 70, b" " * 70_000)
        yield json.dumps({**valid, "more": 1}).encode()
        yield json.dumps({**valid, "more": None}).encode()
        yield text.replace("conversation_id", "conversationId").encode()
        yield json.dumps({**valid, "conversation_id": None}).encode()
        yield json.dumps({**valid, "conversation_id": "\ud800"}).encode()
        yield (text[:-1] + f', "workspace_id": "{UNKNOWN}"}}').encode()
        archive = self.arguments(ARCHIVE, expected_revision=LARGE, conversation_id=self.made[2]["conversation"]["id"])
        self.keep(self.world.post(ARCHIVE, json={**archive, "more": 1}))

    def reads(self) -> None:
        """Read everything twice."""
        for _ in range(2):
            for document in self.made:
                self.ask(GET, document)
                for run in document["runs"][:4]:
                    self.ask(STATUS, document, run_id=run["id"])

    def changes(self) -> None:
        """Archive, replay, withdraw, expire."""
        self.ask(ARCHIVE, expected_revision=LARGE - 1, mutation_id=fresh())
        self.ask(ARCHIVE, self.made[1], expected_revision=LARGE + 1, mutation_id=fresh())
        self.reads()
        self.ask(ARCHIVE)
        self.ask(ARCHIVE)
        self.reads()
        self.world.control("POST", "/restart")
        self.ask(ARCHIVE)
        self.ask(ARCHIVE, expected_revision=LARGE + 1)
        both = {"scopes": ["agent:research", "other"]}
        self.ask(ARCHIVE, token=self.world.control("POST", f"/principals/{self.person}/tokens", both).json()["token"])
        other, token = self.world.principal()
        own = self.world.new_document()
        self.seed(own, other)
        theirs = self.world.call(
            ARCHIVE, token=token, conversation_id=own["conversation"]["id"], mutation_id=KEY, expected_revision=3
        )
        self.note(theirs.status_code, "")
        result = {"answer": answer_object(documents()[0].evidence), "model_id": None, "model_version": None}
        self.world.control("POST", f"/runs/{self.made[0]['runs'][1]['id']}/result", result)
        seen = self.world.call(GET, conversation_id=self.made[0]["conversation"]["id"]).text
        # The server makes up the id of a worker's message.
        self.note(200, re.sub(r'"id":"[^"]*"', "", seen))
        for now in ("2026-03-01T11:00:01Z", "2026-03-01T11:00:01.500Z"):
            self.world.move_clock(now)
            self.ask(GET, self.made[3])
        path = f"/conversations/{self.made[3]['conversation']['id']}/access"
        self.world.control("PUT", path, {"state": "access_changed"})
        self.ask(GET, self.made[3])
        self.world.control("PUT", path, {"state": "granted"})
        self.withdrawals()
        for now in ("2026-03-02T09:59:59Z", EXPIRES, "2027-01-01T00:00:00Z"):
            self.world.move_clock(now)
            self.ask(GET, self.made[3])
            self.withheld()

    def access(self, document: dict[str, Any], state: str) -> None:
        """Withdraw or grant access."""
        self.world.control("PUT", f"/conversations/{document['conversation']['id']}/access", {"state": state})

    def deliver(self, document: dict[str, Any], run: int) -> None:
        """Deliver a worker's result, and read the conversation."""
        result = {"answer": answer_object(documents()[0].evidence), "model_id": None, "model_version": None}
        self.world.control("POST", f"/runs/{document['runs'][run]['id']}/result", result)
        seen = self.world.call(GET, conversation_id=document["conversation"]["id"]).text
        self.note(200, re.sub(r'"id":"[^"]*"', "", seen))

    def withdrawals(self) -> None:
        """Withdraw access, and look at the rest; deliver results that nobody waits for; ask as a stranger."""
        _, token = self.world.principal(workspaces=[UNKNOWN])
        self.ask(GET, token=token)
        first, second = self.made[4:6]
        for state in ("access_changed", "source_unavailable"):
            self.access(first, state)
            self.withheld()
            self.deliver(first, 2)
            self.access(first, "granted")
        self.access(second, "access_changed")
        self.ask(ARCHIVE, second, mutation_id=VERSION_7)
        self.access(second, "granted")
        self.deliver(first, 4)
        self.deliver(self.made[3], 1)

    def withheld(self) -> None:
        """Ask for what is withheld now or will be later, in every way, and for its neighbour."""
        first, second = self.made[4:6]
        arguments = self.arguments(GET, conversation_id=first["conversation"]["id"])
        for headers in ({"Cache-Control": "max-stale"}, {"If-None-Match": "*"}):
            self.keep(self.world.post(GET, json=arguments, headers=headers))
        self.ask(GET, self.made[1])
        self.ask(GET, second)
        self.ask(STATUS, first)
        self.ask(ARCHIVE, first, expected_revision=1, mutation_id=fresh())
        self.ask(ARCHIVE, second, mutation_id=VERSION_7)
        if self.world.reference.clock.now(self.world.workspace) >= parse_instant(EXPIRES):
            self.deliver(first, 1)
            self.ask(ARCHIVE, first, mutation_id=fresh())


@functools.cache
def faultless() -> list[tuple[int, str]]:
    """Return what the faultless server answers."""
    return Trace().run()


def test_the_faultless_server_is_deterministic() -> None:
    """Two faultless servers answer every probe alike, and never with 5xx, so a difference is a fault's."""
    assert faultless() == Trace().run()
    assert all(status < 500 for status, _ in faultless())


@pytest.mark.parametrize("name", PROBED)
def test_a_fault_shows(name: str) -> None:
    """A server with the fault answers some probe otherwise."""
    with pytest.raises(ShownError):
        Trace(build(fault=name), faultless()).run()
