"""Schemathesis by itself, as its documentation says to start it: with its defaults, and with all that one can give it.

The second way is that of a careful user. All checks are on. The OpenAPI document gets seeded ids as examples, and links
from each operation to those that make sense after it. The configuration gives the fuzzer the same ids in dictionaries,
nine times of ten, so that most generated calls reach something stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import schemathesis.cli
from compare_server import ARCHIVE, GET, STATUS, Seeded
from schemathesis.engine import events

DOCUMENT: Final = Path(__file__).parents[2] / "contracts" / "research.openapi.json"

_FROM_RESULT: Final = {
    "workspace_id": "$response.body#/conversation/workspace_id",
    "conversation_id": "$response.body#/conversation/id",
}
_OF_FIRST_RUN: Final = {**_FROM_RESULT, "run_id": "$response.body#/runs/0/id"}
_AT_ITS_REVISION: Final = {**_FROM_RESULT, "expected_revision": "$response.body#/conversation/revision"}

LINKS: Final[dict[str, dict[str, Any]]] = {
    GET: {
        "statusOfItsFirstRun": {"operationId": STATUS, "requestBody": _OF_FIRST_RUN},
        "archiveIt": {"operationId": ARCHIVE, "requestBody": _AT_ITS_REVISION},
    },
    ARCHIVE: {
        "getIt": {"operationId": GET, "requestBody": _FROM_RESULT},
        "statusOfItsFirstRun": {"operationId": STATUS, "requestBody": _OF_FIRST_RUN},
        "sayItAgain": {"operationId": ARCHIVE, "requestBody": "$request.body"},
    },
}

CONFIGURATION: Final = """\
continue-on-failure = true

[dictionaries]
workspaces = { values = %(workspaces)s }
readable = { values = %(readable)s }
with-runs = { values = %(with_runs)s }
runs = { values = %(runs)s }
to-archive = { values = %(to_archive)s }
revisions = { values = %(revisions)s }

[parameters]
"body.workspace_id" = { dictionary = "workspaces", probability = 0.9 }

[[operations]]
include-operation-id = "conversations_get"
[operations.parameters]
"body.conversation_id" = { dictionary = "readable", probability = 0.9 }

[[operations]]
include-operation-id = "sentiment_status"
[operations.parameters]
"body.conversation_id" = { dictionary = "with-runs", probability = 0.9 }
"body.run_id" = { dictionary = "runs", probability = 0.9 }

[[operations]]
include-operation-id = "conversations_archive"
[operations.parameters]
"body.conversation_id" = { dictionary = "to-archive", probability = 0.9 }
"body.expected_revision" = { dictionary = "revisions", probability = 0.9 }
"""


def with_defaults(seeded: Seeded, seed: int) -> list[str]:
    """Return the command line of somebody who has an OpenAPI document, an address and a token."""
    return ["run", str(DOCUMENT), *_target(seeded, seed)]


def with_all_it_takes(seeded: Seeded, seed: int, folder: Path) -> list[str]:
    """Write a document with examples and links and a configuration into the folder; return the command line."""
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    for operation in (item["post"] for item in document["paths"].values()):
        name = operation["operationId"]
        examples = {f"seeded{number}": {"value": each} for number, each in enumerate(seeded.examples[name])}
        operation["requestBody"]["content"]["application/json"]["examples"] = examples
        operation["responses"]["200"]["links"] = LINKS.get(name, {})
    (folder / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    configuration = folder / "seeded.toml"
    configuration.write_text(CONFIGURATION % _values(seeded), encoding="utf-8")
    options = ["--config-file", str(configuration), "run", str(folder / "openapi.json"), "--checks", "all"]
    return [*options, *_target(seeded, seed)]


def run(command_line: Sequence[str], note: Callable[[str], None]) -> None:
    """Carry out the command in this process, once; ``note`` is told of each failure and error when it is reported.

    Raises:
        SystemExit: the command line or the document is not as it has to be.
    """

    class Listener(schemathesis.cli.EventHandler[Any]):
        def handle_event(self, ctx: Any, event: events.EngineEvent) -> None:
            del ctx
            for failure in _failures(event):
                noted.append(failure)
                note(failure)

    noted: list[str] = []
    schemathesis.cli.handler()(Listener)
    try:
        schemathesis.cli.schemathesis.main(list(command_line), standalone_mode=False)
    except SystemExit as ended:
        if ended.code not in (0, 1):
            raise
        if ended.code and not noted:
            note("error: it says that something is wrong, but not what")


def _failures(event: events.EngineEvent) -> Iterable[str]:
    """Yield what a user would read in the summary: the check, what is wrong in its words, and the operation."""
    if isinstance(event, events.ScenarioFinished):
        for check in (check for checks in event.recorder.checks.values() for check in checks):
            if check.failure_info is not None:
                failure = check.failure_info.failure
                yield f"{check.name}: {failure.title} ({failure.operation})"
    elif isinstance(event, events.NonFatalError):
        yield f"error: {type(event.value).__name__} ({event.label})"
    elif isinstance(event, events.FatalError):
        yield f"error: {type(event.exception).__name__}"


def _target(seeded: Seeded, seed: int) -> list[str]:
    return ["--url", seeded.url, "--header", f"Authorization: Bearer {seeded.token}", "--seed", str(seed)]


def _values(seeded: Seeded) -> dict[str, str]:
    def of(operation: str, name: str) -> str:
        # An array of strings and numbers is the same in JSON and in TOML.
        return json.dumps(list(dict.fromkeys(each[name] for each in seeded.examples[operation])))

    return {
        "workspaces": of(GET, "workspace_id"),
        "readable": of(GET, "conversation_id"),
        "with_runs": of(STATUS, "conversation_id"),
        "runs": of(STATUS, "run_id"),
        "to_archive": of(ARCHIVE, "conversation_id"),
        "revisions": of(ARCHIVE, "expected_revision"),
    }
