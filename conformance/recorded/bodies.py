"""Reads a body as the log of a run has it: text, base64, or no more than its digest."""

from __future__ import annotations

import base64
from typing import Any


def body_bytes(written: Any) -> bytes:
    """Return the bytes.

    Raises:
        ValueError: the body was too long to be recorded, or is no base64.
    """
    if isinstance(written, str):
        return written.encode("utf-8", "surrogatepass")
    if "sha256" in written:
        raise ValueError("a body was too long to be recorded")
    return base64.b64decode(written["base64"], validate=True)
