"""``report.html``: what is on it, that nothing on it acts, and that it stays small."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import pytest
from made_report import HOSTILE, made_document, made_exchange, made_finding

from conformance.report.html import render_html

TAGS = set(
    """
    a article b body br code caption dd details div dl dt fieldset footer h1 h2 h3 h4 head header html i input label
    legend li main mark meta nav ol option p pre rect section select small span style summary svg table tbody td th
    thead title tr ul wbr
    """.split()  # noqa: SIM905 - one per line would be a page
)
ATTRIBUTES = set(
    """
    aria-hidden aria-label aria-labelledby charset checked class content focusable for height href http-equiv id lang
    name open preserveaspectratio role scope start tabindex type viewbox width x y
    """.split()  # noqa: SIM905 - the same
)


class Read(HTMLParser):
    """The page as a browser takes it: elements with their attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.marked: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("br", "input", "meta", "rect", "wbr"):
            self._open.append(tag)
        if tag == "mark":
            self.marked.append("")

    def handle_endtag(self, tag: str) -> None:
        """See that it closes what was opened last."""
        assert self._open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        """Keep text, and apart what is marked."""
        if "style" not in self._open:
            self.words.append(data)
        if "mark" in self._open:
            self.marked[-1] += data

    @property
    def text(self) -> str:
        """All that can be read, with single spaces."""
        return " ".join("".join(self.words).split())


def nothing(_: str) -> None:
    """Find no exchange."""


def one(exchange: Mapping[str, Any] | None) -> Any:
    """Return a look-up that finds this exchange under every id."""
    return lambda _: exchange


def test_nothing_that_a_target_says_becomes_markup() -> None:
    """Elements and attributes are those of the page itself, wherever hostile text stands."""
    page = Read(render_html(made_document(HOSTILE, findings=4), one(made_exchange(HOSTILE))))
    assert set() == {tag for tag, _ in page.elements} - TAGS
    assert set() == {name for _, attributes in page.elements for name in attributes} - ATTRIBUTES


def test_control_characters_and_overrides_of_direction_are_written_out() -> None:
    """None of them is on the page, which can be written as UTF-8."""
    page = render_html(made_document(HOSTILE), one(made_exchange(HOSTILE)))
    page.encode("utf-8")
    assert [] == [character for character in "\x1b\u202e\x00\x7f\ufeff" if character in page]
    assert "\\u202egnp\\ud800" in Read(page).text


def test_links_stay_on_the_page_and_find_what_they_name() -> None:
    """Every link leads to an id of the page, and no id is there twice."""
    page = Read(render_html(made_document(findings=700), nothing))
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    links = {attributes["href"] for tag, attributes in page.elements if tag == "a"}
    assert len(identifiers) == len(set(identifiers))
    assert set() == links - {f"#{identifier}" for identifier in identifiers}


def test_tables_that_scroll_can_be_told_apart() -> None:
    """Each is a region with a name of its own."""
    page = Read(render_html(made_document(findings=3), nothing))
    names = [attributes["aria-label"] for _, attributes in page.elements if attributes.get("role") == "region"]
    assert "Timeline of finding 3" in names
    assert len(names) == len(set(names))


def test_the_policy_allows_the_style_of_the_page_and_nothing_else() -> None:
    """The digest in the policy is that of the style element; there is neither script nor style attribute."""
    page = render_html(made_document(), nothing)
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policies = [each["content"] for tag, each in Read(page).elements if each.get("http-equiv")]
    assert [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"] == policies
    assert [] == [word for word in ("url(", "@import", "//") if word in style]


def test_the_verdict_comes_first_in_words() -> None:
    """The heading says the verdict, then what the level means, then what was not assessed."""
    text = Read(render_html(made_document(), nothing)).text
    order = [
        "Does not conform",
        "Level: none.",
        "interrupted",
        "1 failed",
        "Not assessed: 1 requirement",
        "Findings: 1",
    ]
    assert sorted(order, key=text.index) == order


@pytest.mark.parametrize("key", [*made_document(), None])
def test_a_missing_key_is_no_error(key: str | None) -> None:
    """A page comes of a report without any one of its keys, and of an empty one."""
    document = made_document()
    document = {name: value for name, value in document.items() if key is not None and name != key}
    assert "<h1>" in render_html(document, nothing)


@pytest.mark.parametrize("part", ["findings", "requirements", "case_outcomes", "coverage", "waivers"])
def test_an_entry_may_lack_what_version_1_did_not_have(part: str) -> None:
    """Entries that are empty objects are shown with what there is."""
    assert "<h1>" in render_html({**made_document(), part: [{}]}, nothing)


def test_a_finding_shows_its_evidence() -> None:
    """Sentence, request, answer, command, calls in time, story and cases are on the page."""
    text = Read(render_html(made_document(), one(made_exchange()))).text
    for words in (
        "The revision is no number. words", "POST http://127.0.0.1:1/words", "Authorization: Bearer $SOSOAPI_TOKEN",
        "curl -sS 'words'", "12.3 ms", "client 1: archive words", "from 1.000 ms, not ended", "Ann: get conversation 1",
        "A shell script that repeats it", "Shown by 3 cases", "pytest 'test_it[words-0]' --seed 7 --profile quick",
        "1 exchange before it", "main-1-1",
    ):  # fmt: skip
        assert words in text, words


def test_the_offending_part_of_an_answer_is_marked() -> None:
    """The value that the place points at is marked, and nothing else."""
    assert ['"revision": "1"'] == Read(render_html(made_document(), one(made_exchange()))).marked


def test_an_exchange_without_a_line_is_shown_from_the_excerpt() -> None:
    """The excerpt of the report is laid out and marked as well; the request is in the command."""
    page = Read(render_html(made_document(), nothing))
    assert ['"revision": "1"'] == page.marked
    assert "As in the command below." in page.text


def test_an_answer_that_was_kept_as_its_digest_is_said_to_be() -> None:
    """The excerpt stands in for it, with the size and the digest of the whole."""
    exchange = made_exchange(body={"sha256": "ab" * 32})
    text = Read(render_html(made_document(), one(exchange))).text
    assert f"The body has 300,000 bytes and is not shown in full. SHA-256 of the body: {'ab' * 32}" in text


def test_no_answer_is_an_answer_too() -> None:
    """Where none came the failure is marked."""
    exchange = {**made_exchange(), "answer": None, "failure": "the connection was closed"}
    page = Read(render_html(made_document(), one(exchange)))
    assert ["No usable answer: the connection was closed"] == page.marked


@pytest.mark.parametrize(
    ("place", "found", "marked"),
    [
        ("header X-Said", "words", ["X-Said: words"]),
        ("reason phrase", "canary-1", ["200 words"]),
        ("status", "200 words", ["200 words"]),
        ("body", "words", ["words"]),
        ("2 clients, released by barrier", "a story", []),
        ("/somewhere/else", "words", []),
    ],
)
def test_places_outside_of_the_value_are_marked_where_they_are(place: str, found: str, marked: list[str]) -> None:
    """Headers and the status line are marked there; what cannot be found is not marked."""
    document = made_document()
    document["findings"][0] |= {"place": place, "found": found}
    assert marked == Read(render_html(document, one(made_exchange()))).marked


def test_findings_that_fail_the_run_come_first() -> None:
    """Their numbers stay those of the report."""
    document = made_document(findings=3)
    document["findings"][0]["outcome"] = "waived"
    document["findings"][1]["outcome"] = "warning"
    page = Read(render_html(document, nothing))
    assert ["finding-3", "finding-2", "finding-1"] == [each["id"] for tag, each in page.elements if tag == "article"]


@pytest.mark.parametrize("said", ["x" * 30_000, "\x1b" * 30_000, "<&" * 15_000], ids=["plain", "control", "markup"])
def test_the_page_stays_below_3_MB(said: str) -> None:  # noqa: N802 - the unit is written so
    """Five hundred findings with twenty exchanges each, whose bodies are long, are bounded; the rest is counted."""
    document, finding = made_document(said), made_finding(said, exchanges=20)
    document["findings"] = [{**finding, "number": number} for number in range(1, 501)]
    page = render_html(document, one(made_exchange(said)))
    assert len(page.encode()) < 3_000_000
    assert "more findings: their evidence is in report.json and exchanges.jsonl." in page


def test_exchanges_are_looked_up_only_where_they_are_shown() -> None:
    """One per finding in full: the decisive one."""
    asked: list[str] = []

    def note(name: str) -> None:
        asked.append(name)

    render_html(made_document(findings=150), note)
    assert [f"main-{number}-1" for number in range(1, 101)] == asked


def test_the_filters_are_inputs_with_a_rule_each() -> None:
    """Every outcome and every family that a requirement has can be chosen, and hides the other rows."""
    page = render_html(made_document(), nothing)
    inputs = [each["id"] for tag, each in Read(page).elements if tag == "input"]
    options = [each["id"] for tag, each in Read(page).elements if tag == "option"]
    assert 10 == len(inputs)
    assert ["family-all", "family-0", "family-1"] == options
    rules = [name for name in (*inputs, *options) if f"section:has(#{name}:checked) .requirements" in page]
    assert sorted({*inputs, *options} - {"show-all", "family-all"}) == sorted(rules)
