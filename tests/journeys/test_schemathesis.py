"""A short run of schemathesis on the document; `tests.fuzz.document` is a long run."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fuzz.document import SETTINGS, explore_general, explore_of_key
from tests.fuzz.exploration import Exploration, explored
from tests.journeys.conftest import (
    Api,
    EmulatorControl,
    KeysOnDisk,
    running_emulator,
    running_gateways,
)
from tests.journeys.workbook import CITIES


@pytest.fixture(scope="module")
def cities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """An emulator with one worksheet."""
    folder = tmp_path_factory.mktemp("schemathesis")
    with running_emulator(folder, {"demo": {"Cities": CITIES}}) as control:
        yield control


@pytest.fixture(scope="module")
def cities_api(cities: EmulatorControl, access: KeysOnDisk) -> Iterator[Api]:
    """A gateway with the cache settings of the fuzz tests."""
    with running_gateways(cities, access) as start:
        yield start(SETTINGS)


def test_answers_conform_to_the_document_of_a_key(cities_api: Api) -> None:
    """Generated requests and their answers conform to the document of a key."""
    findings = explore_of_key(cities_api, "cities", cases=6)

    assert findings.problems == {}, str(findings)
    assert {200, 201, 400, 401, 404, 405, 412} <= set(findings.answers)
    assert max(findings.answers) < 500


def test_answers_conform_to_the_general_document(cities_api: Api) -> None:
    """Generated requests and their answers conform to the document without worksheet fields."""
    findings = explore_general(cities_api, cases=10, phases=("fuzzing",))

    assert findings.problems == {}, str(findings)
    assert max(findings.answers) < 500


@pytest.mark.parametrize(
    ("kind", "name", "wrong", "words"),
    [
        pytest.param(
            "schemas", "Cell", {"type": "integer"}, "response_schema_conformance", id="schema"
        ),
        pytest.param(
            "headers",
            "ETag",
            {"schema": {"type": "integer"}},
            "response_headers_conformance",
            id="header",
        ),
        pytest.param(
            "parameters",
            "Skip",
            {
                "name": "skip",
                "in": "query",
                "required": True,  # Else it may be in none of the few requests.
                "schema": {"type": "string", "pattern": "^x$"},
            },
            "positive_data_acceptance",
            id="parameter",
        ),
    ],
)
def test_a_wrong_document_is_found(
    cities_api: Api, kind: str, name: str, wrong: dict[str, Any], words: str
) -> None:
    """A fault planted in the document is reported."""
    document = cities_api.get("/openapi.json", key="cities").json()
    document["components"][kind][name] = wrong
    rows = document["paths"]["/v2/sheets/Cities"]
    document["paths"] = {"/v2/sheets/Cities": {"get": rows["get"]}}

    findings = explored(
        Exploration(
            url=cities_api.url,
            key=cities_api.keys["cities"],
            document=document,
            cases=10,
            phases=("fuzzing",),
        )
    )

    assert any(words in place for place, *_ in findings.problems), str(findings)
