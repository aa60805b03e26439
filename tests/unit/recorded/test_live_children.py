"""In a replay real children get the messages of the record, and are heard in the words of the record."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp_servers import child_command

from conformance.contract import load_contract
from conformance.errors import NotReplayable
from conformance.recorded.children import RecordedMcpStdio
from conformance.recorded.description import NOT_WRITTEN
from conformance.recorded.resending import Resender, Resent
from conformance.recorded.tape import Tape
from conformance.recorded.translation import Translation
from conformance.target import Entry, Target
from conformance.transport.exchange import Answer, Call, Credential, Exchange
from conformance.transport.mcp.binding import CORE, McpBinding, McpProfile
from conformance.transport.mcp.stdio import StdioCommand
from conformance.transport.mcp.transport import McpTransport, mcp_stdio
from conformance.transport.wire import WireLimits

CASE = "conformance/checks/test_reads.py::test_it[A]"
OPERATION = load_contract().operations[0]
NAME, TOKEN = "$SOSOAPI_TOKEN_1", "token-of-the-server-of-now"
READER = Credential.bearer("reader", NAME)
LIMITS = WireLimits(seconds=10.0)
STATELESS, WITH_SESSIONS = McpBinding(revision="2026-07-28"), McpBinding(revision="2025-11-25")
GOOD = "serve(lambda message: say(result(message)))"
SESSIONS = """
opened = []
def other(message):
    if message["method"] == "initialize":
        opened.append(message["id"])
        say(result(message, {"protocolVersion": "2025-11-25", "capabilities": {},
                             "serverInfo": {"name": "n", "version": "1"}}))
serve(lambda message: say(result(message, {"content": [], "structuredContent": {"opened": len(opened)}})), other)"""


def call(transport: McpTransport) -> Answer:
    """Make one call."""
    return transport.call(Call(OPERATION, b"{}", READER))


def line(number: int, exchange: Exchange, case: str = CASE) -> dict[str, Any]:
    """Return what the log has of an exchange."""
    request, response, failure = exchange.request, exchange.response, exchange.failure
    headers = [list(each) for each in request.headers]
    answer = None
    if response is not None:
        answer = {"status": 0, "reason": "", "headers": [], "body": response.body.decode()}
    return {
        "kind": "exchange", "id": f"main-{number}", "case": case, "to": "target", "at": 0.0, "elapsed": 0.0,
        "request": {"method": request.method, "target": request.url, "headers": headers,
                    "body": request.body.decode()},
        "answer": answer, "failure": None if failure is None else failure.message,
        "failure_kind": None if failure is None else failure.kind,
    }  # fmt: skip


@dataclass
class Played:
    """A recorded transport, its tape, and what was heard on stderr."""

    transport: RecordedMcpStdio
    tape: Tape
    stderr: list[tuple[str | None, bytes]] = field(default_factory=list)

    @property
    def resent(self) -> Resent:
        """How often something was sent again."""
        assert self.tape.live is not None
        return self.tape.live.resent


def recorded(folder: Path, program: str, binding: McpBinding, make: Callable[[McpTransport], object]) -> list[Exchange]:
    """Return the exchanges of a run with this program."""
    exchanges: list[Exchange] = []
    command = StdioCommand(child_command(folder, program), {})
    with closing(mcp_stdio(command, binding, LIMITS, exchanges.append)) as transport:
        make(transport)
    return exchanges


@contextmanager
def replayed(
    lines: list[dict[str, Any]],
    command: str,
    binding: McpBinding = STATELESS,
    now: McpBinding | None = None,
    first: Callable[[McpTransport], object] = call,
) -> Iterator[Played]:
    """Give a transport on the record of these lines, whose server of now is started by ``command``.

    ``first`` is what an earlier case did, where the lines begin with one.
    """
    target = lines[0]["request"]["target"]
    tape, heard = Tape(lines, [NAME]), list[tuple[str | None, bytes]]()
    translation = Translation(neighbours)
    translation.token(NAME, TOKEN)
    transport = RecordedMcpStdio(
        tape, Target("mcp-stdio", command=target, mcp=binding), Entry("mcp-stdio", command=target), lambda _: None,
        lambda credential, text: heard.append((credential.header, text)),
    )  # fmt: skip
    live = Resender({}, LIMITS, translation, StdioCommand(command, {}), now or binding)
    with closing(transport):
        tape.begin_case(lines[0]["case"])
        played = Played(transport, tape, heard)
        if lines[0]["case"] != CASE:
            first(transport)
            tape.begin_case(CASE)
        tape.live = live
        yield played


def neighbours(_token: str, _: random.Random) -> Mapping[str, str]:
    """Make no token of another here."""
    return {}


def test_the_child_has_the_token_of_now_and_is_heard_in_the_words_of_then(tmp_path: Path) -> None:
    """Nothing else changes, so the answer counts as the same."""
    lines = [line(1, each) for each in recorded(tmp_path, GOOD, STATELESS, call)]
    (tmp_path / "now").mkdir()
    tells = GOOD.replace(
        "result(message)", '(sys.stderr.write(os.environ["SOSOAPI_TOKEN"] + "\\n"), result(message))[1]'
    )
    with replayed(
        lines, child_command(tmp_path / "now", f'say("of " + os.environ["SOSOAPI_TOKEN"])\n{tells}')
    ) as played:
        answer = call(played.transport)
        assert b'{"token": "$SOSOAPI_TOKEN_1"}' == answer.result
        assert lines[0]["request"]["target"] == answer.exchange.request.url
        assert Resent(1, 1) == played.resent
        assert [b"of $SOSOAPI_TOKEN_1"] == [stray.text for stray in played.transport.journal.strays()]
        assert [(f"Bearer {NAME}", b"$SOSOAPI_TOKEN_1\n")] == played.stderr
        assert (b"$SOSOAPI_TOKEN_1\n",) == played.transport.gateway.last_stderr()  # type: ignore[attr-defined] # of children


def test_a_session_that_an_earlier_case_opened_is_opened_again(tmp_path: Path) -> None:
    """In its live child, once; what the record says of the opening is not asked for."""

    def twice(transport: McpTransport) -> None:
        call(transport)
        call(transport)
        call(transport)

    exchanges = recorded(tmp_path, SESSIONS, WITH_SESSIONS, twice)
    assert 5 == len(exchanges)
    earlier = [line(number, each, "test_reads.py::test_earlier[A]") for number, each in enumerate(exchanges[:3])]
    lines = [*earlier, *(line(number, each) for number, each in enumerate(exchanges[3:], 3))]
    with replayed(lines, child_command(tmp_path, SESSIONS), WITH_SESSIONS) as played:
        assert [b'{"opened": 1}'] * 2 == [call(played.transport).result for _ in range(2)]
        assert Resent(2, 2) == played.resent


def test_a_child_is_asked_for_the_lists_that_it_had_given(tmp_path: Path) -> None:
    """One that lists otherwise the third time does so again."""
    program = """
count = []
def other(message):
    count.append(message)
    say(result(message, {"resultType": "complete", "tools": [{"name": f"t{len(count)}", "inputSchema": {}}]}))
serve(None, other)"""

    def thrice(transport: McpTransport) -> None:
        for _ in range(3):
            transport.list_tools(READER)

    def twice(transport: McpTransport) -> None:
        transport.list_tools(READER)
        transport.list_tools(READER)

    exchanges = recorded(tmp_path, program, STATELESS, thrice)
    earlier = [line(number, each, "test_reads.py::test_earlier[A]") for number, each in enumerate(exchanges[:2])]
    with replayed([*earlier, line(2, exchanges[2])], child_command(tmp_path, program), first=twice) as played:
        assert ("t3",) == played.transport.list_tools(READER).names
        assert Resent(1, 1) == played.resent


def test_a_session_that_the_case_opens_is_opened_by_its_own_messages(tmp_path: Path) -> None:
    """They are on the record."""
    lines = [line(number, each) for number, each in enumerate(recorded(tmp_path, SESSIONS, WITH_SESSIONS, call))]
    with replayed(lines, child_command(tmp_path, SESSIONS), WITH_SESSIONS) as played:
        assert b'{"opened": 1}' == call(played.transport).result
        assert Resent(3, 3) == played.resent


def test_a_race_is_run(tmp_path: Path) -> None:
    """Each client makes its calls at once, with the messages of the record; instants are those of now."""

    def thrice(transport: McpTransport) -> None:
        for _ in range(3):
            call(transport)

    lines = [line(number, each) for number, each in enumerate(recorded(tmp_path, GOOD, STATELESS, thrice))]
    course = [[["main-2", 1, 2]], [["main-0", 1, 2], ["main-1", 3, 4]]]
    made = Call(OPERATION, b"{}", READER)
    with replayed([*lines, {"kind": "race", "case": CASE, "clients": course}], child_command(tmp_path, GOOD)) as played:
        beside: list[str] = []
        played.transport.session(READER).open()
        raced = played.transport.play_race(
            played.transport.prepare, [[made], [made, made]], "barrier", lambda: beside.append("done"), 0.0
        )
        assert [1, 2] == [len(client) for client in raced.clients]
        assert all(4 < each.called < each.returned for client in raced.clients for each in client)
        sent = [[each.answer.exchange.request.body.decode() for each in client] for client in raced.clients]
        assert [[lines[2]["request"]["body"]], [each["request"]["body"] for each in lines[:2]]] == sent
        assert ["done"] == beside
        assert raced.beside is not None
        assert Resent(3, 3) == played.resent


def test_a_child_that_does_not_answer_at_all_is_told(tmp_path: Path) -> None:
    """With what it wrote to stderr; a failure after an answer is one of the server, and is judged."""
    lines = [line(1, each) for each in recorded(tmp_path, GOOD, STATELESS, call)]
    (tmp_path / "now").mkdir()
    command = child_command(tmp_path / "now", 'sys.exit("there is no " + os.environ["SOSOAPI_TOKEN"])')
    with (
        replayed(lines, command) as played,
        pytest.raises(
            NotReplayable, match=r"has ended with status 1.*it wrote to stderr: 'there is no \$SOSOAPI_TOKEN_1'"
        ),
    ):
        call(played.transport)
    with replayed(lines, "/no/such/program") as played, pytest.raises(NotReplayable, match="cannot be started"):
        call(played.transport)
    once = "serve(lambda message: (say(result(message)), os._exit(0) if message['id'] == 2 else None)[0])"
    ends = "serve(lambda message: os._exit(3) if message['id'] == 2 else say(result(message)))"

    def twice(transport: McpTransport) -> None:
        call(transport)
        call(transport)

    lines = [line(number, each) for number, each in enumerate(recorded(tmp_path, once, STATELESS, twice))]
    with replayed(lines, child_command(tmp_path, ends)) as played:
        assert ["success", "no-answer"] == [call(played.transport).outcome for _ in range(2)]
        assert Resent(2, 1) == played.resent


def test_a_profile_whose_environment_is_not_in_the_log(tmp_path: Path) -> None:
    """Cannot be chosen again, unless the target file says how."""
    core = McpBinding(revision="2026-07-28", profiles={CORE: McpProfile({"PROFILE": NOT_WRITTEN})})

    def listed(transport: McpTransport) -> None:
        transport.list_tools(READER, profile=CORE)

    program = """serve(None, lambda message: say(result(message, {"resultType": "complete", "tools": [
        {"name": os.environ["PROFILE"], "inputSchema": {}}]})))"""
    known = McpBinding(revision="2026-07-28", profiles={CORE: McpProfile({"PROFILE": "core"})})
    lines = [line(1, each) for each in recorded(tmp_path, program, known, listed)]
    command = child_command(tmp_path, program)
    with replayed(lines, command, core) as played, pytest.raises(NotReplayable, match="the profile core is not in the"):
        listed(played.transport)
    with replayed(lines, command, core, known) as played:
        assert ("core",) == played.transport.list_tools(READER, profile=CORE).names


def test_what_was_said_before_the_replay_is_not_judged(tmp_path: Path) -> None:
    """A case that looks at the whole run cannot be replayed."""
    lines = [line(1, each) for each in recorded(tmp_path, GOOD, STATELESS, call)]
    with replayed(lines, child_command(tmp_path, GOOD)) as played:
        journal = played.transport.journal
        journal.note_stray("reader", "no message", b"of then")
        journal.begin_replay()
        mark = journal.mark()
        assert () == journal.strays(mark)
        with pytest.raises(NotReplayable, match="only its own messages are sent again"):
            journal.strays(0)
        with pytest.raises(NotReplayable):
            journal.frames()
