"""Test control as an object of a vendor's: whatever it raises or returns means "could not run"."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.control.in_process import InProcessControl
from conformance.control.interface import Capabilities, ControlFailed, Principal


class Vendors:
    """A vendor's object that can little."""

    def capabilities(self) -> Any:
        """Say something that is not what is asked for."""
        return ["seed"]

    def create_principal(self, *_: Any) -> Any:
        """Return what is no person."""
        return {"token": "a"}

    def set_clock(self, *_: Any) -> None:
        """Fail."""
        raise ZeroDivisionError("by zero")

    def restart(self) -> None:
        """Say in the suite's own words that it could not be done."""
        raise ControlFailed("not now", "Later.")

    def seed_conversation(self, *_: Any) -> None:
        """Say nothing of ids."""


def test_what_it_raises_could_not_run() -> None:
    """With the line in which it was raised; its own ``ControlFailed`` stays as it is."""
    control = InProcessControl(Vendors())
    with pytest.raises(
        ControlFailed, match=r"set_clock\(\) raises ZeroDivisionError: by zero, test_in_process_control"
    ):
        control.set_clock("a", "b")
    with pytest.raises(ControlFailed, match="not now"):
        control.restart()


def test_a_method_that_it_lacks() -> None:
    """Named as what is missing."""
    with pytest.raises(
        ControlFailed, match=r"reset\(\) raises AttributeError: 'Vendors' object has no attribute 'reset'"
    ):
        InProcessControl(Vendors()).reset()


def test_what_it_returns_is_looked_at() -> None:
    """Capabilities and people have to be such; nothing said of ids means that all were kept."""
    control = InProcessControl(Vendors())
    with pytest.raises(ControlFailed, match=r"capabilities\(\) gave \['seed'\], no Capabilities"):
        control.capabilities()
    with pytest.raises(ControlFailed, match=r"create_principal\(\) gave a dict, no Principal"):
        control.create_principal((), (), "owner")
    assert {} == control.seed_conversation(Principal("a", "b", (), ()), {}, [], [])


def test_what_is_right_passes() -> None:
    """As it is."""

    class Right(Vendors):
        def capabilities(self) -> Capabilities:
            return Capabilities(frozenset({"seed"}))

    assert Capabilities(frozenset({"seed"})) == InProcessControl(Right()).capabilities()
