"""``sosoapi-conformance init``: the file that it writes can be used as it is, and explains every key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conformance.command_line import main
from conformance.contract import load_contract
from conformance.errors import ExitStatus, UsageProblem
from conformance.requirements import load_registry
from conformance.target import Implementation, Secret, Target, TargetOptions
from conformance.target_file import resolve_target
from conformance.target_tables import Table

OPERATIONS = tuple(operation.name for operation in load_contract().operations)
SETTING = re.compile(r"^#(?=[\w.\[])", re.MULTILINE)


@pytest.fixture(autouse=True)
def _no_tokens_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOSOAPI_TOKEN", raising=False)
    monkeypatch.delenv("SOSOAPI_CONTROL_TOKEN", raising=False)


def written(path: Path, *arguments: str) -> Target:
    """Write a target file and return the target that the suite reads from it."""
    assert main(["init", "--no-probe", str(path), *arguments]) == ExitStatus.CONFORMS
    return resolve_target(TargetOptions(config=path), OPERATIONS)


def test_with_a_url_the_file_is_ready(tmp_path: Path) -> None:
    """The file loads unchanged and says no more than what was given."""
    expected = Target("rest", url="http://127.0.0.1:8000/v1")
    assert expected == written(tmp_path / "target.toml", "--url", "http://127.0.0.1:8000/v1")


def test_every_option_reaches_the_target(tmp_path: Path) -> None:
    """Control URL, transport and name are in the file, whatever characters the name has."""
    name = 'Acme "7" \\ back\tslash \x7f \U0001f600'
    expected = Target(
        "mcp-http",
        transport_named=True,
        url="http://127.0.0.1:8000",
        control_url="http://127.0.0.1:8001",
        implementation=Implementation(name=name),
    )
    options = ["--url", "http://127.0.0.1:8000", "--control-url", "http://127.0.0.1:8001"]
    assert expected == written(tmp_path / "target.toml", *options, "--transport", "mcp-http", "--name", name)


def test_a_command_is_a_target_over_stdio(tmp_path: Path) -> None:
    """A command stands in the place of the URL."""
    expected = Target("mcp-stdio", command="node server.js")
    assert expected == written(tmp_path / "target.toml", "--command", "node server.js")


def test_without_an_address_the_file_wants_one(tmp_path: Path) -> None:
    """Nothing is invented: the address stays to be given, in the file or on the command line."""
    path = tmp_path / "target.toml"
    assert main(["init", str(path)]) == ExitStatus.CONFORMS
    with pytest.raises(UsageProblem, match="no url and no command"):
        resolve_target(TargetOptions(config=path), OPERATIONS)
    resolve_target(TargetOptions(config=path, url="http://127.0.0.1:1"), OPERATIONS)


def test_every_key_is_there_and_every_example_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every setting switched on, the loader takes the file and asks for no key that the file does not have."""
    path = tmp_path / "target.toml"
    main(["init", "--no-probe", str(path), "--url", "http://127.0.0.1:8000"])
    text = SETTING.sub("", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    asked: set[str] = set()
    get = Table.get

    def noting(table: Table, key: str, kind: Any, default: Any) -> Any:
        asked.add(key)
        return get(table, key, kind, default)

    monkeypatch.setattr(Table, "get", noting)
    target = resolve_target(TargetOptions(config=path), OPERATIONS)
    # A token is given by env or by file; the examples show both.
    assert [] == [
        key for key in sorted(asked) if not re.search(rf"\b{re.escape(key)}\b\]* ?=|[\[.]{re.escape(key)}[\].]", text)
    ]
    assert target.tokens["without_scope"] == Secret("file", "/run/secrets/without-scope-token")
    assert target.manifest is not None
    assert len(target.manifest.readable[0].runs) == 1
    assert load_registry(load_contract()).by_id[target.waivers[0].requirement].basis == "derived"


def test_defaults_shown_are_the_defaults(tmp_path: Path) -> None:
    """Switching on the settings of the binding and the limits changes nothing."""
    path = tmp_path / "target.toml"
    main(["init", "--no-probe", str(path), "--url", "http://127.0.0.1:8000"])
    head, rest = path.read_text(encoding="utf-8").split("[rest]")
    rest, _ = rest.split("# A derived requirement")
    path.write_text(head + "[rest]" + SETTING.sub("", rest), encoding="utf-8")
    target = resolve_target(TargetOptions(config=path), OPERATIONS)
    assert dict(target.rest.paths) == {each.name: each.path for each in load_contract().operations}
    plain = Target("rest")
    assert target.limits == plain.limits
    assert (target.rest.method, target.rest.token_header) == (plain.rest.method, plain.rest.token_header)
    assert dict(target.rest.status_kinds) == dict(plain.rest.status_kinds)


def test_an_existing_file_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only ``--force`` overwrites."""
    path = tmp_path / "target.toml"
    path.write_text("mine", encoding="utf-8")
    assert main(["init", str(path)]) == ExitStatus.USAGE
    assert capsys.readouterr().err == f"{path}: the file exists. Give another name, or --force to overwrite it.\n"
    assert path.read_text(encoding="utf-8") == "mine"
    assert main(["init", str(path), "--force"]) == ExitStatus.CONFORMS
    assert path.read_text(encoding="utf-8").startswith("# Target file")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--url", "localhost:8000"], "--url: 'localhost:8000' is not an http or https URL."),
        (["--url", "http://a", "--control-url", "ftp://b"], "--control-url: 'ftp://b' is not an http or https URL."),
        (["--transport", "mcp-htp"], "--transport: unknown transport 'mcp-htp'. Did you mean 'mcp-http'?"),
        (["--url", "http://a", "--command", "b"], "command line: --url and --command are both given."),
    ],
)
def test_wrong_values_write_no_file(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong value is named, and nothing is written."""
    path = tmp_path / "target.toml"
    assert main(["init", str(path), *arguments]) == ExitStatus.USAGE
    assert capsys.readouterr().err.startswith(message)
    assert not path.exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that cannot be written is a fault of usage."""
    assert main(["init", str(tmp_path / "missing" / "target.toml")]) == ExitStatus.USAGE
    assert "cannot be written (no such file or directory)" in capsys.readouterr().err
