"""The revisions of MCP that the suite speaks, and what a client says of itself in each."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

from conformance import __version__

STATELESS: Final = "2026-07-28"
WITH_SESSIONS: Final = ("2025-11-25", "2025-06-18")
REVISIONS: Final = (STATELESS, *WITH_SESSIONS)
"""Newest first. The stateless one names itself in every request; the others begin with ``initialize``."""

_CLIENT: Final = {"name": "sosoapi-conformance", "version": __version__}


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def initialize_params(revision: str) -> bytes:
    """Return the parameters of ``initialize``: a client without optional capabilities."""
    return _compact({"protocolVersion": revision, "capabilities": {}, "clientInfo": _CLIENT})


def request_meta(revision: str) -> bytes | None:
    """Return the ``_meta`` that every request of the revision carries, or ``None`` where there is none to carry."""
    return _STATELESS_META if revision == STATELESS else None


_STATELESS_META: Final = _compact(
    {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": _CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
)


def opening_frames(revision: str) -> tuple[bytes, ...]:
    """Return the messages of ours that open a session of the revision, none where it has no sessions."""
    if revision not in WITH_SESSIONS:
        return ()
    initialize = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":' + initialize_params(revision) + b"}"
    return initialize, b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def newest_common(offered: Collection[object]) -> str | None:
    """Return the newest revision that is among ``offered`` and known here."""
    return next((revision for revision in REVISIONS if revision in offered), None)
