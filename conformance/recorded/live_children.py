"""The live side of children in a replay: real ones, spoken to in the words of now and heard in those of the record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.errors import NotReplayable
from conformance.printable import printable
from conformance.recorded.description import NOT_WRITTEN
from conformance.recorded.resending import Resender
from conformance.recorded.translation import Translation
from conformance.transport.exchange import Credential, Exchange
from conformance.transport.mcp.channel import Entrance, Outgoing, Received
from conformance.transport.mcp.frames import Identifier, identifier_of, read_frame
from conformance.transport.mcp.journal import Journal
from conformance.transport.mcp.revisions import opening_frames
from conformance.transport.mcp.stdio import StdioChannel, StdioGateway

if TYPE_CHECKING:
    from conformance.transport.opening import Listener

_LONGEST_QUOTE = 200


class LiveChildren:
    """The children of a replay. What they say unasked is told to the journal and the listener of the record."""

    def __init__(self, live: Resender, journal: Journal, listen: Listener) -> None:
        """Get ready; no child is started yet.

        Raises:
            NotReplayable: there is no command to start children with.
        """
        if live.command is None:
            raise NotReplayable("it is not known how children are started now", "Give --target-command.")
        self.live = live
        self._command = live.command.command
        self._listen = listen
        self._has_answered = False
        self._gateway = StdioGateway(
            live.command, live.binding, live.limits, _unobserved, self._hear, _Translated(journal, live.translation)
        )

    def channel(self, entrance: Entrance) -> LiveChannel:
        """Return a channel for a session of the record; its child is started when it is first used.

        Raises:
            NotReplayable: the log does not say how the profile is chosen.
        """
        binding = self.live.binding
        if (
            not binding.offers(entrance.profile)
            or NOT_WRITTEN in binding.profile(entrance.profile).environment.values()
        ):
            raise NotReplayable(
                f"the environment that chooses the profile {entrance.profile} is not in the log",
                "Give the target file: --target-config.",
            )
        credential = entrance.credential
        if credential.header is not None:
            credential = Credential(credential.label, self.live.translation.credential(credential.header))
        return LiveChannel(self, self._gateway.channel(replace(entrance, credential=credential)))

    def came(self, received: Received, recorded: Mapping[str, Any]) -> Received:
        """Return what came of a message in the words of the record.

        Raises:
            NotReplayable: no child has said a word yet, and this one does not either, though one did then.
        """
        exchange = received.exchange
        if exchange.failure is not None:
            if not self._has_answered and recorded["answer"] is not None:
                raise self.silence(exchange.failure.message)
            self.live.silent(recorded)
            return received
        self._has_answered = True
        assert exchange.response is not None
        response = self.live.came(exchange.response, recorded)
        frame = read_frame(response.body) if response.body else None
        return replace(received, exchange=replace(exchange, response=response), answer=frame)

    def silence(self, message: str) -> NotReplayable:
        """Return the problem that children do not answer, with the last line that one wrote to stderr."""
        lines = [line for text in self.last_stderr() for line in text.splitlines() if line.strip()]
        said = printable(lines[-1].decode("utf-8", "replace").strip())[:_LONGEST_QUOTE] if lines else ""
        wrote = f"; it wrote to stderr: {said!r}" if said else ""
        return NotReplayable(f"no usable answer from {self._command}: {message}{wrote}", "Correct --target-command.")

    def last_stderr(self) -> tuple[bytes, ...]:
        """Return the end of what each running child has written to stderr."""
        return tuple(self.live.translation.unasked(text) for text in self._gateway.last_stderr())

    def close(self) -> None:
        """End all children."""
        self._gateway.close()

    def _hear(self, credential: Credential, text: bytes) -> None:
        translation = self.live.translation
        header = None if credential.header is None else translation.recorded_credential(credential.header)
        self._listen(Credential(credential.label, header), translation.unasked(text))


class LiveChannel:
    """A session's way to its child."""

    def __init__(self, children: LiveChildren, channel: StdioChannel) -> None:
        self._children = children
        self._channel = channel

    def is_open(self) -> bool:
        """Whether the session can make calls at once."""
        return self._channel.is_open()

    def opened(self, revision: str) -> None:
        """Take note that the session is open."""
        self._channel.opened(revision, None)

    def open_again(self, revision: str, lists: Sequence[Outgoing], answered: Collection[Identifier]) -> None:
        """Open a session that was open when the case began.

        ``lists`` are the requests for lists of tools in it, which are sent again; ``answered`` are the ids that had
        been used in it.

        Raises:
            NotReplayable: the child does not answer.
        """
        self._channel.revision = revision
        opening = []
        for frame in opening_frames(revision):
            identifier = identifier_of(frame)
            method = "initialize" if identifier is not None else "notifications/initialized"
            opening.append(Outgoing(frame, identifier, method, expects_answer=identifier is not None))
        for sent in (*opening, *lists):
            failure = self._channel.send(sent).exchange.failure
            if failure is not None:
                raise self._children.silence(failure.message)
        self._channel.opened(revision, None)
        self._channel.answered_before(answered)

    def send_together(
        self,
        outgoing: Sequence[Outgoing],
        recorded: Sequence[Mapping[str, Any]],
        revision: str,
        start: Callable[[], None],
    ) -> list[Received]:
        """Send messages of the record; return what came of each in the words of the record.

        ``recorded`` are their lines of the log.

        Raises:
            NotReplayable: nobody answers.
        """
        self._channel.revision = revision
        outward = self._children.live.translation.outward
        came = self._channel.send_together([replace(each, frame=outward(each.frame)) for each in outgoing], start)
        return [self._children.came(received, line) for received, line in zip(came, recorded, strict=True)]

    def close(self) -> None:
        """End the child."""
        self._channel.close()


class _Translated(Journal):
    """Hands on what is noted, in the words of the record."""

    def __init__(self, journal: Journal, translation: Translation) -> None:
        super().__init__()
        self._journal = journal
        self._translation = translation

    def note_frame(self, principal: str, revision: str, answers: str, raw: bytes) -> None:
        """Hand on a message."""
        words = self._translation.inward if answers else self._translation.unasked
        self._journal.note_frame(principal, revision, answers, words(raw))

    def note_stray(self, principal: str, reason: str, text: bytes) -> None:
        """Hand on stray output."""
        self._journal.note_stray(principal, reason, self._translation.unasked(text))


def _unobserved(_: Exchange) -> None:
    """Leave it to the record's side to tell of an exchange."""
