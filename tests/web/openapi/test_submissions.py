"""Answers to forms and create-only keys match the general OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.surfaces.form_stage import KEYS, MULTIPART, PAGE, UNLIMITED, multipart, post
from tests.surfaces.stage import Surface, open_surface
from tests.web.openapi.conformance import problems_of
from tests.web.openapi.worksheets import CITIES, document, reach

DOCUMENT = document()
FORM = {"name": "Ann"}
JSON_BODY: Mapping[str, Any] = {"fields": b'{"name": "Ann"}', "media_type": "application/json"}
CASES: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    "thanks": (201, {}),
    "next page": (303, {"key": "next"}),
    "its own next page": (303, {"fields": {**FORM, "_next": f"{PAGE}/thanks"}}),
    "a form without a browser": (201, {"accept": "*/*"}),
    "JSON": (201, {**JSON_BODY, "accept": "*/*"}),
    "a wrong field": (400, {"fields": {"colour": "red"}}),
    "another origin": (403, {"origin": "https://shop.example.org"}),
    "a key that may read": (401, {"key": "paid"}),
    "a file": (
        415,
        {"fields": multipart(('name="f"; filename="a.txt"', "x")), "media_type": MULTIPART},
    ),
    "an error as JSON": (400, {"fields": {"colour": "red"}, "accept": "*/*"}),
}


@pytest.fixture(scope="module")
def surface(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    with open_surface(tmp_path_factory.mktemp("submissions"), KEYS, UNLIMITED) as opened:
        yield opened


@pytest.mark.parametrize("case", CASES)
def test_answers_to_forms_match_the_document(surface: Surface, case: str) -> None:
    """HTML pages, redirects and JSON answers have documented statuses, headers and schemas."""
    status, options = CASES[case]

    answer: Any = post(surface, **{"fields": FORM, **options})

    assert answer.status_code == status
    assert [*problems_of(DOCUMENT, "POST", "/v2/sheets/New", answer)] == []


@pytest.mark.parametrize("case", ["thanks", "next page", "a wrong field"])
def test_an_undocumented_form_answer_is_found(surface: Surface, case: str) -> None:
    """The checker reports HTML answers and redirects that are not in the document."""
    status, options = CASES[case]
    told = document()
    answers = told["paths"]["/v2/sheets/{sheetName}"]["post"]["responses"]
    for each in (*answers.values(), *told["components"]["responses"].values()):
        each.get("content", {}).pop("text/html", None)
    del answers["303"]

    answer: Any = post(surface, **{"fields": FORM, **options})

    assert answer.status_code == status
    assert [*problems_of(told, "POST", "/v2/sheets/New", answer)] != []


def test_documents_of_keys_have_no_forms() -> None:
    """Documents of keys have no HTML answers, because create-only keys cannot read a document."""
    assert "text/html" in str(DOCUMENT)
    assert "text/html" not in str(document(reach(), CITIES))
