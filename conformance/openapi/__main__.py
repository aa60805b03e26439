"""``python -m conformance.openapi``: writes the published OpenAPI documents; with ``--check``, names stale ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.openapi import published_documents
from conformance.resources import data_folder


def main(arguments: Sequence[str] | None = None, folder: Path | None = None) -> int:
    """Write or check the documents in ``folder`` (``contracts`` by default).

    Returns 0, or with ``--check`` 1 when a document is missing or differs from what the bundle says.
    """
    parser = argparse.ArgumentParser(prog="python -m conformance.openapi", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a document is stale")
    check = parser.parse_args(arguments).check
    folder = folder or data_folder("contracts")
    stale = [
        (folder / name, text)
        for name, text in published_documents().items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != text.encode()
    ]
    for path, text in stale:
        if not check:
            path.write_bytes(text.encode())
        sys.stdout.write(f"{'stale' if check else 'written'}: {path}\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
