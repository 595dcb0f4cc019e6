"""Cases of reads: pages, all rows, exports, worksheets and schemas."""

import json
from collections.abc import Mapping, Sequence
from csv import DictReader
from typing import Any
from unittest.mock import ANY

from tests.clients.libraries.case import (
    PYTHON,
    Case,
    Of,
    call,
    case,
    fails,
    mistake,
    page,
    quoted,
    row,
    tagged,
)
from tests.clients.middlebox import Fault
from tests.journeys.workbook import CITIES

NUMBERS = [str(number) for number in range(1, 131)]
CITIES_LISTED = [row(at, each) for at, each in enumerate(DictReader(CITIES.splitlines()), 2)]
TEXAS = [row(8, {"name": "San Antonio"}), row(5, {"name": "Houston"}), row(10, {"name": "Dallas"})]
OF_TEXAS: Mapping[str, Any] = {"where": {"state": "Texas"}, "order": "-name", "keys": ["name"]}
LONG_CSV = "rowIndex,number\r\n" + "".join(f"{at},{n}\r\n" for at, n in enumerate(NUMBERS, 2))
LONG_NDJSON = "".join(f'{{"rowIndex":{at},"number":"{n}"}}\n' for at, n in enumerate(NUMBERS, 2))
JSON = {"Content-Type": "application/json; charset=utf-8"}
LOST_CURSOR = {
    "type": "SheetsonError",
    "name": "CursorLost",
    "code": 4101,
    "message": "Begin again with the first page.",
    "status": 410,
    "retryable": False,
}
NOT_THE_GATEWAYS = fails(kind="SheetsError", code=0, status=200)


def numbers(first: int = 1, last: int = 130) -> list[Mapping[str, Any]]:
    """Return the expected rows of the worksheet `Long`."""
    return [row(number + 1, {"number": str(number)}) for number in range(first, last + 1)]


def shorter_export(media_type: str, text: str) -> Fault:
    """Return an export whose header announces 130 rows."""
    headers = {
        "Content-Type": media_type,
        "X-Total-Count": "130",
        "Access-Control-Expose-Headers": "*",
    }
    return Fault(status=200, headers=headers, text=text)


def answered(body: object, status: int = 200) -> Fault:
    """Return an answer that replaces the gateway's answer."""
    return Fault(status=status, headers=JSON, text=json.dumps(body))


def old_page(*, more: bool) -> Fault:
    """Return the answer of an old gateway that ignores `cursor`."""
    return answered({"results": [{"rowIndex": 2, "number": "1"}], "hasNextPage": more})


_PAGES: Sequence[Case] = [
    case(
        "filter, order, fields, limit, skip and count work together",
        call(
            "list",
            where={"population": {"$gte": 1_300_000}},
            order=["-population"],
            keys=["name", "state"],
            limit=2,
            skip=1,
            count=True,
            no_cache=True,
        ),
        page(
            row(3, {"name": "Los Angeles", "state": "California"}),
            row(4, {"name": "Chicago", "state": "Illinois"}),
            more=True,
            total=9,
        ),
        sent={"no-cache": ["true"]},
    ),
    *[
        case(
            f"rows are sorted by {order}",
            call("list", order=order, keys=["y"]),
            page(*(row(at, {"y": f"{at + 1}"}) for at in rows)),
            sheet="Commas",
            sent={"order": [sent]},
        )
        for order, sent, rows in (
            ("-y", "-y", [4, 3, 2]),
            ("x,-y", "x,-y", [4, 3, 2]),
            ("x, y", "x, y", [3, 2, 4]),
            (["x, y"], '["x, y"]', [3, 2, 4]),
            (["x", "x, y"], '["x","x, y"]', [4, 3, 2]),
            (["-x", "-x, y"], '["-x","-x, y"]', [2, 3, 4]),
            (["-x", "y"], '["-x","y"]', [2, 3, 4]),
            ([], "[]", [2, 3, 4]),
        )
    ],
    case(
        "a page without options has all fields and no total",
        call("list"),
        page(*CITIES_LISTED),
        sent={"where": [None], "count": [None], "limit": [None]},
    ),
    case(
        "a row has the requested fields and the ETag of the whole row",
        call("get", 2),
        tagged(2, CITIES_LISTED[0]["fields"]),
        call("get", 2, keys=["name"], no_cache=True),
        row(2, {"name": "New York"}, etag=Of(0, "etag")),
        sent={"no-cache": [None, "true"]},
    ),
    *[
        case(
            f"all rows come once in pages of {page_size}, also if the plan has smaller pages",
            call("rows", page_size=page_size),
            numbers(),
            sheet="Long",
            requests=requests,
        )
        for page_size, requests in ((50, 3), (130, 2), (1000, 2))
    ],
    case("all rows keep filter, order and fields", call("rows", **OF_TEXAS, page_size=1), TEXAS),
    case(
        "a row that is appended between two pages is on the last one",
        call("list", limit=100),
        page(*numbers(1, 100), more=True),
        call("create", {"number": 131}),
        tagged(132, {"number": "131"}),
        call("list", limit=100, skip=100),
        page(*numbers(101, 131)),
        sheet="Long",
        changes={"Long!132.1": 131},
    ),
    *[
        case(
            f"the name {name} is encoded once",
            call("get", 2, keys=[field]),
            tagged(2, {field: text}),
            sheet=name,
        )
        for name, field, text in (
            ("My Sheet", "name", "a"),
            ("Real%20Sheet", "name", "escaped"),
            ("a+b", "name", "plus"),
            ("Escaped", "x%2Cy", "1"),
        )
    ],
]
_CURSORS: Sequence[Case] = [
    case(
        "reading all rows continues with the cursor of each page",
        call("rows", order="number", page_size=50),
        numbers(),
        sheet="Long",
        sent={"cursor": ["", *[ANY] * 2], "order": ["number"] * 3, "skip": [None] * 3},
    ),
    case(
        "a page has the next page's cursor, and the last page has none",
        call("list", limit=100, cursor=""),
        page(*numbers(1, 100), more=True, cursor=ANY),
        call("list", limit=100, cursor=Of(0, "cursor")),
        page(*numbers(101)),
        call("list", limit=2),
        page(*numbers(1, 2), more=True),
        sheet="Long",
    ),
    case(
        "a row deleted above moves pages by position, but not pages by cursor",
        call("list", limit=50, cursor=""),
        page(*numbers(1, 50), more=True, cursor=ANY),
        call("delete", 10),
        None,
        call("list", limit=100, cursor=Of(0, "cursor")),
        page(*(row(number, {"number": str(number)}) for number in range(51, 131))),
        call("list", limit=1, skip=50),
        page(row(52, {"number": "52"}), more=True),
        sheet="Long",
        changes={**{f"Long!{at}.1": at for at in range(10, 131)}, "Long!131.1": None},
    ),
    case(
        "all rows from a position are read without a cursor",
        call("rows", skip=20, page_size=60),
        numbers(21),
        sheet="Long",
        sent={"skip": ["20", "80"], "cursor": [None, None]},
    ),
    case(
        "a lost cursor raises CursorLost, and the client does not start again",
        call("rows", page_size=50),
        fails("Begin again", kind="CursorLost", name="CursorLost", code=4101),
        sheet="Long",
        faults=[answered(LOST_CURSOR, 410)],
        requests=1,
    ),
    case(
        "an old gateway's first page is not accepted as the next page",
        call("rows", page_size=1),
        fails("older than this client", kind="SheetsFailure"),
        sheet="Long",
        faults=[*[old_page(more=True)] * 3, old_page(more=False)],
        requests=1,
    ),
    case(
        "an old gateway that ignores cursors returns one page",
        call("rows"),
        numbers(1, 1),
        sheet="Long",
        faults=[old_page(more=False)],
    ),
    case(
        "a page size of 0 is an error",
        steps=[
            (call("rows", page_size=size), mistake("page_size", "pageSize"))
            for size in (0, -1, None)
        ],
        requests=0,
    ),
]
_EXPORTS: Sequence[Case] = [
    case(
        "an export is CSV with the options of a list",
        call("export", "csv", **OF_TEXAS),
        "rowIndex,name\r\n8,San Antonio\r\n5,Houston\r\n10,Dallas\r\n",
    ),
    case(
        "an export is NDJSON, with typed values if the client is typed",
        call("export", "ndjson", keys=["population"], limit=2),
        '{"rowIndex":2,"population":8804190}\n{"rowIndex":3,"population":3898747}\n',
        client={"values": "typed"},
    ),
    *[
        case(
            f"a cut export in {export_format} is retried, wherever it ends",
            call("export", *given),
            text,
            sheet="Long",
            faults=[Fault(kept_bytes=100), Fault(kept_bytes=len(text) - 1)],
            requests=3,
        )
        for export_format, given, text in (
            ("csv", [], LONG_CSV),
            ("ndjson", ["ndjson"], LONG_NDJSON),
        )
    ],
    *[
        case(
            f"an export in {export_format} with fewer rows than its header says counts as cut",
            call("export", export_format, skip=1, limit=2),
            whole,
            sheet="Long",
            faults=[shorter_export(media_type, cut)],  # a proxy truncated the body
            requests=2,
        )
        for export_format, media_type, cut, whole in (
            *[
                ("csv", "text/csv", cut, "rowIndex,number\r\n3,2\r\n4,3\r\n")
                for cut in ('rowIndex,number\r\n2,"1\n\n"\r\n', 'rowIndex,number\r\n2,"1\n\n')
            ],
            (
                "ndjson",
                "application/x-ndjson",
                '{"rowIndex":2,"number":"1"}\n',
                '{"rowIndex":3,"number":"2"}\n{"rowIndex":4,"number":"3"}\n',
            ),
        )
    ],
    case(
        "an export that stays cut is an error",
        call("export", "ndjson"),
        fails(kind="ConnectionFailed"),
        sheet="Long",
        client={"retry": {"tries": 1}},
        faults=[Fault(kept_bytes=100)],
    ),
    case(
        "an old gateway's page is not accepted as an export",
        call("export"),
        NOT_THE_GATEWAYS,
        sheet="Long",
        faults=[old_page(more=True)],
    ),
    case(
        "an unknown export format is an error",
        steps=[
            (
                call("export", name),
                mistake(*quoted(name, "is not an export format. Pass csv or ndjson.")),
            )
            for name in ("xlsx", "toString")
        ],
        requests=0,
    ),
    case(
        "the rows of an export are read with one request",
        call("export_rows", skip=1),
        numbers(2),
        senders=PYTHON,
        sheet="Long",
        requests=1,
    ),
    case(
        "the rows of an export that ends within a row are read again",
        call("export_rows", skip=127),
        numbers(128),
        senders=PYTHON,
        sheet="Long",
        faults=[shorter_export("application/x-ndjson", '{"rowIndex":129,"number":"1')],
        requests=2,
    ),
    case(
        "an export that stays shorter than its header says is an error",
        call("export", "csv"),
        fails("the body ends too early", kind="ConnectionFailed"),
        sheet="Long",
        client={"retry": {"tries": 1}},
        faults=[shorter_export("text/csv", "rowIndex,number\r\n2,1\r\n")],
    ),
    case(
        "an export that stays cut raises an error and yields no row",
        call("export_rows"),
        fails(kind="ConnectionFailed"),
        senders=PYTHON,
        sheet="Long",
        client={"retry": {"tries": 1}},
        faults=[Fault(kept_bytes=100)],
    ),
]

_WORKSHEET: Mapping[str, object] = {"name": "A", "rows": None, "fields": [], "may": []}
_SPREADSHEET = {"id": "", "title": "", "locale": "", "timeZone": ""}
_ODD_LISTS: Sequence[object] = [
    {"results": [], "hasNextPage": False},
    {"sheets": [_WORKSHEET]},
    {"spreadsheet": _SPREADSHEET, "sheets": None},
    {"spreadsheet": _SPREADSHEET, "sheets": [None]},
    {"spreadsheet": _SPREADSHEET, "sheets": [{**_WORKSHEET, "name": 1}]},
    {"spreadsheet": _SPREADSHEET, "sheets": [{**_WORKSHEET, "fields": None}]},
    {"spreadsheet": _SPREADSHEET, "sheets": [{**_WORKSHEET, "fields": ["a"]}]},
    {"spreadsheet": _SPREADSHEET, "sheets": [{**_WORKSHEET, "may": "read"}]},
]
_ODD_SCHEMAS: Sequence[object] = [
    {"results": [], "hasNextPage": False},
    {"title": "A", "properties": ["a"]},
    {"title": "A", "properties": {"a": None}},
    {"title": None, "properties": {}},
]
_WORKSHEETS: Sequence[Case] = [
    case(
        "requests for worksheets and schemas have no parameter `values`",
        call("worksheets"),
        ANY,
        call("schema"),
        ANY,
        sheet="a+b",
        client={"values": "displayed"},
        of_sheet={"values": "typed"},
        sent={"path": ["/v2/sheets", "/v2/sheets/a%2Bb/schema"], "values": [None, None]},
    ),
    case(
        "requests for worksheets and schemas are repeated",
        call("worksheets"),
        ANY,
        call("schema"),
        ANY,
        faults=[Fault(), Fault(kept_bytes=10), Fault(status=503)],
        requests=3 + 2,
    ),
    case(
        "an unknown worksheet has no schema",
        call("schema"),
        fails(kind="SheetsError", status=404, code=105),
        sheet="Nowhere",
    ),
    case(
        "a list of something else is not a list of worksheets",
        faults=[answered(body) for body in _ODD_LISTS],
        steps=[(call("worksheets"), NOT_THE_GATEWAYS) for _ in _ODD_LISTS],
    ),
    case(
        "another object is not a schema",
        faults=[answered(body) for body in _ODD_SCHEMAS],
        steps=[(call("schema"), NOT_THE_GATEWAYS) for _ in _ODD_SCHEMAS],
    ),
]

READS: Sequence[Case] = [*_PAGES, *_CURSORS, *_EXPORTS, *_WORKSHEETS]
