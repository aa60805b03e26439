"""``report.html``: a run as one page, without script, without network, and with all text of a target escaped."""

from __future__ import annotations

from conformance.report.html.page import render_html

__all__ = ["render_html"]
