"""Makes every report of a folder from the stored result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.contract import Contract
from conformance.report import exchange_log
from conformance.report.html import render_html
from conformance.report.json_report import Decided, exchange_ids, report_document, write_json
from conformance.report.markdown import render_markdown
from conformance.requirements import Registry


def render(folder: Path, contract: Contract, registry: Registry, run: Decided) -> Mapping[str, Any]:
    """Write ``report.json``, ``summary.md`` and ``report.html``, and return the first.

    Raises:
        OSError: one cannot be written.
    """
    document = report_document(contract, registry, run)
    write_json(folder, document)
    exchanges = exchange_log.find(folder / exchange_log.NAME, exchange_ids(document))
    (folder / "summary.md").write_text(render_markdown(document), encoding="utf-8")
    (folder / "report.html").write_text(render_html(document, exchanges.get), encoding="utf-8")
    return document
