"""What the documents tell the reader to do between the commands: files to write, conversations to prepare, faults."""

from __future__ import annotations

import json
import random
import re
import shutil
import time
import tomllib
from typing import Any, Final

from acting import Stage
from suite_run import CHECKOUT

from conformance.cases.conversations import DAY, Plan, RunPlan, compose
from conformance.cases.texts import UTC_MILLISECONDS, timestamp
from conformance.control.http import HttpControl
from conformance.control.interface import Principal

VENDORS: Final = "fixtures/vendors"
TYPESCRIPT: Final = f"{VENDORS}/typescript-zod"
SERVE: Final = "sosoapi-conformance serve --port 8000 --control-port 8001"
SERVE_VENDORS: Final = "sosoapi-conformance serve --port 8400 --control-port 8401"
BROKEN: Final = f"{SERVE} --fault input-boolean-as-integer"
INIT: Final = (
    "sosoapi-conformance init acme.toml --url http://127.0.0.1:8000 --control-url http://127.0.0.1:8001 --name Acme"
)


def blocks(document: str, language: str) -> list[str]:
    """Return the contents of a document's blocks in a language."""
    text = (CHECKOUT / document).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def start_broken(stage: Stage) -> None:
    """Have the server run that the README's first run is about."""
    stage.start(BROKEN)


def start_for_vendors(stage: Stage) -> None:
    """Have a server run where the guides for vendors have theirs."""
    stage.start(SERVE_VENDORS)


def start_with_target_file(stage: Stage) -> None:
    """Have a server that conforms, and a target file that describes it."""
    stage.start(SERVE)
    ended = stage.run(INIT)
    assert 0 == ended.status, ended.output


def name_the_implementation(stage: Stage) -> None:
    """Fill in what ``init`` says is to be filled in."""
    stage.edit("acme.toml", '#name = "Acme research server"', 'name = "Acme research server"')
    stage.edit("acme.toml", '#version = "1.4.2"', 'version = "1.4.2"')


def keep_last_week(stage: Stage) -> None:
    """Have results to compare with."""
    shutil.copytree(stage.folder / "whole", stage.folder / "last-week")


def write_modules(stage: Stage) -> None:
    """Write the modules that the guide for Python applications shows."""
    text = (CHECKOUT / VENDORS / "python-in-process.md").read_text(encoding="utf-8")
    written = re.findall(r"`(\w+\.py)`[^`]*```python\n(.*?)```", text, re.DOTALL)
    assert ["acme_app.py", "conftest.py"] == [name for name, _ in written]
    for name, code in written:
        stage.write(name, code)


def prepare_conversations(stage: Stage) -> None:
    """Fill in the target file as the guide shows it, and make what it names: people, tokens and conversations."""
    (text,) = blocks(f"{VENDORS}/black-box.md", "toml")
    stage.write("acme.toml", text)
    fixtures = tomllib.loads(text)["fixtures"]
    control = HttpControl(stage.here("http://127.0.0.1:8401"), None)
    now = int(time.time() * 1000) - 2000
    spaces = {role: fixtures[role][0]["workspace_id"] for role in ("readable", "disposable", "expired")}
    reader = control.create_principal(("agent:research",), tuple(spaces.values()), "reader")
    other = control.create_principal(("agent:research",), (spaces["readable"],), "other user")
    for role, prepared in fixtures.items():
        _store(control, other if role == "foreign" else reader, prepared[0], now)
    control.set_clock(spaces["expired"], timestamp(now + DAY, UTC_MILLISECONDS))
    stage.environment.update(
        ACME_READER_TOKEN=reader.token,
        ACME_OTHER_TOKEN=other.token,
        ACME_NO_SCOPE_TOKEN=control.create_token(reader, ()).token,
    )
    control.close()


def _store(control: HttpControl, owner: Principal, prepared: dict[str, Any], now: int) -> None:
    runs = (RunPlan(kind="sentiment", question=True), RunPlan("queued", "themes", question=True))
    rng = random.Random(prepared["conversation_id"])  # noqa: S311 - text to read, no secret
    made = compose(rng, now, Plan(runs=runs), workspace_id=prepared["workspace_id"])
    text = json.dumps([made.conversation, made.messages, made.runs])
    text = text.replace(made.conversation_id, prepared["conversation_id"])
    text = text.replace(made.runs[0]["id"], prepared["runs"][0]["run_id"])
    control.seed_conversation(owner, *json.loads(text))


def run_few_cases(stage: Stage) -> None:
    """Have the report of a short run of a broken server in place of that of the whole run of the guide's server."""
    stage.start(BROKEN)
    stage.run(INIT.replace("--name Acme", "--name research-server"))
    stage.edit("acme.toml", '#version = "1.4.2"', 'version = "1.0.0"')
    few = "--profile quick -k INPUT-TYPE --seed 7 --report-dir report"
    ended = stage.run(f"pytest --pyargs conformance --target-config acme.toml {few}")
    assert 1 == ended.status, ended.output


def change_one_digit(stage: Stage) -> None:
    """Copy the attested folder and change one digit of one answer in its log."""
    shutil.copytree(stage.folder / "report", stage.folder / "changed")
    log = stage.folder / "changed" / "exchanges.jsonl"
    text = log.read_text(encoding="utf-8")
    found = re.search(r'\\"revision\\": ?(\d)', text)
    assert found is not None
    at, digit = found.start(1), str(9 - int(found[1]))
    log.write_text(text[:at] + digit + text[at + 1 :], encoding="utf-8")


def copy_server(stage: Stage) -> None:
    """Copy the server in TypeScript without what was built of it here."""
    ignored = shutil.ignore_patterns("node_modules", "dist", "report", "state.db*")
    shutil.copytree(CHECKOUT / TYPESCRIPT, stage.folder, ignore=ignored, dirs_exist_ok=True)
    stage.write("target.toml", (stage.folder / "target.toml").read_text(encoding="utf-8"))
    # Where there is no ready-made binary of a module it is compiled, and that is to be quick here.
    stage.environment.update(CFLAGS="-O0", CXXFLAGS="-O0", JOBS="2", PORT=stage.ports["8000"])


def put_fault_in(stage: Stage) -> None:
    """Let everything live a moment too long, as the guide says."""
    stage.edit("src/rules.ts", "now >= Date.parse(expiresAt)", "now > Date.parse(expiresAt)")


def mend(stage: Stage) -> None:
    """Mend the fault, build and restart."""
    stage.edit("src/rules.ts", "now > Date.parse(expiresAt)", "now >= Date.parse(expiresAt)")
    ended = stage.run("npm run build && curl -sS -X POST http://127.0.0.1:8001/restart")
    assert 0 == ended.status, ended.output


def stop_servers(stage: Stage) -> None:
    """Have no server at all."""
    stage.stop_servers()
