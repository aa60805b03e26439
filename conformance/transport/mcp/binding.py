"""What a target may settle about its MCP side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.transport.exchange import ErrorKind, Headers

FULL = "full"
CORE = "core"


@dataclass(frozen=True)
class McpProfile:
    """How a profile is chosen: environment of a child, or URL and headers over HTTP; empty where nothing is needed."""

    environment: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Headers = ()


@dataclass(frozen=True)
class McpBinding:
    """What a target may override of the MCP bindings.

    ``token_env`` is the environment variable in which a child finds its token; ``revision`` pins one of
    ``REVISIONS``, empty to negotiate. ``kind_pointer`` is a JSON pointer into the whole message of a failed call and
    ``kind_table`` translates what stands there (numbers as decimal digits); without a pointer the two published
    places are read. ``output_schemas_url`` lists the output schemas, empty where the usual URL does.
    """

    token_env: str = "SOSOAPI_TOKEN"  # noqa: S105 - the name of a variable, not a token
    revision: str = ""
    kind_pointer: str = ""
    kind_table: Mapping[str, ErrorKind] = field(default_factory=dict)
    profiles: Mapping[str, McpProfile] = field(default_factory=dict)
    output_schemas_url: str = ""

    def offers(self, profile: str) -> bool:
        """Whether the target says how to choose the profile; ``full`` needs no entry."""
        return profile == FULL or profile in self.profiles

    def profile(self, name: str) -> McpProfile:
        """Return how to choose a profile.

        Raises:
            ValueError: the target does not say how.
        """
        if not self.offers(name):
            raise ValueError(f"the target does not say how to choose the profile {name!r}")
        return self.profiles.get(name, McpProfile())
