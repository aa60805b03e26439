"""How the tests read documents: no command is missed, and a transcript that says something else is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from documented import Documented, commands, first_difference

DOCUMENT = """\
# Title

Run `tool` or `pytest --lf
-x` and see `sosoapi-conformance doctor`, or `pytest --seed N`, in `file.py`.

| command | does |
|---|---|
| `.ci/run` | all |

## Next

```console
$ pytest one \\
    two   # not the third
shown
...
$ curl that
$ npm ci
last
```

```sh
# first of all
tox
```
"""


def read(text: str, folder: Path) -> list[Documented]:
    """Return the commands of a document with this text."""
    (folder / "page.md").write_text(text, encoding="utf-8")
    return commands("page.md", folder)


def test_commands_stand_in_blocks_and_in_the_text(tmp_path: Path) -> None:
    """Joined where they are continued or broken over lines, without remarks, with heading, line and transcript."""
    assert [
        ("Title", 3, "pytest --lf -x", ""),
        ("Title", 4, "sosoapi-conformance doctor", ""),
        ("Title", 4, "pytest --seed N", ""),
        ("Title", 8, ".ci/run", ""),
        ("Next", 13, "pytest one two", "shown\n..."),
        ("Next", 17, "curl that", ""),
        ("Next", 18, "npm ci", "last"),
        ("Next", 24, "tox", ""),
    ] == [(each.section, each.line, each.text, each.transcript) for each in read(DOCUMENT, tmp_path)]


@pytest.mark.parametrize(
    ("text", "is_form"),
    [
        ("sosoapi-conformance doctor", True),
        ("sosoapi-conformance replay DIR --finding 1", True),
        ("sosoapi-conformance init [--force]", True),
        ("pytest --target-url ...", True),
        ("sosoapi-conformance requirements INPUT-UUID-FORMAT", False),
        ("pytest -n 2", False),
    ],
)
def test_a_form_has_words_to_be_replaced(text: str, is_form: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only in the text: what stands in a block is to be typed."""
    assert is_form is Documented("page.md", "", 1, text, in_text=True).is_form
    assert not Documented("page.md", "", 1, text).is_form


@pytest.mark.parametrize(
    "text", ["```python\n$ pytest\n```\n", "```\n$ pytest\n```\n", "```sh\nshown\n$ pytest\n```\n"]
)
def test_a_command_that_would_be_missed_is_refused(text: str, tmp_path: Path) -> None:
    """In a block that says nothing of a shell, or with a line before it that is neither command nor transcript."""
    with pytest.raises(ValueError, match=r"page\.md:2"):
        read(text, tmp_path)


OUTPUT = """\
started on http://127.0.0.1:4711
all 3 tools are
listed: ok
verdict: conforms (level: schema; 12 exchanges, 3.4 s)
=== 12 passed, 3 not assessed in 3.41s ===
"""


@pytest.mark.parametrize(
    "transcript",
    [
        "",
        "started on http://127.0.0.1:8000\n...",
        "...\nall 3 tools are listed: ok\n...",
        "...\nverdict: conforms (level: schema; 7\nexchanges, 8 s)\n== 9 passed, 4 not assessed in 80.1s (0:01:20) ===",
        "started on http://127.0.0.1:8000\nall 3 ...: ok\n...",
    ],
)  # fmt: skip
def test_a_transcript_agrees_whatever_the_width_and_the_machine(transcript: str) -> None:
    """Ports, times and numbers of cases differ, lines are broken elsewhere, and dots stand for anything."""
    assert first_difference(transcript, OUTPUT) is None


@pytest.mark.parametrize(
    ("transcript", "difference"),
    [
        ("...\nall 4 tools are listed: ok\n...", "all 4 tools are listed: ok"),
        ("all 3 tools are listed: ok\n...", "all 3 tools are listed: ok"),
        ("...\nall 3 tools are listed: ok", "all 3 tools are listed: ok (and nothing after it)"),
        ("...\nlisted: ok\n...\nstarted on\n...", "started on"),
        ("...\nverdict: conforms (level: full; 12 exchanges, 3.4 s)\n...",
         "verdict: conforms (level: full; 12 exchanges, 3.4 s)"),
    ],
)  # fmt: skip
def test_what_is_not_printed_is_named(transcript: str, difference: str) -> None:
    """Another number of tools, another order, something before or after."""
    assert difference == first_difference(transcript, OUTPUT)


def test_what_sums_a_run_up_is_not_expected_of_a_part() -> None:
    """The rest is."""
    transcript = "...\nall 3 tools are listed: ok\n...\nverdict: conforms (level: full; 12 exchanges, 3.4 s)\n"
    assert first_difference(transcript, OUTPUT, part_of_run=True) is None
    assert first_difference(transcript.replace("3 tools", "4 tools"), OUTPUT, part_of_run=True) is not None
