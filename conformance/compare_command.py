"""``sosoapi-conformance compare``: shows what changed between two runs, and whether anything got worse."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from conformance.errors import ExitStatus, UsageProblem, nearest
from conformance.report.difference import Difference, Report, difference
from conformance.report.difference_text import as_json, as_markdown, as_text

READABLE_VERSIONS: Final = (1, 2)
_FILE: Final = "report.json"
_FORMATS: Final[Mapping[str, Callable[[Difference], str]]] = {
    "text": as_text,
    "json": as_json,
    "markdown": as_markdown,
}
_REMEDY: Final = f"Give a folder that 'pytest --report-dir' wrote, or the {_FILE} in it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to ``parser``; their values are checked by :func:`run`."""
    parser.add_argument("before", metavar="BEFORE", type=Path, help=f"folder of the earlier report, or its {_FILE}")
    parser.add_argument("after", metavar="AFTER", type=Path, help=f"folder of the later report, or its {_FILE}")
    parser.add_argument("--format", default="text", help="text (the default), json or markdown")


def run(namespace: argparse.Namespace) -> int:
    """Write what changed to stdout and return the exit status: 1 where something got worse, otherwise 0.

    Raises:
        UsageProblem: a file cannot be read or is not a report, or the format is unknown.
    """
    if namespace.format not in _FORMATS:
        raise UsageProblem(f"unknown value {namespace.format!r}", "--format", nearest(namespace.format, _FORMATS))
    found = difference(read_report(namespace.before), read_report(namespace.after))
    sys.stdout.write(_FORMATS[namespace.format](found))
    return ExitStatus.DOES_NOT_CONFORM if found.steps_back() else ExitStatus.CONFORMS


def read_report(path: Path) -> Report:
    """Read a report from its file, or from the folder that it is in.

    Raises:
        UsageProblem: it cannot be read, is not a report, or is of a version that this suite does not know.
    """
    file = path / _FILE if path.is_dir() else path
    try:
        document = json.loads(file.read_bytes())
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise UsageProblem(f"the report cannot be read ({reason})", str(file), _REMEDY) from None
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"the file is not JSON ({error})", str(file), _REMEDY) from None
    version = document.get("report_version") if isinstance(document, dict) else None
    if version is None:
        raise UsageProblem("the file is not a report: it has no report_version", str(file), _REMEDY)
    if isinstance(version, bool) or version not in READABLE_VERSIONS:
        known = " and ".join(map(str, READABLE_VERSIONS))
        raise UsageProblem(
            f"the report has version {version!r}, and this suite reads versions {known}",
            str(file),
            "Compare with the newest suite that wrote one of the reports.",
        )
    missing = _first_missing(document)
    if missing:
        raise UsageProblem(f"the file is not a whole report: {missing} is missing or wrong", str(file), _REMEDY)
    return dict(document)


def _first_missing(document: Mapping[str, Any]) -> str:
    """Return the first key without which nothing can be compared, or an empty string."""
    for key in ("verdict", "level"):
        if not isinstance(document.get(key), str):
            return key
    for key, wanted in (("requirements", ("id", "outcome")), ("findings", ("requirement", "summary"))):
        if not _are_objects(document.get(key), wanted):
            return key
    if not _are_objects(document.get("case_outcomes", []), ("case", "outcome")):
        return "case_outcomes"
    for key in ("target", "left_open"):
        if not isinstance(document.get(key, {}), dict):
            return key
    if not all(isinstance(choices, dict) for choices in document.get("left_open", {}).values()):
        return "left_open"
    return ""


def _are_objects(value: Any, keys: tuple[str, ...]) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict) and all(isinstance(each.get(key), str) for key in keys) for each in value
    )
