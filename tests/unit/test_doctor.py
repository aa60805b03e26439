"""``sosoapi-conformance doctor``: one line for each thing, what it costs, and a status to branch on."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from raw_server import raw_server, response, sending, unused_port

from conformance.cases.conversations import small
from conformance.command_line import main
from conformance.contract import load_contract
from conformance.control.http import HttpControl
from conformance.control.interface import ControlFailed
from conformance.doctor.costs import Costs
from conformance.doctor.diagnosis import WIDTH, Diagnosis, exit_status
from conformance.doctor.needed import Needed, needed_over
from conformance.errors import ExitStatus
from conformance.judge.formats import parse_instant
from conformance.reference.server import Addresses, Settings, running
from conformance.requirements import load_registry
from conformance.stage import fresh_uuid
from conformance.target import Manifest, PreparedConversation, Target

TOKEN = "a-token-of-a-vendor-that-is-a-secret"


@pytest.fixture(autouse=True)
def _no_tokens_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOSOAPI_TOKEN", raising=False)
    monkeypatch.delenv("SOSOAPI_CONTROL_TOKEN", raising=False)


@pytest.fixture(autouse=True)
def _collected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collect the checks once for all tests of a transport."""
    monkeypatch.setattr("conformance.doctor.command.needed_over", lambda _, transport, __: _needed(transport))


@cache
def _needed(transport: str) -> tuple[Needed, ...]:
    return needed_over(load_registry(load_contract()), transport)


@pytest.fixture(scope="module")
def server() -> Iterator[Addresses]:
    """Run the reference server."""
    with running(Settings(database="memory")) as addresses:
        yield addresses


Doctor = Callable[..., tuple[int, dict[str, tuple[str, str]]]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Return a function that runs the command and returns its status, and state and words by subject."""

    def examine(*arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
        status = main(["doctor", *arguments])
        said = capsys.readouterr()
        assert said.err == ""
        assert [] == [line for line in said.out.splitlines() if len(line) > WIDTH and " " in line[26:].strip()]
        found: dict[str, tuple[str, str]] = {}
        subject = ""
        for line in said.out.splitlines():
            if line[:9].strip() in ("ok", "missing", "broken", "untried") and line[8:9] == " ":
                subject = line[9:25].strip()
                found[subject] = line[:9].strip(), line[26:].strip()
            elif line.startswith(" " * 26):
                state, words = found[subject]
                found[subject] = state, f"{words} {line.strip()}"
        return status, found

    return examine


def test_a_target_with_everything(server: Addresses, doctor: Doctor) -> None:
    """Each capability is tried and works; reset is not tried unasked."""
    status, found = doctor("--target-url", server.target, "--control-url", server.control)
    assert status == ExitStatus.CONFORMS
    tried = ("rest", "paths", "address", "principals", "tokens", "seed", "clock", "access", "worker", "restart")
    assert {"ok"} == {found[name][0] for name in tried}
    assert found["reset"][0] == "untried"
    assert found["second transport"][0] == "missing"


def test_reset_is_tried_when_that_is_allowed(server: Addresses, doctor: Doctor) -> None:
    """It drops what is stored, so it takes a word."""
    _, found = doctor("--target-url", server.target, "--control-url", server.control, "--allow-reset")
    assert found["reset"] == ("ok", "test control says that all seeded data is dropped")


def test_mcp_with_a_second_transport(server: Addresses, doctor: Doctor, tmp_path: Path) -> None:
    """Every transport of the target file is tried, over MCP with the revision and the tools."""
    file = tmp_path / "acme.toml"
    file.write_text(
        f'[target]\nurl = "{server.mcp}"\n[target.also.rest]\nurl = "{server.target}"\n'
        f'[control]\nurl = "{server.control}"\n',
        encoding="utf-8",
    )
    status, found = doctor("--target-config", str(file))
    assert status == ExitStatus.CONFORMS
    assert found["mcp-http"] == ("ok", f"{server.mcp} speaks MCP 2026-07-28")
    assert found["tools"] == ("ok", "all 3 tools are listed")
    assert found["rest"][0] == "ok"
    assert "second transport" not in found


def test_nothing_answers(doctor: Doctor) -> None:
    """The status is that of a run that could not begin, and nothing else is tried."""
    status, found = doctor("--target-url", f"http://127.0.0.1:{unused_port()}")
    assert status == ExitStatus.COULD_NOT_RUN
    assert found["rest"][0] == "broken"
    assert found["requirements"] == ("untried", "nothing else was tried, since the target cannot be used")


def test_another_web_server_answers(server: Addresses, doctor: Doctor) -> None:
    """What answers there is not the API: broken, and the sentence is that of a run."""
    status, found = doctor("--target-url", server.control, "--control-url", server.control)
    assert status == ExitStatus.DOES_NOT_CONFORM
    assert found["rest"][0] == "broken"
    assert "answers, but not at the contract's paths" in found["rest"][1]


def test_a_bare_address_is_merely_missing_things(server: Addresses, doctor: Doctor) -> None:
    """Nothing is broken where nothing was promised; each line says what it costs."""
    status, found = doctor("--target-url", server.target)
    assert status == ExitStatus.CONFORMS
    registry, contract = load_registry(load_contract()), load_contract()
    cost = Costs(contract, registry, Target("rest"), None, _needed("rest")).without_control()
    assert found["address"] == ("missing", f"the target names no test control (--control-url) {cost}")
    assert "without reader's token: " in found["reader"][1]


def _fails(*_: Any, **__: Any) -> Any:
    raise ControlFailed("test control answered with 500 '\x1b[31mbroken'", "Mend it.")


def _nothing(*_: Any, **__: Any) -> Any:
    return None


@pytest.mark.parametrize(
    ("method", "subject", "does", "sentence"),
    [
        ("create_token", "tokens", _fails, "answered with 500"),
        ("seed_conversation", "seed", _fails, "answered with 500"),
        ("seed_conversation", "seed", lambda *_: {}, "the owner cannot read a conversation that was stored (404"),
        ("set_clock", "clock", _nothing, "it does not stand still there"),
        ("release_clock", "clock", _nothing, "and still stands still"),
        ("set_access", "access", _nothing, "the conversation is still shown as available"),
        ("deliver_result", "worker", _nothing, "a result was delivered, and its run is still processing"),
        ("restart", "restart", _fails, "answered with 500"),
    ],
)
def test_a_capability_that_does_not_do_what_it_is_for(
    method: str,
    subject: str,
    does: Any,
    sentence: str,
    server: Addresses,
    doctor: Doctor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An answer of 2xx is not enough: what it does is looked at; what it costs is said, and text is escaped."""
    monkeypatch.setattr(HttpControl, method, does)
    status, found = doctor("--target-url", server.target, "--control-url", server.control)
    assert status == ExitStatus.DOES_NOT_CONFORM
    assert found[subject][0] == "broken"
    assert sentence in found[subject][1]
    assert "requirements are not assessed (" in found[subject][1]
    assert "\x1b" not in found[subject][1]
    if subject == "seed":
        assert found["access"][0] == found["worker"][0] == found["restart"][0] == "untried"


def test_people_that_the_target_does_not_know(
    server: Addresses, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token of test control that the target refuses: principals are broken, what builds on them is untried."""
    create = HttpControl.create_principal

    def other(control: HttpControl, *arguments: Any) -> Any:
        return dataclasses.replace(create(control, *arguments), token=TOKEN)

    monkeypatch.setattr(HttpControl, "create_principal", other)
    status, found = doctor("--target-url", server.target, "--control-url", server.control)
    assert status == ExitStatus.DOES_NOT_CONFORM
    assert found["principals"][0] == "broken"
    assert "the target refuses the token of a new person (401" in found["principals"][1]
    assert found["seed"][0] == "untried"


def test_control_that_is_not_there_and_control_without_its_token(
    server: Addresses, doctor: Doctor, tmp_path: Path
) -> None:
    """Each is told from the other."""
    status, found = doctor("--target-url", server.target, "--control-url", f"{server.control}/nowhere")
    assert (status, found["address"][0]) == (ExitStatus.DOES_NOT_CONFORM, "broken")
    file = tmp_path / "acme.toml"
    file.write_text(
        f'[target]\nurl = "{server.target}"\n[control]\nurl = "{server.control}"\ntoken = {{ env = "NOT_SET" }}\n',
        encoding="utf-8",
    )
    status, found = doctor("--target-config", str(file))
    assert status == ExitStatus.DOES_NOT_CONFORM
    assert "env NOT_SET: no token there" in found["token"][1]


def _manifest(server: Addresses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **roles: str) -> str:
    """Prepare a readable conversation; write a target file whose tokens are those of these people."""
    control, rng = HttpControl(server.control, None), random.Random(str(roles))  # noqa: S311 - test data
    workspace_id = fresh_uuid(rng)
    reader = control.create_principal(("agent:research",), (workspace_id,), "reader")
    other = control.create_principal(("agent:research",), (workspace_id,), "other user")
    document = small(rng, _now(control, workspace_id), workspace_id=workspace_id)
    control.seed_conversation(reader, document.conversation, document.messages, document.runs)
    people = {"READER": reader.token, "OTHER": other.token, "LESS": control.create_token(reader, ()).token}
    control.close()
    for name, token in people.items():
        monkeypatch.setenv(name, token)
    file = tmp_path / "acme.toml"
    tokens = "".join(f'{role} = {{ env = "{name}" }}\n' for role, name in roles.items())
    prepared = f'workspace_id = "{workspace_id}"\nconversation_id = "{document.conversation_id}"\n'
    file.write_text(
        f'[target]\nurl = "{server.target}"\n[tokens]\n{tokens}[[fixtures.readable]]\n{prepared}', encoding="utf-8"
    )
    return str(file)


def _now(control: HttpControl, workspace_id: str) -> int:
    return int(float(parse_instant(control.read_clock(workspace_id))) * 1000) - 2000


def test_tokens_of_each_role(
    server: Addresses, doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a readable conversation the scope of each is seen."""
    file = _manifest(server, tmp_path, monkeypatch, reader="READER", other_user="OTHER", without_scope="LESS")
    status, found = doctor("--target-config", file)
    assert status == ExitStatus.CONFORMS
    roles = ("reader", "other_user", "without_scope", "readable")
    assert {"ok"} == {found[role][0] for role in roles}
    assert found["foreign"][0] == "missing"


def test_tokens_that_are_mixed_up(
    server: Addresses, doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader's token in another role, another's in the reader's, and a variable that is not set."""
    file = _manifest(server, tmp_path, monkeypatch, reader="OTHER", other_user="READER", without_scope="NOT_SET")
    status, found = doctor("--target-config", file)
    assert status == ExitStatus.DOES_NOT_CONFORM
    assert {"broken"} == {found[role][0] for role in ("reader", "other_user", "without_scope", "readable")}
    assert "no token of the reader" in found["reader"][1]
    assert "env NOT_SET: no token there" in found["without_scope"][1]


def test_a_token_is_never_shown(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the target repeats it in what is quoted of it."""
    monkeypatch.setenv("SOSOAPI_CONTROL_TOKEN", TOKEN)
    body = json.dumps({"you sent": TOKEN}).encode()
    with raw_server(sending(response(body, "500 Internal Server Error"))) as repeating:
        _, found = doctor("--target-url", repeating.url, "--control-url", repeating.url)
    assert TOKEN not in str(found)
    assert "$SOSOAPI_CONTROL_TOKEN" in found["address"][1]


def test_what_is_missing_adds_up() -> None:
    """Without a capability fewer requirements can be assessed, by as many as its cost says."""
    contract = load_contract()
    registry, everything = load_registry(contract), frozenset({"principals", "seed", "clock", "tokens"})
    costs = Costs(contract, registry, Target("rest"), everything, _needed("rest"))
    lost = costs.assessable(everything)[0] - costs.assessable(everything - {"clock"})[0]
    assert costs.without_capability("clock").startswith(f"without clock: {lost} requirements are not assessed (")


def test_prepared_conversations_count() -> None:
    """Without test control a conversation prepared by hand is worth the requirements whose checks it serves."""
    contract = load_contract()
    one = (PreparedConversation("", ""),)
    bare, prepared = Target("rest"), Target("rest", manifest=Manifest(readable=one))
    costs = Costs(contract, load_registry(contract), prepared, None, _needed("rest"))
    less = Costs(contract, load_registry(contract), bare, None, _needed("rest"))
    lost = costs.assessable(())[0] - less.assessable(())[0]
    assert lost > 10
    assert costs.without("it", prepared, bare).startswith(f"without it: {lost} requirements are not assessed (")


@pytest.mark.parametrize(
    ("states", "reached", "status"),
    [
        (("ok", "missing", "untried"), True, ExitStatus.CONFORMS),
        (("ok", "broken"), True, ExitStatus.DOES_NOT_CONFORM),
        (("broken",), False, ExitStatus.COULD_NOT_RUN),
    ],
)
def test_statuses(states: tuple[Any, ...], reached: bool, status: ExitStatus) -> None:  # noqa: FBT001 - a column
    """What is missing is no fault; where nothing answers, nothing else counts."""
    found = [Diagnosis("thing", state, "so") for state in states]
    assert status == exit_status(found, anything_reached=reached)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "doctor: no target is named. Give --target-url, --target-command or --target-config."),
        (
            ["--target-ulr", "http://a"],
            "sosoapi-conformance doctor: unknown option --target-ulr. Did you mean '--target-",
        ),
        (["--target-url", "http://a", "--transport", "rset"], "--transport: unknown transport 'rset'. Did you mean"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Named with the nearest right word."""
    assert main(["doctor", *arguments]) == ExitStatus.USAGE
    assert capsys.readouterr().err.startswith(message)
