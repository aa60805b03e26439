"""The page as a whole: what it may do, how it looks, and the order of its parts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from conformance.report.html.closing import accepted_html, cases_html, coverage_html, ledger_html
from conformance.report.html.findings import findings_html
from conformance.report.html.markup import Html, cut, joined, tag
from conformance.report.html.requirement_table import filter_rules, requirements_html
from conformance.report.html.verdict import assessed, banner, tested

_PARTS = (
    ("assessed", "Assessed"), ("tested", "Tested"), ("requirements", "Requirements"), ("findings", "Findings"),
    ("coverage", "Coverage"), ("ledger", "Left open"), ("accepted", "Waivers and baseline"), ("timings", "Timings"),
)  # fmt: skip


def render_html(document: Mapping[str, Any], exchanges: Callable[[str], Mapping[str, Any] | None]) -> str:
    """Return the report as one page that needs no script and no network, and whose policy allows neither.

    ``document`` is ``report.json`` as decoded; any key of it may be missing, as in the report of a run that was
    interrupted. ``exchanges`` returns the line of ``exchanges.jsonl`` with an id, or None; it is asked for those alone
    that are shown. Text of a target is escaped, and its control characters are written out. The page stays below 3 MB:
    what is left out is counted on it.
    """
    findings, numbers = findings_html(document, exchanges)
    accepted = accepted_html(document)
    body = [
        tag("a", "Skip to the findings", href="#findings", class_="skip"),
        banner(document),
        _contents(has_accepted=bool(accepted)),
        tag(
            "main",
            assessed(document),
            tested(document),
            requirements_html(document, numbers),
            findings,
            coverage_html(document),
            ledger_html(document),
            accepted,
            cases_html(document),
        ),
        _footer(document),
    ]
    whole = tag("html", tag("head", *_head(document)), tag("body", *body), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _head(document: Mapping[str, Any]) -> list[Html]:
    style = Html(f"{files(__package__).joinpath('style.css').read_text(encoding='utf-8')}{filter_rules(document)}\n")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"Conformance report: {cut(document.get('verdict', 'not run'), 60)}"),
        tag("style", style),
    ]


def _contents(*, has_accepted: bool) -> Html:
    links = [tag("li", tag("a", name, href=f"#{part}")) for part, name in _PARTS if part != "accepted" or has_accepted]
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _footer(document: Mapping[str, Any]) -> Html:
    suite = cut(document.get("suite_version", ""), 40)
    words = f"Written by sosoapi-conformance {suite}, from report.json and exchanges.jsonl beside this page."
    return tag("footer", joined([tag("p", " ".join(words.split()))]))
