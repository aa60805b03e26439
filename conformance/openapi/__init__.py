"""The published OpenAPI 3.1 documents, generated from the contract bundle and committed under ``contracts/``."""

from __future__ import annotations

import json
from collections.abc import Mapping

from conformance.contract import load_contract
from conformance.openapi.binding import rest_document
from conformance.openapi.control import control_document

__all__ = ["control_document", "published_documents", "rest_document"]


def published_documents() -> Mapping[str, str]:
    """Return the text of each published document by its file name, byte for byte as it is committed."""
    contract = load_contract()
    documents = {
        "research.openapi.json": rest_document(contract),
        "test-control.openapi.json": control_document(contract),
    }
    return {name: json.dumps(document, indent=2, ensure_ascii=False) + "\n" for name, document in documents.items()}
