"""The model's judgements of random walks through answers right and wrong are those that it has given before.

A change of any judgement shows here, however seldom the case. Where it is meant, ``python tests/support/walks.py``
writes the list of expected judgements anew.
"""

from __future__ import annotations

import pytest
from walks import EXPECTED, WALKS, digests, told_in

_LOT = 20


@pytest.mark.parametrize("first", range(0, WALKS, _LOT))
def test_the_judgements_of_a_walk_are_what_they_were(first: int) -> None:
    """The model says the same of every step: findings, freedoms, and what would have been allowed."""
    expected = EXPECTED.read_text(encoding="utf-8").splitlines()[first : first + _LOT]
    found = digests(range(first, first + _LOT))
    changed = [int(line.split()[0]) for line, before in zip(found, expected, strict=True) if line != before]
    assert expected == found, f"the first walk that goes otherwise now:\n{told_in(changed[0])}"
