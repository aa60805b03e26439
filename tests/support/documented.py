"""The documents as a test reads them: which commands they show, with which transcript, under which heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from suite_run import CHECKOUT

SHELLS: Final = frozenset({"sh", "bash", "console", "shell"})
PROGRAMS: Final = frozenset(
    {
        "pytest", "sosoapi-conformance", "python", "python3.11", "pip", "tox", "ruff", "mypy", "npm", "npx", "node",
        "git", "docker", "podman", "curl", "schemathesis", "gate.sh", "bash", "cp", ".ci/run",
    }
)  # fmt: skip
"""A passage in backquotes that begins with one of these is a command; the name of a program alone is not."""

PLACEHOLDERS: Final = frozenset(
    {"CLAIM", "COMMAND", "DIR", "FAMILY", "FILE", "ID", "MODULE", "NAME", "SECONDS", "TOKEN", "URL"}
)
"""What stands for a word of the reader's own; a passage in the text with one of them is a form, and no command."""

GENERATED: Final = ("contracts/research/pages", "reports/kill-matrix/kill-matrix.md")
"""Written by a program, and compared with what it writes elsewhere."""


@dataclass(frozen=True)
class Documented:
    """A command as a document shows it: joined where it is continued, and what is shown of its output, if anything.

    ``in_text`` is of one that stands in backquotes in the text and not in a block.
    """

    document: str
    section: str
    line: int
    text: str
    transcript: str = ""
    in_text: bool = False

    @property
    def is_form(self) -> bool:
        """Whether it says how such a command looks, or only names one: then there is nothing to be run as it stands."""
        words = set(re.findall(r"[\w.-]+", self.text))
        names = re.fullmatch(r"sosoapi-conformance \w+", self.text)
        return self.in_text and bool(names or words & PLACEHOLDERS or "[" in self.text or "..." in self.text)

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: {self.text}"


def documents(checkout: Path = CHECKOUT) -> list[str]:
    """Return the documents of the project that people have written, as paths in the checkout."""
    patterns = ("*.md", "contracts/*.md", "conformance/**/*.md", "fixtures/**/*.md", "reports/README.md",
                "reports/*/README.md", "tests/**/*.md")  # fmt: skip
    found = {path.relative_to(checkout).as_posix() for pattern in patterns for path in checkout.glob(pattern)}
    return sorted(each for each in found if not each.startswith(GENERATED) and "node_modules" not in each)


def commands(document: str, checkout: Path = CHECKOUT) -> list[Documented]:
    """Return the commands of a document in their order, those in the text among them."""
    return list(_read(document, (checkout / document).read_text(encoding="utf-8")))


def _read(document: str, text: str) -> Iterator[Documented]:
    section, start = "", 1
    paragraph: list[str] = []
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        heading, fence = re.match(r"#+ (.+)", line), re.match(r" *```(\w*)", line)
        if heading or fence or not line.strip() or line.startswith(("|", "- ")):
            yield from _in_text(document, section, start, "\n".join(paragraph))
            paragraph = []
        if heading:
            section = heading[1]
        elif fence:
            block = []
            for _, inner in lines:
                if inner.strip() == "```":
                    break
                block.append(inner)
            yield from _in_block(document, section, number + 1, fence[1], block)
        else:
            start = start if paragraph else number
            paragraph.append(line)
    yield from _in_text(document, section, start, "\n".join(paragraph))


def _in_text(document: str, section: str, start: int, paragraph: str) -> Iterator[Documented]:
    for found in re.finditer(r"`([^`]+)`", paragraph):
        text = " ".join(found[1].split())
        if text.split(" ")[0] in PROGRAMS and (" " in text or "/" in text):
            line = start + paragraph[: found.start()].count("\n")
            yield Documented(document, section, line, text, in_text=True)


def _in_block(document: str, section: str, start: int, language: str, block: list[str]) -> Iterator[Documented]:
    prompted = any(line.startswith("$ ") for line in block)
    if language not in SHELLS:
        if prompted:
            raise ValueError(f"{document}:{start}: commands in a block that is not said to be of a shell")
        return
    index = 0
    while index < len(block):
        first, text = index, block[index].removeprefix("$ ")
        while text.endswith("\\"):
            index += 1
            text = text[:-1].rstrip() + " " + block[index].strip()
        index += 1
        shown = []
        while prompted and index < len(block) and not block[index].startswith("$ "):
            shown.append(block[index])
            index += 1
        if prompted and not block[first].startswith("$ "):
            raise ValueError(f"{document}:{start}: a transcript without a command")
        if command := re.sub(r"(^|\s)#\s.*", "", text).strip():
            yield Documented(document, section, start + first, command, "\n".join(shown).strip())


_STABLE: Final = (
    (r"\b[0-9a-f]{64}\b", "DIGEST"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
    (r"canary-[0-9a-f]+", "canary-WORD"),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r'"id":\d+', '"id":N'),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"(\d+) (passed|deselected|not assessed)(?=,| in \d)", r"N \2"),
    (r"\b\d+ exchanges", "N exchanges"),
    (r"\bin \d+(\.\d+)?m?s( \(\d:\d\d:\d\d\))?", "in N s"),
    (r"\b\d+(\.\d+)? s\b", "N s"),
    (r"([=!-])\1+", r"\1"),
)


def stable(output: str) -> str:
    """Return an output without what differs from run to run or from machine to machine, and without any space."""
    joined = " ".join(output.split())
    for pattern, stands_for in _STABLE:
        joined = re.sub(pattern, stands_for, joined)
    return joined.replace(" ", "")


def first_difference(transcript: str, output: str, *, part_of_run: bool = False) -> str | None:
    """Return the first passage of a transcript that the output does not have there; None where they agree.

    ``...`` in a transcript stands for anything. Spaces and breaks of lines do not count, since they depend on the width
    of the terminal. With ``part_of_run`` what sums a whole run up is not looked for.
    """
    if not transcript:
        return None
    passages, found, place = transcript.split("..."), stable(output), 0
    for number, passage in enumerate(passages):
        wanted = stable(passage)
        if part_of_run and re.match(r"(verdict:|not assessed \(|family\s|=)", passage.strip()):
            continue
        at = found.find(wanted, place)
        if at < 0 or (number == 0 and at > 0):
            return passage.strip()
        place = at + len(wanted)
    ends = stable(passages[-1])
    if not part_of_run and ends and not found.endswith(ends):
        return passages[-1].strip() + " (and nothing after it)"
    return None
