"""Puts right the root folder that pytest settles on before it knows the options of plugins.

``--report-dir DIR`` and ``--target-config FILE`` look like test paths to it then, so a folder outside of the project
makes it look for its configuration in the wrong place and ignore the project's own.
"""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.config.findpaths import determine_setup


def settle_root_folder(early_config: pytest.Config, args: list[str]) -> None:
    """Find root folder and configuration file again, now that every option is known.

    pytest offers no public way to do this; ``tests/plugin`` shows that it works with the versions that are allowed.
    """
    known = early_config.known_args_namespace
    if known.inifilename or known.rootdir or not (known.report_dir or known.target_config or known.contract_dir):
        return
    root, configuration, values, ignored = determine_setup(
        inifile=None,
        override_ini=known.override_ini,
        args=known.file_or_dir,
        rootdir_cmd_arg=None,
        invocation_dir=early_config.invocation_params.dir,
    )
    if root == early_config.rootpath and configuration == early_config.inipath:
        return
    settled: dict[str, Any] = {
        "_rootpath": root, "_inipath": configuration, "_inicfg": values, "_ignored_config_files": ignored,
    }  # fmt: skip
    for name, value in settled.items():
        setattr(early_config, name, value)
    early_config._inicache.clear()  # noqa: SLF001 - see above
    known.confcutdir = str(configuration.parent if configuration else root)
    args[:] = [*early_config.getini("addopts"), *args]
