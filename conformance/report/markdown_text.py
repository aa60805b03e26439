"""Puts text of a target into Markdown so that nothing in it is Markdown, HTML, a link, a mention or a reference."""

from __future__ import annotations

import re
from itertools import groupby

from conformance.printable import printable

_EDGES = re.compile(r"(?P<before>[(\"']*)(?P<core>.*?)(?P<after>[).,;:!?\"']*)", re.DOTALL)
_PLAIN_MARKS = "-'\u2019/.,+%()\"?!"
# GitHub makes links of these wherever they stand in running text: hosts, issues of trackers, advisories, commits.
# Neither a backslash nor an entity keeps it from doing so. A number with a mark behind it begins a list.
_REFERENCE = re.compile(r"(?i)www\.|[a-z]-\d|ghsa-|\b[0-9a-f]{7,40}\b|^\d+[.)]")


def prose(text: str, longest: int = 800) -> str:
    """Return text as one line of a paragraph: plain words stay as they are, all others become code.

    Which characters Markdown and its dialects act on is not enumerated: a word is plain when it consists of letters,
    digits and a few marks that mean nothing, and begins with a letter or a digit. Code is the one place where neither
    HTML nor mentions (``@name``) nor references (``#1``) mean anything. It begins no list, heading or fence either.
    """
    words = clipped(text, longest).split()
    return " ".join(_run([*group], plain=plain) for plain, group in groupby(words, _is_plain))


def _run(words: list[str], *, plain: bool) -> str:
    if plain:
        return " ".join(words)
    parts = _EDGES.fullmatch(" ".join(words))
    if parts is None or not parts["core"]:
        return code(" ".join(words))
    return f"{parts['before']}{code(parts['core'])}{parts['after']}"


def _is_plain(word: str) -> bool:
    parts = _EDGES.fullmatch(word)
    core = parts["core"] if parts else ""
    if not core or not core[0].isalnum() or _REFERENCE.search(word):
        return False
    return all(character.isalnum() or character in _PLAIN_MARKS for character in core)


def code(text: str, longest: int = 500) -> str:
    """Return text as inline code on one line, whatever backticks, line breaks or control characters it has."""
    shown = _written_out(text, longest) or " "
    # A reader strips one space from each end, so a text with some of its own needs two more.
    padding = " " if shown.strip() and (shown[0] in "` " or shown[-1] in "` ") else ""
    marks = "`" * (_longest_run(shown) + 1)
    return f"{marks}{padding}{shown}{padding}{marks}"


def fenced(text: str, language: str = "text", longest: int = 4000) -> list[str]:
    """Return the lines of a fenced block; line breaks stay, other control characters are written out."""
    lines = _written_out(text.expandtabs(), longest, keep="\n").split("\n")
    fence = "`" * max(3, *(_longest_run(line) + 1 for line in lines))
    return [f"{fence}{language}", *lines, fence]


def folded(title: str, lines: list[str]) -> list[str]:
    """Return lines that a reader opens by a click, or nothing where there are none; ``title`` is text of our own."""
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>", ""] if lines else []


def clipped(text: str, longest: int) -> str:
    """Return the text, or the first ``longest`` characters of it and how many it has."""
    return text if len(text) <= longest else f"{text[:longest]} ... (of {len(text)} characters)"


def _written_out(text: str, longest: int, keep: str = "") -> str:
    """Return the text as ``printable`` shows it, but for the character to keep; cut, it counts what is written."""
    shown = "".join(part if part == keep else printable(part) for part in re.split(r"(\n)", text[: longest + 1]))
    return shown if len(shown) <= longest else f"{shown[:longest]} ... (of {len(text)} characters)"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
