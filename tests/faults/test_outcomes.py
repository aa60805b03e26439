"""The kill matrix tells a fault that is caught from one that is not, is none, or is caught for another reason."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

DECLARED = """
import sys
from conformance.reference.faults import archive
from conformance.reference.service import Service

@archive.family.part("made-never-reached", "ARCHIVE-ACCEPTED")
class NeverReached(Service):
    def never_called(self):
        raise NotImplementedError

@archive.family.part("made-without-effect", "ARCHIVE-ACCEPTED")
class WithoutEffect(Service):
    def archive(self, caller, arguments):
        return super().archive(caller, arguments)

@archive.family.part("made-blamed-wrongly", "RACE-LINEARIZABLE")
class BlamedWrongly(Service):
    def archive(self, caller, arguments):
        arguments = {**arguments, "expected_revision": self.find(caller, arguments).document.conversation["revision"]}
        return super().archive(caller, arguments)

from conformance.command_line import main
sys.exit(main(["faults", *sys.argv[1:]]))
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="trials are forked")
@pytest.mark.parametrize("transport", ["rest", "mcp-stdio"])
def test_what_is_not_caught_is_told_apart(transport: str) -> None:
    """A fault whose code is never reached voids the trial; one that changes nothing survives; both fail the matrix."""
    command = [sys.executable, "-c", DECLARED, "made-never-reached", "made-without-effect", "--transport", transport]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - our own command
    assert 1 == ended.returncode, ended.stdout + ended.stderr
    assert "void: fault made-never-reached" in ended.stdout
    assert "survived: fault made-without-effect" in ended.stdout
    assert "faults killed: 0 of 2" in ended.stdout


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="trials are forked")
def test_a_fault_that_is_caught_for_another_reason_is_not_caught() -> None:
    """Whatever else fails is named."""
    command = [sys.executable, "-c", DECLARED, "made-blamed-wrongly", "--transport", "rest"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - our own command
    assert 1 == ended.returncode, ended.stdout + ended.stderr
    assert "wrong reason: fault made-blamed-wrongly" in ended.stdout
