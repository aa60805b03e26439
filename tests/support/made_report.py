"""A ``report.json`` and lines of ``exchanges.jsonl`` made by hand, in which each part of a report has something."""

from __future__ import annotations

import json
from typing import Any

HOSTILE = "</pre></style><script>alert(1)</script><img src=x onerror=alert(2)>\"' `<b>` \x1b[31m\u202egnp\ud800 &amp;"
"""What a target might send to be acted on: markup, control characters, an override of the direction."""


def made_document(said: str = "words", *, findings: int = 1) -> dict[str, Any]:
    """Return a report; wherever text of a target or of a person may stand, ``said`` is among it."""
    each = [made_finding(said, number) for number in range(1, findings + 1)]
    outcomes = ("fail", "pass", "warning", "known", "waived", "not assessed", "no check yet", "not applicable")
    return {
        "report_version": 2,
        "verdict": "does not conform",
        "level": "none",
        "complete": False,
        "started_at": "2026-11-30T20:00:00Z",
        "exit_status": 1,
        "required_level": "full",
        "fail_on": "documented",
        "problems": [f"A waiver is stale: {said}"],
        "target": {
            "address": f"http://127.0.0.1:1/{said}",
            "name": said,
            "version": said,
            "vendor": said,
            "build_digest": said,
            "embedded": False,
        },
        "suite_version": "0.1.0",
        "contract": "sosoapi-research",
        "contract_version": "1",
        "requirement_set": "1",
        "seed": 7,
        "profile": "quick",
        "tier": "control",
        "transport": "rest",
        "mcp_revision": "",
        "capabilities": ["clock", "seed"],
        "requirements": [
            {
                "id": f"FAMILY-{number}",
                "family": "race" if number % 2 else "output",
                "level": "MUST",
                "basis": "derived",
                "statement": f"The `revision` must be right. {said}",
                "transports": ["rest"],
                "outcome": outcome,
                "cases": {"passed": 3, "failed": number},
                "reason": said if outcome == "not assessed" else "",
            }
            for number, outcome in enumerate(outcomes)
        ],
        "findings": each,
        "left_open": {"OPEN-CHOICE": {said: 2, "another": 1}},
        "left_open_statements": {"OPEN-CHOICE": f"Which choice is taken. {said}"},
        "left_open_evidence": {"OPEN-CHOICE": f"test_it[{said}]"},
        "coverage": [
            {
                "operation": f"conversations_get {said}",
                "points": 4,
                "reached": 2,
                "missing": [f"/properties/{said}"],
                "out_of_reach": ["/properties/b"],
            }
        ],
        "waivers": [
            {"requirement": "FAMILY-4", "reason": said, "owner": said, "until": "2027-01-01", "state": "stale"}
        ],
        "baseline": {"known": [{"requirement": "FAMILY-3", "operation": said, "summary": said}], "stale": []},
        "shards": {"of": 3, "present": [1, 3]},
        "cases": {"passed": 10, "failed": 1, "not_assessed": 1, "could_not_run": 1, "error": 1},
        "exchanges": 10_000,
        "duration_s": 5.0,
        "timings": {
            "slowest": [{"case": f"test_it[{said}]", "seconds": 1.5, "exchanges": 20}],
            "by_family": [{"family": "race", "seconds": 2.0, "exchanges": 30, "cases": 4}],
        },
        "case_outcomes": [
            {
                "case": f"test_it[{outcome} {said}]",
                "outcome": outcome,
                "requirements": ["FAMILY-1"],
                "seconds": 0.1,
                "exchanges": 2,
                "reason": said,
            }
            for outcome in ("passed", "failed", "not assessed", "could not run", "error")
        ],
    }


def made_finding(said: str, number: int = 1, *, exchanges: int = 2) -> dict[str, Any]:
    """Return a finding about ``/conversation/revision`` of an answer like ``made_exchange`` has."""
    return {
        "number": number,
        "requirement": "FAMILY-0",
        "operation": f"conversations_get {said}",
        "summary": f"The revision is no number. {said}",
        "place": "/conversation/revision",
        "expected": f"of type integer {said}",
        "found": f'"1" {said}',
        "story": (
            f"1. A conversation is stored {said}\n2. Ann: get conversation 1\n     answer:  200 OK {said}\n"
            f"     allowed: success\nscript, for a server that has none of these ids yet:\n  # 1\n  curl {said}"
        ).replace("\x1b", "")
        if number % 2
        else f"client 1  1[==]\n{said}",
        "cases": [f"test_it[{said}-{index}]" for index in range(3)],
        "outcome": "fail",
        "exchanges": [
            {
                "id": f"main-{number}-{index}",
                "principal": f"owner {said}",
                "curl": f"curl -sS '{said}'",
                "answer": {
                    "status": 200,
                    "reason": said,
                    "content_type": said,
                    "bytes": 40,
                    "body": json.dumps({"title": said, "conversation": {"revision": "1"}}),
                },
                "failure": None,
            }
            for index in range(exchanges)
        ],
        "timeline": [
            {
                "client": "client 1",
                "label": f"archive {said}",
                "began_ms": 1.0,
                "ended_ms": 3.5,
                "outcome": f"200 OK {said}",
            },
            {"client": "client 2", "label": "get", "began_ms": 2.0, "ended_ms": None, "outcome": "no answer"},
        ],
    }


def made_exchange(said: str = "words", *, body: Any = None) -> dict[str, Any]:
    """Return a line of ``exchanges.jsonl``; ``body`` is that of the answer."""
    written = json.dumps({"title": said, "conversation": {"revision": "1"}}) if body is None else body
    return {
        "kind": "exchange",
        "id": "main-1-1",
        "case": f"test_it[{said}]",
        "to": "target",
        "operation": "conversations_get",
        "principal": "owner",
        "at": 1.0,
        "elapsed": 0.0123,
        "request": {
            "method": "POST",
            "target": f"http://127.0.0.1:1/{said}",
            "headers": [["Authorization", "Bearer $SOSOAPI_TOKEN"], ["X-Said", said]],
            "body": said,
            "bytes": len(said.encode("utf-8", "surrogatepass")),
        },
        "answer": {
            "status": 200,
            "reason": said,
            "headers": [["Content-Type", "application/json"], ["X-Said", said]],
            "body": written,
            "bytes": len(written.encode("utf-8", "surrogatepass")) if isinstance(written, str) else 300_000,
        },
        "failure": None,
    }
