"""The part of a target file that concerns MCP, and the revision on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.errors import UsageProblem
from conformance.target import Entry, Target, TargetOptions
from conformance.target_file import resolve_target
from conformance.transport.mcp.binding import McpProfile

COMMAND = '[target]\ncommand = "node server.js"\n'
EVERYTHING = """
[target]
url = "http://127.0.0.1:8000/mcp"

[target.also.rest]
url = "http://127.0.0.1:8000/"

[target.also.mcp-stdio]
command = "node server.js --stdio"
environment = { DATABASE = "x.db" }

[mcp]
token_env = "ACME_TOKEN"
revision = "2025-11-25"
output_schemas_url = "http://127.0.0.1:8000/mcp/with-output-schemas/"

[mcp.error_kind]
pointer = "/error/data/reason"
values = { stale = "conflict", "-32002" = "not_found" }

[mcp.profiles.core]
environment = { ACME_PROFILE = "core" }
url = "http://127.0.0.1:8000/mcp/core"
headers = { X-Profile = "core" }
"""


def read(folder: Path, text: str, **options: str) -> Target:
    """Write a target file and resolve it, with options beside it."""
    path = folder / "acme.toml"
    path.write_text(text, encoding="utf-8")
    return resolve_target(TargetOptions(config=path, **options), ())


def test_every_key_is_read(tmp_path: Path) -> None:
    """One file with all keys gives the binding that it describes."""
    target = read(tmp_path, EVERYTHING)
    assert "mcp-http" == target.transport
    assert (
        Entry("rest", "http://127.0.0.1:8000"),
        Entry("mcp-stdio", command="node server.js --stdio", environment={"DATABASE": "x.db"}),
    ) == target.also
    assert ("ACME_TOKEN", "2025-11-25") == (target.mcp.token_env, target.mcp.revision)
    assert "http://127.0.0.1:8000/mcp/with-output-schemas" == target.mcp.output_schemas_url
    assert "/error/data/reason" == target.mcp.kind_pointer
    assert {"stale": "conflict", "-32002": "not_found"} == target.mcp.kind_table
    core = McpProfile({"ACME_PROFILE": "core"}, "http://127.0.0.1:8000/mcp/core", (("X-Profile", "core"),))
    assert {"core": core} == target.mcp.profiles


def test_without_keys_the_published_ones_hold(tmp_path: Path) -> None:
    """A command alone is enough."""
    target = read(tmp_path, COMMAND)
    assert ("mcp-stdio", "SOSOAPI_TOKEN", "", {}) == (
        target.transport,
        target.mcp.token_env,
        target.mcp.revision,
        target.mcp.profiles,
    )


def test_the_revision_of_the_command_line_wins(tmp_path: Path) -> None:
    """As everything on the command line does."""
    assert "2025-06-18" == read(tmp_path, EVERYTHING, mcp_revision="2025-06-18").mcp.revision


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('token_envs = "A"', "unknown key 'token_envs'. Did you mean 'token_env'?"),
        ('token_env = "a b"', "token_env is 'a b'. Name an environment variable."),
        (
            'revision = "2025-06-19"',
            "'2025-06-19' is no revision of MCP that the suite speaks. Did you mean '2025-06-18'?",
        ),
        ('[mcp.profiles.cor]\nurl = "http://h"', "unknown key 'cor'. Did you mean 'core'?"),
        ('[mcp.profiles.core]\nurl = "ftp://h"', "'ftp://h' is not an http or https URL"),
        ('[mcp.profiles.core]\nheaders = { "X Y" = "a" }', "headers has 'X Y': 'a'. Use visible ASCII."),
        ('[mcp.error_kind]\npointer = "data"', "pointer is 'data'. Write a JSON pointer"),
        ('[mcp.error_kind]\npointer = "/data"', "pointer and values belong together. Give both, or neither."),
        (
            '[mcp.error_kind]\npointer = "/a"\nvalues = { x = "conflicts" }',
            "x stands for 'conflicts', which is no kind. Did you mean 'conflict'?",
        ),
        ('[target.also.mcp-htp]\nurl = "http://h"', "unknown key 'mcp-htp'. Did you mean 'mcp-http'?"),
        ('[target.also.rest]\ncommand = "node"', "rest is reached by its url, and nothing else. Give url alone."),
        ('[target.also.mcp-stdio]\nurl = "http://h"', "mcp-stdio is reached by its command, and nothing else."),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    """With the nearest right word."""
    head = COMMAND if text.startswith("[") else f"{COMMAND}[mcp]\n"
    with pytest.raises(UsageProblem) as caught:
        read(tmp_path, f"{head}{text}\n")
    assert message in str(caught.value).replace("\n", " ")


def test_a_revision_makes_no_sense_over_plain_http(tmp_path: Path) -> None:
    """Rather than to be ignored."""
    with pytest.raises(UsageProblem, match="a revision of MCP is named for plain HTTP"):
        read(tmp_path, '[target]\nurl = "http://h"\n', mcp_revision="2025-06-18")


def test_a_further_transport_can_be_the_one_that_is_tested(tmp_path: Path) -> None:
    """Its address takes the place of the first one, which becomes a further one."""
    target = read(tmp_path, EVERYTHING, transport="mcp-stdio")
    assert ("mcp-stdio", "", "node server.js --stdio") == (target.transport, target.url, target.command)
    assert {"DATABASE": "x.db"} == target.environment
    assert {"rest", "mcp-http"} == {entry.transport for entry in target.also}
    assert "http://127.0.0.1:8000/mcp" == next(each.url for each in target.also if each.transport == "mcp-http")
