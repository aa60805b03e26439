"""A badge of a verified claim, as an endpoint of shields.io serves it (https://shields.io/badges/endpoint-badge)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.claim.statement import extension_of

SCHEMA_VERSION: Final = 1
_COLOURS: Final = {"full": "brightgreen", "behaviour": "green", "schema": "yellowgreen", "none": "yellow"}
_FAILED: Final = "red"


def badge(statement: Mapping[str, Any]) -> dict[str, Any]:
    """Return the badge of a statement, which must have been verified; it tells waivers, and who has run the suite."""
    claim = extension_of(statement)
    waived = sum(each["outcome"] == "waived" for each in claim["requirements"])
    words = [claim["verdict"] if claim["verdict"] != "conforms" else f"conforms ({claim['level']})"]
    words += [f"{waived} waived"] if waived else []
    words += ["independent" if claim["attested_by"]["independent"] else "self-attested"]
    return {
        "schemaVersion": SCHEMA_VERSION,
        "label": f"{claim['contract']} {claim['contract_version']}",
        "message": ", ".join(words),
        "color": _COLOURS[claim["level"]] if claim["verdict"] == "conforms" else _FAILED,
    }
