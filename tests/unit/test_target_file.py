"""The target file: every key, every way to get it wrong, and what the command line changes."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from made_answers import CONTRACT

from conformance.errors import UsageProblem
from conformance.requirements import load_registry
from conformance.run_setup import check_waivers
from conformance.target import Implementation, PreparedRun, Secret, Target, TargetOptions, Waiver
from conformance.target_file import resolve_target

OPERATIONS = tuple(operation.name for operation in CONTRACT.operations)
REGISTRY = load_registry(CONTRACT)

EVERYTHING = """
[implementation]
name = "Acme"
version = "1.2"
vendor = "Acme Ltd"
build_digest = "sha256:00"

[target]
transport = "rest"
url = "http://acme.test:8080/v2/"
[target.environment]
MODE = "test"

[control]
url = "http://127.0.0.1:9/control/"
token = { env = "ACME_CONTROL" }

[tokens]
reader = { env = "ACME_TOKEN" }
other_user = { file = "other.token" }

[rest]
method = "PUT"
token_header = "X-Token"
[rest.paths]
conversations_get = "/read"
[rest.status]
conflict = [410]

[limits]
call_seconds = 3
body_bytes = 1000

[[fixtures.readable]]
workspace_id = "w"
conversation_id = "c"
runs = [{ run_id = "r", request_kind = "sentiment", status = "completed" }, { run_id = "s" }]

[[waivers]]
requirement = "READ-PURE"
reason = "known"
owner = "Ann"
until = 2030-01-31
"""


@pytest.fixture(autouse=True)
def _no_tokens_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the default variables away."""
    monkeypatch.delenv("SOSOAPI_TOKEN", raising=False)
    monkeypatch.delenv("SOSOAPI_CONTROL_TOKEN", raising=False)


def read(folder: Path, text: str, **options: str) -> Target:
    """Write a target file and resolve it, with options beside it."""
    path = folder / "acme.toml"
    path.write_text(text, encoding="utf-8")
    return resolve_target(TargetOptions(config=path, **options), OPERATIONS)


def problem(folder: Path, text: str, **options: str) -> str:
    """Return what a wrong target file is told, without the folder's name."""
    with pytest.raises(UsageProblem) as caught:
        read(folder, text, **options)
    return str(caught.value).replace(f"{folder}/", "")


def test_every_key_is_read(tmp_path: Path) -> None:
    """One file with all keys gives the target that it describes."""
    target = read(tmp_path, EVERYTHING)
    assert Implementation("Acme", "1.2", "Acme Ltd", "sha256:00") == target.implementation
    assert ("rest", "http://acme.test:8080/v2", "") == (target.transport, target.url, target.command)
    assert {"MODE": "test"} == target.environment
    assert ("http://127.0.0.1:9/control", Secret("env", "ACME_CONTROL")) == (target.control_url, target.control_token)
    assert {"reader": Secret("env", "ACME_TOKEN"), "other_user": Secret("file", "other.token")} == target.tokens
    assert ("PUT", "X-Token") == (target.rest.method, target.rest.token_header)
    assert {"conversations_get": "/read"} == target.rest.paths
    assert (3.0, 1000) == (target.limits.seconds, target.limits.body_bytes)
    assert target.manifest is not None
    assert (PreparedRun("r", "sentiment", "completed"), PreparedRun("s")) == target.manifest.readable[0].runs
    assert (Waiver("READ-PURE", "known", "Ann", datetime.date(2030, 1, 31)),) == target.waivers


def test_a_kind_that_is_named_has_these_statuses_and_no_others(tmp_path: Path) -> None:
    """The other kinds keep the published ones, also where they share a status."""
    kinds = read(tmp_path, EVERYTHING).rest.status_kinds
    assert {"conflict"} == kinds[410]
    assert set() == kinds[412]
    assert {"in_progress"} == kinds[409]
    assert {"forbidden", "not_found"} == kinds[403]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[targt]\n", "unknown key 'targt'. Did you mean 'target'?"),
        ('[target]\nulr = "http://h"\n', "unknown key 'ulr'. Did you mean 'url'?"),
        ('[target]\nurl = "http://h"\n[control]\nurls = "x"\n', "unknown key 'urls'. Did you mean 'url'?"),
        ("[implementation]\nvendr = 1\n", "unknown key 'vendr'. Did you mean 'vendor'?"),
        ("[tokens.readr]\n", "unknown key 'readr'. Did you mean 'reader'?"),
        ("[tokens.reader]\nenvs = 'A'\n", "unknown key 'envs'. Did you mean 'env'?"),
        ("[rest]\nmethods = 'A'\n", "unknown key 'methods'. Did you mean 'method'?"),
        (
            "[rest.paths]\nconversation_get = '/a'\n",
            "unknown key 'conversation_get'. Did you mean 'conversations_get'?",
        ),
        ("[rest.status]\nconflicts = [409]\n", "unknown key 'conflicts'. Did you mean 'conflict'?"),
        ("[limits]\ncall_second = 1\n", "unknown key 'call_second'. Did you mean 'call_seconds'?"),
        ("[[fixtures.readble]]\n", "unknown key 'readble'. Did you mean 'readable'?"),
        (
            "[[fixtures.readable]]\nworkspace_id = 'w'\nconversation_id = 'c'\nrun = []\n",
            "unknown key 'run'. Did you mean 'runs'?",
        ),
        ("[[waivers]]\nuntil = 2030-01-01\nrequirement = 'A'\nreason = 'r'\nowners = 'o'\n", "owner is missing"),
        ("[[waivers]]\n", "until is missing"),
        ("[[fixtures.readable]]\n", "workspace_id is missing"),
        ("target = 'x'\n", "target is not a table. It must be a table."),
        ("[target]\nurl = 8000\n", "url is 8000. It must be a string."),
        ("[target]\nurl = true\n", "url is True. It must be a string."),
        ("[target.environment]\nA = 1\n", "A is 1. It must be a string."),
        ("[target]\ntransport = 'rset'\n", "unknown transport 'rset'. Did you mean 'rest'?"),
        ("[limits]\ncall_seconds = 0\n", "call_seconds is 0. Use 1 to 300."),
        ("[limits]\ncall_seconds = true\n", "call_seconds is True. It must be a whole number."),
        ("[limits]\ncall_seconds = 1.5\n", "call_seconds is 1.5. It must be a whole number."),
        ("[limits]\nbody_bytes = -1\n", "body_bytes is -1. Use a positive number."),
        ("[rest.status]\nconflict = [500]\n", "conflict names the status 500. Use 400 to 499."),
        ("[rest.status]\nconflict = ['409']\n", "conflict names the status '409'. Use 400 to 499."),
        ("[rest.status]\nconflict = 409\n", "conflict is 409. It must be a list."),
        ("[rest.paths]\nconversations_get = 'read'\n", "conversations_get is 'read'. A path begins with /"),
        ("[rest.paths]\nconversations_get = '/a b'\n", "conversations_get is '/a b'. A path begins with /"),
        ("[rest]\nmethod = 'GE T'\n", "method is 'GE T'."),
        ("[rest]\ntoken_header = ''\n", "token_header is ''."),
        ("waivers = ['x']\n", "'x' is not a table. Write it as [[...]] or {...}."),
        ("[[waivers]]\nuntil = '2030-01-01'\n", "until is '2030-01-01'. It must be a date such as 2026-12-31."),
        ("[[waivers]]\nuntil = 2030-01-01T00:00:00Z\n", "It must be a date such as 2026-12-31."),
        ("[tokens.reader]\nenv = 'A'\nfile = 'b'\n", "both env and file are given. Give one."),
        ("[target]\ncommand = 'a'\n[target.x]\n", "unknown key 'x'"),
        ("", "no url and no command. Add [target] url or command, or give --target-url."),
        ("[target]\nurl = 'acme'\n", "'acme' is not an http or https URL."),
        ("[target]\nurl = 'http://h'\n[control]\nurl = 'acme'\n", "'acme' is not an http or https URL."),
        ("[target\n", "the target file is not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    """The message begins with the file and says which key, what is wrong and what to write."""
    told = problem(tmp_path, text)
    assert told.startswith("acme.toml")
    assert message in told


def test_a_token_written_inline_is_refused_and_not_repeated(tmp_path: Path) -> None:
    """Neither as the role's value nor under another key; the message would end up in a log."""
    for text in (
        "[tokens]\nreader = 's3cret'\n",
        "[tokens.reader]\ntoken = 's3cret'\n",
        "[control]\ntoken = 's3cret'\n",
    ):
        told = problem(tmp_path, text)
        assert "s3cret" not in told
        assert "token" in told


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are no text."""
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    for name, reason in (("none.toml", "no such file"), ("", "is a directory"), ("bytes.toml", "not valid TOML")):
        with pytest.raises(UsageProblem, match=reason):
            resolve_target(TargetOptions(config=tmp_path / name), OPERATIONS)


def test_the_command_line_wins(tmp_path: Path) -> None:
    """URL, control URL and transport of the options replace those of the file; what it names besides them stays."""
    target = read(tmp_path, EVERYTHING, url="http://other.test/mcp", control_url="http://control.test/")
    assert ("http://other.test/mcp", "http://control.test", "rest") == (
        target.url,
        target.control_url,
        target.transport,
    )
    assert "Acme" == target.implementation.name
    assert "mcp-http" == read(tmp_path, EVERYTHING, url="http://other.test/x", transport="mcp-http").transport
    unnamed = EVERYTHING.replace('transport = "rest"\n', "")
    assert "mcp-http" == read(tmp_path, unnamed, url="http://other.test/mcp").transport
    stdio = read(tmp_path, EVERYTHING, command="node server.js")
    assert ("node server.js", "", "mcp-stdio") == (stdio.command, stdio.url, stdio.transport)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (TargetOptions(url=""), "--target-url: '' is not an http or https URL"),
        (TargetOptions(url="http://h", control_url=""), "--control-url: '' is not an http or https URL"),
        (TargetOptions(url="http://h", command="a"), "--target-url and --target-command are both given"),
        (TargetOptions(url="http://h", transport="mcp"), "--transport: unknown transport 'mcp'. Did you mean 'mcp-"),
    ],
    ids=str,
)
def test_a_wrong_option_is_named(options: TargetOptions, message: str) -> None:
    """An empty one, as an unset variable leaves it, is wrong too and never means the reference server."""
    assert options.given
    with pytest.raises(UsageProblem) as caught:
        resolve_target(options, OPERATIONS)
    assert message in str(caught.value)


def test_the_default_variables_are_used_where_the_file_names_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL and ``SOSOAPI_TOKEN`` are enough."""
    assert {} == resolve_target(TargetOptions(url="http://h"), OPERATIONS).tokens
    monkeypatch.setenv("SOSOAPI_TOKEN", "t")
    monkeypatch.setenv("SOSOAPI_CONTROL_TOKEN", "c")
    target = resolve_target(TargetOptions(url="http://h"), OPERATIONS)
    assert {"reader": Secret("env", "SOSOAPI_TOKEN")} == target.tokens
    assert Secret("env", "SOSOAPI_CONTROL_TOKEN") == target.control_token


def test_a_token_is_read_from_a_variable_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the line break that an editor leaves."""
    monkeypatch.setenv("ACME", "abc")
    (tmp_path / "token").write_text("def\n", encoding="utf-8")
    assert ["abc", "def"] == [Secret("env", "ACME").read(), Secret("file", str(tmp_path / "token")).read()]


@pytest.mark.parametrize("value", [b"", b" \n", b"s3cret\ns3cret", b"s3cret s3cret", "s3crét".encode(), b"s3cret\xff"])
def test_what_cannot_be_a_token_is_a_usage_problem(tmp_path: Path, value: bytes) -> None:
    """It says where the token was looked for, and not what was found there."""
    (tmp_path / "token").write_bytes(value)
    with pytest.raises(UsageProblem) as caught:
        Secret("file", str(tmp_path / "token")).read()
    assert str(tmp_path / "token") in str(caught.value)
    assert "s3cr" not in str(caught.value)


def test_a_missing_token_is_a_usage_problem() -> None:
    """A variable that is not set and a file that is not there."""
    with pytest.raises(UsageProblem, match="env ACME_UNSET: no token there"):
        Secret("env", "ACME_UNSET").read()
    with pytest.raises(UsageProblem, match="cannot be read"):
        Secret("file", "/nowhere/token").read()


DERIVED = next(each.id for each in REGISTRY.requirements if each.basis == "derived")
PUBLISHED = next(each.id for each in REGISTRY.requirements if each.basis == "schema")
LATER = datetime.date(2999, 1, 1)


@pytest.mark.parametrize(
    ("waiver", "message"),
    [
        (Waiver(DERIVED[:-1], "r", "o", LATER), f"no such requirement. Did you mean '{DERIVED}'?"),
        (Waiver(PUBLISHED, "r", "o", LATER), "it stands on the contract itself (schema)"),
        (Waiver(DERIVED, " ", "o", LATER), "the reason or the owner is empty"),
        (Waiver(DERIVED, "r", "", LATER), "the reason or the owner is empty"),
        (Waiver(DERIVED, "r", "o", datetime.date(2020, 1, 1)), "it ended on 2020-01-01"),
    ],
)
def test_a_waiver_that_does_not_hold_is_a_usage_problem(waiver: Waiver, message: str) -> None:
    """Only a derived requirement can be waived, with a reason and an owner, until a day to come."""
    with pytest.raises(UsageProblem) as caught:
        check_waivers(Target("rest", url="http://h", waivers=(waiver,)), REGISTRY)
    assert message in str(caught.value)


def test_a_waiver_holds_until_the_end_of_its_day() -> None:
    """The last day is part of it."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    check_waivers(Target("rest", url="http://h", waivers=(Waiver(DERIVED, "r", "o", today),)), REGISTRY)
