"""The requirement registry: what it holds, what it refuses, and how the command shows it."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import pytest

from conformance.contract import Contract, load_contract
from conformance.errors import ExitStatus, UsageProblem
from conformance.requirements import Freedom, Registry, Requirement, load_registry
from conformance.requirements_command import add_arguments, explain_freedom, explain_requirement, run

ENTRY = """
[[requirement]]
id = "COLOUR-RED"
level = "MUST"
basis = "derived"
statement = "It must be red."
evidence = [{ page = "get", place = "Title", quote = "rot" }]
needs = ["seed"]
transports = ["rest"]
"""
FREEDOM = """
[[freedom]]
id = "OPEN-SHADE"
statement = "Which red it is."
evidence = [{ page = "all", place = "Title" }]
choices = ["light", "dark"]
"""
SET = 'contract = "sosoapi-research"\nversion = "1"\nrequirements = ["COLOUR-RED"]\n'


@pytest.fixture(scope="module")
def contract() -> Contract:
    """Return the published contract."""
    return load_contract()


@pytest.fixture(scope="module")
def registry(contract: Contract) -> Registry:
    """Return the published registry."""
    return load_registry(contract)


def load_from(folder: Path, contract: Contract, entries: str, requirement_set: str | None = None) -> Registry:
    """Load a registry of one family, ``colour``, with these entries."""
    (folder / "requirements").mkdir()
    (folder / "requirements" / "colour.toml").write_text(f'title = "Colours"\n{entries}', encoding="utf-8")
    if requirement_set is not None:
        (folder / "requirement-sets").mkdir()
        (folder / "requirement-sets" / "1.toml").write_text(requirement_set, encoding="utf-8")
    return load_registry(dataclasses.replace(contract, folder=folder))


def run_command(*arguments: str, checked: frozenset[str] = frozenset()) -> int:
    """Run the command with these arguments and return its exit status."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(arguments), checked)


def test_every_requirement_belongs_to_a_frozen_set(registry: Registry) -> None:
    """A new requirement needs a requirement set of its own version, since released sets never grow."""
    named = frozenset[str]().union(*(each.requirements for each in registry.requirement_sets))
    assert sorted(registry.by_id) == sorted(named)


def test_every_family_has_an_entry(registry: Registry) -> None:
    """No file of the registry is empty."""
    used = {each.family for each in registry.requirements} | {each.family for each in registry.freedoms}
    assert sorted(registry.families) == sorted(used)


def test_open_points_are_told_apart_from_requirements_by_their_name(registry: Registry) -> None:
    """Exactly the ids of the points left open begin with OPEN, so that nobody takes one for a rule."""
    assert [each.id for each in registry.requirements if each.id.startswith("OPEN-")] == []
    assert [each.id for each in registry.freedoms if not each.id.startswith("OPEN-")] == []


def test_quotes_are_short(registry: Registry) -> None:
    """A quotation is evidence beside a rule, not a copy of the page."""
    entries: tuple[Requirement | Freedom, ...] = (*registry.requirements, *registry.freedoms)
    assert [each.id for each in entries for evidence in each.evidence if len(evidence.quote) > 120] == []


def test_schema_requirements_cite_a_schema(registry: Registry) -> None:
    """What stands on the schemas names the table of fields or the schema that says so."""
    places = ("Input fields", "Structured output")
    uncited = [
        each.id
        for each in registry.requirements
        if each.basis == "schema" and not any(evidence.place.startswith(places) for evidence in each.evidence)
    ]
    assert uncited == []


def test_bundle_without_registry_has_an_empty_one(tmp_path: Path, contract: Contract) -> None:
    """A contract folder of operations alone is still a contract."""
    assert Registry({}, (), (), ()) == load_registry(dataclasses.replace(contract, folder=tmp_path))


def test_entry_is_read_as_written(tmp_path: Path, contract: Contract) -> None:
    """The loader adds the family, the file's name, and nothing else."""
    registry = load_from(tmp_path, contract, ENTRY + FREEDOM, SET)
    requirement = registry.by_id["COLOUR-RED"]
    assert (
        requirement.family,
        requirement.level,
        requirement.basis,
        requirement.statement,
        requirement.needs,
        requirement.transports,
    ) == ("colour", "MUST", "derived", "It must be red.", ("seed",), ("rest",))
    assert dataclasses.astuple(requirement.evidence[0]) == ("get", "Title", "rot")
    assert registry.freedoms_by_id["OPEN-SHADE"].choices == ("light", "dark")
    assert frozenset({"COLOUR-RED"}) == registry.requirement_set("1").requirements


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('level = "MUST"', 'level = "MUSST"', "COLOUR-RED: unknown level 'MUSST'. Did you mean 'MUST'?"),
        ('"derived"', '"derive"', "COLOUR-RED: unknown basis 'derive'. Did you mean 'derived'?"),
        ('"seed"', '"seeds"', "COLOUR-RED: unknown need 'seeds'. Did you mean 'seed'?"),
        ('"rest"', '"rst"', "COLOUR-RED: unknown transport 'rst'. Did you mean 'rest'?"),
        ('"get"', '"got"', "COLOUR-RED: unknown page 'got'. Did you mean 'get'?"),
        ("needs =", "need =", "COLOUR-RED: unknown key 'need'. Did you mean 'needs'?"),
        ("quote =", "quotation =", "COLOUR-RED: unknown key 'quotation'. Did you mean 'quote'?"),
        ('"COLOUR-RED"', '"colour-red"', "colour-red: id is 'colour-red'. Write upper-case words joined by hyphens."),
        ('level = "MUST"\n', "", "COLOUR-RED: the key 'level' is missing. Add it."),
        ('["rest"]', "[]", "COLOUR-RED: transports is empty. Name at least one of: rest, mcp-http, mcp-stdio."),
        ('["seed"]', '"seed"', "COLOUR-RED: needs is not a list of texts. Write a list, empty if there is nothing."),
        ('"It must be red."', '" "', "COLOUR-RED: statement is not a text. Write a text between quotation marks."),
        ("[[requirement]]", "[[requirements]]", "colour.toml: unknown key 'requirements'. Did you mean 'requirement'?"),
        ('["light", "dark"]', '["dark"]', "OPEN-SHADE: choices are fewer than two or repeated."),
        ("OPEN-SHADE", "COLOUR-RED", "requirements: the id 'COLOUR-RED' is given twice."),
    ],
)
def test_wrong_entry_is_refused_by_name(
    tmp_path: Path, contract: Contract, right: str, wrong: str, message: str
) -> None:
    """One slip in an entry names the file, the entry, what is wrong and the nearest right word."""
    entries = (ENTRY + FREEDOM).replace(right, wrong, 1)
    with pytest.raises(UsageProblem) as problem:
        load_from(tmp_path, contract, entries)
    assert message in str(problem.value)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("COLOUR-RED", "COLOUR-READ", "unknown requirement 'COLOUR-READ'. Did you mean 'COLOUR-RED'?"),
        ('version = "1"', 'version = "2"', "version is '2'. The file is named after its version."),
        ("sosoapi-research", "other", "contract is 'other'. Write 'sosoapi-research'."),
        ('["COLOUR-RED"]', '["COLOUR-RED", "COLOUR-RED"]', "not sorted, or one is repeated"),
        ("requirements =", "requirement =", "unknown key 'requirement'. Did you mean 'requirements'?"),
    ],
)
def test_wrong_requirement_set_is_refused(
    tmp_path: Path, contract: Contract, right: str, wrong: str, message: str
) -> None:
    """A set that does not fit the registry is an error, for it would judge by rules that nobody can look up."""
    with pytest.raises(UsageProblem) as problem:
        load_from(tmp_path, contract, ENTRY, SET.replace(right, wrong, 1))
    assert message in str(problem.value)


def test_unknown_requirement_set_is_refused(registry: Registry) -> None:
    """A report cannot name a set that does not exist."""
    with pytest.raises(UsageProblem, match="unknown requirement set '99'"):
        registry.requirement_set("99")


def test_command_lists_every_requirement_within_80_columns(
    registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plain list names each requirement once and fits a narrow terminal."""
    assert run_command() == ExitStatus.CONFORMS
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert [each.id for each in registry.requirements] == listed
    assert [line for line in lines if len(line) > 80] == []


def test_every_entry_is_explained_within_80_columns(registry: Registry) -> None:
    """The explanation of each requirement and open point begins with its id and fits a narrow terminal."""
    texts = {each.id: explain_requirement(each, frozenset()) for each in registry.requirements}
    texts |= {each.id: explain_freedom(each) for each in registry.freedoms}
    assert list(texts) == [text.splitlines()[0] for text in texts.values()]
    assert [line for text in texts.values() for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("identifier", ["REPLAY-SAME-RESULT", "replay-same-result", "OPEN-CHECK-ORDER"])
def test_command_explains_one_entry(identifier: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A requirement and an open point are asked for by id, in either case of letters."""
    assert run_command(identifier) == ExitStatus.CONFORMS
    assert capsys.readouterr().out.splitlines()[0] == identifier.upper()


def test_command_filters_by_every_property(registry: Registry, capsys: pytest.CaptureFixture[str]) -> None:
    """Filters narrow the list together."""
    arguments = ("--family", "protocol", "--level", "SHOULD", "--basis", "derived", "--transport", "mcp-stdio")
    assert run_command(*arguments, "--format", "json") == ExitStatus.CONFORMS
    listed = [each["id"] for each in json.loads(capsys.readouterr().out)["requirements"]]
    expected = [each.id for each in registry.requirements if each.level == "SHOULD" and each.family == "protocol"]
    assert expected == listed


def test_command_says_which_requirements_have_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    """What has no check says so, in the list, in the explanation and in JSON."""
    checked = frozenset({"INPUT-TYPE"})
    run_command("--family", "input", checked=checked)
    lines = capsys.readouterr().out.splitlines()
    assert "  INPUT-TYPE                              MUST   schema" in lines
    assert "  INPUT-OBJECT                            MUST   schema     no check yet" in lines
    run_command("INPUT-TYPE", checked=checked)
    assert "check       yes" in capsys.readouterr().out.splitlines()
    run_command("INPUT-OBJECT", "--format", "json", checked=checked)
    assert json.loads(capsys.readouterr().out)["checked"] is False


def test_command_lists_open_points(registry: Registry, capsys: pytest.CaptureFixture[str]) -> None:
    """The points left open have a list of their own."""
    assert run_command("--freedoms", "--format", "json") == ExitStatus.CONFORMS
    listed = [each["id"] for each in json.loads(capsys.readouterr().out)["freedoms"]]
    assert [each.id for each in registry.freedoms] == listed
    assert run_command("--freedoms") == ExitStatus.CONFORMS
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["INPUT-TYPO"], "unknown requirement 'INPUT-TYPO'. Did you mean 'INPUT-TYPE'?"),
        (["--family", "imput"], "--family: unknown value 'imput'. Did you mean 'input'?"),
        (["--basis", "derive"], "--basis: unknown value 'derive'. Did you mean 'derived'?"),
        (["--level", "MUSST"], "--level: unknown value 'MUSST'. Did you mean 'MUST'?"),
        (["--transport", "mcp-htp"], "--transport: unknown value 'mcp-htp'. Did you mean 'mcp-http'?"),
        (["--format", "jsn"], "--format: unknown value 'jsn'. Did you mean 'json'?"),
        (["INPUT-TYPE", "--level", "MUST"], "--level: does not go with an ID."),
        (["--freedoms", "--basis", "schema"], "--basis: does not go with --freedoms."),
    ],
)
def test_command_refuses_wrong_words_with_the_nearest_right_one(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong word is a fault of usage, status 4, and nothing is listed."""
    assert run_command(*arguments) == ExitStatus.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
