"""The files with which pipelines run the suite, as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from suite_run import CHECKOUT

GATE = CHECKOUT / "fixtures" / "gate"
SCRIPT = GATE / "gate.sh"
ACTION_FILE = CHECKOUT / "action.yml"
WORKFLOW_FILE = GATE / "github-workflow.yml"
GITLAB_FILE = GATE / "gitlab-ci.yml"
CONTAINERFILE = GATE / "Containerfile"


def read_yaml(file: Path) -> Any:
    """Return what a YAML file says."""
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def action() -> Mapping[str, Any]:
    """Return the GitHub action."""
    value: Mapping[str, Any] = read_yaml(ACTION_FILE)
    return value


def action_steps() -> Iterator[Mapping[str, Any]]:
    """Yield the steps of the GitHub action."""
    yield from action()["runs"]["steps"]


def action_script(name: str, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the script of a step, and its variables as the runner would set them.

    ``inputs`` are those that a workflow gives, ``outputs`` those of the step ``gate``.
    """
    (step,) = (each for each in action_steps() if each.get("name") == name)
    values = {f"inputs.{key}": str(each.get("default", "")) for key, each in action()["inputs"].items()}
    values |= {f"inputs.{key}": value for key, value in inputs.items()}
    values |= {f"steps.gate.outputs.{key}": value for key, value in outputs.items()}
    variables = {
        key: re.sub(r"\$\{\{ (.*?) \}\}", lambda match: values[match[1]], str(value))
        for key, value in step.get("env", {}).items()
    }
    return str(step["run"]), variables
