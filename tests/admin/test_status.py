"""The Status page: state of the process, findings of `check`, and the overview."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import create_async_engine

from gateway import __version__
from gateway.access.admins import Admins
from gateway.access.pepper import load_pepper
from gateway.admin.console import create_console
from gateway.errors import InvalidQuery, QuotaSpent
from gateway.google.calls import ListWorksheets
from gateway.google.pipeline import Account, Accounts
from gateway.google.quota import open_budget
from gateway.storage.key_store import KeyStore
from gateway.telemetry.events import tallies
from tests.admin.conftest import Checked, Console
from tests.fakes import BOOK


@pytest.fixture
def checked() -> Checked:
    return Checked()


@pytest.fixture
def fresh(console: Console, checked: Checked) -> Console:
    """Return a console whose `check` has not run yet."""
    app = create_console(console.settings, api_url="https://api.example", check=checked)
    return replace(console, app=app)


@pytest.fixture
def open_breaker() -> Iterator[None]:
    tallies.note_breaker(is_open=True)
    yield
    tallies.note_breaker(is_open=False)


def test_the_status_describes_the_process(fresh: Console) -> None:
    """The status has quota use, accounts, and worksheets in memory with rows and age,
    without a call to Google.
    """
    tallies.note_breaker(is_open=False)  # opened by an earlier test
    fresh.surface.send("GET", "Cities")
    fresh.surface.send("GET", "Many?limit=1&skip=7")
    used, calls = tallies.calls_of_minute("main", "read"), fresh.surface.calls.reads
    found = fresh.json("/status")
    (account,) = found["accounts"]
    worksheets = {each["worksheet"]: each for each in found["worksheets"]}

    assert (found["version"], found["breaker"], found["redis"]) == (__version__, "closed", None)
    assert datetime.fromisoformat(found["started"]) <= datetime.now(UTC)
    assert (account["name"], account["state"]) == ("main", "ok")
    assert account["reads"] == {"used": used, "limit": 1_111_111, "waiting": 0}
    assert used >= 2
    assert worksheets["Cities"]["rows"] == 3
    assert worksheets["Many"]["rows"] == 120
    assert worksheets["Cities"]["spreadsheet"] == BOOK
    assert worksheets["Cities"]["ageSeconds"] >= 0
    assert worksheets["Cities"]["waitingWrites"] == 0
    assert fresh.surface.calls.reads == calls


@pytest.mark.parametrize("asks", ["the API", "the button"])
def test_check_runs_on_request_and_once_a_minute(
    fresh: Console, checked: Checked, asks: str
) -> None:
    """`check` runs only on request, and repeated requests within a minute get the same findings."""
    fresh.page("/")
    fresh.page("/", check="true")
    unasked = fresh.json("/status", check="false")
    unclear = fresh.send("GET", "/admin/v1/status?check=1")
    before = [*checked.spreadsheets]
    for _ in range(3):
        if asks == "the API":
            assert fresh.json("/status", check="true")["findings"][0]["level"] == "ok"
        else:
            answer = fresh.send("POST", "/check")
            assert (answer.status_code, answer.headers["location"]) == (303, "/#check")
    found, page = fresh.json("/status"), fresh.page("/")

    assert (unclear.status_code, unclear.json()["code"]) == (400, InvalidQuery.code)
    assert (before, unasked["checked"], unasked["findings"]) == ([], None, [])
    assert checked.spreadsheets == [BOOK]
    assert [each["level"] for each in found["findings"]] == ["ok", "problem"]
    assert "keys: 1 not revoked" in page


def test_reads_of_check_are_within_the_quota_and_counted(fresh: Console, checked: Checked) -> None:
    """A `check` that needs more than the remaining quota gets 503, and its calls are counted."""
    google = fresh.settings.google.model_copy(update={"max_waiting_seconds": 0.0})
    make = fresh.surface.state["accounts"].by_name["main"].make
    account = Account(name="main", make=make, budget=open_budget(google))
    accounts = Accounts([account], clock=time.monotonic)
    surface = replace(fresh.surface, state={**fresh.surface.state, "accounts": accounts})
    before = tallies.calls_of_minute("main", "read")
    checked.calls = [ListWorksheets(BOOK)] * 60
    refused = replace(fresh, surface=surface).send("GET", "/admin/v1/status?check=true")

    assert (refused.status_code, refused.json()["code"]) == (503, QuotaSpent.code)
    assert 0 < tallies.calls_of_minute("main", "read") - before < 60


def test_a_failed_check_is_not_shown_as_done(fresh: Console, checked: Checked) -> None:
    """After a `check` that failed, the status has no findings, and the next `check` runs
    at once.
    """
    checked.calls = [ListWorksheets("x" * 44)]
    refused = fresh.send("GET", "/admin/v1/status?check=true")
    checked.calls = []

    assert refused.status_code == 404
    assert fresh.json("/status")["checked"] is None
    assert fresh.json("/status", check="true")["findings"]


def test_the_overview_shows_outages(fresh: Console, open_breaker: None) -> None:
    """The overview shows an open circuit breaker without a call to Google."""
    page = fresh.page("/")

    assert "Google does not answer" in page
    assert fresh.json("/status")["breaker"] == "open"


def test_the_overview_has_links(fresh: Console) -> None:
    """The overview has links to rows and keys, the latest failed requests, and a chart
    with its table.
    """
    fresh.surface.send("GET", "Nowhere")
    page = fresh.page("/")

    assert 'href="/data">Look at the rows</a>' in page
    assert "Make a key" in page
    assert "/v2/sheets/Nowhere" in page
    assert '<svg viewBox="0 0 240 100"' in page
    assert "<summary>As a table</summary>" in page


@pytest.mark.parametrize("path", ["/", "/usage", "/requests", "/keys", "/data"])
def test_a_failing_store_gets_an_error_page(fresh: Console, path: str) -> None:
    """If the key store fails, a page gets 503 as HTML, and the admin API gets 503 as JSON."""
    broken = KeyStore(create_async_engine("sqlite+aiosqlite:////nowhere/keys.db"))
    surface = replace(fresh.surface, state={**fresh.surface.state, "store": broken})
    console = replace(fresh, surface=surface)

    page = console.send("GET", path)
    answer = console.send("GET", f"/admin/v1{path.rstrip('/') or '/status'}")

    assert page.status_code == 503
    assert "The key store does not answer" in page.content.decode()
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert (answer.status_code, answer.json()["code"]) == (503, 5031)


def test_the_overview_of_a_new_gateway_shows_the_first_steps(
    fresh: Console, tmp_path: Path
) -> None:
    """Without keys and requests, the overview has no chart but a link to create the first key."""
    portal, pepper = fresh.surface.portal, load_pepper(fresh.settings.access)
    with portal.wrap_async_context_manager(KeyStore.open(tmp_path / "new.db")) as store:
        admins = Admins(store.admin_secrets, pepper, lambda: datetime.now(UTC))
        _, key = portal.call(admins.create, "first")
        surface = replace(fresh.surface, state={**fresh.surface.state, "store": store})
        headers = [("Authorization", f"Bearer {key}")]
        answers = [
            replace(fresh, surface=surface).send("GET", path, headers=headers, session="")
            for path in ("/", "/usage", "/data")
        ]
    page, usage, data = (each.content.decode() for each in answers)

    assert [each.status_code for each in answers] == [200] * 3
    assert "No key yet." in page
    assert "No request in the last 24 hours." in page
    assert "Look at the rows" not in page
    assert "No request in this time." in usage
    assert "There is no active key" in data
