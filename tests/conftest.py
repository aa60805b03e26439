"""What every test of the suite itself may use."""

from __future__ import annotations

import sys
from pathlib import Path

# Test folders are no packages; their shared helpers lie in one folder that is put on the path here.
sys.path.insert(0, str(Path(__file__).parent / "support"))
