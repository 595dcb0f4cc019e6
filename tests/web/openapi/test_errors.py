"""Errors in the OpenAPI document: complete, and equal to the errors that are answered."""

from collections.abc import Mapping

import pytest

from gateway.errors import Gone
from gateway.web.openapi.operations import FAILURES, WRITES, OperationKind, by_status
from tests.error_tree import concrete_errors
from tests.web.openapi.conformance import errors_in, resolved
from tests.web.openapi.worksheets import document

DOCUMENT = document()
OF_NO_OPERATION = {Gone}
"""Errors only of paths that are not in the document."""

OPERATIONS: Mapping[OperationKind, tuple[str, str]] = {
    "health": ("/livez", "get"),
    "worksheets": ("/v2/sheets", "get"),
    "schema": ("/v2/sheets/{sheetName}/schema", "get"),
    "list": ("/v2/sheets/{sheetName}", "get"),
    "read": ("/v2/sheets/{sheetName}/{rowIndex}", "get"),
    "create": ("/v2/sheets/{sheetName}", "post"),
    "update": ("/v2/sheets/{sheetName}/{rowIndex}", "patch"),
    "change": ("/v2/sheets/{sheetName}", "patch"),
    "delete": ("/v2/sheets/{sheetName}/{rowIndex}", "delete"),
    "delete_where": ("/v2/sheets/{sheetName}", "delete"),
    "refresh": ("/v2/sheets/{sheetName}/refresh", "post"),
}


def test_every_error_is_in_the_document() -> None:
    """Each error class is listed for an operation, except errors of paths outside the document."""
    told = {error for groups in FAILURES.values() for group in groups for error in group}

    assert set(concrete_errors()) - told == OF_NO_OPERATION
    assert not told & OF_NO_OPERATION


@pytest.mark.parametrize("kind", FAILURES)
def test_every_example_is_an_answer_of_its_status(kind: OperationKind) -> None:
    """Each error example has the code and status of its error and matches the error schema."""
    path, method = OPERATIONS[kind]
    answers = DOCUMENT["paths"][path][method]["responses"]

    for status, errors in by_status(kind).items():
        content = resolved(DOCUMENT, answers[str(status)])["content"]["application/json"]
        assert set(content["examples"]) == {error.__name__ for error in errors}
        for error in errors:
            example = resolved(DOCUMENT, content["examples"][error.__name__])["value"]
            assert [*errors_in(DOCUMENT, content["schema"], example)] == []
            assert (example["code"], example["status"]) == (error.code, status)
            assert ("outcome" in example) is (kind in WRITES)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"code": 105}, id="a code of another status"),
        pytest.param({"name": "Nobody"}, id="an unknown name"),
        pytest.param({"status": 404}, id="another status"),
        pytest.param({"outcome": "maybe"}, id="an unknown outcome"),
        pytest.param({"more": 1}, id="another member"),
        pytest.param({"errors": [{"pointer": "#"}]}, id="half a problem"),
        pytest.param({"type": "Error"}, id="another type"),
    ],
)
def test_error_schemas_reject_other_bodies(change: dict[str, object]) -> None:
    """The schema of 400 rejects a body with any member that no error of that status has."""
    answer = resolved(DOCUMENT, {"$ref": "#/components/responses/submit400"})
    content = answer["content"]["application/json"]
    example = resolved(DOCUMENT, content["examples"]["InvalidBody"])["value"]

    assert [*errors_in(DOCUMENT, content["schema"], {**example, **change})]


def test_errors_of_writes_require_an_outcome() -> None:
    """The error schema of a write rejects a body without `outcome`."""
    answer = resolved(DOCUMENT, {"$ref": "#/components/responses/submit400"})
    content = answer["content"]["application/json"]
    example = dict(resolved(DOCUMENT, content["examples"]["InvalidBody"])["value"])
    del example["outcome"]

    assert [*errors_in(DOCUMENT, content["schema"], example)]
