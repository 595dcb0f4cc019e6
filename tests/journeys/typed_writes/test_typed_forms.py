"""Forms with typed values: the type of the column decides how a text is parsed."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.journeys.conftest import (
    Api,
)
from tests.journeys.typed_writes.sheets import (
    cells_of,
    edit,
    held,
    spent,
    where,
)

NAMED = where(name="ann")

FORMS: list[tuple[str, str, object, str]] = [
    ("count", "7", 7, "7"),
    ("count", "9.90", 9.9, "9.9"),
    ("count", "-0.5", -0.5, "-0.5"),
    ("count", "007", "007", "007"),
    ("count", "1,250", "1,250", "1,250"),
    ("count", "1e3", "1e3", "1e3"),
    ("count", "9007199254740993", "9007199254740993", "9007199254740993"),
    ("count", "many", "many", "many"),
    ("count", "TRUE", "TRUE", "TRUE"),
    ("count", "=1+1", "=1+1", "=1+1"),
    ("done", "false", False, "FALSE"),
    ("done", "off", False, "FALSE"),
    ("done", "FALSE", False, "FALSE"),
    ("done", "no", "no", "no"),
    ("done", "1", "1", "1"),
    ("day", "2026-03-04", 46085, "2026-03-04"),
    ("day", "soon", "soon", "soon"),
    ("clock", "10:30", 0.4375, "10:30:00"),
    ("text", "5", "5", "5"),
    ("text", "true", "true", "true"),
    ("text", "2026-03-04", "2026-03-04", "2026-03-04"),
    ("text", "=1+1", "=1+1", "=1+1"),
]


@pytest.mark.parametrize(("field", "sent", "value", "text"), FORMS)
@pytest.mark.parametrize("way", ["create", "update", "filter", "upsert"])
def test_a_form_value_is_parsed_by_the_type_of_its_column(
    typed: Api, way: str, field: str, sent: str, value: object, text: str
) -> None:
    """Form texts become numbers, booleans and dates in columns of these types, otherwise text."""
    body = {field: sent}
    match way:
        case "create":
            answer = typed.post("Form?values=typed", data={"name": "bob", **body})
        case "update":
            answer = typed.send("PATCH", "Form/2?values=typed", data=body)
        case "filter":
            answer = typed.send("PATCH", f"Form?values=typed&{NAMED}", data=body)
        case _:
            answer = typed.post("Form?values=typed&on_conflict=name", data={"name": "ann", **body})

    assert answer.status_code in (200, 201)
    assert held(typed, "Form", 3 if way == "create" else 2, field) == (value, text)


@pytest.mark.parametrize("sent", ["on", "true", "TRUE"])
def test_a_checkbox_of_a_form(typed: Api, sent: str) -> None:
    """In an empty checkbox column, the form values `on`, `true` and `TRUE` become the boolean."""
    rule = {"condition": {"type": "BOOLEAN"}}
    edit(typed, {"setDataValidation": {"range": cells_of("Blank", 2, 2, rows=1), "rule": rule}})

    created = typed.post("Blank?values=typed", data={"name": "x", "done": sent})

    assert created.status_code == 201
    assert held(typed, "Blank", 3, "done") == (True, "TRUE")


def test_a_form_without_types_is_text(typed: Api) -> None:
    """Without `values=typed` the texts of a form are stored as they are."""
    typed.post("Form", data={"count": "7", "done": "on", "day": "2026-03-04"})

    assert typed.emulator.texts("Form")[2] == ["", "7", "", "on", "2026-03-04"]
    assert held(typed, "Form", 3, "count") == ("7", "7")


def test_a_form_with_the_values_of_a_row_changes_nothing(typed: Api) -> None:
    """A form whose values equal the cells of the row writes nothing."""
    before = typed.emulator.everything()
    form = {"name": "ann", "count": "5.0", "price": "9.50", "done": "on", "day": "2026-02-01"}
    answer = typed.send("PATCH", "Form/2?values=typed", data={**form, "clock": "09:15"})

    assert answer.status_code == 200
    assert typed.emulator.everything() == before
    assert spent(typed)[1] == 0


@pytest.mark.parametrize("sent", ["on", "true", "TRUE"])
def test_a_checkbox_is_a_key_of_a_form(typed: Api, sent: str) -> None:
    """An upsert by a checkbox field finds the row by the boolean and creates no second row."""
    form = {"done": sent, "name": "ann", "count": "6"}
    answers = [typed.post("Form?values=typed&on_conflict=done,name", data=form) for _ in range(2)]

    assert [answer.json()["results"][0]["created"] for answer in answers] == [False, False]
    assert len(typed.emulator.texts("Form")) == 2
    assert held(typed, "Form", 2, "count") == (6, "6")


def test_forms_with_one_new_checkbox_as_key_make_one_row(typed: Api) -> None:
    """`on`, `true` and `TRUE` are one key, also in forms that are sent at once."""

    def send(sent: str) -> int:
        form = {"done": sent, "name": "eve"}
        answer = typed.post("Form?values=typed&on_conflict=done,name", data=form)
        return int(answer.json()["results"][0]["rowIndex"])

    with ThreadPoolExecutor(4) as pool:
        rows = [*pool.map(send, ["on", "true", "TRUE", "on"])]

    assert rows == [3, 3, 3, 3]
