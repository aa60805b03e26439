"""Hooks that a vendor's conftest.py may implement."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.hookspec(firstresult=True)
def pytest_conformance_control(config: pytest.Config) -> Any:
    """Return test control as a Python object (see ``conformance.control.interface.TestControl``), or ``None``.

    It takes the place of ``--control-url`` for a server that runs in the same process or has no control API. It is
    called from several threads at once where calls race. What it raises means "could not run".
    """


TARGET_ADDRESS = pytest.StashKey[str]()
"""Where the application of ``--target-app`` answers when the hook is called: ``config.stash[TARGET_ADDRESS]``."""
