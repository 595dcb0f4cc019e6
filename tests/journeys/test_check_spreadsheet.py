"""Findings of `check` about a spreadsheet: share, API, file type, headers."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import EmulatorControl
from tests.journeys.google_faults import DISABLED, OFFICE_FILE, PAGE, SPENT, google
from tests.journeys.report import Checkup

ACCOUNT = "gateway@emulator.iam.gserviceaccount.com"
LIBRARY = "https://console.cloud.google.com/apis/library/sheets.googleapis.com"
ID = "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"


@pytest.fixture
def checkup(emulator: EmulatorControl, tmp_path: Path) -> Iterator[Checkup]:
    emulator.reset()
    yield Checkup(folder=tmp_path, emulator=emulator)
    emulator.reset()


def denied(message: str, reason: str | None = None, status: int = 403) -> dict[str, Any]:
    return google(status, "PERMISSION_DENIED", message, reason)


def test_a_spreadsheet_that_can_be_read(checkup: Checkup) -> None:
    """`check` reads the spreadsheet and says that writing was not tested."""
    report = checkup.run("--spreadsheet", "other")

    assert report.status == 0
    assert report.of("ok")[-2:] == [
        "spreadsheet other: 1 worksheet can be read; writing was not tested, it requires "
        f"{ACCOUNT} to be an Editor",
        'worksheet "Cities": 1 field',
    ]
    assert checkup.emulator.calls() == (3, 0)


SPREADSHEETS: list[Any] = [
    pytest.param(
        "private", f"it is not shared with {ACCOUNT}", "add this address as Editor", id="unshared"
    ),
    pytest.param("unknown", "Google does not know this ID", "between /d/ and /edit", id="unknown"),
    pytest.param(
        f"https://docs.google.com/spreadsheets/d/{ID}/edit?gid=0#gid=0",
        f"this is a URL; use only the ID in it, {ID}",
        "use only the ID",
        id="URL",
    ),
    pytest.param(
        f"docs.google.com/spreadsheets/u/1/d/{ID}",
        f"this is a URL; use only the ID in it, {ID}",
        "use only the ID",
        id="URL of a second account",
    ),
    pytest.param(
        f"https://drive.google.com/open?id={ID}",
        f"this is a URL; use only the ID in it, {ID}",
        "use only the ID",
        id="URL of Drive",
    ),
    pytest.param(
        "https://docs.google.com/spreadsheets/d/e/2PACX-1vQ/pubhtml",
        "a published copy",
        "Open the spreadsheet itself",
        id="published",
    ),
    pytest.param("Sales 2024", "invalid spreadsheet ID", "between /d/ and /edit", id="title"),
    pytest.param(f" {ID}", "the ID has surrounding blanks", "Remove them", id="blanks"),
    pytest.param("", "invalid spreadsheet ID", "between /d/ and /edit", id="nothing"),
]


@pytest.mark.parametrize(("given", "cause", "mend"), SPREADSHEETS)
def test_a_spreadsheet_that_cannot_be_opened(
    checkup: Checkup, given: str, cause: str, mend: str
) -> None:
    """`check` gives cause and remedy in one line that begins with the given spreadsheet."""
    text = checkup.run("--spreadsheet", given).problem

    assert text.startswith("spreadsheet ")
    assert cause in text
    assert mend in text


@pytest.mark.parametrize("given", [ID + "/edit", "a b", f"https://x/d/{ID}"])
def test_an_invalid_id_costs_no_call(checkup: Checkup, given: str) -> None:
    """`check` with an invalid spreadsheet ID makes no call to Google."""
    checkup.run("--spreadsheet", given)

    assert checkup.emulator.calls() == (0, 0)


LINK = "https://console.developers.google.com/apis/api/sheets.googleapis.com/overview?project=42"
CONSUMER = {
    "error": {
        "code": 403,
        "message": "Die Google Sheets API wurde im Projekt noch nicht verwendet.",
        "status": "PERMISSION_DENIED",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "SERVICE_DISABLED",
                "domain": "googleapis.com",
                "metadata": {"consumer": "projects/42", "service": "sheets.googleapis.com"},
            }
        ],
    }
}

ACCOUNTS: list[Any] = [
    pytest.param(
        DISABLED,
        "the Google Sheets API is not enabled in the project 1234567890.",
        f"{LIBRARY}?project=1234567890, wait a few minutes",
        id="API disabled",
    ),
    pytest.param(
        {"status": 403, "text": json.dumps(CONSUMER)},
        "not enabled in the project 42.",
        f"{LIBRARY}?project=42, wait",
        id="in another language",
    ),
    pytest.param(
        denied(f"Google Sheets API has not been used. Enable it by visiting {LINK} then retry."),
        "not enabled in the project 42.",
        f"{LIBRARY}?project=42, wait",
        id="without a reason",
    ),
    pytest.param(
        denied("It is off.", "SERVICE_DISABLED"),
        "not enabled in the project emulator.",
        f"{LIBRARY}?project=emulator, wait",
        id="without a project",
    ),
    pytest.param(
        denied("Request had insufficient scopes.", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
        "does not include spreadsheets",
        "--scopes=https://www.googleapis.com/auth/spreadsheets",
        id="scope",
    ),
    pytest.param(
        denied("Consumer has been suspended.", "CONSUMER_SUSPENDED"),
        "has suspended the project",
        "another project",
        id="suspended",
    ),
    pytest.param(denied("No.", "USER_PROJECT_DENIED"), "the quota project of", "quota", id="quota"),
    pytest.param(
        google(401, "UNAUTHENTICATED", "No.", "ACCOUNT_STATE_INVALID"),
        f"{ACCOUNT} was disabled or deleted",
        "Enable it at https://console",
        id="account disabled",
    ),
    pytest.param(
        denied("No.", "SOMETHING_NEW"),
        f"Google refuses {ACCOUNT} (SOMETHING_NEW)",
        "Check the account",
        id="unknown reason",
    ),
    pytest.param(
        {"status": 401},
        f"Google issued a token for {ACCOUNT}, but Sheets refuses it (401)",
        "wait a few minutes and run check again",
        id="401",
    ),
    pytest.param(
        {"status": 403, "text": PAGE}, "answers HTTP 403 and a page", "directly", id="403 as HTML"
    ),
    pytest.param(
        {"status": 404, "text": PAGE},
        "answers HTTP 404 and a page",
        "check google.endpoint",
        id="404 as HTML",
    ),
    pytest.param(
        {"status": 200, "text": PAGE}, "an answer that is not JSON", "directly", id="200 as HTML"
    ),
    pytest.param({"status": 503}, "answers HTTP 503 UNAVAILABLE", "itself has a problem", id="503"),
    pytest.param(
        {"status": 503, "text": PAGE}, "HTTP 503:", "itself has a problem", id="503 as HTML"
    ),
    pytest.param(
        {"status": 400}, "answers HTTP 400 INVALID_ARGUMENT", "Check google.endpoint", id="400"
    ),
    pytest.param(SPENT, "quota of calls is spent", "Try again in a minute", id="quota spent"),
    pytest.param({"drop": True}, "broke. Run check again", "proxy interferes", id="dropped"),
]


@pytest.mark.parametrize("arguments", [(), ("--spreadsheet", "demo")], ids=["alone", "sheet"])
@pytest.mark.parametrize(("fault", "cause", "mend"), ACCOUNTS)
def test_an_account_or_api_that_does_not_work(
    checkup: Checkup, arguments: tuple[str, ...], fault: Mapping[str, Any], cause: str, mend: str
) -> None:
    """`check` reports the same cause and remedy with and without a spreadsheet."""
    checkup.emulator.faults({"call": "*", "times": 9, **fault})

    report = checkup.run(*arguments)

    assert "Google accepts" in report.of("ok")[-1]
    assert cause in report.problem
    assert mend in report.problem


def test_an_office_file(checkup: Checkup) -> None:
    """`check` says how to convert an Office file, and that the new file must be shared."""
    checkup.emulator.faults({"call": "spreadsheets.get", **OFFICE_FILE})

    text = checkup.run("--spreadsheet", "demo").problem

    assert (
        "spreadsheet demo: it is not a Google Sheet but, for example, an Office file (.xlsx)"
        in text
    )
    assert "File > Save as Google Sheets" in text
    assert f"share the new file with {ACCOUNT}" in text


def test_sheets_that_answer_late(checkup: Checkup) -> None:
    """`check` reports a timeout of the Sheets API and names the setting of the timeout."""
    checkup.emulator.faults({"call": "spreadsheets.get", "delay_ms": 900})

    text = checkup.run("--spreadsheet", "demo", google={"read_timeout_seconds": 0.4}).problem

    assert "did not answer in time" in text
    assert "google.read_timeout_seconds" in text


def test_a_spreadsheet_of_charts_only(checkup: Checkup) -> None:
    """`check` reports a spreadsheet without a grid worksheet after one read."""
    chart = {"sheets": [{"properties": {"sheetId": 1, "title": "Chart", "sheetType": "OBJECT"}}]}
    checkup.emulator.faults({"call": "spreadsheets.get", "status": 200, "text": json.dumps(chart)})

    text = checkup.run("--spreadsheet", "demo").problem

    assert "it has no worksheet with cells" in text
    assert "Add a worksheet" in text
    assert checkup.emulator.calls() == (1, 0)


HEADERS: list[Any] = [
    pytest.param("BlankHeader", ["no header in column B, which is not served"], id="blank"),
    pytest.param("BlankFirst", ["no header in column A, which is not served"], id="blank first"),
    pytest.param(
        "Duplicates",
        ['the header "name" is in columns A and C; only A is used. Rename the header in column C'],
        id="twice",
    ),
    pytest.param(
        "Spaced", ['the header in column A has surrounding blanks: " name "'], id="blanks around"
    ),
    pytest.param("RowIndex", ["the header rowIndex in column A is reserved for the row"], id="row"),
    pytest.param("Empty", ["row 1 is blank, so the worksheet is not served. Write"], id="empty"),
    pytest.param("NoHeader", ["row 1 is blank, so the worksheet is not served. Write"], id="row 1"),
    pytest.param("Cities", [], id="all is well"),
    pytest.param("HeaderOnly", [], id="no rows"),
]


@pytest.mark.parametrize(("title", "words"), HEADERS)
def test_headers(checkup: Checkup, title: str, words: list[str]) -> None:
    """Each fault of a header is a warning with worksheet, columns and remedy; the status is 0."""
    report = checkup.run("--spreadsheet", "demo")

    place = f'worksheet "{title}": '
    found = [text.removeprefix(place) for text in report.of("warning") if text.startswith(place)]
    assert report.status == 0
    assert len(found) == len(words)
    assert all(text.startswith(each) for text, each in zip(found, words, strict=True))


def test_no_cell_below_the_headers_is_reported(checkup: Checkup) -> None:
    """`check` neither reads nor shows cells below the header."""
    report = checkup.run("--spreadsheet", "third")

    assert 'worksheet "Secret": 1 field' in report.of("ok")
    assert "top secret" not in str(report)


def test_control_characters_in_a_title_are_escaped(checkup: Checkup) -> None:
    """`check` escapes invisible characters of a worksheet title."""
    report = checkup.run("--spreadsheet", "demo")

    assert 'worksheet "two\\nlines": 1 field' in report.of("ok")
