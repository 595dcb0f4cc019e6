"""Rows in answers and bodies, as in the contract's section *Rows*."""

import json

import pytest

from tests.journeys.conftest import Api, OpenGateway


def text_of(api: Api, path: str) -> str:
    answer = api.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            "Mixed/3",
            '{"rowIndex":3,"label":"price","value":"$1,250.50","when":"2021-06-30","done":"FALSE"}',
            id="values-as-displayed",
        ),
        pytest.param(
            "Mixed/6",
            '{"rowIndex":6,"label":"nothing","value":null,"when":null,"done":null}',
            id="empty-cells",
        ),
        pytest.param("BlankHeader/2", '{"rowIndex":2,"name":"a","amount":"1"}', id="blank-header"),
        pytest.param("BlankFirst/2", '{"rowIndex":2,"name":"a","amount":"1"}', id="blank-first"),
        pytest.param("Duplicates/2", '{"rowIndex":2,"name":"a","amount":"1"}', id="duplicates"),
        pytest.param("RowIndex/2", '{"rowIndex":2,"name":"a"}', id="column-named-rowIndex"),
        pytest.param("Spaced/2", '{"rowIndex":2," name ":"a","amount":"1"}', id="blanks-in-header"),
        pytest.param("BlankRow/3", '{"rowIndex":3,"name":null,"amount":null}', id="blank-row"),
        pytest.param("Totals/5", '{"rowIndex":5,"name":null,"amount":"3"}', id="totals"),
        pytest.param(
            "Mixed/2?keys=done,label", '{"rowIndex":2,"label":"zip","done":"TRUE"}', id="some-keys"
        ),
    ],
)
def test_a_record(reading_api: Api, path: str, expected: str) -> None:
    """A record is rowIndex, then each field that has a header, in sheet order, as displayed."""

    assert text_of(reading_api, path) == expected


@pytest.mark.parametrize(
    ("worksheet", "expected"),
    [
        pytest.param("BlankRow", [["a", "1"], [None, None], ["b", "2"]], id="blank-row-inside"),
        pytest.param(
            "Totals", [["a", "1"], ["b", "2"], [None, None], [None, "3"]], id="totals-below-a-gap"
        ),
        pytest.param("HeaderOnly", [], id="header-only"),
    ],
)
def test_rows_between_data_are_records(
    reading_api: Api, worksheet: str, expected: list[list[str | None]]
) -> None:
    """Blank rows above the last one with data are records without values; below it is nothing."""
    page = reading_api.get(worksheet).json()

    assert page == {
        "results": [
            {"rowIndex": row, "name": name, "amount": amount}
            for row, (name, amount) in enumerate(expected, 2)
        ],
        "hasNextPage": False,
    }


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        pytest.param(
            "null", '{"rowIndex":6,"label":"nothing","value":null,"when":null,"done":null}'
        ),
        pytest.param("", '{"rowIndex":6,"label":"nothing","value":"","when":"","done":""}'),
        pytest.param("omit", '{"rowIndex":6,"label":"nothing"}'),
    ],
    ids=["null", "empty-string", "omit"],
)
def test_empty_cells_are_shown_as_the_operator_chose(
    open_gateway: OpenGateway, setting: str, expected: str
) -> None:
    """`api.empty_cell` makes empty cells null, "" or absent in every kind of answer."""
    api = open_gateway({"api.empty_cell": setting})
    emptied = json.loads({"null": '{"when":null}', "": '{"when":""}', "omit": "{}"}[setting])

    assert text_of(api, "Mixed/6") == expected
    assert text_of(api, "Mixed?skip=4&limit=1") == (
        '{"results":[' + expected + '],"hasNextPage":true}'
    )
    assert api.post("Mixed/2", json={"when": None}).json() == {"rowIndex": 2, **emptied}
    created = api.post("Mixed", json=[{"label": "x", "when": None}]).json()["results"]
    assert created == [{"rowIndex": 8, "label": "x", **emptied}]
    conflict = api.send("PATCH", "Mixed/6", json={"label": "x"}, headers={"If-Match": '"other"'})
    assert conflict.json()["existing"] == json.loads(expected)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param("HeaderOnly/1", 404, id="header"),
        pytest.param("HeaderOnly/2", 404, id="first-row-of-an-empty-table"),
        pytest.param("BlankRow/4", 200, id="last-row"),
        pytest.param("BlankRow/5", 404, id="below-the-last-row"),
        pytest.param("BlankRow/99999999", 404, id="far-below"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_rows_end_with_the_last_that_is_not_blank(
    reading_api: Api, method: str, path: str, status: int
) -> None:
    """The header and what lies below the last row with data are no rows, also for an update."""
    answer = reading_api.send(method, path, json={"name": "b"} if method == "POST" else None)

    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == 103


def test_an_update_writes_below_no_row(api: Api) -> None:
    """Updates of the header and of rows that are not there leave the worksheet as it was."""
    before = api.emulator.everything()
    for row in (1, 5, 6, 1001, 99999999):
        api.post(f"BlankRow/{row}", json={"name": "x"})

    assert api.emulator.everything() == before


def test_a_created_row_has_its_fields_in_the_right_columns(api: Api) -> None:
    """The header decides the columns, not the order in the body."""
    answer = api.post("Cities", json={"population": 961855, "name": "Austin"})

    assert answer.text == '{"rowIndex":12,"name":"Austin","population":"961855"}'
    assert api.emulator.texts("Cities")[11] == ["Austin", "", "", "961855"]


@pytest.mark.parametrize(
    ("worksheet", "row", "texts"),
    [
        pytest.param("HeaderOnly", 2, ["n", "7"], id="header-only"),
        pytest.param("BlankHeader", 4, ["n", "", "7"], id="blank-header"),
        pytest.param("BlankFirst", 4, ["", "n", "7"], id="blank-first"),
        pytest.param("Duplicates", 3, ["n", "7"], id="duplicates"),
        pytest.param("BlankRow", 5, ["n", "7"], id="blank-row-inside"),
        pytest.param("Totals", 6, ["n", "7"], id="totals-below-a-gap"),
        pytest.param("Spaced", 3, ["n", "7"], id="blanks-in-header"),
    ],
)
def test_a_row_is_created_below_all_others(
    api: Api, worksheet: str, row: int, texts: list[str]
) -> None:
    """A new row stands below every row with data, under its headers, and nothing else changes."""
    before = api.emulator.texts(worksheet)
    answer = api.post(worksheet, json={"name": "n", "amount": 7})

    assert answer.status_code == 201
    assert answer.json()["rowIndex"] == row
    assert api.emulator.texts(worksheet) == [*before, texts]
    assert list(api.get(f"{worksheet}/{row}").json().values()) == [row, "n", "7"]


def test_names_match_without_the_blanks_around_them(api: Api) -> None:
    """A field is found by its header as written or trimmed, and answered as written."""
    exact = api.post("Spaced/2", json={" name ": "exact"})
    trimmed = api.post("Spaced", json={"name": "trimmed", " amount": 2})

    assert exact.text == '{"rowIndex":2," name ":"exact"}'
    assert trimmed.text == '{"rowIndex":3," name ":"trimmed","amount":"2"}'


def test_an_update_writes_the_named_cells_only(api: Api) -> None:
    """Cells that an update does not name stay, columns without a header and formulas with them."""
    api.post("BlankHeader/2", json={"name": "z", "amount": 9})
    api.post("Duplicates/2", json={"name": "z"})
    api.post("Formulas/2", json={"a": 10, "b": 20, "note": "new"})

    assert api.emulator.texts("BlankHeader")[1] == ["z", "hidden", "9"]
    assert api.emulator.texts("Duplicates")[1] == ["z", "1", "second"]
    assert [each["value"] for each in api.emulator.cells("Formulas")[1][:2]] == [10, 20]
    assert api.emulator.cell("Formulas", 2, 3)["formula"] == "=A2+B2"
    assert api.emulator.cell("Formulas", 3, 3)["formula"] == "=A3+B3"


@pytest.mark.parametrize("path", ["Mixed/3", "Mixed/2", "Formulas/2", "Cities/2", "BlankRow/3"])
def test_a_whole_record_put_back_changes_nothing(api: Api, path: str) -> None:
    """Numbers, dates, booleans, formulas and empty cells stay what they are; all is echoed."""
    record = api.get(path).json()
    before = api.emulator.everything()
    answer = api.send("PUT", path, json=record)

    assert answer.status_code == 200
    assert answer.json() == record
    assert api.emulator.everything() == before


def test_of_a_record_put_back_only_the_change_is_written(api: Api) -> None:
    """One changed field of a whole record is written; its neighbours keep their types."""
    record = api.get("Mixed/3").json()
    answer = api.send("PUT", "Mixed/3", json={**record, "label": "cost"})

    assert answer.json() == {**record, "label": "cost"}
    assert [each["value"] for each in api.emulator.cells("Mixed")[2]] == [
        "cost",
        1250.5,
        44377,
        False,
    ]


def test_displayed_strings_cost_no_write(api: Api) -> None:
    """An update whose every string is displayed already is answered without a write."""
    answer = api.post("Mixed/3", json={"value": "$1,250.50", "done": "FALSE"})

    assert answer.text == '{"rowIndex":3,"value":"$1,250.50","done":"FALSE"}'
    assert api.emulator.calls()[1] == 0
