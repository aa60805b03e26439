"""Shows a story as people read it: numbered steps, and a shell script of curl lines that repeats them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from conformance.report.curl import TOKEN_VARIABLE, curl_command
from conformance.transport.exchange import Answer

_CONTROL_TOKEN = "CONTROL_TOKEN"  # noqa: S105 - the name of a variable, not a token
_FIND_ID = """sed 's/.*"principal_id" *: *"\\([^"]*\\)".*/\\1/'"""
_FIND_SECRET = """sed 's/.*"token" *: *"\\([^"]*\\)".*/\\1/'"""  # noqa: S105 - how to find it, not the token


def variable(label: str) -> str:
    """Return the shell variable that holds the token of this label: ``Ann's other token`` becomes ``ANN_OTHER``."""
    words = label.upper().replace("'S", "").replace(" TOKEN", "").replace(" THE", "").split()
    return "_".join(words)


@dataclass(frozen=True)
class Step:
    """One step: what was done, what it came to and was allowed to come to (both empty for an event), as commands."""

    told: str
    answer: str
    allowed: str
    commands: tuple[str, ...]


@dataclass
class Story:
    """What has happened so far. ``control_url`` is empty where test control is no HTTP API."""

    control_url: str
    control_token: bool = False
    steps: list[Step] = field(default_factory=list)
    _pending: list[str] = field(default_factory=list)

    def control(self, method: str, path: str, body: Any = None) -> None:
        """Note a call of test control that belongs to the next step."""
        self._pending.append(self._control(method, path, body))

    def person(self, label: str, body: Mapping[str, Any]) -> None:
        """Note that a person was made; the script keeps id and token in variables."""
        if not self.control_url:
            self._pending.append(f"# test control makes the person {label} and exports the token as {variable(label)}")
            return
        name = variable(label)
        self._pending += [
            f"MADE=$({self._control('POST', '/principals', body)})",
            f'{name}_ID=$(printf %s "$MADE" | {_FIND_ID}) {name}=$(printf %s "$MADE" | {_FIND_SECRET})',
        ]

    def token(self, owner: str, label: str, body: Mapping[str, Any]) -> None:
        """Note that a person got another token."""
        if not self.control_url:
            self._pending.append(f"# test control gives {owner} another token, exported as {variable(label)}")
            return
        made = self._control("POST", "/principals/'\"$" + variable(owner) + "_ID\"'/tokens", body)
        self._pending.append(f"{variable(label)}=$({made} | {_FIND_SECRET})")

    def stored(self, owner: str, document: Mapping[str, Any]) -> None:
        """Note that a conversation was stored for a person."""
        text = json.dumps({"principal_id": "@", **document})
        if not self.control_url:
            self._pending.append(f"# test control stores for {owner}: {text}")
            return
        body = shlex.quote(text).replace('"@"', f'"\'"${variable(owner)}_ID"\'"')
        self._pending.append(self._line("POST", "/conversations", body))

    def event(self, told: str) -> None:
        """Add a step that is no call to the target."""
        self._add(told, "", "")

    def call(self, told: str, label: str, answer: Answer, short: str, allowed: str) -> None:
        """Add a call to the target."""
        command = curl_command(answer.exchange.request).replace(f"${TOKEN_VARIABLE}", f"${variable(label)}")
        self._pending.append(command)
        self._add(told, short, allowed)

    def _add(self, told: str, answer: str, allowed: str) -> None:
        self.steps.append(Step(told, answer, allowed, tuple(self._pending)))
        self._pending = []

    def _control(self, method: str, path: str, body: Any) -> str:
        if not self.control_url:
            return f"# test control: {method} {path} {json.dumps(body)}"
        return self._line(method, path, "" if body is None else shlex.quote(json.dumps(body)))

    def _line(self, method: str, path: str, body: str) -> str:
        words = ["curl", "-sS", "-X", method, f"'{self.control_url}{path}'"]
        if self.control_token:
            words += ["-H", f'"Authorization: Bearer ${_CONTROL_TOKEN}"']
        if body:
            words += ["-H", "'Content-Type: application/json'", "--data-binary", body]
        return " ".join(words)

    def text(self) -> str:
        """Return the whole story, ending with the script."""
        lines = []
        for number, step in enumerate(self.steps, 1):
            lines.append(f"{number}. {step.told}")
            if step.answer:
                lines += [f"     answer:  {step.answer}", f"     allowed: {step.allowed}"]
        lines.append("script, for a server that has none of these ids yet:")
        for number, step in enumerate(self.steps, 1):
            lines += [f"  # {number}", *(f"  {command}" for command in step.commands)]
        return "\n".join(lines)


def short_answer(answer: Answer, value: Any) -> str:
    """Return an answer in a few words: status, and of a result what the model looks at."""
    if not isinstance(value, Mapping):
        return answer.status
    if "run" in value:
        message = value["message"]
        return (
            f"{answer.status}, run {value['run']['status']}, revision {value['conversation_revision']}, "
            f"{'no message' if message is None else 'a message with text' if _has_text(message) else 'no text'}"
        )
    conversation = value["conversation"]
    texts = sum(_has_text(message) for message in value["messages"])
    runs = ", ".join(run["status"] for run in value["runs"]) or "none"
    return (
        f"{answer.status}, {conversation['availability']}, archived {str(conversation['archived']).lower()}, "
        f"revision {conversation['revision']}, {texts} of {len(value['messages'])} messages with text, runs: {runs}"
    )


def _has_text(message: Mapping[str, Any]) -> bool:
    return message["question"] is not None or message["answer"] is not None


def control_path(*parts: str) -> str:
    """Return a path of test control from its parts, each escaped."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)
