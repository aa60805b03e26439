"""A fixed handful of conversations that together reach every bound of the output schemas that can be seeded."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from conformance.cases import texts
from conformance.cases.conversations import (
    DAY,
    FAILURE_CODES,
    KINDS,
    LANGUAGES,
    MINUTE,
    STATUSES,
    WITH_QUESTION,
    AnswerPlan,
    Document,
    Plan,
    RunPlan,
    compose,
    greatest_number,
    lowest_number,
)
from conformance.cases.texts import TimestampStyle

MOST_RUNS: Final = 20


@dataclass(frozen=True)
class NamedDocument:
    """A document with a short name, unique among its kind, that serves in test ids."""

    name: str
    document: Document


_ANSWERED: Final = RunPlan(question=True)
_NOTHING: Final = AnswerPlan(findings=0, sentiment=0, suggestions=0, excluded_terms=0, limitations=1)
_FULL: Final = AnswerPlan(findings=12, sentiment=20, suggestions=5, excluded_terms=20, limitations=10, cited=20)
_MIDDLE: Final = AnswerPlan(findings=5, sentiment=9, suggestions=3, excluded_terms=6, limitations=4, cited=4)
_NO_TERMS: Final = AnswerPlan(excluded_terms=0)
_MANY_TEXTS: Final = AnswerPlan(findings=4, sentiment=5, suggestions=2, excluded_terms=4, limitations=5)

_ASKED: Final = RunPlan("processing", question=True)
_EVERY_STATUS: Final = tuple(RunPlan(status, question=status in WITH_QUESTION) for status in STATUSES)
_EVERY_KIND: Final = tuple(RunPlan(kind=kind) for kind in KINDS)
_EVERY_FAILURE: Final = tuple(
    RunPlan(status, failure_code=code) for status in STATUSES for code in FAILURE_CODES[status]
)

_STYLES: Final = (
    TimestampStyle(offset=23 * 60 + 59, digits=1),
    TimestampStyle(offset=-23 * 60 - 59, digits=2),
    TimestampStyle(offset=0, digits=3),
    TimestampStyle(offset=5 * 60 + 45, digits=1),
    TimestampStyle(offset=-9 * 60 - 30, digits=0),
    TimestampStyle(offset=-1, digits=3),
    TimestampStyle(digits=0),
)

PLANS: Final[Mapping[str, Plan]] = {
    "nothing-yet": Plan(evidence=1, title=False),
    "lowest-numbers": Plan(runs=(_ANSWERED,), evidence=1, numbers=lowest_number),
    "greatest-numbers": Plan(runs=(_ANSWERED, _ANSWERED), numbers=greatest_number, archivable=False),
    "forty-messages": Plan(runs=(RunPlan(question=True, answer=_NOTHING),) * MOST_RUNS, interleaved=True),
    "every-status": Plan(runs=_EVERY_STATUS),
    "every-kind": Plan(runs=_EVERY_KIND),
    "every-failure-code": Plan(runs=_EVERY_FAILURE),
    "shortest-texts": Plan(runs=(_ANSWERED, _ASKED), language=min(LANGUAGES, key=len), texts=(texts.shortest,)),
    "longest-texts": Plan(
        runs=(_ANSWERED, _ASKED), language=max(LANGUAGES, key=len), texts=(texts.in_script(texts.LATIN),)
    ),
    "longest-three-byte-texts": Plan(runs=(_ANSWERED, _ASKED), texts=(texts.in_script(texts.THREE_BYTES),)),
    "longest-astral-texts": Plan(runs=(_ANSWERED, _ASKED), texts=(texts.in_script(texts.ASTRAL),)),
    "fullest-lists": Plan(runs=(RunPlan(question=True, answer=_FULL),), evidence=20),
    "emptiest-lists": Plan(runs=(RunPlan(answer=_NOTHING), RunPlan(answer=_NO_TERMS)), evidence=1),
    "middle-of-everything": Plan(
        runs=(RunPlan(question=True, answer=_MIDDLE),) * 3, evidence=10, language="en-GB", interleaved=True
    ),
    "all-scripts": Plan(
        runs=(RunPlan(question=True, answer=_MANY_TEXTS),) * 3,
        texts=tuple(texts.in_script(script, 80) for script in texts.SCRIPTS),
    ),
    "uuid-versions": Plan(runs=_EVERY_KIND, evidence=20, uuid_versions=tuple(range(1, 9))),
    "timestamp-styles": Plan(
        runs=(_ANSWERED,) * 10, lifetime=DAY // 2, expires_in=DAY // 4, step=100, own_expiry=True, styles=_STYLES
    ),
    "adjacent-milliseconds": Plan(runs=(_ANSWERED,) * 10, dense=True, interleaved=True),
    "short-life": Plan(
        runs=(_ANSWERED,) * 2,
        lifetime=10 * MINUTE,
        expires_in=9 * MINUTE,
        own_expiry=True,
        step=1000,
        styles=(TimestampStyle(digits=0),),
    ),
    # Each of these texts stands in every field that holds text.
    **{
        f"look-alike-{number}": Plan(runs=(_ANSWERED, _ASKED), texts=(texts.exactly(text),))
        for number, text in enumerate(texts.LOOK_ALIKES, 1)
    },
}
"""The plan of each directed document."""


def directed_documents(rng: random.Random, now: int) -> tuple[NamedDocument, ...]:
    """Return one document for each of ``PLANS``, as seen at ``now`` (milliseconds since 1970).

    Ids, markers and what a plan leaves open come from ``rng``; the names are always the same, each document is
    smaller than 200 kB.

    Raises:
        ValueError: ``now`` is too close to either end of the years 1970 to 2261.
    """
    return tuple(NamedDocument(name, compose(rng, now, plan)) for name, plan in PLANS.items())
