"""What is drawn depends on the seed alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DRAW = """
import sys
sys.path.insert(0, {folder!r})
{load}
from hypothesis import strategies as st
from conformance.cases.examples import run_examples
found = []
run_examples(st.lists(st.integers() | st.text()), found.append, seed=3, count=300)
print(hash(str(found)))
"""


def test_what_else_is_imported_does_not_matter(tmp_path: Path) -> None:
    """Hypothesis would draw the constants of a vendor's own modules too. When it does not any more, this can go."""
    (tmp_path / "vendor.py").write_text("NUMBERS = [123456789, 987654321]\nTEXT = 'a very own text'\n")
    draws = {
        subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-c", DRAW.format(folder=str(tmp_path), load=load)],
            capture_output=True, check=True, cwd=tmp_path, env={"PYTHONHASHSEED": "0"},
        ).stdout
        for load in ("", "import vendor")
    }  # fmt: skip
    assert 1 == len(draws)
