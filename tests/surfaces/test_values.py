"""One value of a cell in `where`, `order` and the keys of upserts, over HTTP, and its calls."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from tests.asgi_client import Answer
from tests.fakes import Formatted, Held
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Surface, open_surface

JSON = ("Content-Type", "application/json")
KEYS = {"paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED))}
SETTINGS: Mapping[str, object] = {
    "plans.paid.requests_per_minute": 0,
    "cache.rows_ttl_seconds": 600,
    "cache.header_ttl_seconds": 600,
}
DAY = 46_023
"""2026-01-01 as a serial number."""

Cells = Sequence[Held | None]


@contextmanager
def opened(folder: Path, cells: Cells) -> Iterator[Surface]:
    """Open the application with the worksheet `One`, whose field `f` has the cells."""
    with open_surface(folder, KEYS, SETTINGS) as surface:
        surface.sheets.add("One", [["n", "f"], *([at, cell] for at, cell in enumerate(cells, 2))])
        yield surface


def listed(surface: Surface, **parameters: object) -> list[int]:
    """Return the row numbers of a list with these parameters."""
    texts = [
        f"{name}={quote(value if isinstance(value, str) else json.dumps(value))}"
        for name, value in parameters.items()
    ]
    answer = surface.send("GET", f"One?limit=100&{'&'.join(texts)}", key="paid")
    assert answer.status_code == 200, answer.content
    return [row["rowIndex"] for row in answer.json()["results"]]


def upserted(surface: Surface, body: object, keys: str = "f") -> tuple[Answer, tuple[int, int]]:
    """Return the answer to an upsert by `f` or other fields, and its reads and writes."""
    calls = surface.calls
    before = calls.reads, calls.writes
    answer = surface.send(
        "POST",
        f"One?on_conflict={keys}",
        key="paid",
        headers=[JSON],
        body=json.dumps(body).encode(),
    )
    return answer, (calls.reads - before[0], calls.writes - before[1])


def paged(surface: Surface, order: str) -> list[int]:
    """Return all rows, page by page.

    Each page begins after the last displayed `f` of the page before.
    """
    rows: list[int] = []
    comparison = "$lt" if order.startswith("-") else "$gt"
    where: dict[str, Any] = {}
    while True:
        answer = surface.send(
            "GET", f"One?limit=2&order={order}&where={quote(json.dumps(where))}", key="paid"
        )
        page = answer.json()
        rows += [row["rowIndex"] for row in page["results"]]
        if not page["hasNextPage"]:
            return rows
        where = {"f": {comparison: page["results"][-1]["f"]}}


COLUMNS: Mapping[str, Cells] = {
    "texts": ["adam", "Bob", "carl", "Dora", "eve", "Émile"],
    "money": [
        Formatted(cents / 4, f"${cents / 4:,.2f}") for cents in (20, 5, 4000, 3, 400, 20_000)
    ],
    "percent": [Formatted(part / 100, f"{part}%") for part in (5, 50, 1, 100, 7)],
    "numbers": [3, -1.5, 1e21, 0, 0.1, 10],
    "days": [Formatted(DAY + day, f"{day + 1:02}.01.2026") for day in (4, 0, 30, 11, 9)],
    "times": [Formatted(hour / 24, f"{hour}:00") for hour in (9, 10, 0, 23, 14)],
    "durations": [Formatted(hour / 24, f"{hour}:00:00") for hour in (25, 9, 100, 1_000, 24)],
    "ISO texts": ["2026-02-01", "2026-01-05", "2025-12-31T23:59", "2026-03-01"],
    "numerals": ["1.10", "1.1", "100000", "1E5", "99", "1.2"],
}


@pytest.mark.parametrize("order", ["f", "-f"])
@pytest.mark.parametrize("cells", COLUMNS.values(), ids=COLUMNS)
def test_pages_by_the_last_display_have_each_row_once(
    tmp_path: Path, cells: Cells, order: str
) -> None:
    """A page that begins after the last displayed text continues the order."""
    with opened(tmp_path, cells) as surface:
        assert paged(surface, order) == listed(surface, order=order)


@pytest.mark.parametrize(
    ("cell", "key"),
    [
        pytest.param(Formatted(1_000_000, "1,000,000"), 1_000_000, id="thousands"),
        pytest.param(Formatted(1_000_000, "1,000,000"), "1,000,000", id="thousands as displayed"),
        pytest.param(Formatted(0.125, "12.5%"), 0.125, id="percent"),
        pytest.param(Formatted(0.125, "12.5%"), "12.5%", id="percent as displayed"),
        pytest.param(Formatted(501, "00501"), 501, id="padded"),
        pytest.param(Formatted(501, "00501"), "00501", id="padded as displayed"),
        pytest.param(Formatted(501, "00501"), "501.0", id="padded as text"),
        pytest.param(Formatted(1234.5, "$1,234.50"), 1234.5, id="money"),
        pytest.param(Formatted(0.30000000000000004, "0.3"), 0.30000000000000004, id="no format"),
        pytest.param(Formatted(DAY, "1 Jan 2026"), "2026-01-01", id="day"),
        pytest.param(Formatted(0.875, "9:00 PM"), "21:00", id="time"),
        pytest.param(True, True, id="boolean"),
        pytest.param(True, "TRUE", id="boolean as displayed"),
        pytest.param("1.10", "1.10", id="text"),
        pytest.param("7.5", 7.5, id="text in plain notation"),
        pytest.param("5", 5.0, id="text without a fraction"),
        pytest.param("0.00001", 1e-05, id="text without an exponent"),
        pytest.param(Formatted("#N/A (why)", "#N/A"), "#N/A", id="error"),
    ],
)
def test_an_upsert_finds_what_is_equal(tmp_path: Path, cell: Held, key: object) -> None:
    """A row has the key if `$eq` matches it. The second upsert writes nothing."""
    with opened(tmp_path, ["other", cell]) as surface:
        listed(surface, order="f")
        first, calls = upserted(surface, {"f": key, "n": "x"})
        again, calls_again = upserted(surface, [{"f": key, "n": "x"}])

        assert listed(surface, where={"f": key}) == [3]

    (row,) = first.json()["results"]
    assert (first.status_code, row["rowIndex"], row["created"]) == (200, 3, False)
    assert again.status_code == 200
    assert (calls, calls_again) == ((3, 1), (2, 0))


def test_the_calls_of_an_upsert(tmp_path: Path) -> None:
    """The first upsert costs 3 reads, because it reads the tabs. The next one costs 2 reads.

    Cached rows do not change this.
    """
    with opened(tmp_path, ["a", "b"]) as surface:
        listed(surface, order="f")
        costs = [upserted(surface, {"f": key, "n": "x"})[1] for key in ("a", "b", "c", "c")]

    assert costs == [(3, 1), (2, 1), (2, 1), (2, 0)]


@pytest.mark.parametrize(
    ("cells", "key"),
    [
        (["a", "b", "a"], "a"),
        ([Formatted(5, "$5.00"), 1, "$5.00"], "$5.00"),
        ([9.9, 1, Formatted(9.9, "9.90")], 9.9),
        ([9.9, 1, "9.90"], "9.90"),
        ([Formatted(DAY, "1 Jan 2026"), 1, "2026-01-01"], "2026-01-01"),
        ([True, 1, True], True),
        (["e\u0301", 1, "\u00e9"], "\u00e9"),
    ],
    ids=str,
)
def test_a_key_of_two_rows_is_refused(tmp_path: Path, cells: Cells, key: object) -> None:
    """If `$eq` matches two rows, the upsert is rejected and names both."""
    with opened(tmp_path, cells) as surface:
        rows = listed(surface, where={"f": key})
        answer, (_, writes) = upserted(surface, {"f": key})

    assert rows == [2, 4]
    assert refused(answer) == (409, 4092)
    assert "Rows 2, 4 " in answer.json()["message"]
    assert writes == 0


@pytest.mark.parametrize(
    ("cell", "key"),
    [("1.1", "1.10"), ("100000", "1E5"), ("1.10", 1.1), ("TRUE", True), ("2026-01-01", "2026-1-1")],
)
def test_an_upsert_creates_what_is_not_equal(tmp_path: Path, cell: Held, key: object) -> None:
    """Texts match only identical texts, or a number in plain notation."""
    with opened(tmp_path, [cell]) as surface:
        answer, _ = upserted(surface, {"f": key})
        rows = listed(surface, where={"f": key})

    assert (answer.status_code, answer.json()["results"][0]["rowIndex"]) == (201, 3)
    assert rows == [3]


@pytest.mark.parametrize(
    ("keys", "is_one"),
    [
        ((9.9, "9.90"), True),
        ((9.9, "9.9"), True),
        ((True, "TRUE"), True),
        (("2026-01-01", "2026-01-01T00:00"), True),
        (("1.10", "1.1"), False),
        (("1E5", "100000"), False),
        ((1, True), False),
    ],
)
def test_two_rows_of_a_body_have_different_keys(
    tmp_path: Path, keys: tuple[object, object], *, is_one: bool
) -> None:
    """Two values that one cell could equal are the same key.

    Different texts of numbers are two keys.
    """
    with opened(tmp_path, ["other"]) as surface:
        answer, (_, writes) = upserted(surface, [{"f": key} for key in keys])

    if is_one:
        assert refused(answer) == (400, 104)
        assert b"#/1" in answer.content
    else:
        assert answer.status_code == 201
    assert writes == (0 if is_one else 1)


def test_a_number_of_another_row_does_not_make_two_texts_one_key(tmp_path: Path) -> None:
    """Keys of two fields are the same only if one row could have both."""
    texts = [{"f": "1.10", "n": "a"}, {"f": "1.1", "n": "a"}]
    with opened(tmp_path, ["other"]) as surface:
        refused_, (_, writes) = upserted(surface, [*texts, {"f": 1.1, "n": "a"}], "f,n")
        answer, _ = upserted(surface, [{"f": 1.1, "n": "b"}, *texts], "f,n")

    assert refused(refused_) == (400, 104)
    assert [each["pointer"] for each in json.loads(refused_.content)["errors"]] == ["#/2"]
    assert writes == 0
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("cell", "keys", "is_one"),
    [
        (Formatted(7, "$7.00"), (5, "$5.00"), True),
        (Formatted(7, "$7.00"), ("1,250", 1250), True),
        (Formatted(7, "$7.00"), (5, "$5.50"), False),
        (Formatted(7, "$7.00"), ("5.00", "$5.00"), False),
        (Formatted(0.5, "50%"), (0.05, "5%"), True),
        (Formatted(7, "007"), ("012", 12), True),
        (7, ("012", 12), False),
        ("x", (5, "$5.00"), False),
    ],
)
def test_new_keys_that_one_cell_would_display_are_one(
    tmp_path: Path, cell: Held, keys: tuple[object, object], *, is_one: bool
) -> None:
    """New keys that one cell of the column would display alike are the same key."""
    with opened(tmp_path, [cell]) as surface:
        answer, (_, writes) = upserted(surface, [{"f": key} for key in keys])

    if is_one:
        assert refused(answer) == (400, 104)
        assert [each["pointer"] for each in json.loads(answer.content)["errors"]] == ["#/1"]
    else:
        assert answer.status_code == 201
    assert writes == (0 if is_one else 1)


def test_rows_whose_keys_one_cell_would_display_are_updated(tmp_path: Path) -> None:
    """If the rows exist, each key updates its own row."""
    with opened(tmp_path, [Formatted(7, "$7.00"), Formatted(5, "5"), "$5.00"]) as surface:
        answer, _ = upserted(surface, [{"f": 5, "n": "a"}, {"f": "$5.00", "n": "b"}])

    assert [row["rowIndex"] for row in json.loads(answer.content)["results"]] == [3, 4]


def test_a_row_that_two_keys_of_a_body_equal_is_refused(tmp_path: Path) -> None:
    """An upsert is rejected if two keys of its body equal one row."""
    with opened(tmp_path, [1.1]) as surface:
        answer, calls = upserted(surface, [{"f": "1.10"}, {"f": "1.1"}])

    assert refused(answer) == (400, 104)
    assert calls[1] == 0


@pytest.mark.parametrize(
    ("cells", "operand", "expected"),
    [
        ([123456789012345000.0, 1.0], 123456789012345000, [2]),
        ([2.0**60, "1152921504606847000", "1152921504606846976"], 1152921504606847000, [2, 3]),
        (["12345678901234567890", "12345678901234567891"], 12345678901234567890, [2]),
        ([123456789012345000.0], "123456789012345000", [2]),
    ],
)
def test_integers_of_many_digits_are_found(
    tmp_path: Path, cells: Cells, operand: object, expected: Sequence[int]
) -> None:
    """An integer above 2^53 finds the number that Google stores for it, and texts with exactly
    its digits.
    """
    with opened(tmp_path, cells) as surface:
        found = {word: listed(surface, where={"f": {word: operand}}) for word in ("$eq", "$lt")}
        between = listed(surface, where={"f": {"$gte": operand, "$lte": operand}})

    assert found["$eq"] == between == expected
    assert not {*found["$lt"]} & {*expected}


MIXED: Mapping[str, Held | None] = {
    "typed January": Formatted(DAY + 4, "2026-01-05"),
    "typed March": Formatted(DAY + 59, "2026-03-01"),
    "February as text": "2026-02-01",
    "price": Formatted(9.9, "9.90 kr"),
    "weight": Formatted(5, "5 kg"),
    "negative": Formatted(-20, "(20)"),
    "million": Formatted(1_500_000, "1.5M"),
    "francs": Formatted(20, "CHF 20"),
    "lunch": Formatted(0.5 + 125 / 1440, "14:05"),
    "evening": Formatted(0.875, "9:00 PM"),
    "breakfast as text": "8:00 AM",
    "clock text": "13:00",
    "long": Formatted(1.0625, "25:30:00"),
    "apple": "apple",
    "Banana": "Banana",
    "no": False,
    "yes": True,
    "error": "#DIV/0!",
    "empty": None,
}
ORDER = [
    *("negative", "weight", "price", "francs", "million"),
    *("typed January", "February as text", "typed March"),
    *("clock text", "lunch", "evening", "long"),
    *("breakfast as text", "apple", "Banana"),
    *("no", "yes", "error", "empty"),
]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    with opened(tmp_path_factory.mktemp("mixed"), [*MIXED.values()]) as surface:
        yield surface


def named(rows: Sequence[int]) -> list[str]:
    return [[*MIXED][row - 2] for row in rows]


def test_cells_are_ordered_by_class_and_value(mixed: Surface) -> None:
    """The order is numbers, dates, times, texts, booleans, errors. Empty cells are always last."""
    assert named(listed(mixed, order="f")) == ORDER
    assert named(listed(mixed, order="-f")) == [*ORDER[-2::-1], "empty"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("9.90", ["price"]),
        ("9.90 kr", ["price"]),
        ({"$ne": "9.9"}, [name for name in MIXED if name != "price"]),
        (True, ["yes"]),
        ("TRUE", ["yes"]),
        ("#DIV/0!", ["error"]),
        (None, ["empty"]),
        ("", ["empty"]),
        ({"$ne": None}, [name for name in MIXED if name != "empty"]),
        (
            {"$nin": [None, "#DIV/0!", True]},
            [name for name in MIXED if name not in ("yes", "error", "empty")],
        ),
        ({"$exists": True}, [name for name in MIXED if name != "empty"]),
        ("2026-01-05t00:00", ["typed January"]),
        ("2026-01-05 00:00:00", ["typed January"]),
        ("2026-01-05T00:00:00+02:00", ["typed January"]),
        ("2026-03-01T00:00:00.0004Z", ["typed March"]),
        ({"$gt": "2026-01-05T23:00:00Z"}, ["typed March", "February as text"]),
        ("2026-02-01", ["February as text"]),
        ("PT13H", []),
        ({"$in": ["21:00", "PT25H30M"]}, ["evening", "long"]),
        ({"$lt": "2026-02-15"}, ["typed January", "February as text"]),
        ({"$lt": "2030-01-01"}, ["typed January", "typed March", "February as text"]),
        ({"$gte": "12:00"}, ["lunch", "evening", "clock text", "long"]),
        ({"$gt": "9.90 kr"}, ["million", "francs"]),
        ({"$gte": "5 kg"}, ["price", "weight", "million", "francs"]),
        ({"$gt": "a", "$lt": "B"}, ["apple"]),
        ({"$lt": True}, ["no"]),
        ({"$gte": ""}, []),
        ({"$lte": 5}, ["weight", "negative"]),
    ],
    ids=str,
)
def test_conditions_compare_the_value(
    mixed: Surface, condition: object, expected: Sequence[str]
) -> None:
    """Each kind of operand finds its cells in worksheet order, without a call."""
    reads = mixed.calls.reads

    assert named(listed(mixed, where={"f": condition})) == expected
    assert mixed.calls.reads in (reads, reads + 2)


MILLISECOND = 1 / 86_400_000
RANGES: Mapping[str, tuple[Cells, str, Sequence[int]]] = {
    "lowest cell with the display": (
        [Formatted(0.014, "1%"), Formatted(0.006, "1%"), Formatted(0.01, "1.0%"), 0.002], "1%",
        [2, 3, 4],
    ),
    "lowest cell with a rounded display": ([9.97, Formatted(9.96, "10.0"), 9.9], "10.0", [2, 3]),
    "text of another class": ([Formatted(5, "$5.00"), 7, "$4.00", "$6.00"], "$5.00", [2, 3]),
    "text that no cell displays": ([Formatted(5, "$5.00"), 7, "$4.00", "$6.00"], "$4.50", [5]),
    "clock that a date displays, too": (
        [Formatted(0.4375, "10:30"), Formatted(0.5, "12:00"), Formatted(DAY + 0.4375, "10:30")],
        "10:30", [2, 3],
    ),
    "clock that only a date displays": (
        [Formatted(DAY + 0.4375, "10:30"), Formatted(DAY, "00:00")], "10:30", [2],
    ),
    "below a millisecond": (
        [Formatted(DAY - 0.4 * MILLISECOND, "2026-01-01"), Formatted(DAY - 2, "2025-12-30")],
        "2026-01-01", [2],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("cells", "operand", "expected"), RANGES.values(), ids=RANGES)
def test_the_place_of_a_displayed_text(
    tmp_path: Path, cells: Cells, operand: str, expected: Sequence[int]
) -> None:
    """A range of a displayed text begins at the lowest cell with this display, in its class."""
    with opened(tmp_path, cells) as surface:
        assert listed(surface, where={"f": {"$gte": operand}}) == expected


@pytest.mark.parametrize("order", ["f", "-f"])
def test_texts_are_ordered_by_folded_form_then_by_code_point(tmp_path: Path, order: str) -> None:
    """Texts are sorted without case, and equal ones by code point. The form of Unicode does not
    count.
    """
    cells = ["b", "B", "a", "ss", "A", "e\u0301", "\u00e9", "\u00c9", "\u00df", "zz", "#N/A", ""]
    expected = ["A", "a", "B", "b", "ss", "\u00df", "zz", "\u00c9", "e\u0301", "\u00e9", "#N/A"]
    if order == "-f":  # equal texts stay in the order of the worksheet
        expected = [*expected[-1:-2:-1], "e\u0301", "\u00e9", *expected[-4::-1]]
    with opened(tmp_path, cells) as surface:
        rows = listed(surface, order=order)

    assert [cells[row - 2] for row in rows] == [*expected, ""]


@pytest.mark.parametrize("operand", [9.9, "9.90", "2026-02-01", "14:05", "apple", "5 kg", False])
def test_ranges_part_a_class(mixed: Surface, operand: object) -> None:
    """Below, equal and above together give all cells of the operand's class, in order."""
    parts = [
        named(listed(mixed, where={"f": {word: operand}}, order="f"))
        for word in ("$lt", "$eq", "$gt")
    ]
    together = [name for part in parts for name in part]

    assert together == [name for name in ORDER if name in together]
    assert all(ORDER.index(above) == ORDER.index(below) + 1 for below, above in pairwise(together))
