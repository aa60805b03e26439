"""The guard `expected_revision`: only the current revision passes, and what does not pass changes nothing."""

from __future__ import annotations

import random
from typing import Any

from conformance.cases.conversations import (
    LARGEST_ARCHIVABLE,
    LARGEST_INTEGER,
    STATUSES,
    WITH_QUESTION,
    Plan,
    RunPlan,
    compose,
)
from conformance.checks.archiving import (
    CONFLICT,
    archive,
    archived,
    archived_result,
    can_archive,
    each,
    note_archive,
    note_conflict,
    refused_without_effect,
)
from conformance.checks.declare import case, cases, needs
from conformance.checks.views import read_all
from conformance.contract import Contract
from conformance.judge.finding import Finding, must_hold
from conformance.recorder import Recorder
from conformance.session import Session
from conformance.stage import Scene

_SEVERAL: tuple[RunPlan, ...] = (
    RunPlan(kind="sentiment", question=True),
    RunPlan("processing", "sentiment", question=True),
    RunPlan("queued", "themes", question=True),
)
_KINDS = ("fresh", "changed", "large", "archived", *STATUSES)
"""Conversations at revision 1, at a middle one, at one of 53 bits, archived before; with one run of each status."""

_WRONG = ("stale-by-one", "stale-by-many", "one", "ahead-by-one", "ahead-by-many", "largest")
_ALSO = ("REVISION-CONFLICT-KIND", "REVISION-CONFLICT-UNCHANGED", "REVISION-CURRENT-AFTER-CONFLICT")


def _scene(session: Session, kind: str) -> Scene:
    """Return a conversation of that kind, not yet archived."""
    runs = _SEVERAL
    if kind in STATUSES:
        runs = (RunPlan(kind, "sentiment", question=kind in WITH_QUESTION),)
    revision = {"fresh": 1, "large": LARGEST_ARCHIVABLE}.get(kind) or session.rng.randint(1000, 1_000_000)

    def numbers(rng: random.Random, greatest: int) -> int:
        del rng
        return min(greatest, revision)

    document = compose(session.rng, session.stage.now(), Plan(runs=runs, numbers=numbers))
    return session.stage.seeded(session.rng, document)


def _wrong(name: str, current: int) -> int:
    """Return the wrong revision of that name for a conversation at ``current``."""
    return {
        "stale-by-one": current - 1,
        "stale-by-many": current // 2,
        "one": 1,
        "ahead-by-one": current + 1,
        "ahead-by-many": min(current + 100_000, LARGEST_INTEGER - 1),
        "largest": LARGEST_INTEGER,
    }[name]


def _wrong_revisions(contract: Contract) -> list[Any]:
    return [
        case((kind, wrong), _refused(wrong), f"{kind}-{wrong}", *_ALSO)
        for kind in (_KINDS if can_archive(contract) else ())
        for wrong in _WRONG
        if _applies(kind, wrong)
    ]


def _refused(wrong: str) -> str:
    is_stale = wrong in ("stale-by-one", "stale-by-many", "one")
    return "REVISION-STALE-REFUSED" if is_stale else "REVISION-AHEAD-REFUSED"


def _applies(kind: str, wrong: str) -> bool:
    if kind in STATUSES:
        return wrong.endswith("by-one")
    return kind != "fresh" or _refused(wrong) == "REVISION-AHEAD-REFUSED"


@needs("seed")
@cases("attempt", _wrong_revisions)
def test_a_wrong_revision_conflicts(attempt: tuple[str, str], session: Session, record: Recorder) -> None:
    """Any other revision than the current one is a conflict that changes nothing; the current one works afterwards."""
    kind, wrong = attempt
    scene = _scene(session, kind)
    if kind == "archived":
        archived(session, scene)
    view = read_all(session, scene)
    answer, _ = archive(session, scene, expected_revision=_wrong(wrong, view.revision))
    note_conflict(record, answer)
    requirement = _refused(wrong)
    what = f"an archive whose revision is {'older' if requirement == 'REVISION-STALE-REFUSED' else 'newer'}"
    expected = (CONFLICT, requirement, "REVISION-CONFLICT-KIND", "REVISION-CONFLICT-UNCHANGED")
    must_hold(refused_without_effect(session, answer, [(scene, view)], expected, what))
    again, arguments = archive(session, scene, expected_revision=view.revision)
    if kind == "archived":
        second = {"success": "no-op success", "refused": "conflict"}.get(again.outcome)
        if second:
            record.freedom("OPEN-SECOND-ARCHIVE", second)
        return
    what = "an archive with the current revision after a conflict"
    archived_result(session, again, arguments, "REVISION-CURRENT-AFTER-CONFLICT", what)


_LEVELS = ("fresh", "changed", "large")


@needs("seed")
@cases("kind", each("REVISION-GROWS", _LEVELS, "ARCHIVE-ACCEPTED"))
def test_an_archive_raises_the_revision(kind: str, session: Session, record: Recorder) -> None:
    """The revision in an archive's answer, and in the next read, is greater than the one that was expected."""
    scene = _scene(session, kind)
    judged, _ = archived(session, scene)
    note_archive(record, scene, scene.revision, judged)
    after = read_all(session, scene, "ARCHIVE-READ-BACK", "a read after an archive")
    for found, exchange in (
        (judged.value["conversation"]["revision"], judged.answer.exchange),
        (after.revision, after.exchange),
    ):
        if found <= scene.revision:
            finding = Finding(
                "REVISION-GROWS",
                judged.answer.call.operation.name,
                "The revision has not grown with an archive",
                "/conversation/revision",
                f"more than {scene.revision}",
                str(found),
            )
            must_hold([finding.shown_by(judged.answer.exchange, exchange)])


@needs("seed")
@cases("kind", each("REVISION-CHAINS", _LEVELS, "ARCHIVE-ACCEPTED"))
def test_the_next_read_shows_the_revision_of_the_answer(kind: str, session: Session) -> None:
    """The revision in an archive's answer is the one that the next *get* and every *status* show."""
    scene = _scene(session, kind)
    judged, _ = archived(session, scene)
    after = read_all(session, scene, "ARCHIVE-READ-BACK", "a read after an archive")
    expected = judged.value["conversation"]["revision"]
    shown = [("/conversation/revision", after.revision, after.shown)]
    shown += [("/conversation_revision", each.value["conversation_revision"], each) for each in after.statuses.values()]
    must_hold(
        Finding(
            "REVISION-CHAINS",
            read.answer.call.operation.name,
            "A read after an archive shows another revision than the archive's answer",
            place,
            str(expected),
            str(found),
            (judged.answer.exchange, read.answer.exchange),
        )
        for place, found, read in shown
        if found != expected
    )
