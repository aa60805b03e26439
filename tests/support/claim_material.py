"""Runs to attest, made once per session, and the tools of somebody who tampers with a claim or with its run."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from suite_run import run_pytest

from conformance.claim.envelope import sealed
from conformance.claim.keys import make_key, public_file_of, read_private_key
from conformance.claim.statement import EXTENSION, Attestation, encoded, part_of, statement_of
from conformance.claim.stored import DecidedAgain, Ground, decide_again
from conformance.claim.verifying import Known, Verification, verify
from conformance.command_line import main
from conformance.contract import load_contract
from conformance.embedded import start_reference_server
from conformance.report.rendering import render

NAME, VERSION = "Acme research server", "1.4.2"
DIGEST = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
FAULT = "http-unknown-path-200"
WAIVED = ("HTTP-UNKNOWN-PATH", "HTTP-WRONG-METHOD")
SOME = "HTTP-UNKNOWN-PATH or READ-RUN-MISMATCH"
Change = Callable[[Any], object]


@cache
def published() -> Ground:
    """Return the published contract, read once."""
    return Ground.of(load_contract())


@dataclass(frozen=True)
class Material:
    """Two attested runs of a server with a fault: a whole one in which it is waived, and some cases without waivers."""

    whole: Path
    some: Path
    key: Path
    foreign: Path


def material(folder: Path) -> Material:
    """Return the runs in the folder, made once."""
    found = Material(folder / "whole", folder / "some", folder / "vendor.pem", folder / "foreign.pem")
    made_once(folder, lambda: _make(found))
    return found


def made_once(folder: Path, make: Callable[[], None]) -> None:
    """Make what belongs into the folder: the first process that asks does so, and others wait for it."""
    with _alone(folder / "lock"):
        if not (folder / "made").exists():
            make()
            (folder / "made").touch()


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    import fcntl  # noqa: PLC0415 - Windows has none, and the tests are skipped there

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(wanted: Material) -> None:
    make_key(wanted.key)
    make_key(wanted.foreign)
    server = start_reference_server("--fault", FAULT)
    try:
        lines = [f'[target]\nurl = "{server.url}"\n[control]\nurl = "{server.control_url}"\n[implementation]']
        lines += [f'name = "{NAME}"\nversion = "{VERSION}"\nvendor = "Acme"\nbuild_digest = "{DIGEST}"']
        plain = wanted.key.with_name("plain.toml")
        plain.write_text("\n".join(lines), encoding="utf-8")
        for each in WAIVED:
            lines += [
                f'[[waivers]]\nrequirement = "{each}"\nreason = "Mended soon"\nowner = "Acme"\nuntil = 2099-01-01'
            ]
        waiving = wanted.key.with_name("waiving.toml")
        waiving.write_text("\n".join(lines), encoding="utf-8")
        common = ("-q", "--pyargs", "conformance", "--profile=quick", "--seed=7")
        for folder, *more in ((wanted.whole, f"--target-config={waiving}"),
                              (wanted.some, f"--target-config={plain}", "-k", SOME)):  # fmt: skip
            ended = run_pytest(*common, *more, f"--report-dir={folder}")
            assert ended.report is not None, ended.last_words
            assert 0 == main(["attest", str(folder), "--key", str(wanted.key)]), ended.last_words
    finally:
        server.stop()


@dataclass
class Tampering:
    """A copy of an attested run, to be changed."""

    folder: Path
    material: Material

    @classmethod
    def with_copy(cls, of: Path, place: Path, material: Material) -> Tampering:
        """Copy a run. Files are linked, since whoever changes one here writes a new one."""
        shutil.copytree(of, place, copy_function=os.link)
        return cls(place, material)

    @property
    def claim(self) -> Path:
        """The file of the claim."""
        return self.folder / "claim.json"

    def write(self, name: str, content: bytes) -> None:
        """Write a file anew."""
        (self.folder / name).unlink()
        (self.folder / name).write_bytes(content)

    def envelope(self, change: Change) -> None:
        """Change the envelope."""
        envelope = json.loads(self.claim.read_bytes())
        change(envelope)
        self.write("claim.json", json.dumps(envelope).encode())

    def statement(self, change: Change, signed_by: Path | None = None) -> None:
        """Change what the claim says, and sign it with a key or leave the old signature there."""
        statement = self.said()
        change(statement)
        self.payload(encoded(statement), signed_by)

    def said(self) -> dict[str, Any]:
        """Return what the claim says."""
        return dict(json.loads(base64.b64decode(json.loads(self.claim.read_bytes())["payload"])))

    def payload(self, payload: bytes, signed_by: Path | None = None) -> None:
        """Put other bytes into the envelope."""
        if signed_by is None:
            self.envelope(lambda envelope: envelope.update(payload=base64.b64encode(payload).decode()))
        else:
            self.write("claim.json", sealed(payload, read_private_key(signed_by)))

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the lines of a log."""
        return [json.loads(line) for line in (self.folder / name).read_bytes().splitlines()]

    def write_lines(self, name: str, lines: list[dict[str, Any]]) -> None:
        """Write a log."""
        self.write(name, b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines))

    def exchanges(self, change: Change, *, close: bool = True) -> None:
        """Change the lines of the log of exchanges; its footer is made to fit unless ``close`` is false."""
        lines = self.lines("exchanges.jsonl")
        change(lines)
        self.write_lines("exchanges.jsonl", lines)
        if close:
            self.close_log()

    def cases(self, change: Change) -> None:
        """Change the lines of the log of cases."""
        lines = self.lines("cases.jsonl")
        change(lines)
        self.write_lines("cases.jsonl", lines)

    def close_log(self) -> None:
        """Make the footer of the log of exchanges fit what stands before it."""
        *lines, footer = (self.folder / "exchanges.jsonl").read_bytes().splitlines(keepends=True)
        values = json.loads(footer)
        values["sha256"] = sha256(b"".join(lines)).hexdigest()
        values["exchanges"] = sum(json.loads(line)["kind"] == "exchange" for line in lines)
        self.write("exchanges.jsonl", b"".join(lines) + json.dumps(values, separators=(",", ":")).encode() + b"\n")

    def attest_anyway(self) -> None:
        """Make report and claim from what the logs say now, and sign with the vendor's own key, as ``attest`` would."""
        ground, again = published(), self.report_again()
        statement = statement_of(
            self.folder, ground.contract, ground.frozen, again.run, Attestation("2099-01-01T00:00:00Z")
        )
        self.payload(encoded(statement), self.material.key)

    def report_again(self) -> DecidedAgain:
        """Make the reports from what the logs say now."""
        ground = published()
        again = decide_again(self.folder, ground)
        for name in ("report.json", "report.html", "summary.md"):
            # Rendering would write through the link into the untouched run.
            (self.folder / name).unlink(missing_ok=True)
        render(self.folder, ground.contract, ground.registry, again.run)
        return again

    def verified(self, **other: Any) -> Verification:
        """Verify with the vendor's public key and this folder, unless something else is known."""
        known = {"key": public_file_of(self.material.key), "folder": self.folder, **other}
        return verify(self.claim.read_bytes(), published(), Known(**known))


def claim_of(statement: dict[str, Any]) -> dict[str, Any]:
    """Return the suite's own part of a statement."""
    return dict_in(statement["predicate"], EXTENSION)


def dict_in(values: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a member that is an object."""
    found: dict[str, Any] = values[name]
    return found


def noted(statement: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the annotations of a part of the configuration."""
    return dict_in(dict(part_of(statement, name)), "annotations")
