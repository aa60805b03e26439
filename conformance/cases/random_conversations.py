"""Random legal conversations: a small structural plan, which Hypothesis can shrink, and a seed for all the rest."""

from __future__ import annotations

import random
from typing import Final

from hypothesis import strategies as st

from conformance.cases import texts
from conformance.cases.conversations import (
    DAY,
    FAILURE_CODES,
    KINDS,
    MINUTE,
    AnswerPlan,
    Document,
    Plan,
    RunPlan,
    compose,
)

MOST_RUNS: Final = 20
MOST_EVIDENCE: Final = 20

# Simple first, as Hypothesis shrinks towards the beginning; large answers are rare.
_ANSWERS: Final = (
    *(AnswerPlan(findings=0, sentiment=0, suggestions=0),) * 4,
    *(AnswerPlan(),) * 4,
    *(AnswerPlan(findings=2, sentiment=3, suggestions=1, excluded_terms=2, limitations=2, cited=2),) * 5,
    *(AnswerPlan(findings=4, sentiment=6, suggestions=2, excluded_terms=5, limitations=3, cited=4),) * 2,
    AnswerPlan(findings=12, sentiment=20, suggestions=5, excluded_terms=20, limitations=10, cited=20),
)
_RUNS: Final = (
    *(RunPlan("queued", kind, question=kind == "question") for kind in KINDS[:2]),
    *(RunPlan("processing", kind, question=kind == "question") for kind in KINDS[:3]),
    *(
        RunPlan(kind=kind, question=index % 2 == 0, answer=answer)
        for index, answer in enumerate(_ANSWERS)
        for kind in KINDS
    ),
    *(RunPlan("failed", failure_code=code, question=True) for code in FAILURE_CODES["failed"]),
    *(RunPlan(status, kind) for status in ("cancelled", "expired", "unavailable") for kind in KINDS[3:]),
)


def documents(now: int, fresh: random.Random) -> st.SearchStrategy[Document]:
    """Return the strategy of archivable conversations as seen at ``now`` (milliseconds since 1970).

    ``fresh`` makes ids and markers and must not begin again within a run: Hypothesis repeats and shrinks the seed
    that it draws, and the same id must not be seeded twice. All the rest depends on what is drawn alone.

    Raises:
        ValueError: when drawn from, if ``now`` is too close to either end of the years 1970 to 2261.
    """

    def build(runs: list[RunPlan], evidence: int, seed: int) -> Document:
        rng = random.Random(seed)  # noqa: S311 - test data that must repeat, not a secret
        return compose(rng, now, _plan(rng, tuple(runs), evidence), fresh=fresh)

    return st.builds(
        build,
        st.lists(st.sampled_from(_RUNS), max_size=MOST_RUNS),
        st.integers(1, MOST_EVIDENCE),
        st.integers(0, 2**64 - 1),
    )


def random_document(rng: random.Random, now: int) -> Document:
    """Return a conversation of the same kind, without Hypothesis; ids and markers come from ``rng`` too.

    Raises:
        ValueError: ``now`` is too close to either end of the years 1970 to 2261.
    """
    runs = tuple(rng.choices(_RUNS, k=min(MOST_RUNS, int(rng.expovariate(1 / 4)))))
    return compose(rng, now, _plan(rng, runs, rng.randint(1, MOST_EVIDENCE)))


def _plan(rng: random.Random, runs: tuple[RunPlan, ...], evidence: int) -> Plan:
    lifetime = rng.choice((DAY, DAY, DAY // 2, 60 * MINUTE, rng.randint(20 * MINUTE, DAY)))
    return Plan(
        runs=runs,
        evidence=evidence,
        title=rng.random() < 0.7,
        expires_in=rng.randint(10 * MINUTE, lifetime - 5 * MINUTE),
        lifetime=lifetime,
        step=rng.choice((1, 1, 10, 100, 1000)),
        dense=rng.random() < 0.1,
        own_expiry=rng.random() < 0.5,
        interleaved=rng.random() < 0.5,
        texts=(texts.mixed,),
        styles=tuple(texts.any_style(rng) for _ in range(5)),
    )
