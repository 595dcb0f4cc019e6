"""Where a request may carry its key and its spreadsheet id."""

import pytest

from gateway.errors import (
    AmbiguousCredentials,
    GatewayError,
    KeyNotAllowedInUrl,
    MissingApiKey,
)
from gateway.web.credentials import Credentials, find_credentials
from gateway.web.head import read_head
from gateway.web.query_string import sift

FORM = "application/x-www-form-urlencoded"
Pairs = list[tuple[str, str]]


def find(headers: Pairs, query: str = "", *, is_write: bool = False) -> Credentials:
    """The credentials of a request with these headers, each sent as its own line."""
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    in_url = sift(query.encode("latin-1")).credentials
    return find_credentials(read_head(raw), in_url, is_write=is_write)


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
@pytest.mark.parametrize(
    "header",
    [
        ("Authorization", "Bearer k1"),
        ("Authorization", "bearer k1"),
        ("Authorization", "BEARER   k1  "),
        ("Authorization", "k1"),
        ("authorization", "  k1  "),
        ("API-Key", "k1"),
        ("api-key", " k1 "),
        ("X-API-Key", "k1"),
        ("Authentication", "Bearer k1"),
        ("Authentication", "k1"),
    ],
    ids=": ".join,
)
def test_a_key_is_found_in_every_header(header: tuple[str, str], is_write: bool) -> None:
    """All the places count, for reads and writes, with the blanks around the key cut."""
    assert find([header], is_write=is_write).key == "k1"


@pytest.mark.parametrize(
    "query",
    ["apiKey=k1", "apiKey=%20k1%20", "apiKey=k1&apiKey=k1", "%61piKey=%6B1", "limit=1&apiKey=k1"],
)
def test_a_read_may_carry_its_key_in_the_url(query: str) -> None:
    """The query parameter `apiKey` counts for reads."""
    assert find([], query).key == "k1"


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([("Authorization", "")], "apiKey=", id="empty"),
        pytest.param([("API-Key", "  ")], "apiKey=%20", id="blank"),
        pytest.param([("Authorization", "Bearer")], "", id="scheme alone"),
        pytest.param([("Authorization", "Bearer  ")], "", id="scheme and blanks"),
        pytest.param([("X-Spreadsheet-Id", " ")], "spreadsheetId=", id="no spreadsheet"),
        pytest.param([("Key", "k1")], "apikey=k1&api_key=k1&key=k1", id="elsewhere"),
    ],
)
def test_what_is_empty_is_absent(headers: Pairs, query: str) -> None:
    """A request without a key or an id has None."""
    assert find(headers, query) == Credentials(key=None, spreadsheet=None)


def test_another_scheme_is_part_of_a_wrong_key() -> None:
    """Only Bearer is taken off, and only where a scheme belongs."""
    assert find([("Authorization", "Basic azE=")]).key == "Basic azE="
    assert find([("API-Key", "Bearer k1")]).key == "Bearer k1"


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        pytest.param([("X-Spreadsheet-Id", "s1")], "", id="header"),
        pytest.param([("X-Sheetson-Spreadsheet-Id", " s1 ")], "", id="Sheetson's header"),
        pytest.param([], "spreadsheetId=s1", id="query"),
        pytest.param([("X-Spreadsheet-Id", "s1")], "spreadsheetId=%20s1", id="both, alike"),
    ],
)
@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
def test_a_spreadsheet_id_is_found_in_every_place(
    headers: Pairs, query: str, is_write: bool
) -> None:
    """Reads and writes may name the spreadsheet in a header or in the URL."""
    assert find(headers, query, is_write=is_write).spreadsheet == "s1"


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        pytest.param([("Authorization", "Bearer k1"), ("API-Key", "k2")], "", id="two headers"),
        pytest.param([("API-Key", "k1"), ("API-Key", "k2")], "", id="one header twice"),
        pytest.param([("API-Key", "k1")], "apiKey=k2", id="header and URL"),
        pytest.param([], "apiKey=k1&apiKey=k2", id="URL twice"),
        pytest.param([("API-Key", "k1"), ("X-API-Key", "K1")], "", id="case counts"),
    ],
)
@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
def test_different_keys_are_ambiguous(headers: Pairs, query: str, is_write: bool) -> None:
    """Two keys in one request are an error, whichever would be right; neither is repeated."""
    with pytest.raises(AmbiguousCredentials, match="API keys") as refused:
        find(headers, query, is_write=is_write)

    assert "k1" not in refused.value.message


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        pytest.param(
            [("X-Spreadsheet-Id", "s1"), ("X-Sheetson-Spreadsheet-Id", "s2")], "", id="headers"
        ),
        pytest.param([("X-Spreadsheet-Id", "s1")], "spreadsheetId=s2", id="header and URL"),
        pytest.param([], "spreadsheetId=s1&spreadsheetId=s2", id="URL twice"),
    ],
)
def test_different_spreadsheet_ids_are_ambiguous(headers: Pairs, query: str) -> None:
    """Two ids in one request are an error."""
    with pytest.raises(AmbiguousCredentials, match="spreadsheet ids"):
        find([("API-Key", "k1"), *headers], query)


def test_the_same_key_in_two_places_is_one_key() -> None:
    """Places that agree are no trouble, also where one of them is a write's URL."""
    headers = [("Authorization", "Bearer k1"), ("X-API-Key", "k1")]

    assert find(headers, "apiKey=k1", is_write=True).key == "k1"


@pytest.mark.parametrize(
    ("headers", "query", "error", "detail"),
    [
        pytest.param([], "apiKey=k1", KeyNotAllowedInUrl, "may only read", id="key in the URL"),
        pytest.param(
            [("Content-Type", FORM)], "apiKey=k1", KeyNotAllowedInUrl, "only read", id="and a form"
        ),
        pytest.param([("Content-Type", FORM)], "", MissingApiKey, "add -G", id="key in a form"),
        pytest.param(
            [("Content-Type", f"{FORM}; charset=utf-8")], "", MissingApiKey, "add -G", id="charset"
        ),
    ],
)
def test_writes_without_a_key_in_a_header_are_told_why(
    headers: Pairs, query: str, error: type[GatewayError], detail: str
) -> None:
    """A write's key in its URL or in a form does not count, and the message says so."""
    with pytest.raises(error, match=detail) as refused:
        find(headers, query, is_write=True)

    assert refused.value.status == 401
    assert "Authorization: Bearer" in refused.value.message


def test_a_form_with_a_key_in_a_header_is_a_write() -> None:
    """A form is a body like any other where the key is in its place."""
    found = find([("Content-Type", FORM), ("API-Key", "k1")], is_write=True)

    assert found.key == "k1"


def test_a_read_of_a_form_is_just_without_a_key() -> None:
    """The advice on forms is for writes."""
    assert find([("Content-Type", FORM)]).key is None
