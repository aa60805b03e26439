"""The pytest plugin: options, and nothing else until a run of this suite is asked for.

It is loaded into every pytest run of every project that has the suite installed, so it imports next to nothing.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    # The only guarded import of the project: see the module's docstring.
    from conformance.target import TargetOptions

_PROFILES = ("quick", "standard", "certify")

OPTIONS = (
    "--target-url",
    "--target-config",
    "--target-command",
    "--transport",
    "--control-url",
    "--profile",
    "--seed",
    "--report-dir",
    "--contract-dir",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a conformance run."""
    group = parser.getgroup("conformance", "contract conformance of a SoSo research API server")
    group.addoption(
        "--target-url", metavar="URL", help="address of the server under test (default: the embedded reference server)"
    )
    group.addoption("--target-config", metavar="FILE", type=Path, help="target file (TOML) that describes the server")
    group.addoption("--target-command", metavar="COMMAND", help="command that starts the server as an MCP stdio child")
    group.addoption("--transport", metavar="NAME", help="rest, mcp-http or mcp-stdio (default: guessed)")
    group.addoption("--control-url", metavar="URL", help="address of the target's test-control API")
    group.addoption("--report-dir", metavar="DIR", type=Path, help="write report.json and junit.xml into this folder")
    group.addoption(
        "--contract-dir",
        metavar="DIR",
        type=Path,
        help="judge by the contract bundle in this folder",
    )
    # Names that another plugin may have taken; that one keeps them, and the long name is always there.
    _shared(group, "--profile", choices=_PROFILES, default="standard", help="how many random examples to run")
    _shared(group, "--seed", metavar="N", type=int, help="repeat the run that printed this seed")


def _shared(group: Any, name: str, **settings: Any) -> None:
    long_name = "--conformance-" + name.removeprefix("--")
    settings["dest"] = long_name.removeprefix("--").replace("-", "_")
    try:
        group.addoption(name, long_name, **settings)
    except ValueError:
        group.addoption(long_name, **settings)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a vendor's conftest.py offer test control in the same process."""
    from conformance import hooks  # noqa: PLC0415 - see the module's docstring

    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Name the nearest right option for a wrong one; pytest itself only says that it does not know it."""
    del early_config
    actions = getattr(getattr(parser, "optparser", None), "_option_string_actions", None)
    if actions is None:
        return
    for argument in args:
        name = argument.partition("=")[0]
        if name == "--":
            return
        if not name.startswith("--") or name in actions:
            continue
        close = difflib.get_close_matches(name, OPTIONS, n=1, cutoff=0.75)
        if close:
            raise pytest.UsageError(f"unknown option {name}. Did you mean {close[0]}?")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hand over to the run proper when a target is named or the suite's own checks are to be collected."""
    config.addinivalue_line("markers", "requirement(*ids): the requirements that a conformance check puts to the test")
    config.addinivalue_line("markers", "cases(argument, factory): the cases of a conformance check, from the contract")
    config.addinivalue_line("markers", "over(transport): the transport over which a conformance check makes sense")
    config.addinivalue_line("markers", "needs(*words): what a conformance check needs of the target's tier")
    if config.option.help or not (_options(config).given or _checks_named(config)):
        return
    from conformance import run_plugin  # noqa: PLC0415 - see the module's docstring

    run_plugin.register(config, _options(config))


def _options(config: pytest.Config) -> TargetOptions:
    from conformance.target import TargetOptions  # noqa: PLC0415 - see the module's docstring

    return TargetOptions(
        url=config.option.target_url,
        command=config.option.target_command,
        config=config.option.target_config,
        transport=config.option.transport,
        control_url=config.option.control_url,
    )


def _checks_named(config: pytest.Config) -> bool:
    """Tell whether the command line leads to the checks: by path, by parent folder, or by package name."""
    checks = Path(__file__).resolve().parent / "checks"
    for argument in config.args:
        name = argument.partition("::")[0]
        if config.option.pyargs and (name == "conformance" or name.startswith("conformance.checks")):
            return True
        path = (config.invocation_params.dir / name).resolve()
        if path.is_relative_to(checks) or checks.is_relative_to(path):
            return True
    return False
