"""Fixtures of the checks, and the making of their cases from the contract of the run."""

from __future__ import annotations

import pytest

from conformance.recorder import Recorder
from conformance.run_plugin import CONTRACT, RECORDER, SESSION
from conformance.session import Session


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make the cases of checks that are marked with ``cases``."""
    for mark in metafunc.definition.iter_markers("cases"):
        argument, factory = mark.args
        metafunc.parametrize(argument, list(factory(metafunc.config.stash[CONTRACT])))


@pytest.fixture
def session(pytestconfig: pytest.Config) -> Session:
    """Return the parts of this run."""
    return pytestconfig.stash[SESSION]


@pytest.fixture
def record(pytestconfig: pytest.Config) -> Recorder:
    """Return the notes of this case."""
    return pytestconfig.stash[RECORDER]
