"""What the reference server refuses, by the kinds of the target interface."""

from __future__ import annotations

from typing import ClassVar


class Refusal(Exception):
    """Base of all refusals. The message goes to the caller, so it never quotes stored or received text."""

    kind: ClassVar[str] = "internal"


class InvalidInput(Refusal):
    """The request is not what the input schema describes."""

    kind = "invalid_input"


class TooLarge(Refusal):
    """The request body is over the limit."""

    kind = "too_large"


class UnsupportedMediaType(Refusal):
    """The request body is not plain JSON."""

    kind = "unsupported_media_type"


class Unauthenticated(Refusal):
    """There is no usable token."""

    kind = "unauthenticated"


class Forbidden(Refusal):
    """The token lacks the capability."""

    kind = "forbidden"


class NotFound(Refusal):
    """There is no such thing for this caller: it is unknown, or somebody else's."""

    kind = "not_found"


class Conflict(Refusal):
    """The revision is stale, or the mutation id was used for another call."""

    kind = "conflict"
