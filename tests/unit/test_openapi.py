"""The published OpenAPI documents: valid, up to date, and true to the bundle."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from conformance.contract import Contract, load_contract
from conformance.openapi import control_document, published_documents, rest_document
from conformance.openapi.__main__ import main
from conformance.resources import data_folder

REMEDY = "run `python -m conformance.openapi` and commit what it writes"


@pytest.fixture(scope="module")
def contract() -> Contract:
    """Return the published contract."""
    return load_contract()


def json_schema(part: dict[str, Any]) -> Any:
    """Return the schema of a request body or response."""
    return part["content"]["application/json"]["schema"]


@pytest.mark.parametrize("name", ["research.openapi.json", "test-control.openapi.json"])
def test_committed_document_is_up_to_date(name: str) -> None:
    """A document that differs from what the bundle says misleads every vendor who reads it."""
    assert published_documents()[name] == (data_folder("contracts") / name).read_text(encoding="utf-8"), REMEDY


@pytest.mark.parametrize("name", sorted(published_documents()))
def test_document_is_valid(name: str) -> None:
    """A published validator of OpenAPI 3.1 finds nothing wrong."""
    errors = OpenAPIV31SpecValidator(json.loads(published_documents()[name])).iter_errors()
    assert [error.message for error in errors] == []


def test_validator_would_see_a_fault(contract: Contract) -> None:
    """The validator is really asked: a parameter in no known place is refused."""
    document = rest_document(contract)
    path = contract.operations[0].path
    document["paths"][path]["post"]["parameters"] = [{"name": "x", "in": "nowhere", "schema": {}}]
    assert list(OpenAPIV31SpecValidator(document).iter_errors())


def test_schemas_and_examples_are_those_of_the_bundle(contract: Contract) -> None:
    """Each operation's schemas and examples stand in the document value for value, ``$schema`` included."""
    paths = json.loads(json.dumps(rest_document(contract)))["paths"]
    assert [each.path for each in contract.operations] == list(paths)
    for operation in contract.operations:
        post = paths[operation.path]["post"]
        result = post["responses"]["200"]
        assert operation.input_schema == json_schema(post["requestBody"])
        assert operation.output_schema == json_schema(result)
        examples = post["requestBody"]["content"]["application/json"]["examples"]
        assert operation.example_call["arguments"] == examples["published"]["value"]
        assert operation.example_result == result["content"]["application/json"]["examples"]["published"]["value"]


def test_new_operation_appears_by_itself(contract: Contract) -> None:
    """A fourth operation of the bundle is in the document without any change here."""
    fourth = dataclasses.replace(contract.operations[0], name="fourth", path="/research-api/fourth")
    document = rest_document(dataclasses.replace(contract, operations=(*contract.operations, fourth)))
    assert document["paths"]["/research-api/fourth"]["post"]["operationId"] == "fourth"
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []


def test_conflicts_are_documented_for_writes_alone(contract: Contract) -> None:
    """A read has nothing to be in conflict with."""
    paths = rest_document(contract)["paths"]
    conflicting = [each.name for each in contract.operations if "409" in paths[each.path]["post"]["responses"]]
    assert [each.name for each in contract.operations if each.effect == "write"] == conflicting


def test_stored_conversation_has_the_shape_of_a_read_one(contract: Contract) -> None:
    """Test control takes conversations in the shape in which they are read, part by part."""
    parts = contract.operation("conversations_get").output_schema["properties"]
    schemas = control_document(contract)["components"]["schemas"]
    assert parts["conversation"] == schemas["Conversation"]
    assert parts["messages"] == schemas["Messages"]
    assert parts["runs"] == schemas["Runs"]
    assert parts["messages"]["items"]["properties"]["answer"]["anyOf"][0] == schemas["Answer"]


def test_control_document_has_every_call_of_the_interface() -> None:
    """Exactly the calls of section 2 of the target interface are described."""
    expected = {
        "GET /capabilities",
        "POST /principals",
        "POST /principals/{principal_id}/tokens",
        "POST /conversations",
        "GET /clock",
        "PUT /clock",
        "DELETE /clock",
        "PUT /conversations/{conversation_id}/access",
        "POST /runs/{run_id}/result",
        "POST /restart",
        "POST /reset",
    }
    paths = control_document()["paths"]
    assert expected == {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def test_check_names_stale_documents_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--check`` fails until the documents are written, and leaves the folder alone."""
    assert main(["--check"], tmp_path) == 1
    assert list(tmp_path.iterdir()) == []
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    (tmp_path / "research.openapi.json").write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert main(["--check"], tmp_path) == 1
    assert f"stale: {tmp_path / 'research.openapi.json'}\n" == capsys.readouterr().out
