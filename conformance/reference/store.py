"""What is stored and how it is found: SQLite tables, transactions, no rules.

Ids are keys in lower case; documents are JSON text in the shape of *get*'s output, with the ids as seeded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from conformance.reference.database import Database

_TABLES = """
CREATE TABLE IF NOT EXISTS principals (id TEXT PRIMARY KEY, workspaces TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (token TEXT PRIMARY KEY, principal_id TEXT NOT NULL, scopes TEXT NOT NULL)
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS conversations (
  id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, owner_id TEXT NOT NULL, access TEXT NOT NULL, document TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mutations (
  principal_id TEXT NOT NULL, mutation_id TEXT NOT NULL, arguments TEXT NOT NULL, result TEXT NOT NULL,
  PRIMARY KEY (principal_id, mutation_id)
);
CREATE TABLE IF NOT EXISTS clocks (workspace_id TEXT PRIMARY KEY, now TEXT NOT NULL) WITHOUT ROWID;
"""
_TABLE_NAMES = ("principals", "tokens", "conversations", "runs", "mutations", "clocks")


@dataclass(frozen=True)
class StoredConversation:
    """A conversation as stored: ``document`` is a fresh copy that the reader may change."""

    id: str
    workspace_id: str
    owner_id: str
    access: str
    document: dict[str, Any]


@dataclass(frozen=True)
class StoredMutation:
    """An applied mutation: the canonical arguments (JSON text) and the first result."""

    arguments: str
    result: dict[str, Any]


@dataclass(frozen=True)
class StoredToken:
    """A token's person, the scopes of this token, and the person's workspaces."""

    principal_id: str
    scopes: frozenset[str]
    workspaces: frozenset[str]


class Store:
    """One connection to the stored state. Not for use from two threads."""

    def __init__(self, database: Database) -> None:
        self._connection = database.connect()
        self._connection.executescript(_TABLES)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self, kind: Literal["DEFERRED", "IMMEDIATE"] = "IMMEDIATE") -> Iterator[None]:
        """Do all that is inside, or nothing of it."""
        self._connection.execute(f"BEGIN {kind}")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def add_principal(self, principal_id: str, workspaces: list[str]) -> None:
        """Store a person and the workspaces they belong to."""
        lowered = json.dumps([workspace.lower() for workspace in workspaces])
        self._connection.execute("INSERT INTO principals VALUES (?, ?)", (principal_id, lowered))

    def workspaces(self, principal_id: str) -> frozenset[str] | None:
        """Return the person's workspaces, or None for an unknown person."""
        row = self._row("SELECT workspaces FROM principals WHERE id = ?", principal_id)
        return None if row is None else frozenset(json.loads(row[0]))

    def add_token(self, token: str, principal_id: str, scopes: list[str]) -> None:
        """Store a token of that person with scopes of its own."""
        self._connection.execute("INSERT INTO tokens VALUES (?, ?, ?)", (token, principal_id, json.dumps(scopes)))

    def token(self, token: str) -> StoredToken | None:
        """Return what a token stands for, or None for an unknown one."""
        row = self._row(
            "SELECT principal_id, scopes, workspaces FROM tokens JOIN principals ON id = principal_id WHERE token = ?",
            token,
        )
        return row and StoredToken(row[0], frozenset(json.loads(row[1])), frozenset(json.loads(row[2])))

    def scopes_of_person(self, principal_id: str) -> frozenset[str]:
        """Return the scopes of all tokens of that person together."""
        rows = self._connection.execute("SELECT scopes FROM tokens WHERE principal_id = ?", (principal_id,))
        return frozenset(scope for (scopes,) in rows for scope in json.loads(scopes))

    def add_conversation(self, owner_id: str, document: dict[str, Any]) -> None:
        """Store a new conversation and its runs.

        Raises:
            sqlite3.IntegrityError: the id of the conversation or of a run is taken.
        """
        conversation = document["conversation"]
        key = conversation["id"].lower()
        self._connection.execute(
            "INSERT INTO conversations VALUES (?, ?, ?, 'granted', ?)",
            (key, conversation["workspace_id"].lower(), owner_id, _text(document)),
        )
        self._connection.executemany(
            "INSERT INTO runs VALUES (?, ?)", [(run["id"].lower(), key) for run in document["runs"]]
        )

    def conversation(self, conversation_id: str) -> StoredConversation | None:
        """Return a conversation by its id in lower case, whoever owns it."""
        row = self._row(
            "SELECT id, workspace_id, owner_id, access, document FROM conversations WHERE id = ?", conversation_id
        )
        return row and StoredConversation(row[0], row[1], row[2], row[3], json.loads(row[4]))

    def conversation_of_run(self, run_id: str) -> StoredConversation | None:
        """Return the conversation that a run (id in lower case) belongs to."""
        row = self._row("SELECT conversation_id FROM runs WHERE id = ?", run_id)
        return row and self.conversation(row[0])

    def replace_document(self, conversation_id: str, document: dict[str, Any]) -> None:
        """Put a changed document in the place of the stored one."""
        self._connection.execute(
            "UPDATE conversations SET document = ? WHERE id = ?", (_text(document), conversation_id)
        )

    def set_access(self, conversation_id: str, access: str) -> bool:
        """Store what the owner may see now; false when there is no such conversation."""
        return (
            self._connection.execute(
                "UPDATE conversations SET access = ? WHERE id = ?", (access, conversation_id)
            ).rowcount
            == 1
        )

    def add_mutation(self, principal_id: str, mutation_id: str, mutation: StoredMutation) -> None:
        """Remember an applied mutation under the person's key."""
        self._connection.execute(
            "INSERT INTO mutations VALUES (?, ?, ?, ?)",
            (principal_id, mutation_id, mutation.arguments, _text(mutation.result)),
        )

    def mutation(self, principal_id: str, mutation_id: str) -> StoredMutation | None:
        """Return what was applied under the person's key, if anything was."""
        row = self._row(
            "SELECT arguments, result FROM mutations WHERE principal_id = ? AND mutation_id = ?",
            principal_id,
            mutation_id,
        )
        return row and StoredMutation(row[0], json.loads(row[1]))

    def set_clock(self, workspace_id: str, now: str | None) -> None:
        """Store the instant (RFC 3339) at which a workspace's clock stands, or None for real time."""
        if now is None:
            self._connection.execute("DELETE FROM clocks WHERE workspace_id = ?", (workspace_id,))
        else:
            self._connection.execute("INSERT OR REPLACE INTO clocks VALUES (?, ?)", (workspace_id, now))

    def clock(self, workspace_id: str) -> str | None:
        """Return the instant at which a workspace's clock stands, or None where it runs."""
        row = self._row("SELECT now FROM clocks WHERE workspace_id = ?", workspace_id)
        return row and str(row[0])

    def reset(self) -> None:
        """Drop everything."""
        for table in _TABLE_NAMES:
            self._connection.execute(f"DELETE FROM {table}")  # noqa: S608  the names are constants of this module

    def _row(self, statement: str, *values: str) -> Any:
        return self._connection.execute(statement, values).fetchone()


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
