"""Unknown parameters: words of other services and names of fields are refused, others ignored."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from gateway.web.operations import OPERATIONS
from gateway.web.parameters import sift
from gateway.web.unknown_parameters import CACHE_BUSTERS, WORDS
from tests.asgi_client import Answer
from tests.surfaces.stage import GRANTED, Surface, open_surface

KEYS: Mapping[str, KeyRequest] = {
    "staff": KeyRequest(
        name="staff",
        plan="staff",
        grants=Grants(spreadsheets=GRANTED, may_delete=True, may_refresh=True),
    ),
    "clerk": KeyRequest(
        name="clerk",
        plan="staff",
        grants=Grants(
            spreadsheets=GRANTED,
            may_delete=True,
            columns=ColumnGrant(frozenset({"name", "country"})),
        ),
    ),
}
PLANS: Mapping[str, object] = {
    "plans.staff.deletes": True,
    "plans.staff.requests_per_minute": 0,
}
CACHED: Mapping[str, object] = {
    **PLANS,
    "cache.rows_ttl_seconds": 600,
    "cache.header_ttl_seconds": 600,
}
ROW = b'{"name":"x"}'
CHICAGO = 'where={"name":"Chicago"}'
WRITES: Mapping[str, tuple[str, str, bytes]] = {
    "create": ("POST", "Cities?", ROW),
    "create of a list": ("POST", "Cities?", b'[{"name":"x"}]'),
    "upsert": ("POST", "Cities?on_conflict=name&", ROW),
    "update": ("PATCH", "Cities/2?", ROW),
    "update of a list": ("PATCH", "Cities?", b'[{"rowIndex":2,"name":"x"}]'),
    "update by filter": ("PATCH", f"Cities?{CHICAGO}&", ROW),
    "delete": ("DELETE", "Cities/2?", b""),
    "delete by filter": ("DELETE", f"Cities?{CHICAGO}&", b""),
}
READS: Mapping[str, str] = {"list": "Cities?", "row": "Cities/2?"}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """Open the application with a key that sees all fields, and a key that sees two fields."""
    with open_surface(tmp_path_factory.mktemp("unknown"), KEYS, PLANS) as surface:
        yield surface


@pytest.fixture
def cached(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """The same application with a long TTL of rows and headers."""
    with open_surface(tmp_path_factory.mktemp("cached"), KEYS, CACHED) as surface:
        yield surface


@pytest.fixture
def windowed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """The same application, which reads every worksheet in windows."""
    settings = {**PLANS, "cache.window_above_cells": 1}
    with open_surface(tmp_path_factory.mktemp("windowed"), KEYS, settings) as surface:
        surface.send("GET", "Cities?limit=1", key="staff")
        yield surface


SHEETDB = (
    *("sort_by=name", "sort_order=desc", "sort_method=date", "sort_date_format=Y-m-d", "offset=1"),
    *("cast_numbers=population", "single_object=true", "mode=FORMULA", "sheet=New"),
    *("casesensitive=true", "name=Chicago"),
)
STEIN = ("offset=1", 'search={"name":"Chicago"}')
OPENSHEET = ("state=Illinois", "sheet=2")
SHEET_BEST = (
    *("_limit=1", "_offset=1", "_format=dict", "_raw=1", "population=__gt(3000000)"),
    "name=*Chi*",
)
POSTGREST = (
    *("select=name,state", "offset=1", "columns=name", "and=(name.eq.x,state.eq.y)"),
    *("or=(name.eq.x,state.eq.y)", "not.and=(name.eq.x)", "not.or=(name.eq.x)", "name=eq.Chicago"),
    *("population=gte.3000000", "population->>a=eq.1"),
)
JSON_SERVER = (
    *("_page=2", "_per_page=1", "_sort=name", "_order=asc", "_start=1", "_end=2", "q=Chicago"),
    *("_embed=cities", "_expand=city", "population_gte=3000000", "population_lte=3000000"),
    *("name_ne=Chicago", "name_like=Chi", "population:gt=3000000", "name:contains=Chi"),
)
AIRTABLE = (
    *("filterByFormula={name}='Chicago'", "maxRecords=1", "pageSize=1", "offset=itr", "view=Grid"),
    *("fields[]=name", "sort[0][field]=name", "sort[0][direction]=desc", "cellFormat=string"),
    *("timeZone=utc", "userLocale=de", "returnFieldsByFieldId=true", "recordMetadata[]=a"),
)
ODATA = (
    *("$filter=name eq 'Chicago'", "$orderby=name desc", "$top=1", "$skip=1", "$select=name"),
    *("$count=true", "$search=Chicago", "$expand=a", "$apply=aggregate(a)", "$format=json"),
    *("$skiptoken=2", "$compute=a", "$inlinecount=allpages"),
)
CURSORS = (
    *("pagination[page]=2", "starting_after=7", "ending_before=7", "after=abc", "before=abc"),
    *("startAt=3", "startAfter=3", "endAt=3", "endBefore=3", "limitToFirst=3", "limitToLast=3"),
    "equalTo=Chicago",
)
GUESSES = (
    *("page=2", "per_page=1", "limit[]=1", "Limit=1", "Where={}", "sort=name", "filter[state]=x"),
    *("page[number]=2", "distinct=state", "group_by=state", "order_by=name", "rowIndex=3"),
    *("query=Chicago", "State=Illinois", "state[eq]=Illinois", "STATE__iexact=illinois", "tq=x"),
    *("population_min=1", "population_max=1", "state__isnull=true", "state__neq=x", "name__nin=x"),
    *("population__range=1,2", "population_between=1,2", "name__iregex=x", "name__regex=x"),
    *("value=typed", "Value=typed"),
)
WORDS_OF: Mapping[str, Sequence[str]] = {
    "SheetDB": SHEETDB,
    "Stein": STEIN,
    "opensheet": OPENSHEET,
    "sheet.best": SHEET_BEST,
    "PostgREST": POSTGREST,
    "json-server": JSON_SERVER,
    "Airtable": AIRTABLE,
    "OData": ODATA,
    "Strapi, Stripe and Firebase": CURSORS,
    "guesses": GUESSES,
}
EVERY = [
    pytest.param(quote(word, safe="=[]"), id=f"{service} {word}")
    for service, words in WORDS_OF.items()
    for word in words
]


CONDITIONS = (
    *("population>3000000", "population%3E3000000", "population%253E3000000", "population<5"),
    *("name~Chi", "state:Texas", "name!Chicago", "population>=3000000", "population%3E%3D3000000"),
    *("STATE:Texas", "population<>5", "a=1&name~Chi", "population>5=", "state%3ATexas"),
    *("limit>5", "max-affected:5", "page:2", "where:{}"),
)
"""Conditions with a sign before the value, mostly without `=`."""


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_read_ignores_a_condition_without_an_equals_sign(
    surface: Surface, condition: str
) -> None:
    """A list with a condition without `=` is rejected, because its rows would be wrong."""
    code, _ = surface.refused("GET", f"Cities?{condition}", reads=1, key="staff")

    assert code == (400, 4002)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("write", ["update by filter", "delete by filter"])
def test_no_write_ignores_a_condition_without_an_equals_sign(
    surface: Surface, write: str, condition: str
) -> None:
    """A write by filter with a condition without `=` is rejected, because it would change more
    rows.
    """
    method, target, body = WRITES[write]

    code, _ = surface.refused(method, f"{target}{condition}", reads=3, key="staff", body=body)

    assert code == (400, 4002)


@pytest.mark.parametrize("query", ["lang:en", "a>b", "state", "state:", "name~", "_:1"])
def test_other_signs_are_ignored(surface: Surface, query: str) -> None:
    """A sign after another word or without a value is ignored."""
    answer = surface.send("GET", f"Cities?{query}", key="staff")

    assert answer.status_code == 200


@pytest.mark.parametrize(("count", "status"), [(50, 200), (51, 400)])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_names_have_a_bound(surface: Surface, method: str, count: int, status: int) -> None:
    """At most 50 unknown names are compared with the fields. Repeated names count once."""
    query = "&".join(f"x{number % count}_gte=1" for number in range(200))
    body = b"" if method == "GET" else ROW

    answer = surface.send(method, f"Cities?{query}", key="staff", body=body)

    assert answer.status_code == (201 if (method, status) == ("POST", 200) else status)
    if status == 400:
        assert answer.json()["code"] == 4002
        assert "limit of 50 unknown parameters" in answer.json()["message"]


def test_there_are_words_enough() -> None:
    """The table has at least 60 words of other services."""
    assert len({word for words in WORDS_OF.values() for word in words}) >= 60


@pytest.mark.parametrize("word", EVERY)
@pytest.mark.parametrize("path", READS.values(), ids=READS)
def test_no_read_ignores_a_word_of_another_service(surface: Surface, path: str, word: str) -> None:
    """A read with a word of another service is rejected, because its rows would be wrong."""
    code, _ = surface.refused("GET", f"{path}{word}", reads=1, key="staff")

    assert code == (400, 4002)


@pytest.mark.parametrize("word", EVERY)
@pytest.mark.parametrize("write", WRITES)
def test_no_write_ignores_a_word_of_another_service(
    surface: Surface, write: str, word: str
) -> None:
    """A write with a word of another service is rejected before anything is written."""
    method, target, body = WRITES[write]

    code, _ = surface.refused(method, f"{target}{word}", reads=3, key="staff", body=body)

    assert code == (400, 4002)


DRY = (
    "dry_run",
    "dryRun=",
    "dry_run=true",
    "dryRun=1",
    "dry-run=true",
    "validateOnly=true",
    "preview=1",
    "what_if=1",
)


@pytest.mark.parametrize("word", DRY)
@pytest.mark.parametrize("write", WRITES)
def test_no_write_ignores_a_request_for_a_dry_run(surface: Surface, write: str, word: str) -> None:
    """A write that should change nothing is rejected. A read ignores the word."""
    method, target, body = WRITES[write]

    code, answer = surface.refused(method, f"{target}{word}", reads=3, key="staff", body=body)

    assert code == (400, 4002)
    assert "no dry run" in answer.json()["message"]
    assert surface.send("GET", f"Cities?{word}", key="staff").status_code == 200


SIGNS = st.sampled_from(["", "_", "-", "__", "$"])
CASES: st.SearchStrategy[Callable[[str], str]] = st.sampled_from([str.lower, str.upper, str.title])
ENDS = st.sampled_from(["=1", "[]=1", "%5B0%5D=1", "%3D1", "[a][b]=1"])


@given(
    st.sampled_from(sorted(WORDS)),
    SIGNS,
    CASES,
    st.integers(0, 20),
    ENDS,
    st.sampled_from(sorted(OPERATIONS)),
)
def test_every_spelling_of_a_word_is_refused(
    word: str, sign: str, spell: Callable[[str], str], at: int, end: str, kind: str
) -> None:
    """Capitals, `_`, `-`, brackets and a folded value make no difference."""
    written = f"{spell(word[:at])}{sign}{spell(word[at:])}{end}"
    operation = next(each for name, each in OPERATIONS.items() if name == kind)

    assert sift(written.encode(), operation).refusal
    assert not sift(written.replace("1", "").encode(), operation).refusal


@pytest.mark.parametrize(
    ("word", "right"),
    [
        *(("page=2", "skip"), ("sort=name", "order"), ("q=x", "where"), ("fields=name", "keys")),
        *(("distinct=a", "Remove the"), ("sheet=x", "the path"), ("onConflict=a", "on_conflict")),
        *(("on-conflict=a", "on_conflict"), ("limit[]=1", "limit"), ("rowIndex=2", "the path")),
        *(("spreadsheet=x", "spreadsheetId"), ("upsert=true", "on_conflict")),
        *(("typecast=true", "values=typed"), ("Values=typed", "values")),
        *(("state=Ohio", 'where={"state":"VALUE"}'), ("STATE_NE=x", 'where={"state":"VALUE"}')),
    ],
)
def test_a_refusal_names_the_right_parameter(surface: Surface, word: str, right: str) -> None:
    """The error names the right parameter, and no value."""
    _, answer = surface.refused("GET", f"Cities?{word}", reads=1, key="staff")

    assert right in answer.json()["message"]
    assert "Ohio" not in answer.json()["message"]


@pytest.mark.parametrize("write", WRITES)
def test_a_cached_header_is_enough(cached: Surface, write: str) -> None:
    """A field name is found in the cached header without a call. A create reads nothing."""
    cached.send("GET", "Cities", key="staff")
    cached.send("POST", "Cities", key="staff", body=ROW)
    method, target, body = WRITES[write]
    spent, written, cells = cached.calls.reads, cached.calls.writes, cached.cells()

    listed = cached.send("GET", "Cities?state=x", key="staff")
    reads = cached.calls.reads - spent
    answer = cached.send(method, f"{target}state=x", key="staff", body=body)

    assert (listed.status_code, reads) == (400, 0)
    assert (answer.status_code, answer.json()["code"]) == (400, 4002)
    assert (cached.calls.writes, cached.cells()) == (written, cells)


@pytest.mark.parametrize("path", READS.values(), ids=READS)
@pytest.mark.parametrize("query", ["state=x", "keys=nope", "state_gte=x&limit="])
def test_a_window_has_the_header(windowed: Surface, path: str, query: str) -> None:
    """Names are compared with the fields of a large worksheet, too."""
    answer = windowed.send("GET", f"{path}{query}", key="staff")

    assert (answer.status_code, answer.json()["code"]) == (400, 4002)


@pytest.mark.parametrize("keys", ["name", "nope"])
def test_a_window_past_the_grid_has_no_header(windowed: Surface, keys: str) -> None:
    """A window past the last row of the sheet has no rows and rejects no names."""
    answer = windowed.send("GET", f"Cities?skip=5000&keys={keys}", key="staff")

    assert (answer.status_code, answer.json()["results"]) == (200, [])


@pytest.mark.parametrize("path", READS.values(), ids=READS)
def test_unknown_words_cost_nothing(cached: Surface, path: str) -> None:
    """Unknown words do not miss the cache: the answer is the same, without a call."""
    plain = cached.send("GET", path, key="staff")
    spent = cached.calls.reads

    answers = [cached.send("GET", f"{path}lang={each}&_={each}", key="staff") for each in "abc"]

    assert [answer.content for answer in answers] == [plain.content] * 3
    assert cached.calls.reads == spent


@pytest.mark.parametrize("name", [*sorted(CACHE_BUSTERS), "utm_source"])
def test_a_cache_buster_is_ignored_even_if_it_is_a_field(surface: Surface, name: str) -> None:
    """A list and a create ignore a cache buster, even if a field has its name."""
    surface.sheets.add("Busters", [[*sorted(CACHE_BUSTERS), "utm_source"], ["a"]])

    listed = surface.send("GET", f"Busters?{name}=1", key="staff")
    created = surface.send("POST", f"Busters?{name}=1", key="staff", body=b'{"t":"x"}')

    assert (listed.status_code, len(listed.json()["results"])) == (200, 1)
    assert created.status_code == 201


def without_times(answer: Answer) -> list[bytes]:
    """Return the answer without times."""
    own = (b"server-timing:", b"date:")
    return [line for line in answer.said.split(b"\n") if not line.lower().startswith(own)]


@pytest.mark.parametrize("hidden", ["state", "STATE", "state_gte", "population", "state[eq]"])
@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE", "POST"])
def test_a_hidden_field_is_no_field(surface: Surface, method: str, hidden: str) -> None:
    """A hidden field name gives the same bytes as any unknown word."""
    target = "Cities" if method in ("GET", "POST") else "Cities/2"
    body = b"" if method == "GET" else ROW
    sent: list[Answer] = []
    for name in ("nothing", hidden):
        surface.reset()
        headers = [("X-Request-Id", "r1")]
        sent.append(
            surface.send(
                method, f"{target}?{name}=Illinois", key="clerk", headers=headers, body=body
            )
        )

    assert without_times(sent[0]) == without_times(sent[1])
    assert sent[0].status_code in (200, 201, 204)


def test_a_field_that_is_seen_but_not_written_is_a_field(surface: Surface) -> None:
    """The name of a read-only field is rejected as a parameter."""
    code, answer = surface.refused("GET", "Cities?country=USA", reads=1, key="clerk")

    assert code == (400, 4002)
    assert '"country" is a field' in answer.json()["message"]


@pytest.mark.parametrize("write", ["create", "update", "update of a list", "delete", "upsert"])
def test_a_refused_name_does_not_take_an_idempotency_key(surface: Surface, write: str) -> None:
    """A rejected request does not use its Idempotency-Key, which is valid without the name."""
    method, target, body = WRITES[write]
    headers = [("Idempotency-Key", f"key of {write}".replace(" ", "-"))]

    def send(name: str) -> Answer:
        return surface.send(method, f"{target}{name}", key="staff", headers=headers, body=body)

    refused, done, cells = send("state=x"), send(""), surface.cells()
    again = send("state=x")

    assert (refused.status_code, refused.json()["outcome"]) == (400, "not_applied")
    assert done.status_code in (200, 201, 204)
    assert again.headers["idempotent-replayed"] == "true"
    assert surface.cells() == cells


@pytest.mark.parametrize(
    "target", ["/livez", "/readyz", "/", "/docs", "/openapi.json", "/docs/icon.svg"]
)
@pytest.mark.parametrize("query", ["page=2", "where={}", "name=x", "limit=x"])
def test_other_paths_ignore_all_parameters(surface: Surface, target: str, query: str) -> None:
    """Health, pages and the description ignore unknown parameters."""
    answer = surface.send("GET", f"{target}?{query}", key=None, spreadsheet=None)

    assert answer.status_code == 200
