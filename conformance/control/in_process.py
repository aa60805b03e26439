"""Test control that a vendor's conftest.py returns as an object: what goes wrong in it is no fault of the suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from conformance.control.interface import AccessState, Capabilities, ControlFailed, Principal, TestControl
from conformance.errors import CouldNotRun

_Value = TypeVar("_Value")
_REMEDY: Final = "Look at the object that pytest_conformance_control returns."


class InProcessControl:
    """Calls the vendor's object, and says of whatever it raises that the call could not be carried out."""

    def __init__(self, control: Any) -> None:
        self._control = control

    def capabilities(self) -> Capabilities:
        """See ``TestControl``."""
        found = self._call("capabilities", lambda control: control.capabilities())
        if not isinstance(found, Capabilities) or not all(isinstance(name, str) for name in found.names):
            raise ControlFailed(f"test control's capabilities() gave {found!r:.120}, no Capabilities", _REMEDY)
        return found

    def create_principal(self, scopes: tuple[str, ...], workspace_ids: tuple[str, ...], label: str) -> Principal:
        """See ``TestControl``."""
        return self._person("create_principal", lambda control: control.create_principal(scopes, workspace_ids, label))

    def create_token(self, principal: Principal, scopes: tuple[str, ...]) -> Principal:
        """See ``TestControl``."""
        return self._person("create_token", lambda control: control.create_token(principal, scopes))

    def seed_conversation(self, principal: Principal, conversation: Any, messages: Any, runs: Any) -> Mapping[str, str]:
        """See ``TestControl``."""
        changed = self._call(
            "seed_conversation", lambda control: control.seed_conversation(principal, conversation, messages, runs)
        )
        return cast("Mapping[str, str]", changed or {})

    def read_clock(self, workspace_id: str) -> str:
        """See ``TestControl``."""
        return self._call("read_clock", lambda control: str(control.read_clock(workspace_id)))

    def set_clock(self, workspace_id: str, now: str) -> None:
        """See ``TestControl``."""
        self._call("set_clock", lambda control: control.set_clock(workspace_id, now))

    def release_clock(self, workspace_id: str) -> None:
        """See ``TestControl``."""
        self._call("release_clock", lambda control: control.release_clock(workspace_id))

    def set_access(self, conversation_id: str, state: AccessState) -> None:
        """See ``TestControl``."""
        self._call("set_access", lambda control: control.set_access(conversation_id, state))

    def deliver_result(self, run_id: str, answer: Any, model_id: str | None, model_version: str | None) -> None:
        """See ``TestControl``."""
        self._call("deliver_result", lambda control: control.deliver_result(run_id, answer, model_id, model_version))

    def restart(self) -> None:
        """See ``TestControl``."""
        self._call("restart", lambda control: control.restart())

    def reset(self) -> None:
        """See ``TestControl``."""
        self._call("reset", lambda control: control.reset())

    def _person(self, name: str, does: Callable[[TestControl], Principal]) -> Principal:
        found = self._call(name, does)
        if not isinstance(found, Principal):
            raise ControlFailed(f"test control's {name}() gave a {type(found).__name__}, no Principal", _REMEDY)
        return found

    def _call(self, name: str, does: Callable[[TestControl], _Value]) -> _Value:
        try:
            return does(self._control)
        except CouldNotRun:
            raise
        except Exception as error:
            raise ControlFailed(
                f"test control's {name}() raises {type(error).__name__}: {error}{_place(error)}", _REMEDY
            ) from error


def _place(error: BaseException) -> str:
    """Return the file and line in which it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f", {Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno}" if trace is not None else ""
