"""The action, the example pipelines and the container: whole, pinned, and in step with the options of the suite."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from gate_files import (
    ACTION_FILE,
    CONTAINERFILE,
    GITLAB_FILE,
    SCRIPT,
    WORKFLOW_FILE,
    action,
    action_steps,
    read_yaml,
)
from suite_run import CHECKOUT

from conformance import __version__
from conformance.plugin import OPTIONS

OTHER_OPTIONS = {
    # pytest, pip, serve and the like
    "--pyargs", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--wheel-dir", "--no-index", "--find-links",
    # docker and podman
    "--file", "--tag", "--rm", "--network", "--user", "--volume", "--userns", "--mount",
    # coreutils
    "--gid", "--uid", "--no-create-home", "--shell", "--directory", "--owner", "--group",
    # the server in the examples, which is nobody's
    "--port", "--control-port",
}  # fmt: skip
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


def gate_options() -> set[str]:
    """Return the options that the script reads."""
    text = SCRIPT.read_text(encoding="utf-8")
    return set(re.findall(r"^\s+(--[a-z]+)\) \w+=\$2", text, re.MULTILINE))


def scripts() -> dict[str, str]:
    """Return every shell script of the action and of the GitHub example, by the name of its step."""
    (job,) = read_yaml(WORKFLOW_FILE)["jobs"].values()
    return {str(step["name"]): str(step["run"]) for step in (*action_steps(), *job["steps"]) if "run" in step}


def strings(value: Any) -> list[str]:
    """Return every string in a YAML value."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


def test_every_input_is_declared_and_used() -> None:
    """A misspelt input would be empty without a word."""
    used = set(re.findall(r"inputs\.([a-z-]+)", ACTION_FILE.read_text(encoding="utf-8")))
    assert set(action()["inputs"]) == used
    assert [] == [name for name, each in action()["inputs"].items() if not each["description"] or "default" not in each]


def test_every_output_is_written() -> None:
    """By the step that the action takes it from."""
    (gate,) = (step for step in action_steps() if step.get("id") == "gate")
    for name, output in action()["outputs"].items():
        assert f"${{{{ steps.gate.outputs.{name} }}}}" == output["value"]
        assert f'"{name}=$' in gate["run"]


def test_the_example_uses_what_the_action_has() -> None:
    """Its inputs and outputs, by their names."""
    (job,) = read_yaml(WORKFLOW_FILE)["jobs"].values()
    (step,) = (each for each in job["steps"] if each.get("id") == "conformance")
    assert set(action()["inputs"]) >= set(step["with"])
    used = re.findall(r"steps\.conformance\.outputs\.([a-z-]+)", WORKFLOW_FILE.read_text(encoding="utf-8"))
    assert {"verdict", "report"} == set(used) & set(action()["outputs"])


def test_nothing_is_expanded_within_a_script() -> None:
    """Whatever an input holds reaches a script as a variable, never as a part of it."""
    assert {} == {name: text for name, text in scripts().items() if EXPRESSION.search(text)}


@pytest.mark.parametrize("file", [ACTION_FILE, WORKFLOW_FILE], ids=lambda file: file.name)
def test_actions_are_pinned(file: Path) -> None:
    """By the hash of a commit with its version beside it; the suite itself, whose hash is not known yet, by version."""
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    version = r"v\d+\.\d+\.\d+"
    ours = rf"your-organisation/sosoapi-conformance@{version}"
    pinned = re.compile(rf"(- )?uses: (actions/[a-z-]+@[0-9a-f]{{40}} # {version}|{ours})")
    assert [] == [line for line in lines if not pinned.fullmatch(line)]


def test_images_are_pinned() -> None:
    """To the same patch release everywhere."""
    images = re.findall(r"^FROM (\S+)", CONTAINERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {f"docker.io/library/{read_yaml(GITLAB_FILE)['conformance']['image']}"} == set(images)
    assert re.fullmatch(r"docker\.io/library/python:\d+\.\d+\.\d+-slim-[a-z]+", images[0])


def test_examples_name_this_version() -> None:
    """A copied example installs the suite that it came with."""
    (job,) = read_yaml(WORKFLOW_FILE)["jobs"].values()
    assert f"your-organisation/sosoapi-conformance@v{__version__}" in [step.get("uses") for step in job["steps"]]
    assert f"sosoapi-conformance[schemathesis]=={__version__}" in GITLAB_FILE.read_text(encoding="utf-8")


def test_options_exist() -> None:
    """Every long option in these files is one of the suite, of the script, or of a program that is named here."""
    known = {*OPTIONS, *gate_options(), *OTHER_OPTIONS}
    for file in (ACTION_FILE, WORKFLOW_FILE, GITLAB_FILE, SCRIPT, CONTAINERFILE):
        text = re.sub(r"unknown option.*|--\[a-z\]", "", file.read_text(encoding="utf-8"))
        assert set() == set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - known, file.name


def test_the_script_tells_of_its_options() -> None:
    """Each is in the comment at its top."""
    text = SCRIPT.read_text(encoding="utf-8").partition("set -euo pipefail")[0]
    assert {"--start", "--ready", "--wait", "--log"} == gate_options()
    assert [] == [option for option in sorted(gate_options()) if f"#   {option} " not in text]


def test_scripts_parse() -> None:
    """As bash; and the one that is copied says by itself that it is bash and stops at errors."""
    assert SCRIPT.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")
    for text in (*scripts().values(), SCRIPT.read_text(encoding="utf-8")):
        ended = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)  # noqa: S607
        assert (0, "") == (ended.returncode, ended.stderr)


def test_examples_keep_the_reports_whatever_came_of_the_run() -> None:
    """Just when the gate fails they are needed."""
    job = read_yaml(GITLAB_FILE)["conformance"]
    assert ("always", "conformance-report/junit.xml") == (
        job["artifacts"]["when"], job["artifacts"]["reports"]["junit"]
    )  # fmt: skip
    (upload,) = (step for step in action_steps() if "upload-artifact" in step.get("uses", ""))
    assert "${{ always() && inputs.artifact != '' }}" == upload["if"]


def test_the_workflow_asks_for_no_rights() -> None:
    """It reads the repository, leaves no token in it, and cannot run for ever."""
    workflow = read_yaml(WORKFLOW_FILE)
    (job,) = workflow["jobs"].values()
    assert ({"contents": "read"}, 30) == (workflow["permissions"], job["timeout-minutes"])
    (checkout,) = (step for step in job["steps"] if "actions/checkout" in step.get("uses", ""))
    assert {"persist-credentials": False} == checkout["with"]
    assert [] == [text for text in strings(action()) if "secrets." in text and "inputs" in text]


def test_the_container_is_not_root() -> None:
    """The last word about the user is a number other than 0, so that it can be seen without looking into the image."""
    text = CONTAINERFILE.read_text(encoding="utf-8")
    assert ["10001:10001"] == re.findall(r"^USER (.*)$", text, re.MULTILINE)
    assert text.index("\nUSER ") > text.rindex("\nRUN ")


def test_the_container_is_built_of_what_is_there() -> None:
    """Every file that it copies is in the checkout."""
    lines = re.findall(r"^COPY (?!--)(.*)$", CONTAINERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    sources = [source for line in lines for source in line.split()[:-1]]
    assert {"conformance", "contracts", "fixtures", "reports", "pyproject.toml", "README.md", "LICENSE"} == set(sources)
    assert [] == [source for source in sources if not (CHECKOUT / source).exists()]
