"""MCP over the standard streams of children, whatever the children do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from mcp_servers import CHILD, child_command

from conformance.contract import load_contract
from conformance.errors import UsageProblem
from conformance.transport.exchange import Call, Credential
from conformance.transport.mcp.answers import McpAnswer
from conformance.transport.mcp.binding import McpBinding, McpProfile
from conformance.transport.mcp.child import Child
from conformance.transport.mcp.stdio import StdioCommand, StdioGateway
from conformance.transport.mcp.transport import McpTransport, mcp_stdio
from conformance.transport.wire import WireLimits

OPERATION = load_contract().operations[0]
READER, OTHER, NOBODY = Credential.bearer("reader", "r"), Credential.bearer("other", "o"), Credential("nobody", None)
LIMITS = WireLimits(seconds=10.0, body_bytes=200_000)
IMPATIENT = WireLimits(seconds=0.3)
STATELESS = McpBinding(revision="2026-07-28")
GOOD = "serve(lambda message: say(result(message)))"


@contextmanager
def transport_to(
    folder: Path,
    program: str,
    binding: McpBinding = STATELESS,
    limits: WireLimits = LIMITS,
    environment: Mapping[str, str] | None = None,
    most_children: int = 16,
) -> Iterator[McpTransport]:
    """Give a transport to a program that continues ``CHILD``."""
    command = StdioCommand(child_command(folder, program), environment or {})
    with closing(mcp_stdio(command, binding, limits, lambda _: None, most_children=most_children)) as transport:
        yield transport


def call(transport: McpTransport, credential: Credential = READER, arguments: bytes = b"{}") -> McpAnswer:
    """Make one call."""
    return transport.call(Call(OPERATION, arguments, credential))


def failure_of(answer: McpAnswer) -> tuple[str, str]:
    """Return kind and message of the failure of a call that has no answer."""
    assert "no-answer" == answer.outcome
    assert answer.exchange.failure is not None
    return answer.exchange.failure.kind, answer.exchange.failure.message


def running(transport: McpTransport) -> list[Child]:
    """Return the children that run."""
    assert isinstance(transport.gateway, StdioGateway)
    return list(transport.gateway._children.values())


def is_gone(pid: int) -> bool:
    """Whether no process of that group is left."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_each_principal_has_a_child_with_its_token(tmp_path: Path) -> None:
    """The token is in the environment, for nobody there is none, and a child serves all calls of its principal."""
    with transport_to(tmp_path, GOOD, McpBinding()) as transport:
        answers = [call(transport, each) for each in (READER, READER, OTHER, NOBODY)]
        tokens = [b'{"token": "r"}', b'{"token": "r"}', b'{"token": "o"}', b'{"token": null}']
        assert tokens == [answer.result for answer in answers]
        assert 3 == len(running(transport))
        assert "2026-07-28" == transport.revision
        exchange = answers[1].exchange
        assert exchange.response is not None
        assert ("STDIO", (("SOSOAPI_TOKEN", "r"),), 0) == (
            exchange.request.method,
            exchange.request.headers,
            exchange.response.status,
        )
        assert b'{"jsonrpc":"2.0","id":3,' == exchange.request.body[:24]


def test_tokens_of_the_suite_do_not_reach_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in the suite's own environment under these names is its own; the target's environment goes along."""
    for name in ("SOSOAPI_TOKEN", "SOSOAPI_CONTROL_TOKEN", "SOSOAPI_OUTPUT_SCHEMAS"):
        monkeypatch.setenv(name, "secret")
    program = """serve(lambda message: say(result(message, {"content": [], "structuredContent":
        {name: os.environ.get(name) for name in ("MY_TOKEN", "SOSOAPI_TOKEN", "SOSOAPI_CONTROL_TOKEN", "SET")}})))"""
    binding = McpBinding(revision="2026-07-28", token_env="MY_TOKEN")
    with transport_to(tmp_path, program, binding, environment={"SET": "yes"}) as transport:
        expected = b'{"MY_TOKEN": "r", "SOSOAPI_TOKEN": null, "SOSOAPI_CONTROL_TOKEN": null, "SET": "yes"}'
        assert expected == call(transport).result


def test_profiles_and_the_switch_are_environment(tmp_path: Path) -> None:
    """Each has a child of its own."""
    program = """serve(None, lambda message: say(result(message, {"resultType": "complete", "tools": [
        {"name": f"{os.environ.get('PROFILE')}-{os.environ.get('SOSOAPI_OUTPUT_SCHEMAS')}"}]})))"""
    binding = McpBinding(revision="2026-07-28", profiles={"core": McpProfile(environment={"PROFILE": "core"})})
    with transport_to(tmp_path, program, binding) as transport:
        listings = [
            transport.list_tools(READER),
            transport.list_tools(READER, profile="core"),
            transport.list_tools(READER, output_schemas=True),
        ]
        assert [("None-None",), ("core-None",), ("None-1",)] == [listing.names for listing in listings]


def test_a_credential_that_no_environment_can_say_is_refused(tmp_path: Path) -> None:
    """Another scheme than Bearer has no meaning over stdio."""
    with transport_to(tmp_path, GOOD) as transport, pytest.raises(ValueError, match="odd"):
        call(transport, Credential("odd", "Basic abc"))


def test_an_older_server_is_initialized_in_each_child(tmp_path: Path) -> None:
    """A server that does not know the question is opened with a handshake; it may ping the client."""
    program = """
opened = []
def other(message):
    if message.get("method") == "initialize":
        opened.append(message["params"]["protocolVersion"])
        say(result(message, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}))
    elif message.get("method") == "notifications/initialized":
        opened.append("initialized")
        say({"jsonrpc": "2.0", "id": "p", "method": "ping"})
    else:
        opened.append(message)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "server/discover":
        say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "?"}})
    elif message.get("method") == "tools/call":
        say(result(message, {"content": [], "structuredContent": {"opened": opened}}))
    else:
        other(message)
"""
    with transport_to(tmp_path, program, McpBinding()) as transport:
        call(transport)
        pong = b'{"jsonrpc": "2.0", "id": "p", "result": {}}'
        # The answer to the ping may come after the first call, and comes before what follows the second.
        for _ in range(100):
            answer = call(transport)
            if answer.result == b'{"opened": ["2025-11-25", "initialized", ' + pong + b"]}":
                break
        assert b'{"opened": ["2025-11-25", "initialized", ' + pong + b"]}" == answer.result
        assert "2025-06-18" == transport.revision
        assert b'["2025-06-18", "initialized"' in (call(transport, OTHER).result or b"")


def test_a_silent_older_server_is_waited_for_and_then_initialized(tmp_path: Path) -> None:
    """A server that says nothing before it is initialized is an older one; a new child is asked."""
    program = """
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        say(result(message, {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}))
    elif message.get("method") == "tools/call":
        say(result(message))
"""
    with transport_to(tmp_path, program, McpBinding(), WireLimits(seconds=1.5)) as transport:
        assert ("success", "2025-11-25") == (call(transport).outcome, transport.revision)


def test_rubbish_on_stdout_is_stray_and_does_not_hide_the_answer(tmp_path: Path) -> None:
    """Lines that are no messages are kept, also where they are not UTF-8."""
    program = """
def rubbish(message):
    say("starting up...")
    sys.stdout.buffer.write(b"\\xff\\xfe\\n\\n")
    say({"level": "info"})
    say(result(message))
serve(rubbish)"""
    with transport_to(tmp_path, program) as transport:
        assert "success" == call(transport).outcome
        assert [b"starting up...", b"\xff\xfe", b"", b'{"level": "info"}'] == [
            stray.text for stray in transport.journal.strays()
        ]


def test_messages_before_and_beside_the_answer_are_kept(tmp_path: Path) -> None:
    """A notification is a message of the server like its answers."""
    note = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
    with transport_to(tmp_path, f"serve(lambda message: (say({note!r}), say(result(message))))") as transport:
        mark = transport.journal.mark()
        assert "success" == call(transport).outcome
        frames = transport.journal.frames(mark)
        assert [("", note.encode()), ("tools/call", frames[1].raw)] == [(each.answers, each.raw) for each in frames]
        assert () == transport.journal.strays()


def test_a_second_answer_is_stray(tmp_path: Path) -> None:
    """The first one counts, and the second is not taken for the answer to the next call."""
    with transport_to(tmp_path, "serve(lambda message: (say(result(message)), say(result(message))))") as transport:
        assert ["success"] * 3 == [call(transport).outcome for _ in range(3)]
        reasons = [stray.reason for stray in transport.journal.strays()]
        assert {"an answer that nobody awaits"} == set(reasons)


@pytest.mark.parametrize("changed", ["str(message['id'])", "message['id'] + 100", "None"])
def test_an_answer_under_another_id_counts_where_it_can_only_be_ours(tmp_path: Path, changed: str) -> None:
    """One call, one answer: its id is noted as wrong, and nobody waits for a better one."""
    with transport_to(tmp_path, f"serve(lambda message: say(result({{**message, 'id': {changed}}})))") as transport:
        answer = call(transport)
        assert ("success", False) == (answer.outcome, answer.received.id_echoed)


def test_an_error_without_an_id_is_no_answer_to_a_call(tmp_path: Path) -> None:
    """It may belong to a message before that could not be read; one that is sent in its own right gets it."""
    with transport_to(tmp_path, GOOD) as transport:
        transport.exchange_frame(READER, b'{"jsonrpc":', expect_answer=False)
        assert "success" == call(transport).outcome
        assert -32700 == (received := transport.exchange_frame(READER, b"[")).answer.value("error", "code")  # type: ignore[union-attr]  # there is one
        assert received.id_echoed is False
        assert "success" == call(transport).outcome
        assert () == transport.journal.strays()


def test_a_child_that_ends_is_told_and_replaced(tmp_path: Path) -> None:
    """The call has no answer, with the status of the child; the next call has a new child."""
    folder = tmp_path / "count"
    folder.mkdir()
    program = f"""
def once(message):
    if os.listdir({str(folder)!r}):
        say(result(message))
    else:
        open({str(folder / "x")!r}, "w").close()
        sys.exit(7)
serve(once)"""
    with transport_to(tmp_path, program) as transport:
        kind, message = failure_of(call(transport))
        assert "closed" == kind
        assert message in (
            "the child has ended with status 7 without an answer",
            "the child has closed its output without an answer",
        )
        assert "success" == call(transport).outcome


def test_a_command_that_cannot_be_started_is_told() -> None:
    """A program that is not there, and a command line that is none."""
    transport = mcp_stdio(StdioCommand("/no/such/program", {}), STATELESS, LIMITS, lambda _: None)
    assert ("unreachable", "the command cannot be started (no such file or directory)") == failure_of(call(transport))
    for command in ("'unclosed", ""):
        with pytest.raises(UsageProblem):
            mcp_stdio(StdioCommand(command, {}), STATELESS, LIMITS, lambda _: None)


def test_a_child_that_hangs_is_left_at_the_deadline(tmp_path: Path) -> None:
    """The next call has another child, and none of them outlives the transport."""
    with transport_to(tmp_path, "serve(lambda message: time.sleep(1000))", limits=IMPATIENT) as transport:
        pids = []
        for _ in range(2):
            assert "timeout" == failure_of(call(transport))[0]
            pids += [child._process.pid for child in running(transport)]
        assert 2 == len(set(pids))
    assert [True, True] == [is_gone(pid) for pid in pids]


def test_a_child_that_does_not_read_is_left_at_the_deadline(tmp_path: Path) -> None:
    """A message that is larger than the pipe does not block for ever."""
    with transport_to(tmp_path, "time.sleep(1000)", limits=IMPATIENT) as transport:
        arguments = b'"' + b"x" * 500_000 + b'"'
        assert ("timeout", "the child does not read what is sent to it") == failure_of(
            call(transport, arguments=arguments)
        )


@pytest.mark.parametrize("flood", ["print('x' * 1000)", "sys.stdout.write('x' * 1000)", 'say(\'{"method": "m"}\')'])
def test_a_flood_is_ended(tmp_path: Path, flood: str) -> None:
    """Rubbish, a line without an end, messages without an end: none takes more than the bound."""
    program = f"""
def pour(message):
    while True:
        {flood}
serve(pour)"""
    with transport_to(tmp_path, program) as transport:
        kind, message = failure_of(call(transport))
        assert ("too-large", "more than 200000 bytes of output without an answer") == (kind, message)
        assert len(transport.journal.strays()) <= 200


def test_stderr_is_read_bounded_and_shown(tmp_path: Path) -> None:
    """However much a child writes there, it never blocks; whoever looks sees all of it before the answer."""
    program = """
def loud(message):
    sys.stderr.write("e" * 300000 + "marker")
    sys.stderr.flush()
    say(result(message))
serve(loud)"""
    heard: list[tuple[str, bytes]] = []
    command = StdioCommand(child_command(tmp_path, program), {})
    with closing(
        mcp_stdio(
            command, STATELESS, LIMITS, lambda _: None, lambda credential, text: heard.append((credential.label, text))
        )
    ) as transport:
        assert "success" == call(transport).outcome
        assert {"reader"} == {label for label, _ in heard}
        assert heard[-1][1].endswith(b"marker")
        assert sum(len(text) for _, text in heard) >= 300006
        assert isinstance(transport.gateway, StdioGateway)
        (kept,) = transport.gateway.last_stderr()
        assert (64 * 1024, True) == (len(kept), kept.endswith(b"marker"))


def test_a_line_of_stderr_is_heard_once(tmp_path: Path) -> None:
    """Its beginning comes again with its end; what was whole by then does not, and may have become private since."""
    program = """
parts = iter(["whole\\nbeg", "inning\\n"])
def loud(message):
    sys.stderr.write(next(parts))
    sys.stderr.flush()
    say(result(message))
serve(loud)"""
    heard: list[bytes] = []
    command = StdioCommand(child_command(tmp_path, program), {})
    with closing(
        mcp_stdio(command, STATELESS, LIMITS, lambda _: None, lambda _, text: heard.append(text))
    ) as transport:
        assert ["success", "success"] == [call(transport).outcome for _ in range(2)]
    assert [b"whole\nbeg", b"beginning\n"] == heard


def test_answers_in_any_order_find_their_calls(tmp_path: Path) -> None:
    """Many calls are written in one piece and answered backwards; threads share the child as well."""
    program = """
held = []
def hold(message):
    held.append(message)
    if len(held) == 8:
        for each in reversed(held):
            say(result(each, {"content": [], "structuredContent": each["params"]["arguments"]}))
        held.clear()
serve(hold)"""
    with transport_to(tmp_path, program) as transport:
        calls = [Call(OPERATION, b"[%d]" % number, READER) for number in range(8)]
        expected = [b"[%d]" % number for number in range(8)]
        assert expected == [answer.result for answer in transport.in_flight(READER, calls)]
        with ThreadPoolExecutor(8) as pool:
            assert expected == [answer.result for answer in pool.map(transport.call, calls)]
        assert 1 == len(running(transport))


def test_line_breaks_in_arguments_do_not_break_the_line(tmp_path: Path) -> None:
    """They become blanks; whatever else is written stays."""
    program = """serve(lambda message: say(result(message,
        {"content": [], "structuredContent": message["params"]["arguments"]})))"""
    with transport_to(tmp_path, program) as transport:
        answer = call(transport, arguments=b'{\r\n"a":\n1.0}')
        assert ("success", b'{"a": 1.0}') == (answer.outcome, answer.result)


def test_the_least_recently_used_child_makes_room(tmp_path: Path) -> None:
    """At most so many run; a principal whose child is gone gets another."""
    with transport_to(tmp_path, GOOD, most_children=2) as transport:
        call(transport, READER)
        first = running(transport)[0]._process.pid
        call(transport, OTHER)
        call(transport, READER)
        call(transport, NOBODY)
        assert 2 == len(running(transport))
        assert first in [child._process.pid for child in running(transport)]
        assert b'{"token": "o"}' == call(transport, OTHER).result
        assert 2 == len(running(transport))


def test_nothing_that_a_child_has_started_outlives_the_transport(tmp_path: Path) -> None:
    """Neither a child that ignores every kind word, nor its own children."""
    program = """
import subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
own = subprocess.Popen([sys.executable, "-S", "-E", "-c", "import time; time.sleep(1000)"])
serve(lambda message: (say(str(own.pid)), say(result(message))))
time.sleep(1000)"""
    with transport_to(tmp_path, program) as transport:
        assert "success" == call(transport).outcome
        (stray,) = transport.journal.strays()
        pids = [running(transport)[0]._process.pid, int(stray.text)]
        assert [True, True] == [_runs(pid) for pid in pids]
    assert [False, False] == [_runs_on(pid) for pid in pids]


def test_children_end_with_the_run(tmp_path: Path) -> None:
    """A run that forgets to close leaves no child behind."""
    (tmp_path / "server.py").write_text(CHILD + GOOD + "\ntime.sleep(1000)", encoding="utf-8")
    script = f"""
from pathlib import Path
from conformance.transport.mcp.child import Child, ChildListener
from conformance.transport.wire import WireLimits
child = Child({[sys.executable, "-S", "-E", str(tmp_path / "server.py")]!r}, {{}}, WireLimits(), ChildListener())
print(child._process.pid, flush=True)
"""
    done = subprocess.run(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip().isdigit()
    assert not _runs_on(int(done.stdout))


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not collected does not."""
    if Path("/proc/self/stat").exists():
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
    else:
        command = ["ps", "-o", "stat=", "-p", str(pid)]
        state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - ps of the system
    return state[:1] not in ("", "Z", "X")


def _runs_on(pid: int) -> bool:
    """Whether a process runs even after the moment that the system takes to end one that was killed."""
    return all(_runs(pid) for _ in range(20000))


def test_a_child_that_is_killed_ends_the_wait(tmp_path: Path) -> None:
    """The call has no answer, long before its deadline."""
    with transport_to(tmp_path, "serve(lambda message: (say('waiting'), time.sleep(1000)))") as transport:
        answers: list[McpAnswer] = []
        caller = threading.Thread(target=lambda: answers.append(call(transport)))
        caller.start()
        while not transport.journal.strays():
            caller.join(0.01)
        os.killpg(running(transport)[0]._process.pid, signal.SIGKILL)
        caller.join(10)
        assert "closed" == failure_of(answers[0])[0]
