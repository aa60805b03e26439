"""Whether this machine can build and run the vendor's server in TypeScript."""

from __future__ import annotations

import re
import shutil
import subprocess


def lacking() -> str:
    """Return what this machine lacks to build and run the server, empty where it has all."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return f"{'node' if node is None else 'npm'} is not on PATH"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603  found on PATH
    major = re.match(r"v(\d+)\.", version)
    return "" if major and int(major[1]) >= 20 else f"node is {version or 'broken'}, and 20 or newer is needed"
