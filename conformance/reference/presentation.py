"""From a result to the bytes of an answer."""

from __future__ import annotations

import json
from typing import Any

from conformance.contract import Operation


class Presenter:
    """Writes results. ``shape`` is where every binding's results pass; ``encode`` is where they become bytes."""

    def shape(self, operation: Operation, result: dict[str, Any]) -> dict[str, Any]:
        """Return the result as the output schema describes it. The service's results are that already."""
        del operation
        return result

    def encode(self, result: dict[str, Any]) -> bytes:
        """Return the result as JSON in UTF-8."""
        return json.dumps(result, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
