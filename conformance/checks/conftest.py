"""Fixtures of the checks, and the making of their cases from the contract of the run."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from conformance.judge.finding import must_hold
from conformance.recorder import Recorder
from conformance.run_plugin import CONTRACT, RECORDER, SESSION
from conformance.session import Session


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make the cases of checks that are marked with ``cases``."""
    for mark in metafunc.definition.iter_markers("cases"):
        argument, factory = mark.args
        metafunc.parametrize(argument, list(factory(metafunc.config.stash[CONTRACT])))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Judge, once a check has passed, what the canary watch saw in the exchanges of its case."""
    result = yield
    must_hold(pyfuncitem.config.stash[SESSION].canaries.leaks())
    return result


@pytest.fixture
def session(pytestconfig: pytest.Config) -> Session:
    """Return the parts of this run."""
    return pytestconfig.stash[SESSION]


@pytest.fixture
def record(pytestconfig: pytest.Config) -> Recorder:
    """Return the notes of this case."""
    return pytestconfig.stash[RECORDER]
