"""The record of what servers said is bounded."""

from __future__ import annotations

from conformance.transport.mcp.journal import Journal


def test_a_mark_separates_before_from_after() -> None:
    """What is noted after a mark can be asked for alone."""
    journal = Journal()
    journal.note_frame("reader", "2026-07-28", "tools/call", b"{}")
    mark = journal.mark()
    journal.note_frame("reader", "2026-07-28", "", b"[]")
    journal.note_stray("reader", "no message", b"x")
    assert [b"{}", b"[]"] == [frame.raw for frame in journal.frames()]
    assert ([b"[]"], [b"x"]) == (
        [frame.raw for frame in journal.frames(mark)],
        [stray.text for stray in journal.strays(mark)],
    )


def test_memory_is_bounded() -> None:
    """Old messages and old strays are forgotten, and a long stray is cut."""
    journal = Journal()
    for number in range(40):
        journal.note_frame("reader", "", "", b"%02d" % number + b"x" * 1_000_000)
        journal.note_stray("reader", "no message", b"y" * 10_000)
    assert sum(len(frame.raw) for frame in journal.frames()) <= 16 * 1024 * 1024
    assert journal.frames()[-1].raw.startswith(b"39")
    for _ in range(500):
        journal.note_stray("reader", "no message", b"z")
    assert (200, b"z") == (len(journal.strays()), journal.strays()[-1].text)


def test_short_messages_are_bounded_too() -> None:
    """Each takes more room than its bytes, so that a flood of them is forgotten as well."""
    journal = Journal()
    for _ in range(40_000):
        journal.note_frame("reader", "", "", b"{}")
    assert 16 * 1024 * 1024 // (512 + 2) == len(journal.frames())
