"""Reports of changes: who may make them, and what they have read anew."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal
from unicodedata import normalize
from urllib.parse import quote

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from gateway.telemetry.events import tallies
from tests.surfaces.stage import GRANTED, Surface, open_surface

HEIGHT, TWIN = "H\u00f6he", "M\u00fcll"
SPELLINGS: Sequence[Literal["NFC", "NFD"]] = ("NFC", "NFD")
REPORTER = KeyRequest(
    name="script",
    grants=Grants(spreadsheets=GRANTED, may_create=False, may_update=False, may_refresh=True),
)
KEYS: Mapping[str, KeyRequest] = {
    "script": REPORTER,
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED)),
    **{
        form: replace(
            REPORTER,
            name=form,
            grants=replace(
                REPORTER.grants,
                worksheets=frozenset({normalize(form, HEIGHT), normalize(form, TWIN)}),
            ),
        )
        for form in SPELLINGS
    },
}
LONG = {
    "plans.paid.requests_per_minute": 600,
    "cache.rows_ttl_seconds": 600,
    "cache.max_stale_seconds": 0,
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """Open a gateway with a long cache TTL and a key that can report changes."""
    folder = tmp_path_factory.mktemp("refresh")
    with open_surface(folder, KEYS, LONG) as surface:
        yield surface


@pytest.fixture
def surface(opened: Surface) -> Surface:
    opened.reset()
    return opened


def name(surface: Surface, title: str) -> object:
    """Return the name in the first row, as a list shows it."""
    return surface.send("GET", f"{title}?limit=1").json()["results"][0]["name"]


def test_a_report_has_rows_read_anew(surface: Surface) -> None:
    """After a report the next list reads the rows again.

    A second report within 2 seconds is delayed.
    """
    cities = surface.sheets.worksheets[0]
    before = name(surface, "Cities")
    cities.type(2, "Reno")
    kept = name(surface, "Cities")
    spent = surface.calls.reads

    answer = surface.send("POST", "Cities/refresh", key="script")
    after_report = surface.calls.reads
    fresh = name(surface, "Cities")
    cities.type(2, "Salem")
    surface.send("POST", "Cities/refresh", key="script")

    assert (answer.status_code, answer.json()) == (202, {"status": "accepted"})
    assert after_report == spent
    assert (kept, fresh) == (before, "Reno")
    assert name(surface, "Cities") == "Reno"
    assert surface.calls.reads == spent + 1


@pytest.mark.parametrize("title", ["Nowhere", "Empty"])
def test_a_worksheet_that_nobody_reads(surface: Surface, title: str) -> None:
    """A report of a worksheet without cached rows costs no call."""
    assert surface.send("POST", f"{title}/refresh", key="script").status_code == 202
    assert surface.calls.reads == 0


def test_a_report_counts_as_use_without_a_name(surface: Surface) -> None:
    """Reports of worksheets that do not exist share one counter, because a name can be any text."""
    tallies.use.clear()
    for number in range(3):
        surface.send("POST", f"Invented {number}/refresh", key="script")

    assert [(place[1:], counts[0]) for place, counts in tallies.use.items()] == [
        ((None, None, 0), 3)
    ]


@pytest.mark.parametrize("key", ["paid", None, "unknown"])
def test_without_the_right_it_is_a_row_of_this_name(surface: Surface, key: str | None) -> None:
    """Without the right, `refresh` is an invalid row number like any other text."""
    keys = dict(surface.keys, unknown="sgw_unknown")
    auth = [("Authorization", f"Bearer {keys[key]}")] if key else []
    found = surface.send("POST", "Cities/refresh", key=None, headers=auth, body=b"{}")
    other = surface.send("POST", "Cities/refrash", key=None, headers=auth, body=b"{}")

    assert found.status_code == other.status_code >= 400
    assert found.json()["code"] == other.json()["code"]


def test_it_counts_as_five_requests(surface: Surface) -> None:
    """A report is charged like a read with fresh data."""
    answers = [surface.send("POST", "Cities/refresh", key="script") for _ in range(2)]
    left = [
        int(answer.headers["ratelimit"].partition("r=")[2].partition(";")[0]) for answer in answers
    ]
    assert left[0] - left[1] in (4, 5)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_other_methods_know_no_refresh(surface: Surface, method: str) -> None:
    """With other methods, `refresh` is an invalid row number."""
    body = b"" if method == "GET" else b"{}"
    answer = surface.send(method, "Cities/refresh", key="script", body=body)
    assert answer.status_code in (400, 404, 405)


@pytest.mark.parametrize(("override", "status"), [("PATCH", 400), ("PUT", 400), ("POST", 202)])
def test_an_update_by_override_is_no_report(surface: Surface, override: str, status: int) -> None:
    """A report with an override to an update is rejected. An override to its own method is not."""
    headers = [("X-HTTP-Method-Override", override)]

    answer = surface.send("POST", "Cities/refresh", key="script", headers=headers)

    assert answer.status_code == status


def test_a_report_by_another_spelling_has_rows_read_anew(surface: Surface) -> None:
    """A report by another spelling of the title is for the worksheet that was read by it."""
    title = quote(normalize("NFD", "Städte 🏙"))
    cities = next(each for each in surface.sheets.worksheets if each.title == "Städte 🏙")
    before = name(surface, title)
    cities.type(2, "Reno")
    kept = name(surface, title)

    answer = surface.send("POST", f"{title}/refresh", key="script")

    assert answer.status_code == 202
    assert (kept, name(surface, title)) == (before, "Reno")


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """Open a gateway that has served no request."""
    with open_surface(tmp_path_factory.mktemp("fresh"), KEYS, LONG) as surface:
        yield surface


@pytest.mark.parametrize("key", ["script", *SPELLINGS])
@pytest.mark.parametrize("tab_form", SPELLINGS)
@pytest.mark.parametrize("reported", SPELLINGS)
def test_a_report_needs_no_request_by_the_same_spelling(
    fresh: Surface, key: str, tab_form: Literal["NFC", "NFD"], reported: Literal["NFC", "NFD"]
) -> None:
    """A report in any spelling is for the worksheet in the cache, without a call."""
    tab = fresh.sheets.add(normalize(tab_form, HEIGHT), [["name"], ["Salem"]])
    before = name(fresh, quote(tab.title))
    tab.type(2, "Reno")
    spent = fresh.calls.reads

    answer = fresh.send("POST", f"{quote(normalize(reported, HEIGHT))}/refresh", key=key)

    assert (answer.status_code, fresh.calls.reads) == (202, spent)
    assert (before, name(fresh, quote(tab.title))) == ("Salem", "Reno")


@pytest.mark.parametrize("key", SPELLINGS)
def test_a_report_never_reaches_a_twin(fresh: Surface, key: Literal["NFC", "NFD"]) -> None:
    """A report is for the granted worksheet only, not for another one with a similar title."""
    titles = [normalize(form, TWIN) for form in SPELLINGS]
    tabs = [fresh.sheets.add(title, [["name"], ["Salem"]]) for title in titles]
    for tab in tabs:
        name(fresh, quote(tab.title))
        tab.type(2, "Reno")

    for title in titles:
        fresh.send("POST", f"{quote(title)}/refresh", key=key)

    assert [name(fresh, quote(tab.title)) for tab in tabs] == [
        "Reno" if form == key else "Salem" for form in SPELLINGS
    ]
