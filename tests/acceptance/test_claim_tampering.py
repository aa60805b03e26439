"""Whatever is tampered with in a claim, or in the run that it is about, is named in a sentence.

Three kinds of people tamper: somebody without a key, somebody who signs with a key of his own, and the vendor himself,
who signs with the right key what the run did not come to.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from claim_material import DIGEST, NAME, VERSION, Material, Tampering, claim_of, material, noted

from conformance.claim import verifying
from conformance.claim.digests import value_digest
from conformance.claim.keys import public_file_of
from conformance.claim.statement import encoded, part_of
from conformance.command_line import main
from conformance.errors import ExitStatus
from conformance.recorded.tape import short_case

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the runs are shared with a lock of POSIX")

Change = Callable[[Any], object]
SIGNATURE = "The signature does not fit"
CASES, EXCHANGES = "cases.jsonl", "exchanges.jsonl"


@pytest.fixture(scope="session")
def attested(tmp_path_factory: pytest.TempPathFactory) -> Material:
    """Return the runs that all processes of the session share."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "claims"
    shared.mkdir(exist_ok=True)
    return material(shared)


@pytest.fixture
def whole(attested: Material, tmp_path: Path) -> Tampering:
    """Return a copy of the whole run: it conforms, and a fault is waived."""
    return Tampering.with_copy(attested.whole, tmp_path / "copy", attested)


@pytest.fixture
def some(attested: Material, tmp_path: Path) -> Tampering:
    """Return a copy of the run of some cases: it does not conform."""
    return Tampering.with_copy(attested.some, tmp_path / "copy", attested)


@pytest.fixture
def whole_claim(attested: Material) -> Path:
    """Return the claim of the whole run."""
    return attested.whole / "claim.json"


@pytest.fixture
def _not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the judging, for what has to be noticed without it."""
    monkeypatch.setattr(verifying, "judged_again", lambda *_: ())
    monkeypatch.setattr(verifying, "missing_cases", lambda *_: ())


def named(sentence: str, tampering: Tampering, **known: Any) -> None:
    """See that the claim is refused with this sentence."""
    found = tampering.verified(**known)
    assert [] != [each for each in found.refusals if sentence in each], found.refusals
    assert not found.is_verified


# --- What the claim says. ---


def requirement_in(statement: dict[str, Any], identifier: str) -> dict[str, Any]:
    """Return what a statement says of a requirement."""
    found: dict[str, Any] = next(each for each in claim_of(statement)["requirements"] if each["id"] == identifier)
    return found


def outcome(identifier: str, value: str) -> Change:
    """Claim another outcome of a requirement."""
    return lambda statement: requirement_in(statement, identifier).update(outcome=value)


def said(**values: Any) -> Change:
    """Claim other values."""
    return lambda statement: claim_of(statement).update(values)


def setting(**values: Any) -> Change:
    """Claim other settings, with the digest that fits them."""

    def change(statement: dict[str, Any]) -> None:
        noted(statement, "settings").update(values)
        part_of(statement, "settings")["digest"]["sha256"] = value_digest(noted(statement, "settings"))

    return change


def lock(**values: str) -> Change:
    """Claim other libraries, with the digest that fits them."""

    def change(statement: dict[str, Any]) -> None:
        noted(statement, "lock").update(values)
        part_of(statement, "lock")["digest"]["sha256"] = value_digest(noted(statement, "lock"))

    return change


def digest_of(part: str) -> Change:
    """Claim another digest of a part of the configuration."""

    def change(statement: dict[str, Any]) -> None:
        digests = part_of(statement, part)["digest"]
        digests[next(iter(digests))] = "0" * 64

    return change


def drop_requirement(statement: dict[str, Any]) -> None:
    """Leave a requirement out."""
    del claim_of(statement)["requirements"][5]


def repeat_requirement(statement: dict[str, Any]) -> None:
    """Give a requirement a second outcome."""
    claim_of(statement)["requirements"].append(claim_of(statement)["requirements"][5])


def other_subject(statement: dict[str, Any]) -> None:
    """Name another build as the subject."""
    statement["subject"][0]["digest"]["sha256"] = "0" * 64


def other_build(statement: dict[str, Any]) -> None:
    """Name another build everywhere."""
    other_subject(statement)
    claim_of(statement)["target"]["build_digest"] = f"sha256:{'0' * 64}"


SAID: dict[str, tuple[Change, str]] = {
    "verdict": (said(verdict="does not conform"), "its own outcomes come to 'conforms'"),
    "level": (said(level="full"), "The claim says level 'full'; its own outcomes come to 'behaviour'."),
    "exit-status": (said(exit_status=1), "The claim says exit status 1; its own outcomes come to 0."),
    "requirement-dropped": (drop_requirement, "is left out of the claim."),
    "requirement-twice": (repeat_requirement, "has 2 outcomes in the claim."),
    "requirement-unknown": (
        lambda statement: claim_of(statement)["requirements"][0].update(id="NO-SUCH"), "the requirement NO-SUCH",
    ),
    "outcome-of-broken": (outcome("HTTP-UNKNOWN-PATH", "pass"), "The claim says 'pass' of HTTP-UNKNOWN-PATH"),
    "outcome-of-unassessed": (
        lambda statement: [each.update(outcome="pass") for each in claim_of(statement)["requirements"]
                           if each["outcome"] == "not assessed"],
        "The claim says 'pass' of",
    ),
    "outcome-not-applicable": (outcome("READ-RUN-MISMATCH", "not applicable"), "'not applicable' of READ-RUN-MISMATCH"),
    "waiver-removed": (said(waivers=[]), "'waived' of HTTP-UNKNOWN-PATH; by its own cases"),
    "result": (lambda statement: statement["predicate"].update(result="PASSED"), "says as 'result'"),
    "passed-tests": (lambda statement: statement["predicate"]["passedTests"].append("X"), "says as 'passedTests'"),
    "warnings-hidden": (lambda statement: statement["predicate"].update(warnedTests=[]), "says as 'warnedTests'"),
    "seed": (lambda statement: noted(statement, "settings").update(seed=8), "digest of the part 'settings'"),
    "unexecuted": (said(unexecuted=3), "its own outcomes come to 'incomplete'"),
    "attested-before-the-run": (said(attested_at="2020-01-01T00:00:00Z"), "before its run had ended"),
    "date-that-is-none": (said(started_at="2020-02-31T00:00:00Z"), "has a date that is none"),
    "suite-digest": (digest_of("suite"), "The suite of the claim is not the one that is installed here"),
    "contract-digest": (digest_of("contract"), "The contract of the claim is not the one"),
    "set-digest": (digest_of("requirement set"), "The requirement set of the claim is not the one"),
    "lock-without-digest": (
        lambda statement: noted(statement, "lock").pop("jsonschema"), "digest of the part 'lock'",
    ),
    "subject": (other_subject, "is not the target that the claim itself describes"),
    "suite-version": (said(suite_version="9.9"), "The claim was made with version 9.9 of the suite"),
    "contract-version": (said(contract_version="2"), "The claim is about the contract sosoapi-research 2"),
    "future-set": (said(requirement_set="2"), "The claim is about requirement set 2, and this is 1."),
    "verdict-incomplete": (said(verdict="incomplete"), "The statement is not of the form of a claim"),
    "predicate-type": (lambda statement: statement.update(predicateType="https://slsa.dev/provenance/v1"),
                       "not of the form of a claim, at predicateType"),
    "part-missing": (lambda statement: statement["predicate"]["configuration"].pop(), "'report.json' is missing"),
    "part-twice": (lambda statement: statement["predicate"]["configuration"].append(
        statement["predicate"]["configuration"][0]), "'suite' stands twice"),
    "settings-missing": (lambda statement: noted(statement, "settings").pop("tier"),
                         "not of the form of a claim, at settings"),
}  # fmt: skip
"""How the words of a claim can be changed so that they contradict each other, or what is installed."""

SAID_OF_THE_RUN: dict[str, tuple[Change, str]] = {
    "outcome-with-cases": (
        lambda statement: requirement_in(statement, "HTTP-UNKNOWN-PATH").update(outcome="pass", passed=30, failed=0),
        "The claim says of HTTP-UNKNOWN-PATH: pass, 30 passed, 0 failed",
    ),
    "waiver-prolonged": (
        lambda statement: claim_of(statement)["waivers"][0].update(until="2999-01-01"), "The claim says waivers",
    ),
    "seed-with-digest": (setting(seed=8), "The claim says seed 8, and the stored run 7."),
    "profile": (setting(profile="certify"), "The claim says profile 'certify', and the stored run 'quick'."),
    "tier": (setting(tier="manifest"), "The claim says tier 'manifest', and the stored run 'control'."),
    "transport": (setting(transport="mcp-http"), "The claim says transport 'mcp-http', and the stored run 'rest'."),
    "gate": (said(gate={"required": "", "fail_on": "schema", "baseline": None}), "The claim says gate"),
    "known-faults": (
        said(gate={"required": "", "fail_on": "derived", "baseline": [["HTTP-UNKNOWN-PATH", "", ""]]}),
        "The claim says gate",
    ),
    "started-at": (said(started_at="2020-01-01T00:00:00Z"), "The claim says started at '2020-01-01T00:00:00Z'"),
    "count-of-exchanges": (said(exchanges=99999), "The claim says exchanges 99999"),
    "log-digest": (digest_of(EXCHANGES), f"{EXCHANGES} is not the file that was attested"),
    "case-log-digest": (digest_of(CASES), f"{CASES} is not the file that was attested"),
    "report-digest": (digest_of("report.json"), "report.json is not the file that was attested"),
    "lock": (lock(hypothesis="6.0.0"), "The run was made with hypothesis 6.0.0, and"),
    "lock-of-python": (lock(python="3.11.99"), "The lock of the claim is not what the log says"),
    "subject-and-target": (other_build, "The subject of the claim is not the target of the stored run."),
}  # fmt: skip
"""How they can be changed so that only the stored run contradicts them."""


@pytest.mark.parametrize("name", SAID)
def test_words_that_contradict_each_other(name: str, some: Tampering, whole_claim: Path) -> None:
    """Though the right key has signed; without it the signature does not fit, and another key is not the given one."""
    change, sentence = SAID[name]
    original = whole_claim.read_bytes()
    some.write("claim.json", original)
    some.statement(change, signed_by=some.material.key)
    named(sentence, some, folder=None)
    changed = encoded(some.said())
    some.write("claim.json", original)
    some.payload(changed)
    named(SIGNATURE, some, folder=None)
    some.payload(changed, signed_by=some.material.foreign)
    named("The claim is signed by another key", some, folder=None)


@pytest.mark.usefixtures("_not_judged")
@pytest.mark.parametrize("name", SAID_OF_THE_RUN)
def test_words_that_contradict_the_run(name: str, whole: Tampering) -> None:
    """Though the right key has signed."""
    change, sentence = SAID_OF_THE_RUN[name]
    whole.statement(change, signed_by=whole.material.key)
    named(sentence, whole)


# --- The envelope. ---


def add_signature(place: int) -> Change:
    """Put a signature that fits nothing before or behind the right one."""
    return lambda envelope: envelope["signatures"].insert(
        place, {"keyid": "", "sig": base64.b64encode(bytes(64)).decode()}
    )


def flip_bit(envelope: dict[str, Any]) -> None:
    """Change a bit of the signature."""
    signature = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
    signature[10] ^= 1
    envelope["signatures"][0]["sig"] = base64.b64encode(signature).decode()


def encode_again(envelope: dict[str, Any]) -> None:
    """Write the same values with other spaces."""
    statement = json.loads(base64.b64decode(envelope["payload"]))
    envelope["payload"] = base64.b64encode(json.dumps(statement, indent=1).encode()).decode()


ENVELOPE: dict[str, tuple[Change, str]] = {
    "two-signatures": (add_signature(1), "The envelope has 2 signatures"),
    "two-signatures-bad-first": (add_signature(0), "The envelope has 2 signatures"),
    "no-signature": (lambda envelope: envelope.update(signatures=[]), "The envelope has 0 signatures"),
    "signature-of-nothing": (lambda envelope: envelope["signatures"][0].update(sig=""), SIGNATURE),
    "signature-bit": (flip_bit, SIGNATURE),
    "signature-garbage": (
        lambda envelope: envelope["signatures"][0].update(sig="?!"), "signature of the envelope is not",
    ),
    "signature-missing": (lambda envelope: envelope["signatures"][0].pop("sig"), "its signature has no 'sig'"),
    "payload-type": (
        lambda envelope: envelope.update(payloadType="application/json"), "payload type 'application/json'",
    ),
    "payload-encoded-again": (encode_again, SIGNATURE),
    "payload-garbage": (lambda envelope: envelope.update(payload="%%%"), "The payload of the envelope is not base64"),
    "payload-cut": (lambda envelope: envelope.update(payload=envelope["payload"][:400]), "The statement is not JSON"),
    "payload-missing": (lambda envelope: envelope.pop("payload"), "its payload is missing"),
    "key-id": (lambda envelope: envelope["signatures"][0].update(keyid="0" * 64), "The envelope names the key 0000"),
}  # fmt: skip
"""How the envelope can be changed."""


@pytest.mark.usefixtures("_not_judged")
@pytest.mark.parametrize("name", ENVELOPE)
def test_envelope(name: str, some: Tampering) -> None:
    """Exactly one signature of the trusted key over exactly these bytes is accepted."""
    change, sentence = ENVELOPE[name]
    some.envelope(change)
    named(sentence, some)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (lambda text: text[:-40], "The claim is not JSON"),
        (lambda _: b"", "The claim is not JSON"),
        (lambda _: b"[]", "it is not a JSON object"),
        (lambda _: b"[" * 100_000, "The claim is not JSON"),
        (lambda text: text.replace(b"{", b'{"payloadType":"x",', 1), "(a name stands twice in one object)"),
    ],
    ids=["cut", "empty", "list", "deep", "name-twice"],
)
def test_text_of_a_claim(text: Callable[[bytes], bytes], sentence: str, some: Tampering) -> None:
    """What is no envelope is refused, and is no crash."""
    some.write("claim.json", text(some.claim.read_bytes()))
    named(sentence, some)


def test_name_twice_in_the_statement(some: Tampering) -> None:
    """Two readers of one claim must not read two verdicts, whoever signs it."""
    payload = base64.b64decode(json.loads(some.claim.read_bytes())["payload"])
    some.payload(payload.replace(b'{"verdict"', b'{"verdict":"conforms","verdict"', 1), some.material.key)
    named("The statement is not JSON in which each name stands once", some)


def test_key_of_somebody_else(some: Tampering) -> None:
    """A claim is only worth what the given key is."""
    named("The claim is signed by another key", some, key=public_file_of(some.material.foreign))


# --- A claim that is shown for something else. ---


@pytest.mark.usefixtures("_not_judged")
@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ({"version": f"{NAME}@1.5.0"}, f"The claim is about {NAME}@{VERSION}, not about {NAME}@1.5.0."),
        ({"version": f"Other@{VERSION}"}, f"not about Other@{VERSION}."),
        ({"digest": f"sha256:{'0' * 64}"}, f"The claim is about the build {DIGEST}, not about sha256:0000"),
        ({"digest": "0000"}, "is not of the form ALGORITHM:HEX"),
    ],
    ids=["version", "name", "digest", "no-digest"],
)
def test_replayed_for_another_build(known: dict[str, str], sentence: str, some: Tampering) -> None:
    """A claim about one build says nothing about another."""
    named(sentence, some, **known)


@pytest.mark.usefixtures("_not_judged")
def test_folder_of_another_run(some: Tampering) -> None:
    """The claim of one run does not fit the folder of another one."""
    named(f"{EXCHANGES} is not the file that was attested", some, folder=some.material.whole)


@pytest.mark.parametrize("name", ["report.json", CASES, EXCHANGES])
def test_file_left_out(name: str, some: Tampering) -> None:
    """A folder without one of the files is not the run."""
    (some.folder / name).unlink()
    named(f"The folder has no {name}.", some)


# --- The stored run. ---


def exchanges_of(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the exchanges with the target that belong to a case."""
    return [line for line in lines if line["kind"] == "exchange" and line["to"] == "target" and line["case"]]


def remove_exchange(lines: list[dict[str, Any]]) -> None:
    """Take an exchange out."""
    lines.remove(exchanges_of(lines)[3])


def number_again(lines: list[dict[str, Any]]) -> None:
    """Give all exchanges ids that follow upon each other."""
    for number, line in enumerate((line for line in lines if line["kind"] == "exchange"), 1):
        line["id"] = f"main-{number}"


def remove_and_number(lines: list[dict[str, Any]]) -> None:
    """Take an exchange out, and hide the gap."""
    remove_exchange(lines)
    number_again(lines)


def swap(lines: list[dict[str, Any]]) -> None:
    """Let two exchanges of a case change places."""
    first, second = _pair_of_one_case(lines)
    one, other = lines.index(first), lines.index(second)
    lines[one], lines[other] = lines[other], lines[one]


def _pair_of_one_case(lines: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    found = exchanges_of(lines)
    return next((first, second) for first, second in pairwise(found)
                if first["case"] == second["case"])  # fmt: skip


def swap_and_number(lines: list[dict[str, Any]]) -> None:
    """Let two exchanges change places, and hide it."""
    swap(lines)
    number_again(lines)


def move(lines: list[dict[str, Any]]) -> None:
    """Put an exchange to another case."""
    found = exchanges_of(lines)
    found[2]["case"] = found[-1]["case"]


def move_there_and_back(lines: list[dict[str, Any]]) -> None:
    """Let two exchanges change their cases, so that each case has as many as before."""
    found = exchanges_of(lines)
    found[2]["case"], found[-1]["case"] = found[-1]["case"], found[2]["case"]


def repeat(lines: list[dict[str, Any]]) -> None:
    """Give an exchange the id of another one."""
    found = exchanges_of(lines)
    found[3]["id"] = found[2]["id"]


def added_case(lines: list[dict[str, Any]]) -> None:
    """Let an exchange belong to a case that never was."""
    exchanges_of(lines)[-1]["case"] = "test_x.py::test_x"


def answer(lines: list[dict[str, Any]]) -> None:
    """Change a byte of an answer."""
    body = exchanges_of(lines)[0]["answer"]
    body["body"] = body["body"].replace("i", "j", 1)


def all_answers(lines: list[dict[str, Any]]) -> None:
    """Let the server have refused what it answered."""
    for line in exchanges_of(lines):
        line["answer"]["status"] = 404


def request(lines: list[dict[str, Any]]) -> None:
    """Change a byte of a request."""
    exchanges_of(lines)[1]["request"]["target"] += "x"


def first_case(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first case that found a fault."""
    return next(line for line in lines if line["kind"] == "case" and line["findings"])


def remove_case(lines: list[dict[str, Any]]) -> None:
    """Take a case out."""
    lines.remove(first_case(lines))


def other_evidence(identifier: str) -> Change:
    """Let a finding show another exchange."""
    return lambda lines: first_case(lines)["findings"][0]["exchanges"][0].update(id=identifier)


def on_exchanges(change: Change, *, close: bool = True) -> Callable[[Tampering], None]:
    """Change the log of exchanges."""
    return lambda tampering: tampering.exchanges(change, close=close)


def on_cases(change: Change) -> Callable[[Tampering], None]:
    """Change the log of cases."""
    return lambda tampering: tampering.cases(change)


def on_bytes(name: str, change: Callable[[bytes], bytes]) -> Callable[[Tampering], None]:
    """Change a file as it is."""
    return lambda tampering: tampering.write(name, change((tampering.folder / name).read_bytes()))


def without_last_line(content: bytes) -> bytes:
    """Return a file without its last line."""
    return content[: content[:-1].rindex(b"\n") + 1]


STORED: dict[str, tuple[Callable[[Tampering], None], str]] = {
    "log-cut": (on_bytes(EXCHANGES, lambda content: content[: len(content) // 2]), "was cut off."),
    "log-cut-at-a-line": (on_bytes(EXCHANGES, lambda text: without_last_line(text[: len(text) // 2])), "has no footer"),
    "log-without-footer": (on_bytes(EXCHANGES, without_last_line), "has no footer: its end was cut off."),
    "log-goes-on": (
        on_bytes(EXCHANGES, lambda text: text + text.splitlines(keepends=True)[2]), "goes on after its footer",
    ),
    "log-second-header": (on_exchanges(lambda lines: lines.insert(5, lines[0])), "has a second header, at line 6"),
    "log-line-garbage": (
        on_bytes(EXCHANGES, lambda text: text.replace(b'"kind":"exchange"', b'"kind":', 1)),
        "Line 2 of exchanges.jsonl",
    ),
    "log-name-twice": (
        on_bytes(EXCHANGES, lambda text: text.replace(b'"status":', b'"status":200,"status":', 1)), "stands twice",
    ),
    "log-not-complete": (on_exchanges(lambda lines: lines[-1].update(complete=False)), "its run was not complete"),
    "log-other-seed": (on_exchanges(lambda lines: lines[0].update(seed=8)), "has the seed 8, and cases.jsonl 7."),
    "log-other-version": (
        on_exchanges(lambda lines: lines[0].update(format_version=9)), "begins with the format_version 9",
    ),
    "log-wrong-count": (
        on_exchanges(lambda lines: lines[-1].update(exchanges=1), close=False), "counts 1 exchanges, and there are",
    ),
    "answer-changed": (on_exchanges(answer, close=False), "The digest in the footer of exchanges.jsonl is not that"),
    "request-changed": (on_exchanges(request, close=False), "The digest in the footer of exchanges.jsonl is not that"),
    "exchange-removed": (on_exchanges(remove_exchange), "something was taken out."),
    "exchange-removed-and-numbered": (on_exchanges(remove_and_number), "exchanges with the target, and the log has"),
    "exchanges-swapped": (on_exchanges(swap), "the order was changed."),
    "exchanges-swapped-and-numbered": (on_exchanges(swap_and_number), "which stands before it."),
    "exchange-moved": (on_exchanges(move), "exchanges with the target, and the log has"),
    "exchanges-moved": (on_exchanges(move_there_and_back), "stands among those of"),
    "exchange-id-twice": (on_exchanges(repeat), "is there twice."),
    "exchange-of-no-case": (on_exchanges(added_case), "cases.jsonl does not have that case"),
    "exchange-without-id": (on_exchanges(lambda lines: lines[3].pop("at")), "lacks something that an exchange has."),
    "exchange-ends-first": (
        on_exchanges(lambda lines: exchanges_of(lines)[0].update(elapsed=-1)), "ended before it began",
    ),
    "case-removed": (on_cases(remove_case), "cases.jsonl does not have that case"),
    "case-twice": (on_cases(lambda lines: lines.insert(2, lines[1])), "stands 2 times in cases.jsonl."),
    "case-count": (on_cases(lambda lines: lines[1].update(exchanges=99)), "had 99 exchanges with the target"),
    "cases-cut": (on_bytes(CASES, lambda content: content[:-400]), "does not end with its footer"),
    "cases-without-footer": (on_bytes(CASES, without_last_line), "does not end with its footer"),
    "cases-interrupted": (
        on_cases(lambda lines: lines[-1].update(complete=False)), "The run was interrupted or cut off.",
    ),
    "cases-second-footer": (on_cases(lambda lines: lines.insert(3, lines[-1])), "2 lines of the kind 'footer'"),
    "cases-shard": (
        on_cases(lambda lines: lines[-1]["facts"].update(shard={"number": 1, "of": 2})), "The run is a shard",
    ),
    "fault-of-the-suite": (on_cases(lambda lines: lines[-2].update(outcome="error")), "The suite itself had a fault"),
    "evidence-missing": (
        on_cases(other_evidence("main-9999")), "shows the exchange main-9999, which the log does not have",
    ),
    "evidence-of-another-case": (on_cases(other_evidence("main-2")), "main-2, which is one of another case."),
}  # fmt: skip
"""How a stored run can be changed, and what is said of it whoever signs."""


@pytest.mark.usefixtures("_not_judged")
@pytest.mark.parametrize("name", STORED)
def test_stored_run(name: str, some: Tampering) -> None:
    """The claim does not fit a changed file; and where the vendor makes a new claim of it, the change is named."""
    change, sentence = STORED[name]
    change(some)
    named("is not the file that was attested", some)
    named(sentence, some)
    some.attest_anyway()
    named(sentence, some)


@pytest.mark.usefixtures("_not_judged")
@pytest.mark.parametrize(
    ("member", "value"), [("verdict", "conforms"), ("level", "full"), ("findings", []), ("added", 1)]
)
def test_report(member: str, value: Any, some: Tampering) -> None:
    """A report that says something else than the cases is refused, also where its new digest is attested."""
    report = json.loads((some.folder / "report.json").read_bytes())
    report[member] = value
    some.write("report.json", json.dumps(report).encode())
    named("report.json is not the file that was attested", some)
    named(f"report.json does not agree with cases.jsonl: {member}.", some)


# --- What only judging again can notice: all files fit each other, and the right key has signed. ---


def passed(lines: list[dict[str, Any]]) -> None:
    """Let a case that found a fault have passed."""
    first_case(lines).update(outcome="passed", findings=[])


def other_finding(lines: list[dict[str, Any]]) -> None:
    """Let a finding say something else."""
    first_case(lines)["findings"][0].update(summary="Nothing of importance")


def remove_whole_case(tampering: Tampering) -> None:
    """Take out a case and its exchanges without a gap; what findings of others show goes by its new number."""
    case, renamed = first_case(tampering.lines(CASES))["case"], dict[str, str]()

    def from_exchanges(lines: list[dict[str, Any]]) -> None:
        lines[:] = [line for line in lines if line.get("case") != case]
        kept = [line for line in lines if line["kind"] == "exchange"]
        before = [line["id"] for line in kept]
        number_again(lines)
        renamed.update(zip(before, (line["id"] for line in kept), strict=True))

    def from_cases(lines: list[dict[str, Any]]) -> None:
        remove_case(lines)
        for line in lines:
            for shown in (shown for finding in line.get("findings", ()) for shown in finding["exchanges"]):
                shown["id"] = renamed[shown["id"]]

    tampering.exchanges(from_exchanges)
    tampering.cases(from_cases)


def other_seed(tampering: Tampering) -> None:
    """Let the run have had another seed."""
    tampering.exchanges(lambda lines: lines[0].update(seed=8))
    tampering.cases(lambda lines: [lines[end]["facts"].update(seed=8) for end in (0, -1)])


JUDGED: dict[str, Callable[[Tampering], None]] = {
    "answer-changed": on_exchanges(all_answers),
    "request-changed": on_exchanges(request),
    "outcome-edited": on_cases(passed),
    "finding-edited": on_cases(other_finding),
    "seed": other_seed,
    "requirements-of-a-case": on_cases(lambda lines: lines[1].update(requirements=["READ-RUN-MISMATCH"])),
}
"""Changes that leave no trace but in what comes out when the stored exchanges are judged again."""


@pytest.mark.parametrize("name", JUDGED)
def test_judged_again(name: str, some: Tampering, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vendor himself made it up, and signs it."""
    JUDGED[name](some)
    some.attest_anyway()
    judge, heard = verifying.judged_again, list[str]()

    def listening(folder: Path, contract_dir: Path) -> tuple[str, ...]:
        heard.extend(judge(folder, contract_dir))
        return tuple(heard)

    monkeypatch.setattr(verifying, "judged_again", listening)
    found = some.verified()
    assert [] != heard
    assert heard == found.refusals


def test_case_left_out_without_a_gap(whole: Tampering, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is said to conform must have every case of the suite, or a fault could be hidden with its case."""
    monkeypatch.setattr(verifying, "judged_again", lambda *_: ())
    case = first_case(whole.lines(CASES))["case"]
    remove_whole_case(whole)
    whole.attest_anyway()
    expected = f"The case {short_case(case)} belongs to such a run, and cases.jsonl does not have it."
    assert [expected] == whole.verified().refusals


# --- Untouched. ---


@pytest.mark.parametrize("which", ["whole", "some"])
def test_untouched_claims_are_verified(which: str, attested: Material, capsys: pytest.CaptureFixture[str]) -> None:
    """With the stored run, whose exchanges come to the same when they are judged again."""
    folder: Path = getattr(attested, which)
    arguments = [str(folder / "claim.json"), str(folder), "--key", f"{attested.key}.pub", "--digest", DIGEST]
    assert ExitStatus.CONFORMS == main(["verify", *arguments, "--for", f"{NAME}@{VERSION}"]), capsys.readouterr().out
    printed = capsys.readouterr().out
    assert "refused" not in printed
    assert "self-attested by the holder of key " in printed
    assert printed.endswith("verdict on the claim: verified\n")


@pytest.mark.usefixtures("_not_judged")
def test_a_payload_in_the_other_alphabet_is_the_same(some: Tampering) -> None:
    """DSSE lets a signer use either alphabet of base64, so that is no tampering."""
    some.envelope(lambda envelope: envelope.update(payload=envelope["payload"].replace("+", "-").replace("/", "_")))
    assert [] == some.verified().refusals


def test_who_has_run_the_suite_is_told(attested: Material, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A party that ran it again says so, and only its key vouches for that; not everything was looked at."""
    out = tmp_path / "claim.json"
    assert 0 == main(["attest", str(attested.some), "--key", str(attested.foreign), "--independent", "Lab",
                      "--out", str(out)])  # fmt: skip
    assert 0 == main(["verify", str(out), "--key", f"{attested.foreign}.pub"])
    printed = capsys.readouterr().out
    assert "run again independently by Lab, as the holder of key " in printed
    assert "note: The stored run was not looked at, since its folder was not given." in printed


def test_a_claim_without_a_key_is_refused(attested: Material, capsys: pytest.CaptureFixture[str]) -> None:
    """The key that a claim names proves nothing, so nothing is verified without one."""
    assert ExitStatus.DOES_NOT_CONFORM == main(["verify", str(attested.whole / "claim.json")])
    printed = capsys.readouterr().out
    assert "What the claim says, though it is refused:" in printed
    assert "refused: The signature was not checked" in printed


def test_under_a_wrong_key_the_signer_is_named(attested: Material, capsys: pytest.CaptureFixture[str]) -> None:
    """And not the holder of the key that was given, who has attested to nothing."""
    claim = attested.whole / "claim.json"
    signer = json.loads(claim.read_bytes())["signatures"][0]["keyid"]
    assert ExitStatus.DOES_NOT_CONFORM == main(["verify", str(claim), "--key", f"{attested.foreign}.pub"])
    assert f"self-attested by the holder of key {signer}\n" in capsys.readouterr().out


def test_a_run_without_its_exchanges_is_not_attested(
    attested: Material, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentence names the file that is missing."""
    shutil.copytree(attested.some, tmp_path / "run")
    (tmp_path / "run" / "exchanges.jsonl").unlink()
    assert ExitStatus.DOES_NOT_CONFORM == main(["attest", str(tmp_path / "run"), "--key", str(attested.key)])
    assert "not attested: The folder has no exchanges.jsonl." in capsys.readouterr().out


def test_a_badge_tells_waivers(attested: Material, tmp_path: Path) -> None:
    """It is made of a verified claim, in the form that shields.io reads."""
    out = tmp_path / "badge.json"
    claim = str(attested.whole / "claim.json")
    assert 0 == main(["badge", claim, "--key", f"{attested.key}.pub", "--out", str(out)])
    expected = {
        "schemaVersion": 1,
        "label": "sosoapi-research 1",
        "message": "conforms (behaviour), 2 waived, self-attested",
        "color": "green",
    }
    assert expected == json.loads(out.read_bytes())
    out.unlink()
    assert 1 == main(["badge", claim, "--key", f"{attested.foreign}.pub", "--out", str(out)])
    assert not out.exists()
