"""Finds the data folders (``contracts/``, ``fixtures/``, ``reports/``) in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """Return the folder called ``name``.

    A wheel carries the folders inside the package (``conformance/data/<name>``); a checkout has them beside it.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    for candidate in (_PACKAGE / "data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the suite's own folder {name!r} is missing; reinstall sosoapi-conformance")
