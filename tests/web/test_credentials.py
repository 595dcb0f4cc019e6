"""Credentials of a request, and the cache of the reads that they were authorised for."""

from dataclasses import replace

import pytest

from gateway.access.caller import Caller, Grants
from gateway.errors import (
    AmbiguousCredentials,
    GatewayError,
    KeyNotAllowedInUrl,
    MissingApiKey,
)
from gateway.settings.plans import PlanSettings
from gateway.web.credentials import (
    LONGEST_TITLE,
    MAX_KEPT,
    TTL_SECONDS,
    AuthCache,
    Credentials,
    find_credentials,
)
from gateway.web.head import read_head
from gateway.web.query_string import sift
from gateway.worksheets.access import Target
from gateway.worksheets.worksheet_id import WorksheetId
from tests.clock import ManualClock

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


CALLER = Caller(
    key_id="key_1",
    name="k",
    plan_name="paid",
    plan=PlanSettings(),
    grants=Grants(spreadsheets=frozenset({"demo"})),
)
TARGET = Target(WorksheetId("demo", "Cities"))
HEAD = [(b"host", b"x"), (b"authorization", b"Bearer a"), (b"x-spreadsheet-id", b"demo")]


@pytest.fixture
def auth_cache(clock: ManualClock) -> AuthCache:
    return AuthCache(clock)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def number(
    auth_cache: AuthCache,
    lines: list[tuple[bytes, bytes]],
    credentials: bytes = b"",
    segment: str = "Cities",
) -> bytes:
    return auth_cache.number(read_head(lines), credentials, segment)


def test_who_was_let_in_is_let_in_again_for_a_moment(
    auth_cache: AuthCache, clock: ManualClock
) -> None:
    """A pass counts for its time, and no longer."""
    auth_cache.issue(number(auth_cache, HEAD), CALLER, TARGET)
    clock.advance(TTL_SECONDS * 0.9)
    found = auth_cache.find(number(auth_cache, HEAD))
    clock.advance(TTL_SECONDS * 0.1)

    assert found is not None
    assert (found.caller, found.target) == (CALLER, TARGET)
    assert auth_cache.find(number(auth_cache, HEAD)) is None


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([*HEAD[:1], (b"authorization", b"Bearer b"), HEAD[2]], id="another key"),
        pytest.param([*HEAD, (b"authorization", b"Bearer a")], id="the key twice"),
        pytest.param([*HEAD[:1], (b"api-key", b"Bearer a"), HEAD[2]], id="in another header"),
        pytest.param([*HEAD, (b"x-api-key", b"b")], id="a second key"),
        pytest.param([*HEAD, (b"authentication", b"")], id="an empty header"),
        pytest.param([*HEAD[:2], (b"x-spreadsheet-id", b"other")], id="another spreadsheet"),
        pytest.param([*HEAD, (b"x-sheetson-spreadsheet-id", b"x")], id="a second spreadsheet"),
        pytest.param([*HEAD, (b"origin", b"https://a.org")], id="from a page"),
        pytest.param(HEAD[:2], id="no spreadsheet"),
        pytest.param([], id="nothing"),
    ],
)
def test_another_head_has_no_pass(auth_cache: AuthCache, lines: list[tuple[bytes, bytes]]) -> None:
    """Whatever decides who may read what decides about the pass."""
    auth_cache.issue(number(auth_cache, HEAD), CALLER, TARGET)

    assert auth_cache.find(number(auth_cache, lines)) is None


@pytest.mark.parametrize(
    ("credentials", "segment"),
    [(b"apiKey=b", "Cities"), (b"spreadsheetId=x", "Cities"), (b"", "Towns"), (b"", "Cities%20")],
)
def test_so_do_the_url_and_the_worksheet(
    auth_cache: AuthCache, credentials: bytes, segment: str
) -> None:
    """Credentials in the URL and the name in the path are part of what a pass is for."""
    auth_cache.issue(number(auth_cache, HEAD), CALLER, TARGET)

    assert auth_cache.find(number(auth_cache, HEAD, credentials, segment)) is None


def test_other_headers_do_not_matter(auth_cache: AuthCache) -> None:
    """What says nothing about who calls does not spoil a pass."""
    auth_cache.issue(number(auth_cache, HEAD), CALLER, TARGET)

    assert auth_cache.find(
        number(auth_cache, [*HEAD, (b"accept", b"*/*"), (b"x-request-id", b"1")])
    )


def test_no_pass_holds_a_key_nor_is_known_elsewhere(auth_cache: AuthCache) -> None:
    """It is a digest with a secret of its own."""
    ours = number(auth_cache, HEAD)

    assert b"Bearer" not in ours
    assert ours != number(AuthCache(), HEAD)


def test_keys_that_expire_and_endless_names_get_none(auth_cache: AuthCache) -> None:
    """An expiry counts at its instant, and names that nobody has fill no memory."""
    auth_cache.issue(b"1", replace(CALLER, expires=True), TARGET)
    auth_cache.issue(b"2", CALLER, Target(WorksheetId("demo", "x" * (LONGEST_TITLE + 1))))

    assert (auth_cache.find(b"1"), auth_cache.find(b"2")) == (None, None)


def test_there_is_a_bound_to_them(auth_cache: AuthCache) -> None:
    """Past it all make room."""
    for each in range(MAX_KEPT + 1):
        auth_cache.issue(b"%d" % each, CALLER, TARGET)

    assert auth_cache.find(b"0") is None
    assert auth_cache.find(b"%d" % MAX_KEPT) is not None
