"""The pytest plugin: options, and nothing else until a run of this suite is asked for.

It is loaded into every pytest run of every project that has the suite installed, so it imports next to nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    # The only guarded import of the project: see the module's docstring.
    from conformance.target import TargetOptions

_PROFILES = ("quick", "standard", "certify")

_SHARED: Mapping[str, Mapping[str, Any]] = {
    "--transport": {"metavar": "NAME", "help": "rest, mcp-http or mcp-stdio (default: guessed)"},
    "--profile": {"choices": _PROFILES, "default": "standard", "help": "how many random examples to run"},
    "--seed": {"metavar": "N", "type": int, "help": "repeat the run that printed this seed"},
    "--require": {
        "choices": ("schema", "behaviour", "full"),
        "help": "end with status 7 where the verdict claims less than this level",
    },
    "--fail-on": {
        "choices": ("derived", "documented", "schema"),
        "default": "derived",
        "help": "let breaches of requirements of a weaker basis pass (default: derived, the weakest)",
    },
    "--baseline": {
        "metavar": "FILE",
        "type": Path,
        "help": "let the findings pass that this report.json of an earlier run lists",
    },
    "--shard": {"metavar": "I/N", "help": "run the I-th of N parts; 'sosoapi-conformance merge' puts them together"},
}

OPTIONS = (
    "--target-url",
    "--target-config",
    "--target-command",
    "--target-app",
    "--transport",
    "--control-url",
    "--mcp-revision",
    "--profile",
    "--seed",
    "--require",
    "--fail-on",
    "--baseline",
    "--shard",
    "--report-dir",
    "--contract-dir",
    "--recorded",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a conformance run."""
    group = parser.getgroup("conformance", "contract conformance of a SoSo research API server")
    group.addoption(
        "--target-url", metavar="URL", help="address of the server under test (default: the embedded reference server)"
    )
    group.addoption("--target-config", metavar="FILE", type=Path, help="target file (TOML) that describes the server")
    group.addoption("--target-command", metavar="COMMAND", help="command that starts the server as an MCP stdio child")
    group.addoption(
        "--target-app",
        metavar="MODULE:APP",
        help="serve this ASGI or WSGI application in this process, and test it",
    )
    group.addoption("--control-url", metavar="URL", help="address of the target's test-control API")
    group.addoption("--mcp-revision", metavar="DATE", help="speak this revision of MCP (default: the newest in common)")
    group.addoption("--report-dir", metavar="DIR", type=Path, help="write all reports of the run into this folder")
    group.addoption(
        "--recorded",
        metavar="DIR",
        type=Path,
        help="judge the exchanges that this report folder has stored again, without the server",
    )
    group.addoption(
        "--contract-dir",
        metavar="DIR",
        type=Path,
        help="judge by the contract bundle in this folder",
    )


def _add_shared_options(parser: pytest.Parser) -> None:
    """Add the options whose names others use too; who has taken one keeps it, and the long name is always there."""
    group = parser.getgroup("conformance")
    for name, settings in _SHARED.items():
        long_name = "--conformance-" + name.removeprefix("--")
        names = (long_name,) if name in _known_names(parser) else (name, long_name)
        group.addoption(*names, dest=long_name.removeprefix("--").replace("-", "_"), **settings)


def _known_names(parser: pytest.Parser) -> Collection[str]:
    actions: Collection[str] = getattr(getattr(parser, "optparser", None), "_option_string_actions", ())
    return actions


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a vendor's conftest.py offer test control in the same process."""
    from conformance import hooks  # noqa: PLC0415 - see the module's docstring

    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Add what is left of the options, once every conftest.py has added its own, and look for misspelt ones."""
    from conformance.rootdir import settle_root_folder  # noqa: PLC0415 - see the module's docstring

    settle_root_folder(early_config, args)
    result = yield
    _add_shared_options(parser)
    _refuse_misspelt(parser, args)
    return result


def _refuse_misspelt(parser: pytest.Parser, args: list[str]) -> None:
    """Name the nearest right option for a wrong one; pytest itself only says that it does not know it."""
    known = _known_names(parser)
    if not known:
        return
    for argument in args:
        name = argument.partition("=")[0]
        if name == "--":
            return
        if not name.startswith("--") or name in known:
            continue
        close = difflib.get_close_matches(name, OPTIONS, n=1, cutoff=0.75)
        if close:
            raise pytest.UsageError(f"unknown option {name}. Did you mean {close[0]}?")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hand over to the run proper when a target is named or the suite's own checks are to be collected."""
    config.addinivalue_line("markers", "requirement(*ids): the requirements that a conformance check puts to the test")
    config.addinivalue_line("markers", "cases(argument, factory): the cases of a conformance check, from the contract")
    config.addinivalue_line("markers", "over(*transports): the transports that a conformance check is written for")
    config.addinivalue_line("markers", "thorough: a case of a conformance check that the profile quick leaves out")
    config.addinivalue_line("markers", "needs(*words): what a conformance check needs of the target's tier")
    if config.option.help or not (_target_named(config) or _checks_named(config)):
        return
    from conformance import run_plugin  # noqa: PLC0415 - see the module's docstring

    run_plugin.register(config, _options(config))


def _target_named(config: pytest.Config) -> bool:
    option = config.option
    given = (option.target_url, option.target_command, option.target_config, option.target_app, option.recorded)
    return any(each is not None for each in given)


def _options(config: pytest.Config) -> TargetOptions:
    from conformance.target import TargetOptions  # noqa: PLC0415 - see the module's docstring

    return TargetOptions(
        url=config.option.target_url,
        command=config.option.target_command,
        config=config.option.target_config,
        transport=config.option.conformance_transport,
        control_url=config.option.control_url,
        mcp_revision=config.option.mcp_revision,
    )


def _checks_named(config: pytest.Config) -> bool:
    """Tell whether the command line leads to the checks: by path, by parent folder, or by package name."""
    checks = Path(__file__).resolve().parent / "checks"
    for argument in config.args:
        name = argument.partition("::")[0]
        if config.option.pyargs and (name == "conformance" or name.startswith("conformance.checks")):
            return True
        path = (config.invocation_params.dir / name).resolve()
        if path.is_relative_to(checks) or (checks.is_relative_to(path) and _collects(checks.relative_to(path))):
            return True
    return False


def _collects(way: Path) -> bool:
    """Tell whether pytest would go this way down: not into an environment inside the project that runs its tests."""
    return not any(part.startswith(".") or part in ("site-packages", "dist-packages") for part in way.parts)
