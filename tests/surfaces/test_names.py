"""Names of worksheets and fields: other spellings in Unicode, commas, and signs of `order`."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, urlencode

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from tests.asgi_client import Answer
from tests.fakes import FakeWorksheet
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Surface, open_surface

SIZE = "Gr\u00f6\u00dfe"
CAFE = "Caf\u00e9"
TWINS = "M\u00fcll"
REPORTS = "\u00dcbersicht"
NEVER_ASKED = "Zubeh\u00f6r"


Spell = Callable[[str], str]


def nfd(text: str) -> str:
    return normalize("NFD", text)


BOTH: Mapping[str, Spell] = {"nfc": str, "nfd": nfd}
KEYS = {
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED)),
    **{
        name: KeyRequest(
            name=name,
            grants=Grants(
                spreadsheets=GRANTED,
                worksheets=frozenset(map(spell, (CAFE, TWINS, NEVER_ASKED))),
                columns=ColumnGrant(frozenset({spell(SIZE), "n"}), frozenset({spell(SIZE)})),
            ),
        )
        for name, spell in BOTH.items()
    },
    "parts": KeyRequest(
        name="parts",
        grants=Grants(
            spreadsheets=GRANTED, columns=ColumnGrant(frozenset({"City", "State", "n", "delta"}))
        ),
    ),
}
OPTIONS = {"plans.paid.requests_per_minute": 6_000}
PLACES = ["City, State", "n", "City", "State", "-delta", "delta"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """Open a gateway with keys that were granted names in either spelling."""
    with open_surface(tmp_path_factory.mktemp("names"), KEYS, OPTIONS) as surface:
        yield surface


@pytest.fixture
def surface(opened: Surface) -> Surface:
    """Return worksheets whose names have decomposed letters, commas and signs."""
    opened.reset()
    for title in (CAFE, REPORTS):
        opened.sheets.add(nfd(title), [[nfd(SIZE), "n"], [nfd("\u00e9"), "1"], ["z", "2"]])
    opened.sheets.add(TWINS, [[SIZE, nfd(SIZE), "n"], ["composed", "hidden", "1"]])
    opened.sheets.add(nfd(TWINS), [[SIZE, nfd(SIZE), "n"], ["hidden", "decomposed", "1"]])
    opened.sheets.add(
        "Places",
        [PLACES, ["Reno, NV", "1", "A", "a", "1", "2"], ["Ames, IA", "2", "Z", "b", "2", "1"]],
    )
    opened.sheets.add("Towns", [["City", "State", "n"], ["b", "x", "1"], ["a", "y", "2"]])
    return opened


def path(title: str, row: int | str = "", **parameters: str) -> str:
    """Return the target of a request."""
    target = quote(title, safe="") + (f"/{row}" if row else "")
    return f"{target}?{urlencode(parameters)}" if parameters else target


def rows(answer: Answer) -> list[int]:
    assert answer.status_code == 200, answer.content
    return [record["rowIndex"] for record in answer.json()["results"]]


def send_json(surface: Surface, method: str, target: str, body: object, **options: Any) -> Answer:
    headers = [("Content-Type", "application/json")]
    return surface.send(method, target, headers=headers, body=json.dumps(body).encode(), **options)


def worksheet(surface: Surface, title: str) -> FakeWorksheet:
    return next(each for each in surface.sheets.worksheets if each.title == title)


@pytest.mark.parametrize("spell", BOTH.values(), ids=BOTH)
def test_a_worksheet_is_found_in_either_spelling(surface: Surface, spell: Spell) -> None:
    """The only tab whose title is the same in NFC is used."""
    assert rows(surface.send("GET", path(spell(CAFE)))) == [2, 3]
    assert surface.send("GET", path(spell(CAFE), 3)).json()["n"] == "2"


@pytest.mark.parametrize("spell", BOTH.values(), ids=BOTH)
def test_the_exact_name_of_a_worksheet_comes_first(surface: Surface, spell: Spell) -> None:
    """Of two tabs with equal NFC titles, the exact title selects one."""
    found = surface.send("GET", path(spell(TWINS), 2)).json()

    assert (
        found[spell(SIZE)]
        == {"nfc": "composed", "nfd": "decomposed"}[
            next(name for name, each in BOTH.items() if each is spell)
        ]
    )


def test_another_spelling_costs_calls_once(surface: Surface) -> None:
    """The first read of another spelling costs two more reads.

    Later reads cost the same as usual.
    """
    surface.send("GET", path(nfd(REPORTS)))
    spent = surface.calls.reads
    surface.send("GET", path(nfd(REPORTS)))
    usual, spent = surface.calls.reads - spent, surface.calls.reads
    surface.send("GET", path(REPORTS))
    first, spent = surface.calls.reads - spent, surface.calls.reads
    surface.send("GET", path(REPORTS))

    assert (first, surface.calls.reads - spent) == (usual + 2, usual)


def test_both_spellings_write_to_one_worksheet(surface: Surface) -> None:
    """Rows are created one below the other, and the answer has the names of the sheet."""
    titles = [CAFE, nfd(CAFE)] * 2
    answers = [send_json(surface, "POST", path(title), {SIZE: title}) for title in titles]

    assert [answer.status_code for answer in answers] == [201] * 4
    assert [answer.json()["rowIndex"] for answer in answers] == [4, 5, 6, 7]
    assert {answer.headers["location"] for answer in answers} == {
        f"/v2/sheets/{path(nfd(CAFE))}/{row}" for row in (4, 5, 6, 7)
    }
    assert answers[0].json() == {"rowIndex": 4, nfd(SIZE): CAFE}


READS = {
    "where": {"where": json.dumps({SIZE: "z"})},
    "order": {"order": f"-{SIZE}", "limit": "1"},
    "a value": {"where": json.dumps({nfd(SIZE): {"$gt": "y", "$ne": "\u00e9"}})},
}


@pytest.mark.parametrize("parameters", READS.values(), ids=READS)
def test_parameters_name_fields_in_either_spelling(
    surface: Surface, parameters: dict[str, str]
) -> None:
    """`where` and `order` accept either spelling of a field, and `where` of a value."""
    expected = [2] if "order" in parameters else [3]

    assert rows(surface.send("GET", path(nfd(CAFE), **parameters))) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"$eq": "\u00e9"}, [2]),
        ({"$eq": "e\u0301"}, [2]),
        ({"$ne": "\u00e9"}, [3]),
        ({"$in": ["\u00e9", "z"]}, [2, 3]),
        ({"$nin": ["\u00e9"]}, [3]),
        ({"$gt": "z"}, [2]),
        ({"$text": "\u00c9"}, [2]),
        ({"$text": "E\u0301"}, [2]),
        ({"$text": "e"}, []),
    ],
    ids=ascii,
)
def test_text_values_compare_in_nfc(
    surface: Surface, condition: dict[str, object], expected: list[int]
) -> None:
    """Decomposed and composed letters of values are equal, with and without case."""
    where = json.dumps({SIZE: condition})

    assert rows(surface.send("GET", path(nfd(CAFE), where=where))) == expected


def test_keys_name_fields_in_either_spelling(surface: Surface) -> None:
    """`keys` accepts either spelling. The answer has the name of the sheet."""
    answer = surface.send("GET", path(nfd(CAFE), 3, keys=SIZE))

    assert answer.json() == {"rowIndex": 3, nfd(SIZE): "z"}


@pytest.mark.parametrize(
    ("method", "target", "body", "changed"),
    [
        pytest.param("POST", path(CAFE), {SIZE: "new"}, [4, "new"], id="create"),
        pytest.param("POST", path(CAFE), [{SIZE: "new"}], [4, "new"], id="create of a list"),
        pytest.param("PATCH", path(CAFE, 3), {SIZE: "y"}, [3, "y"], id="update"),
        pytest.param("PUT", path(CAFE, 3), {SIZE: "y"}, [3, "y"], id="put"),
        pytest.param(
            "PATCH", path(CAFE), [{"rowIndex": 3, SIZE: "y"}], [3, "y"], id="update of a list"
        ),
        pytest.param(
            "PATCH",
            path(CAFE, where=json.dumps({SIZE: "\u00e9"})),
            {SIZE: "y"},
            [2, "y"],
            id="update by filter",
        ),
        pytest.param(
            "POST",
            path(CAFE, on_conflict=SIZE),
            {SIZE: "\u00e9", "n": 7},
            [2, "e\u0301", "7"],
            id="upsert of a row that is there",
        ),
        pytest.param(
            "POST",
            path(CAFE, on_conflict=nfd(SIZE)),
            {SIZE: "new"},
            [4, "new"],
            id="upsert of a new row",
        ),
    ],
)
def test_bodies_name_fields_in_either_spelling(
    surface: Surface, method: str, target: str, body: object, changed: list[Any]
) -> None:
    """Each write finds its column and its row."""
    answer = send_json(surface, method, target, body)
    row, *cells = changed

    assert answer.status_code in (200, 201), answer.content
    assert worksheet(surface, nfd(CAFE)).lines()[row - 1][: len(cells)] == cells


@pytest.mark.parametrize(
    ("target", "body"),
    [
        pytest.param(path(CAFE), {SIZE: 1, nfd(SIZE): 2}, id="create"),
        pytest.param(path(CAFE, 2), {nfd(SIZE): 1, SIZE: 2}, id="update"),
        pytest.param(path(CAFE, on_conflict=SIZE), {SIZE: 1, nfd(SIZE): 2}, id="upsert"),
        pytest.param(
            path(CAFE, on_conflict=SIZE), [{SIZE: "\u00e4"}, {SIZE: "a\u0308"}], id="keys"
        ),
    ],
)
def test_two_spellings_of_a_field_or_key_are_refused(
    surface: Surface, target: str, body: object
) -> None:
    """Two spellings of one field are rejected, and nothing is written."""
    answer = send_json(surface, "POST", target, body)

    assert refused(answer) == (400, 104)
    assert surface.calls.writes == 0


def test_both_fields_may_be_sent_if_the_worksheet_has_both(surface: Surface) -> None:
    """A record with both spellings as two fields can be written back."""
    record = surface.send("GET", path(TWINS, 2)).json()
    record[nfd(SIZE)] = "changed"

    answer = send_json(surface, "PATCH", path(TWINS, 2), record)

    assert answer.status_code == 200
    assert worksheet(surface, TWINS).lines()[1] == ["composed", "changed", "1"]


@pytest.mark.parametrize("asked", BOTH.values(), ids=BOTH)
@pytest.mark.parametrize("key", BOTH)
def test_a_grant_in_another_spelling_is_for_the_only_such_name(
    surface: Surface, key: str, asked: Spell
) -> None:
    """A grant in another spelling applies to the only tab or field with the same NFC name."""
    read = surface.send("GET", path(asked(CAFE), 2), key=key)
    written = send_json(surface, "PATCH", path(asked(CAFE), 2), {asked(SIZE): "y"}, key=key)
    withheld = send_json(surface, "PATCH", path(asked(CAFE), 2), {"n": "9"}, key=key)

    assert read.json() == {"rowIndex": 2, nfd(SIZE): "e\u0301", "n": "1"}
    assert written.json() == {"rowIndex": 2, nfd(SIZE): "y"}
    assert refused(withheld) == (403, 4032)


@pytest.mark.parametrize("asked", BOTH.values(), ids=BOTH)
@pytest.mark.parametrize(("key", "cell"), [("nfc", "composed"), ("nfd", "decomposed")])
def test_a_grant_is_never_for_a_twin(surface: Surface, key: str, cell: str, asked: Spell) -> None:
    """If two tabs or columns have equal NFC names, a grant applies to the exact name only."""
    spell = BOTH[key]
    read = surface.send("GET", path(asked(TWINS), 2), key=key)
    where = json.dumps({asked(SIZE): cell})
    listed = surface.send("GET", path(asked(TWINS), where=where), key=key)
    send_json(surface, "PATCH", path(asked(TWINS), 2), {asked(SIZE): "mine"}, key=key)
    lines = {title: worksheet(surface, title).lines()[1] for title in (TWINS, nfd(TWINS))}

    assert read.json() == {"rowIndex": 2, spell(SIZE): cell, "n": "1"}
    assert rows(listed) == [2]
    assert lines[spell(TWINS)].count("mine") == 1
    assert lines[spell(TWINS)].count("hidden") == 1
    assert "mine" not in lines[TWINS if key == "nfd" else nfd(TWINS)]


@pytest.mark.parametrize("key", BOTH)
def test_only_granted_worksheets_are_described_and_named(surface: Surface, key: str) -> None:
    """The document and error messages name the granted tabs only, and no similar tab."""
    document = surface.send("GET", "/openapi.json", key=key).json()
    missing = surface.send("GET", path(NEVER_ASKED), key=key).json()["message"]
    tags = [tag["name"] for tag in document["tags"]]

    assert sorted(tags[:-2]) == sorted([nfd(CAFE), BOTH[key](TWINS)])
    assert BOTH[key](TWINS) in missing
    assert BOTH["nfd" if key == "nfc" else "nfc"](TWINS) not in missing


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("City, State", [3, 2]),
        ('["City, State"]', [3, 2]),
        ('["-City, State"]', [2, 3]),
        ("-City, State", [2, 3]),
        ("City,State", [2, 3]),
        ('["City","State"]', [2, 3]),
        ("-delta", [2, 3]),
        ('["-delta"]', [2, 3]),
        ("--delta", [3, 2]),
        ("delta", [3, 2]),
        ("- delta", [2, 3]),
    ],
)
def test_order_may_be_a_name_with_a_comma_or_a_minus(
    surface: Surface, order: str, expected: list[int]
) -> None:
    """A text in `order` that is the name of a field is that field."""
    assert rows(surface.send("GET", path("Places", order=order))) == expected


@pytest.mark.parametrize("name", ["[]", "-", "City,", ",", "-,-", "[ ]"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_order_may_be_a_name_of_signs(surface: Surface, name: str, sign: str) -> None:
    """A field is found in `order` even if its name looks like an empty list or has empty terms."""
    surface.sheets.add(name, [["City", name], ["a", "2"], ["b", "1"], ["c", "3"]])

    found = rows(surface.send("GET", path(name, order=sign + name)))

    assert found == ([4, 2, 3] if sign else [3, 2, 4])


@pytest.mark.parametrize("write", BOTH.values(), ids=BOTH)
@pytest.mark.parametrize("spell", BOTH.values(), ids=BOTH)
def test_a_field_in_capitals_is_no_parameter(surface: Surface, spell: Spell, write: Spell) -> None:
    """A field name in capitals as a parameter is rejected in either spelling.

    Without the accents it is ignored.
    """
    title = write("Sizes \u00e4")
    surface.sheets.add(title, [[write("Fl\u00e4che")], ["1"]])

    code, _ = surface.refused("GET", path(title, **{spell("FL\u00c4CHE"): "1"}), reads=1)
    other = surface.send("GET", path(title, flache="1"))

    assert code == (400, 4002)
    assert other.status_code == 200


def test_a_hidden_field_with_a_comma_is_no_field(surface: Surface) -> None:
    """If the field with a comma is hidden, `order` is read as two fields."""
    seen = [
        rows(surface.send("GET", path("Places", order=order), key="parts"))
        for order in ("City, State", "-delta")
    ]
    towns = rows(surface.send("GET", path("Towns", order="City, State"), key="parts"))

    hidden = surface.send("GET", path("Places", 2, keys="City, State"), key="parts").json()

    assert seen == [[2, 3], [2, 3]]
    assert towns == [3, 2]
    assert hidden == {"rowIndex": 2, "City": "A", "State": "a"}


@pytest.mark.parametrize(
    ("keys", "fields"),
    [
        ("City, State", ["City, State"]),
        ('["City, State", "n"]', ["City, State", "n"]),
        ("City,State", ["City", "State"]),
        ("n,City", ["n", "City"]),
        ("-delta", ["-delta"]),
    ],
)
def test_keys_may_be_a_name_with_a_comma(surface: Surface, keys: str, fields: list[str]) -> None:
    """`keys` can be the name of a field with a comma, for a list and a row."""
    one = surface.send("GET", path("Places", 2, keys=keys)).json()
    listed = surface.send("GET", path("Places", keys=keys, limit="1")).json()["results"]
    sorted_ = surface.send("GET", path("Places", keys=keys, order="n", limit="1")).json()

    assert [*one] == ["rowIndex", *fields]
    assert listed == sorted_["results"] == [one]


def test_a_name_with_a_comma_costs_no_call(surface: Surface) -> None:
    """A field name with a comma costs no further call."""
    surface.send("GET", path("Places", order="n"))
    spent = surface.calls.reads
    surface.send("GET", path("Places", order="n"))
    usual, spent = surface.calls.reads - spent, surface.calls.reads
    surface.send("GET", path("Places", order="City, State"))

    assert surface.calls.reads - spent == usual


@pytest.mark.parametrize("on_conflict", ["City, State", '["City, State"]'])
def test_an_upsert_may_be_by_a_name_with_a_comma(surface: Surface, on_conflict: str) -> None:
    """An upsert by a field with a comma updates the row of the same city."""
    body = {"City, State": "Reno, NV", "delta": 9}

    answer = send_json(surface, "POST", path("Places", on_conflict=on_conflict), body)

    assert [each["created"] for each in answer.json()["results"]] == [False]
    assert worksheet(surface, "Places").lines()[1][-1] == "9"


def test_an_upsert_may_be_by_two_fields(surface: Surface) -> None:
    """If no field has the whole text as its name, `on_conflict` has several fields."""
    body = {"City": "b", "State": "x", "n": 9}

    answer = send_json(surface, "POST", path("Towns", on_conflict="City, State"), body)

    assert [each["created"] for each in answer.json()["results"]] == [False]
    assert worksheet(surface, "Towns").lines()[1] == ["b", "x", "9"]
