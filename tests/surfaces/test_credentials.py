"""Credentials: every place of a key and a spreadsheet ID, and every text that is neither."""

from pathlib import Path

import pytest

from gateway.access.keys import mint_key
from tests.fakes import BOOK
from tests.journeys.failure import anonymous, refused
from tests.journeys.operations import JSON, OPERATIONS, READS, ROW, WRITES
from tests.surfaces.stage import Headers, Surface, open_surface

FORM = "application/x-www-form-urlencoded"
HEADERS = ["Authorization", "API-Key", "X-API-Key", "Authentication"]
ID_HEADERS = ["X-Spreadsheet-Id", "X-Sheetson-Spreadsheet-Id"]
BOTH = pytest.mark.parametrize("method", ["GET", "PUT"], ids=["read", "write"])


def with_keys(surface: Surface, pairs: Headers) -> Headers:
    """The headers with `{paid}` and `{free}` replaced by keys."""
    return [(name, value.format_map(surface.keys)) for name, value in pairs]


@BOTH
@pytest.mark.parametrize(
    "header",
    [
        ("Authorization", "Bearer {paid}"),
        ("Authorization", "bearer {paid}"),
        ("Authorization", "BEARER   {paid}  "),
        ("Authorization", "  {paid}  "),
        ("API-Key", "{paid}"),
        ("API-Key", "  {paid} "),
        ("X-API-Key", "  {paid} "),
        ("Authentication", "Bearer {paid}"),
        ("Authentication", "{paid}"),
    ],
    ids=": ".join,
)
def test_key_in_a_header(surface: Surface, header: tuple[str, str], method: str) -> None:
    """Four headers can hold the key, with and without the scheme Bearer."""
    sent = with_keys(surface, [header])

    answer = surface.send(method, "Cities/2", key=None, headers=sent, body=ROW)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        "apiKey={0}",
        "apiKey=%20{0}%20",
        "apiKey={0}&apiKey={0}",
        "apiKey={0}&apiKey=",
        "%61piKey={0}",
        "keys=name&apiKey={0}",
        "apiKey={0}&spreadsheetId=%20book%20",
    ],
)
@pytest.mark.parametrize(("method", "path"), [*READS, pytest.param("HEAD", "Cities", id="head")])
def test_key_of_a_read_in_the_url(surface: Surface, method: str, path: str, query: str) -> None:
    """GET and HEAD take the key from the URL."""
    target = f"{path.partition('?')[0]}?{query.format(surface.keys['paid'])}"

    answer = surface.send(method, target, key=None, spreadsheet=None)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([("Authorization", "")], "apiKey=", id="empty"),
        pytest.param([("API-Key", "  ")], "apiKey=%20", id="blank"),
        pytest.param([("Authorization", "Bearer")], "", id="scheme alone"),
        pytest.param([("Authorization", "Bearer  ")], "", id="scheme and blanks"),
        pytest.param([("Key", "{paid}")], "apikey=k1&api_key=k1&key=k1", id="elsewhere"),
    ],
)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_key(surface: Surface, method: str, path: str, headers: Headers, query: str) -> None:
    """Every operation needs a key. The error says where to send it."""
    sent = with_keys(surface, headers)
    target = f"{path}{'&' if '?' in path else '?'}{query}"

    code, answer = surface.refused(method, target, key=None, headers=[*sent, JSON], body=ROW)

    assert code == (401, 4010)
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answer.json()["message"]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x", id="short"),
        pytest.param("sgw_", id="prefix only"),
        pytest.param("sgw_" + "a" * 36, id="wrong checksum"),
        pytest.param("Basic dXNlcjpwYXNz", id="another scheme"),
        pytest.param("Bearer Bearer {paid}", id="scheme twice"),
        pytest.param("Bearer a b", id="blank inside"),
        pytest.param("Bearer null", id="null"),
        pytest.param("Bearer <API_KEY>", id="placeholder"),
        pytest.param("Bearer sch\xfcssel", id="not ASCII"),
        pytest.param("Bearer " + "\xff" * 40, id="no text"),
        pytest.param("Bearer " + "k" * 10_000, id="10 KB"),
        pytest.param("Bearer ' OR 1=1 --", id="SQL"),
        pytest.param('{{"key": "x"}}', id="JSON"),
    ],
)
@pytest.mark.parametrize("header", HEADERS)
@BOTH
def test_text_that_is_no_key(surface: Surface, header: str, value: str, method: str) -> None:
    """Any other text in place of a key is an invalid key."""
    sent = with_keys(surface, [(header, value)])

    code, _ = surface.refused(method, "Cities/2", key=None, headers=sent, body=ROW)

    assert code == (401, 4011)


@pytest.mark.parametrize("header", ["API-Key", "X-API-Key"])
def test_scheme_in_a_header_without_one(surface: Surface, header: str) -> None:
    """Bearer is removed only from headers that have a scheme."""
    sent = with_keys(surface, [(header, "Bearer {paid}")])

    assert surface.refused("GET", "Cities", key=None, headers=sent)[0] == (401, 4011)


@pytest.mark.parametrize("value", ["%ff", "%00", "x%0d%0ay", "null", "k" * 7000, "%F0%9F%94%91"])
@BOTH
def test_text_that_is_no_key_in_the_url(surface: Surface, value: str, method: str) -> None:
    """An invalid key in the URL gets the error of a wrong key, in reads and writes."""
    code, _ = surface.refused(method, f"Cities/2?apiKey={value}", key=None, body=ROW)

    assert code == (401, 4011)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("query", "headers"),
    [
        pytest.param("", [("API-Key", "sgw_wrong")], id="header"),
        pytest.param("?spreadsheetId=book", [("API-Key", "sgw_wrong")], id="and an ID in the URL"),
        pytest.param("?apiKey=sgw_wrong", [("API-Key", "sgw_wrong")], id="header and URL"),
        pytest.param("?apiKey=sgw_wrong", [], id="URL"),
    ],
)
def test_a_wrong_key_counts_once(tmp_path: Path, method: str, query: str, headers: Headers) -> None:
    """Each request with a wrong key counts once for the limit of its address."""
    with open_surface(tmp_path, overrides={"access.failures_per_minute": 3}) as surface:
        for _ in range(2):
            surface.send(method, f"Cities/2{query}", key=None, headers=headers, body=ROW)
        codes = [
            refused(surface.send("GET", "Cities", key=None, headers=[("API-Key", "sgw_wrong")]))[1]
            for _ in range(2)
        ]

    assert codes == [4011, 4292]


@pytest.mark.parametrize("spreadsheet", [BOOK, "other", "unknown", None])
def test_invalid_keys_answer_alike(surface: Surface, spreadsheet: str | None) -> None:
    """Mistyped, unknown, revoked and expired keys get the same bytes."""
    bad = [surface.keys["paid"][:-1] + "!", mint_key(), surface.keys["revoked"]]
    bad.append(surface.keys["expired"])

    answers = [
        surface.send(
            method,
            "Cities/2",
            key=None,
            spreadsheet=spreadsheet,
            headers=[("Authorization", f"Bearer {key}")],
        )
        for key in bad
        for method in ("GET", "HEAD")
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert len({anonymous(answer) for answer in answers[::2]}) == 1
    assert refused(answers[0]) == (401, 4011)
    assert (surface.calls.reads, surface.calls.writes) == (0, 0)


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        *(
            pytest.param(
                [("Authorization", "Bearer {paid}"), (header, other)], "", id=f"{header}: {other}"
            )
            for header in HEADERS
            for other in ("{free}", "wrong", "Bearer {free}")
        ),
        pytest.param([("API-Key", "k1"), ("X-API-Key", "K1")], "", id="case counts"),
        pytest.param([("API-Key", "{paid}")], "apiKey={free}", id="header and URL"),
        pytest.param([], "apiKey={paid}&apiKey={free}", id="URL twice"),
    ],
)
@BOTH
def test_different_keys(surface: Surface, headers: Headers, query: str, method: str) -> None:
    """Two different keys in one request are an error, even if one is valid.

    The error repeats neither key.
    """
    sent = with_keys(surface, headers)
    target = f"Cities/2?{query.format_map(surface.keys)}"

    for order in (sent, sent[::-1]):
        code, answer = surface.refused(method, target, key=None, headers=order, body=ROW)

        assert code == (400, 4001)
        assert "API keys" in answer.json()["message"]
        assert "sgw_" not in answer.json()["message"]


@BOTH
def test_same_key_everywhere(surface: Surface, method: str) -> None:
    """The same key in several places is one key, even in the URL of a write.

    Blank keys do not count.
    """
    key = surface.keys["paid"]
    sent = [(name, text) for name in HEADERS for text in (key, "", " ", key)]

    answer = surface.send(method, f"Cities/2?apiKey={key}", key=None, headers=sent, body=ROW)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("headers", "query", "body", "code", "said"),
    [
        pytest.param([JSON], "apiKey={paid}", ROW, 4012, "can only read", id="in the URL"),
        pytest.param(
            [("Content-Type", FORM)], "apiKey={paid}", b"name=x", 4012, "only read", id="and a form"
        ),
        pytest.param(
            [("Content-Type", FORM)], "", b"apiKey=k&limit=5", 4010, "add -G", id="in a form"
        ),
        pytest.param(
            [("Content-Type", f"{FORM}; charset=utf-8")], "", b"a=1", 4010, "add -G", id="charset"
        ),
        pytest.param([JSON], "", b'{"name":"x","apiKey":"k"}', 4010, "Bearer", id="in JSON"),
    ],
)
@pytest.mark.parametrize(("method", "path"), WRITES)
def test_key_of_a_write_outside_its_headers(
    surface: Surface,
    method: str,
    path: str,
    headers: Headers,
    query: str,
    body: bytes,
    code: int,
    said: str,
) -> None:
    """A write's key in its URL or body does not count, and the message says so."""
    target = f"{path}?{query.format_map(surface.keys)}"

    refusal, answer = surface.refused(
        method, target, key=None, spreadsheet=None, headers=headers, body=body
    )

    assert refusal == (401, code)
    assert said in answer.json()["message"]
    assert "Authorization: Bearer" in answer.json()["message"]
    assert "bearer" in answer.headers["www-authenticate"].lower()


def test_advice_on_forms_is_for_writes(surface: Surface) -> None:
    """A read with the content type of a form gets no advice on forms.

    A form with a key is written.
    """
    _, answer = surface.refused("GET", "Cities", key=None, headers=[("Content-Type", FORM)])
    created = surface.send("POST", "New", headers=[("Content-Type", FORM)], body=b"name=x")

    assert "-G" not in answer.json()["message"]
    assert created.status_code == 201


@BOTH
@pytest.mark.parametrize(
    ("headers", "query"),
    [
        pytest.param([("X-Spreadsheet-Id", "book")], "", id="header"),
        pytest.param([("X-Sheetson-Spreadsheet-Id", "  book ")], "", id="Sheetson's header"),
        pytest.param([], "spreadsheetId=book", id="URL"),
        pytest.param([("X-Spreadsheet-Id", "book")], "spreadsheetId=%20book", id="both, alike"),
        pytest.param([("X-Spreadsheet-Id", "book")], "spreadsheetId=", id="and an empty one"),
    ],
)
def test_spreadsheet_id(surface: Surface, headers: Headers, query: str, method: str) -> None:
    """Reads and writes can name the spreadsheet in a header or in the URL."""
    answer = surface.send(
        method, f"Cities/2?{query}", key="two", spreadsheet=None, headers=headers, body=ROW
    )

    assert answer.status_code == 200


@pytest.mark.parametrize("sent", [[], [("X-Spreadsheet-Id", "")], [("X-Spreadsheet-Id", "  ")]])
@pytest.mark.parametrize("key", ["paid", "cities", "read-only"])
def test_only_granted_spreadsheet_needs_no_id(surface: Surface, key: str, sent: Headers) -> None:
    """A key with only one spreadsheet needs no spreadsheet ID."""
    answer = surface.send("GET", "Cities/2", key=key, spreadsheet=None, headers=sent)

    assert answer.json()["name"] == "New York"


@pytest.mark.parametrize("key", ["two", "any"])
@pytest.mark.parametrize("body", [ROW, b'{"name":"x","spreadsheetId":"book"}'], ids=["no", "body"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_key_of_several_spreadsheets_needs_an_id(
    surface: Surface, method: str, path: str, body: bytes, key: str
) -> None:
    """A key with several spreadsheets needs an ID. An ID in the body does not count."""
    code, answer = surface.refused(method, path, key=key, spreadsheet=None, body=body)

    assert code == (400, 101)
    assert "X-Spreadsheet-Id" in answer.json()["message"]


@pytest.mark.parametrize(
    "value",
    [
        *(
            "a%2Fb",
            "../../drive/v3/files",
            "abc/values/X!A1?x=",
            "abc:batchUpdate?x=",
            "abc#",
            "book/",
        ),
        *("book.", "bo ok", "book%00", "book\t1", "book;", "..", ".", "*", "book,other"),
        *("d" * 129, "boo\xf6", "\xff\xfe", "https://docs.google.com/spreadsheets/d/book/edit"),
    ],
)
@pytest.mark.parametrize("key", ["paid", "any"])
@pytest.mark.parametrize("header", ID_HEADERS)
@BOTH
def test_text_that_is_no_spreadsheet_id(
    surface: Surface, key: str, header: str, value: str, method: str
) -> None:
    """A malformed spreadsheet ID is rejected, because it becomes part of Google's URL."""
    code, _ = surface.refused(
        method, "Cities/2", key=key, spreadsheet=None, headers=[(header, value)], body=ROW
    )

    assert code == (400, 101)


@pytest.mark.parametrize(
    "value",
    [
        *("..%2F..%2Fdrive%2Fv3%2Ffiles", "abc%2Fvalues%2FX!A1%3Fx%3D", "abc:batchUpdate%3Fx="),
        *("abc%23", "book%0d%0aX-Evil:%201", "book%00", "bo%0Aok", "%ff", "%E2%80%8Bbook", "a+b"),
    ],
)
def test_text_that_is_no_spreadsheet_id_in_the_url(surface: Surface, value: str) -> None:
    """A malformed spreadsheet ID in the URL is rejected before Google is called."""
    target = f"Cities/2?spreadsheetId={value}"

    assert surface.refused("GET", target, key="any", spreadsheet=None)[0] == (400, 101)


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        pytest.param([("X-Spreadsheet-Id", "book"), ("X-Spreadsheet-Id", "other")], "", id="twice"),
        pytest.param(
            [("X-Spreadsheet-Id", "book"), ("X-Sheetson-Spreadsheet-Id", "other")], "", id="headers"
        ),
        pytest.param(
            [("X-Spreadsheet-Id", "../x"), ("X-Sheetson-Spreadsheet-Id", "book")], "", id="no id"
        ),
        pytest.param([("X-Spreadsheet-Id", "book")], "spreadsheetId=other", id="header and URL"),
        pytest.param([], "spreadsheetId=book&spreadsheetId=other", id="URL twice"),
    ],
)
@BOTH
def test_different_spreadsheet_ids(
    surface: Surface, headers: Headers, query: str, method: str
) -> None:
    """Two IDs in one request are an error, whether the key can use them or not."""
    for order in (headers, headers[::-1]):
        code, answer = surface.refused(
            method, f"Cities/2?{query}", key="two", spreadsheet=None, headers=order, body=ROW
        )

        assert code == (400, 4001)
        assert "spreadsheet IDs" in answer.json()["message"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("Token {paid}", "Token is not a scheme of this API. Send the key as 'Authorization"),
        ("token={paid}", "Token is not a scheme"),
        ("Basic dXNlcjpwYXNz", "Basic is not a scheme"),
        ("ApiKey {paid}", "ApiKey is not a scheme"),
        ("Authorization: Bearer {paid}", "Authorization is not a scheme"),
        ("Bearer Bearer {paid}", "'Bearer' is repeated"),
        ("Bearer: {paid}", "'Bearer' is repeated, has no blank after it"),
        ("Bearer%20{paid}", "'Bearer' is repeated, has no blank after it"),
        ('Bearer "{paid}"', "There is a quote or a bracket before the key"),
        ('"{paid}"', "There is a quote or a bracket before the key"),
        ("Bearer \xe2\x80\x9c{paid}\xe2\x80\x9d", "There is a quote or a bracket before the key"),
        ("Bearer <API_KEY>", "There is a quote or a bracket before the key"),
        ("Bearer ${{API_KEY}}", "There is a quote or a bracket before the key"),
        ("Bearer undefined", "so the variable for the key is empty"),
    ],
)
@BOTH
def test_text_around_a_key(surface: Surface, value: str, said: str, method: str) -> None:
    """The error names the scheme or character around the key, and repeats nothing of the key."""
    sent = with_keys(surface, [("Authorization", value)])

    code, answer = surface.refused(method, "Cities/2", key=None, headers=sent, body=ROW)

    assert code == (401, 4011)
    assert said in answer.json()["message"]
    assert "sgw_" not in answer.json()["message"]
    assert "dXNlc" not in answer.json()["message"]
    assert answer.headers["www-authenticate"] == "Bearer"


def test_scheme_in_a_place_for_the_key_alone(surface: Surface) -> None:
    """API-Key and the URL take no scheme, and the error says so."""
    sent = with_keys(surface, [("API-Key", "Bearer {paid}")])
    in_url = f"Cities?apiKey=Bearer%20{surface.keys['paid']}"

    answers = [
        surface.refused("GET", "Cities", key=None, headers=sent),
        surface.refused("GET", in_url, key=None),
    ]

    for code, answer in answers:
        assert code == (401, 4011)
        assert "or is in a header for the key alone" in answer.json()["message"]
