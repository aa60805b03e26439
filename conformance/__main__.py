"""``python -m conformance`` is the command ``sosoapi-conformance``."""

from __future__ import annotations

import sys

from conformance.command_line import main

sys.exit(main())
