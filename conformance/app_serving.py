"""Serves a vendor's Python application on a free loopback port, in this process, for the length of a run."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from conformance.app_loading import OPTION, AppName, interface_of, load_app
from conformance.control.http import HttpControl
from conformance.control.in_process import InProcessControl
from conformance.control.interface import TestControl
from conformance.errors import CouldNotRun, UsageProblem
from conformance.hooks import TARGET_ADDRESS
from conformance.target import TargetOptions

if TYPE_CHECKING:
    # A run against an address does without the server.
    from conformance.app_thread import ServerThread

_SERVED: Final = pytest.StashKey["ServedApp"]()


class ServedApp:
    """An application and the port that is kept for it; it answers from :meth:`start` to :meth:`stop`."""

    def __init__(self, name: AppName, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        self._thread: ServerThread | None = None

    @property
    def url(self) -> str:
        """Where it answers, or will."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}{self._name.prefix}"

    def start(self) -> None:
        """Import the application and wait until it answers.

        Raises:
            UsageProblem: there is no such application, or it is none.
            CouldNotRun: it raises while it is imported or started.
        """
        # A run against an address does without the server.
        from conformance.app_thread import ServerThread  # noqa: PLC0415
        from conformance.app_wsgi import as_asgi  # noqa: PLC0415

        app = load_app(self._name, self._folder)
        if interface_of(app, self._name) == "wsgi":
            app = as_asgi(app)
        self._thread = ServerThread(app, self._socket)
        self._thread.start()
        problem = self._thread.problem()
        if problem:
            raise CouldNotRun(f"{self._name.module}:{self._name.attribute} does not start ({problem})", "Mend it.")

    def stop(self) -> None:
        """Stop it and wait for its end, for some seconds; it cannot outlive this process."""
        if self._thread is not None:
            self._thread.end()
        self._socket.close()


def with_app(config: pytest.Config, options: TargetOptions) -> TargetOptions:
    """Return the options with the address of the application that ``--target-app`` names, where it names one.

    Nothing is imported yet: :func:`vendors_control` does that.

    Raises:
        UsageProblem: the option is not written as it should be, or another target is named too.
    """
    text: str | None = config.option.target_app
    if text is None:
        return options
    if options.url is not None or options.command is not None:
        raise UsageProblem(
            f"{OPTION} is given beside another target", "command line", "A run has one target: give one."
        )
    served = ServedApp(AppName.parse(text), config.invocation_params.dir)
    config.stash[_SERVED] = served
    config.add_cleanup(served.stop)
    return dataclasses.replace(options, url=served.url)


def vendors_control(config: pytest.Config) -> TestControl | None:
    """Start the application of this run, where there is one; return the test control that the vendor's hook offers.

    Raises:
        UsageProblem: there is no such application, or it is none.
        CouldNotRun: it raises while it is imported or started.
    """
    served = config.stash.get(_SERVED, None)
    if served is not None:
        served.start()
        config.stash[TARGET_ADDRESS] = served.url
    try:
        control: Any = config.hook.pytest_conformance_control(config=config)
    except Exception as error:
        raise CouldNotRun(f"pytest_conformance_control raises {type(error).__name__}: {error}", "Mend it.") from error
    if control is None or isinstance(control, HttpControl):
        return control
    return InProcessControl(control)
