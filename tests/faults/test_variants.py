"""No false alarm: every conforming variant of the reference server passes the whole suite."""

from __future__ import annotations

import pytest
from suite_run import assert_readable, run_pytest

from conformance.embedded import start_reference_server
from conformance.reference.catalogue import variants

OF_INPUT = frozenset(
    {"careless-parser", "content-type-ignored", "float-integers-refused", "invalid-422", "upper-case-uuids-refused"}
)
"""Variants of what is read; all the others leave the long table of wrong inputs as it is."""


@pytest.mark.parametrize("name", sorted(variants()))
def test_a_conforming_variant_conforms(name: str) -> None:
    """What the contract leaves open is never a failure, however a server decides it."""
    left_out = (
        () if name in OF_INPUT else ("--deselect", "conformance/checks/test_input.py::test_invalid_input_is_refused")
    )
    server = start_reference_server("--variant", name)
    try:
        ended = run_pytest(
            "-q",
            "--profile=quick",
            "--seed=3",
            f"--target-url={server.url}",
            f"--control-url={server.control_url}",
            *left_out,
        )
    finally:
        server.stop()
    assert_readable(ended)
    assert ("verdict: conforms" if name in OF_INPUT else "verdict: incomplete") in ended.output, ended.last_words
    assert 0 == ended.status
