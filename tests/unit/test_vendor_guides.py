"""The guides for vendors: messages that they quote are the suite's own, and links and options lead somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from conformance.command_line import COMMANDS
from conformance.contract import load_contract
from conformance.plugin import OPTIONS
from conformance.target import TargetOptions
from conformance.target_file import resolve_target

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "fixtures" / "vendors"
GUIDES = ("README.md", "black-box.md", "python-in-process.md", "troubleshooting.md")
TROUBLES = (FOLDER / "troubleshooting.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"^> (.+)$", TROUBLES, re.MULTILINE)
OF_COMMANDS = {
    "--allow-reset", "--no-probe", "--url", "--pyargs", "--reader-env", "--other-user-env", "--without-scope-env",
}  # fmt: skip


@cache
def written() -> str:
    """Return every text that stands in the source, one a line, with a mark where a value is filled in."""
    found = []
    for path in sorted((CHECKOUT / "conformance").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(text.replace("\n", " ") for text in found)


def test_there_are_messages_to_look_for() -> None:
    """The pattern finds what the guide quotes."""
    assert len(QUOTED) > 20


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_one_of_the_suite(message: str) -> None:
    """Word for word, with something filled in where the guide has dots."""
    parts = [re.escape(part) for part in message.split("...") if part.strip(" ?")]
    assert re.search(r"[^\n]*?".join(parts), written()) or re.search(re.escape(message), written())


def _words(name: str) -> Iterator[str]:
    yield from re.findall(r"(?<![\w-])--[a-z][a-z-]+", (FOLDER / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", GUIDES)
def test_options_and_commands_exist(name: str) -> None:
    """An option that is renamed is renamed in the guides too."""
    known = {*OPTIONS, *OF_COMMANDS}
    assert [] == [word for word in _words(name) if word not in known]
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert set(re.findall(r"\$ sosoapi-conformance (\w+)", text)) <= COMMANDS.keys()


@pytest.mark.parametrize("name", GUIDES)
def test_links_lead_somewhere(name: str) -> None:
    """Relative ones, as a reader of the checkout and of the wheel follows them."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "//" not in link]
    assert [] == [link for link in links if not (FOLDER / link).exists()]


def test_the_target_file_of_the_guide_is_one(tmp_path: Path) -> None:
    """It has a conversation of each role."""
    (text,) = re.findall(r"```toml\n(.*?)```", (FOLDER / "black-box.md").read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "acme.toml"
    path.write_text(text, encoding="utf-8")
    target = resolve_target(TargetOptions(config=path), tuple(each.name for each in load_contract().operations))
    assert target.manifest is not None
    assert all((target.manifest.readable, target.manifest.disposable, target.manifest.expired, target.manifest.foreign))
    assert {"reader", "other_user", "without_scope"} == set(target.tokens)
