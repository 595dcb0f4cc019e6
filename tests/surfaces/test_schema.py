"""The list of worksheets and the schema of one: types and their sources, cost, rights, bounds."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from jsonschema import Draft202012Validator

from gateway.errors import UpstreamUnreachable
from gateway.google.sheets import Value
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.column_types import CellForm, NumberFormat
from gateway.table.header import ColumnGrant
from tests.fakes import FakeWorksheet, Formatted
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, WORKBOOK, Surface, open_surface

DAY, NOON = Formatted(46054, "01.02.2026"), Formatted(46054.5, "2026-02-01 12:00")
CLOCK, ERROR = Formatted(0.4375, "10:30"), Formatted("#N/A", "#N/A")
CHECKBOX, STATES = CellForm(rule="BOOLEAN"), CellForm(rule="ONE_OF_LIST", options=("open", "done"))
SECRET = "hidden"
KEYS = {
    "paid": KeyRequest(
        name="paid", grants=Grants(spreadsheets=GRANTED, may_delete=True, may_refresh=True)
    ),
    "reader": KeyRequest(
        name="reader", grants=Grants(spreadsheets=GRANTED, may_create=False, may_update=False)
    ),
    "free": KeyRequest(name="free", plan="free", grants=Grants(spreadsheets=GRANTED)),
    "some": KeyRequest(
        name="some",
        grants=Grants(
            spreadsheets=GRANTED,
            worksheets=frozenset({"Orders"}),
            columns=ColumnGrant(frozenset({"item", "price"}), frozenset({"price"})),
        ),
    ),
    "any": KeyRequest(name="any", grants=Grants(spreadsheets=None)),
    "page": KeyRequest(
        name="page",
        grants=Grants(spreadsheets=GRANTED, origins=frozenset({"https://app.example.org"})),
    ),
}
OPTIONS: Mapping[str, object] = {
    "plans.paid.deletes": True,
    "plans.free.writes": False,
    "plans.free.requests_per_minute": 6_000,
    "plans.paid.requests_per_minute": 6_000,
}


@pytest.fixture
def surface(tmp_path: Path) -> Iterator[Surface]:
    """A gateway that has read nothing."""
    with open_surface(tmp_path, KEYS, OPTIONS) as surface:
        yield surface


def orders(surface: Surface) -> FakeWorksheet:
    """Add a worksheet with a column that only some keys see."""
    return surface.sheets.add(
        "Orders", [["item", SECRET, "price"], ["Pen", "secret", 1.5], ["Nib", DAY, 2]]
    )


def column(
    surface: Surface, *cells: Value | Formatted, form: CellForm | None = None
) -> FakeWorksheet:
    """Add a worksheet with a column whose cells have a number format or validation."""
    lines: list[list[Any]] = [["x", "end"], *([cell, 1] for cell in cells)]
    worksheet = surface.sheets.add("One", lines, rows=12)
    for row in range(2, len(cells) + 2):
        if form is not None:
            worksheet.rules[row, 1] = form._replace(format=None)
            if form.format is not None:
                worksheet.formats[row, 1] = form.format
    return worksheet


def schema(surface: Surface, title: str = "One", **options: Any) -> dict[str, Any]:
    answer = surface.send("GET", f"{title}/schema", **options)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    Draft202012Validator.check_schema(found)
    return found


def listed(surface: Surface, **options: Any) -> dict[str, dict[str, Any]]:
    """Return the listed worksheets by name."""
    answer = surface.send("GET", "/v2/sheets", **options)
    assert answer.status_code == 200, answer.content
    return {each["name"]: each for each in answer.json()["sheets"]}


def numbers(type_: str, pattern: str = "") -> CellForm:
    return CellForm(NumberFormat(type_, pattern))


DATES = {"type": ["string", "null"], "format": "date"}
TYPES: Mapping[str, tuple[Sequence[Value | Formatted], CellForm | None, str, dict[str, Any]]] = {
    "numbers": ([1, 2.5], None, "number", {"type": ["number", "null"], "x-source": "cells"}),
    "integers": ([1, 2], None, "number", {"type": ["number", "null"], "x-source": "cells"}),
    "texts": (["a", "007"], None, "text", {"type": ["string", "null"], "x-source": "cells"}),
    "booleans": ([True], None, "boolean", {"type": ["boolean", "null"], "x-source": "cells"}),
    "days": ([DAY, ""], None, "date", {**DATES, "x-source": "cells"}),
    "days and a time": (
        [DAY, NOON],
        None,
        "date-time",
        {"type": ["string", "null"], "format": "date-time", "x-source": "cells"},
    ),
    "clocks": (
        [CLOCK],
        None,
        "time",
        {"type": ["string", "null"], "format": "time", "x-source": "cells"},
    ),
    "several kinds": (
        ["a", 1, DAY],
        None,
        "text",
        {"type": ["string", "number", "null"], "x-source": "cells"},
    ),
    "an error and a number": (
        [ERROR, 1],
        None,
        "number",
        {"type": ["number", "null"], "x-source": "cells"},
    ),
    "nothing": ([""], None, "text", {"type": ["string", "number", "boolean", "null"]}),
    "a format before the cells": (
        ["a"],
        numbers("DATE"),
        "date",
        {**DATES, "x-source": "format"},
    ),
    "money": (
        [Formatted(5, "$5.00")],
        numbers("CURRENCY"),
        "number",
        {"type": ["number", "null"], "x-source": "format"},
    ),
    "a format of empty cells": (
        [""],
        numbers("TIME"),
        "time",
        {"type": ["string", "null"], "format": "time", "x-source": "format"},
    ),
    "a format beside texts": (
        ["soon", DAY],
        numbers("DATE"),
        "date",
        {**DATES, "x-source": "format"},
    ),
    "a checkbox": (
        [""],
        CHECKBOX,
        "boolean",
        {"type": ["boolean", "null"], "x-source": "validation"},
    ),
    "a checkbox before the format": (
        [1],
        CHECKBOX._replace(format=NumberFormat("NUMBER")),
        "boolean",
        {"type": ["boolean", "null"], "x-source": "validation"},
    ),
    "a checkbox of other values": (
        ["yes"],
        CellForm(rule="BOOLEAN", options=("yes", "no")),
        "text",
        {"type": ["string", "null"], "enum": ["yes", "no", None], "x-source": "validation"},
    ),
    "a list": (
        ["open"],
        STATES,
        "text",
        {"type": ["string", "null"], "enum": ["open", "done", None], "x-source": "validation"},
    ),
    "a list of numbers": (
        [1],
        CellForm(rule="ONE_OF_LIST", options=("1", "2.5", "1")),
        "number",
        {"type": ["number", "null"], "enum": [1, 2.5, None], "x-source": "validation"},
    ),
    "a list of numbers as texts": (
        ["1"],
        CellForm(rule="ONE_OF_LIST", options=("1", "2")),
        "text",
        {"type": ["string", "null"], "enum": ["1", "2", None], "x-source": "validation"},
    ),
    "a list of too many": (
        ["1"],
        CellForm(rule="ONE_OF_LIST", options=tuple(f"o{at}" for at in range(501))),
        "text",
        {"type": ["string", "null"], "x-source": "validation"},
    ),
    "a list in a range": (
        [1],
        CellForm(rule="ONE_OF_RANGE", options=("=A1:A9",)),
        "number",
        {"type": ["number", "null"], "x-source": "cells"},
    ),
    "a validation of dates": (
        [""],
        CellForm(rule="DATE_IS_VALID"),
        "date",
        {**DATES, "x-source": "validation"},
    ),
}


@pytest.mark.parametrize("case", TYPES.values(), ids=TYPES)
def test_the_type_of_a_column(
    surface: Surface,
    case: tuple[Sequence[Value | Formatted], CellForm | None, str, dict[str, Any]],
) -> None:
    """Validation wins over the number format, and the format over the values.

    `integer` is never used.
    """
    cells, form, name, expected = case
    column(surface, *cells, form=form)

    found = schema(surface)["properties"]

    assert found["x"] == {**expected, "x-column": "A"}
    assert listed(surface)["One"]["fields"][0] == {"name": "x", "type": name}
    assert b"integer" not in surface.send("GET", "One/schema").content


@pytest.mark.parametrize(
    ("declared", "options", "expected"),
    [
        ("DOUBLE", (), {"type": ["number", "null"]}),
        ("PERCENT", (), {"type": ["number", "null"]}),
        ("DATE", (), DATES),
        ("DATE_TIME", (), {"type": ["string", "null"], "format": "date-time"}),
        ("BOOLEAN", (), {"type": ["boolean", "null"]}),
        ("TEXT", (), {"type": ["string", "null"]}),
        ("PEOPLE_CHIP", (), {"type": ["string", "null"]}),
        ("DROPDOWN", ("a", "b"), {"type": ["string", "null"], "enum": ["a", "b", None]}),
    ],
)
def test_the_type_in_a_native_table_comes_first(
    surface: Surface, declared: str, options: tuple[str, ...], expected: dict[str, Any]
) -> None:
    """The type in a native table wins over validation, number format and values."""
    other = CellForm(rule="ONE_OF_LIST", options=("z",), format=NumberFormat("TIME"))
    worksheet = column(surface, CLOCK, form=other)
    worksheet.column_types, worksheet.column_options = {0: declared}, {0: options}

    found = schema(surface)["properties"]["x"]

    assert found == {**expected, "x-column": "A", "x-source": "table"}


def test_typed_records_are_valid_by_their_schema(surface: Surface) -> None:
    """Typed records of all kinds are valid by the schema, and another kind of cell is not."""
    surface.sheets.add(
        "All",
        [["a", "b", "c", "d", "e"], [1, "x", DAY, CLOCK, True], [2.5, "", "", NOON, ERROR]],
    )
    validator = Draft202012Validator(schema(surface, "All"))
    rows = surface.send("GET", "All?values=typed").json()["results"]

    assert [validator.is_valid(row) for row in rows] == [True, True]
    assert not validator.is_valid({**rows[0], "a": "1"})


@pytest.mark.parametrize(
    ("empty", "valid", "interface"),
    [
        ("null", [None, 1], '  "a": number | null;\n  "b": string | null;\n'),
        ("", [None, 1, ""], '  "a": number | "" | null;\n  "b": string | null;\n'),
        ("omit", [None, 1], '  "a"?: number | null;\n  "b"?: string | null;\n'),
    ],
)
def test_a_schema_has_empty_cells_as_the_operator_configured(
    tmp_path: Path, empty: str, valid: list[object], interface: str
) -> None:
    """Empty cells follow the setting. An error cell is always null."""
    with open_surface(tmp_path, KEYS, {"api.empty_cell": empty}) as surface:
        surface.sheets.add("All", [["a", "b"], [1, "x"], ["", ""]])
        validator = Draft202012Validator(schema(surface, "All"))
        typescript = surface.send("GET", "All/schema?format=typescript").content.decode()
        rows = surface.send("GET", "All?values=typed").json()["results"]

    assert [each for each in (None, 1, "", "x") if validator.is_valid({"a": each})] == valid
    assert all(map(validator.is_valid, rows))
    assert interface in typescript


def test_read_only_fields(surface: Surface) -> None:
    """A column of formulas and a column that the key must not write are read-only."""
    worksheet = surface.sheets.add(
        "Sums", [["a", "sum", "some", "apiKey"], [1, 2, 3, "x"], [4, 5, 6, "y"]]
    )
    worksheet.computed = {(2, 2), (3, 2), (2, 3)}
    orders(surface)

    def read_only(title: str, key: str) -> list[str]:
        found = schema(surface, title, key=key)["properties"]
        return [name for name, each in found.items() if each.get("readOnly", False)]

    assert read_only("Sums", "paid") == ["sum", "apiKey"]
    for key in ("reader", "free"):
        assert read_only("Sums", key) == ["a", "sum", "some", "apiKey"]
    assert read_only("Orders", "some") == ["item"]


def test_a_schema_is_in_column_order(surface: Surface) -> None:
    """Title and columns are in sheet order. A column without a name is left out."""
    found = schema(surface, "BlankHeader")

    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (found["title"], found["type"]) == ("BlankHeader", "object")
    assert [*found["properties"]] == ["name", "amount"]
    assert [each["x-column"] for each in found["properties"].values()] == ["A", "C"]


def test_the_list_of_worksheets(surface: Surface) -> None:
    """The list has the spreadsheet, and worksheets in tab order with fields and rights."""
    answer = surface.send("GET", "/v2/sheets").json()

    assert answer["spreadsheet"] == {
        "id": "book",
        "title": "Book",
        "locale": "en_US",
        "timeZone": "Etc/GMT",
    }
    assert [each["name"] for each in answer["sheets"]] == [*WORKBOOK]
    assert answer["sheets"][0] == {
        "name": "Cities",
        "rows": None,
        "fields": [
            {"name": "name", "type": "text"},
            {"name": "state", "type": "text"},
            {"name": "country", "type": "text"},
            {"name": "population", "type": "number"},
        ],
        "may": ["read", "create", "update", "delete"],
    }


def test_rows_are_counted_if_they_were_read_lately(surface: Surface) -> None:
    """Cached rows are counted without a call, including later writes."""
    before = listed(surface)["Cities"]["rows"]
    surface.send("GET", "Cities?limit=1")
    spent = surface.calls.reads
    after = listed(surface)["Cities"]["rows"]
    body = b'{"name":"x"}'
    surface.send("POST", "Cities", headers=[("Content-Type", "application/json")], body=body)

    assert (before, after, listed(surface)["Cities"]["rows"]) == (None, 3, 4)
    assert listed(surface)["New"]["rows"] is None
    assert surface.calls.reads == spent + 1


@pytest.mark.parametrize(
    ("key", "may"),
    [
        ("paid", ["read", "create", "update", "delete"]),
        ("any", ["read", "create", "update"]),
        ("reader", ["read"]),
        ("free", ["read"]),
        ("some", ["read", "create", "update"]),
    ],
)
def test_what_a_key_may_do(surface: Surface, key: str, may: list[str]) -> None:
    """The rights of the key and its plan decide what is allowed."""
    orders(surface)

    assert listed(surface, key=key)["Orders"]["may"] == may


TARGETS = ["/v2/sheets", "Orders/schema", "Orders/schema?format=typescript", "/openapi.json"]
TYPED = "/openapi.json?values=typed"


def test_two_reads_serve_all_that_ask_within_a_minute(surface: Surface) -> None:
    """Two reads serve lists, schemas and descriptions for all keys for a minute."""
    orders(surface)
    keys = ("paid", "some", "reader")
    asked = [(target, key) for target in [*TARGETS, TYPED] for key in keys] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda each: surface.send("GET", each[0], key=each[1]), asked)]
    fresh = surface.send("GET", "Orders/schema", headers=[("Cache-Control", "no-cache")])

    assert {answer.status_code for answer in [*answers, fresh]} == {200}
    assert (surface.calls.reads, surface.calls.writes) == (2, 0)


@pytest.mark.parametrize("target", TARGETS[:3])
def test_answers_have_a_tag(surface: Surface, target: str) -> None:
    """A matching ETag gives 304 without a call. HEAD has the same headers and no body."""
    orders(surface)
    answer = surface.send("GET", target)
    spent, tag = surface.calls.reads, answer.headers["etag"]
    known = surface.send("GET", target, headers=[("If-None-Match", tag)])
    head = surface.send("HEAD", target)
    other = surface.send("GET", target, headers=[("If-None-Match", '"x"')])

    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", tag)
    assert (head.status_code, head.headers["etag"]) == (200, tag)
    assert (other.status_code, surface.calls.reads) == (200, spent)
    assert {"age", "cache-status", "ratelimit", "ratelimit-policy"} <= set(answer.headers)
    assert answer.headers["content-type"] == (
        "text/plain; charset=utf-8" if "typescript" in target else "application/json; charset=utf-8"
    )


def test_a_changed_header_changes_the_tag(surface: Surface) -> None:
    """Each worksheet, key and format has its own ETag, which changes with the header."""
    orders(surface)
    asked = [(target, key) for target in TARGETS[:3] for key in ("paid", "some")]
    tags = {surface.send("GET", target, key=key).headers["etag"] for target, key in asked}

    assert len(tags) == len(asked)


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_key_may_not_see_is_not_there(surface: Surface, target: str) -> None:
    """Removing hidden columns and worksheets changes no byte of the answers."""
    worksheet = orders(surface)
    worksheet.rules[2, 2] = CellForm(rule="ONE_OF_LIST", options=("secret option",))
    worksheet.column_types = {1: "DATE"}
    shown = surface.send("GET", target, key="some")
    shown_typed = surface.send("GET", TYPED, key="some")
    for answer in (shown, shown_typed):
        assert b"secret" not in answer.content
        assert SECRET.encode() not in answer.content
        assert b"Cities" not in answer.content
        assert b"x-column" not in answer.content


def test_answers_do_not_depend_on_what_is_hidden(tmp_path: Path) -> None:
    """A spreadsheet without the hidden column and worksheets gives the same bytes."""
    found: list[list[tuple[bytes, str]]] = []
    sheets: list[list[list[str | float]]] = [
        [["item", SECRET, "price"], ["Pen", "secret", 1.5]],
        [["item", "", "price"], ["Pen", "", 1.5]],
        [["item", "price"], ["Pen", 1.5]],
    ]
    for lines in sheets:
        folder = tmp_path / str(len(found))
        folder.mkdir()
        with open_surface(folder, KEYS, OPTIONS) as surface:
            if len(lines[0]) == 2:
                surface.sheets.worksheets.clear()
            surface.sheets.add("Orders", lines)
            answers = [surface.send("GET", each, key="some") for each in [*TARGETS, TYPED]]
            found.append([(each.content, each.headers["etag"]) for each in answers])
            assert surface.calls.reads == 2

    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("target", "options", "code"),
    [
        ("/v2/sheets", {"key": None}, (401, 4010)),
        ("/v2/sheets", {"spreadsheet": "other"}, (404, 101)),
        ("/v2/sheets", {"key": "any", "spreadsheet": None}, (400, 101)),
        ("/v2/sheets?values=typed", {}, (400, 4002)),
        ("/v2/sheets?format=json", {}, (400, 4002)),
        ("/v2/sheets?page=1", {}, (400, 4002)),
        ("Orders/schema", {"key": None}, (401, 4010)),
        ("Orders/schema", {"spreadsheet": "other"}, (404, 101)),
        ("Cities/schema", {"key": "some"}, (403, 4032)),
        ("Orders/schema?format=xml", {}, (400, 4002)),
        ("Orders/schema?format=json&format=typescript", {}, (400, 4002)),
        ("Orders/schema?Format=json", {}, (400, 4002)),
        ("Orders/schema?keys=item", {}, (400, 4002)),
    ],
)
def test_denied_and_wrong_requests_cost_nothing(
    surface: Surface, target: str, options: dict[str, Any], code: tuple[int, int]
) -> None:
    """Denied and invalid requests are rejected without a call."""
    orders(surface)

    assert surface.refused("GET", target, **options)[0] == code


def test_a_page_of_another_origin_is_refused(surface: Surface) -> None:
    """A page of another origin is rejected."""
    for target in TARGETS[:3]:
        code, _ = surface.refused(
            "GET", target, key="page", headers=[("Origin", "https://evil.example.org")]
        )
        assert code == (403, 4031)


def test_a_key_of_any_spreadsheet_names_one(surface: Surface) -> None:
    """A key for any spreadsheet needs an ID in a header or in the URL."""
    orders(surface)
    by_header = surface.send("GET", "/v2/sheets", key="any")
    by_parameter = surface.send("GET", "/v2/sheets?spreadsheetId=book", key="any", spreadsheet=None)
    of_one = surface.send("GET", "/v2/sheets", key="paid", spreadsheet=None)
    key = surface.keys["any"]
    in_url = surface.send(
        "GET", f"Orders/schema?spreadsheetId=book&apiKey={key}", key=None, spreadsheet=None
    )

    assert by_header.content == by_parameter.content
    assert (of_one.status_code, in_url.status_code) == (200, 200)


def test_an_unknown_worksheet(surface: Surface) -> None:
    """404 names the path that lists worksheets, also for rows and writes."""
    of_schema = surface.send("GET", "Ordrs/schema")
    of_rows = surface.send("GET", "Ordrs")
    of_row = surface.send("GET", "Ordrs/2")

    for answer in (of_schema, of_rows, of_row):
        assert refused(answer) == (404, 105)
        assert "GET /v2/sheets lists the worksheets." in answer.json()["message"]


def test_a_worksheet_without_names(surface: Surface) -> None:
    """A worksheet without names is listed without fields, and has no schema."""
    surface.sheets.add("Blank", [])

    assert listed(surface)["Blank"]["fields"] == []
    assert refused(surface.send("GET", "Blank/schema")) == (409, 102)


def test_a_field_is_no_parameter(surface: Surface) -> None:
    """A visible field name as a parameter is rejected. A hidden field name is ignored."""
    orders(surface)

    assert refused(surface.send("GET", "Orders/schema?price=1")) == (400, 4002)
    assert surface.send("GET", f"Orders/schema?{SECRET}=1", key="some").status_code == 200
    assert surface.send("GET", "/v2/sheets?price=1").status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_schema_is_a_path_of_reads_only(surface: Surface, method: str) -> None:
    """Other methods than reads are not allowed, and write nothing."""
    orders(surface)
    code, answer = surface.refused(method, "Orders/schema", body=b'{"item":"x"}')

    assert (code, answer.headers["allow"]) == ((405, 4051), "GET, HEAD, OPTIONS")


def test_an_outage_is_an_error(surface: Surface) -> None:
    """During an outage the answer is an error, and the next request reads again."""
    surface.calls.failure = UpstreamUnreachable("no way")
    failed = surface.send("GET", "/v2/sheets")
    surface.calls.failure = None

    assert failed.status_code in (502, 503)
    assert surface.send("GET", "/v2/sheets").status_code == 200


NAMES = [
    "a b",
    '"; }\nexport const x = 1; //',
    "*/",
    "a\u2028b",
    "\u202e",
    "a\x7fb",
    "`${x}`",
    "ü",
    "a\\",
]


def test_names_stay_within_the_interface(surface: Surface) -> None:
    """Each field is one line of the TypeScript interface, with invisible characters escaped."""
    surface.sheets.add("x*/\n", [NAMES, ["a"] * len(NAMES)])
    text = surface.send("GET", "x*%2F%0A/schema?format=typescript").content.decode()
    lines = text.splitlines()

    assert lines[:2] == [
        '// The typed records of the worksheet "x*/\\n".',
        "export interface X {",
    ]
    names = [line.strip().removesuffix(": string | null;") for line in lines[2:-1]]
    assert [*map(json.loads, names)] == NAMES
    assert lines[-1] == "}"
    assert all(each.isprintable() for each in text.replace("\n", ""))


@pytest.mark.parametrize(
    ("title", "name"),
    [("1", "Worksheet1"), ("Städte 🏙", "Städte"), (" lead", "Lead"), ("x:y!z", "XYZ")],
)
def test_the_name_of_an_interface(surface: Surface, title: str, name: str) -> None:
    """The name of an interface has the letters and digits of the title."""
    answer = surface.send("GET", f"{quote(title)}/schema?format=typescript").content.decode()

    assert f"export interface {name} {{\n" in answer


@pytest.mark.parametrize("typed", [True, False])
def test_the_description_has_the_same_types(surface: Surface, typed: bool) -> None:
    """The description has the types of the schema for typed rows, and texts for displayed rows."""
    orders(surface)
    column(surface, "open", form=STATES)
    values = "typed" if typed else "displayed"
    told = surface.send("GET", f"/openapi.json?values={values}").json()["components"]["schemas"]
    rows = [told[f"{title}Row"]["properties"] for title in ("Orders", "One")]
    shown = [rows[0][SECRET], rows[0]["price"], rows[1]["x"]]

    assert shown == (
        [
            {"type": ["string", "null"]},
            {"type": ["number", "null"]},
            {"type": ["string", "null"], "enum": ["open", "done", None]},
        ]
        if typed
        else [{"$ref": "#/components/schemas/Cell"}] * 3
    )
