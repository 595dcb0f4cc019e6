"""The reference page on clients has a test for each line, and a line for each test."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from gateway.settings.model import setting_paths
from gateway.table.header import letters
from gateway.telemetry.events import RequestEvent, encoded_lines
from gateway.web import lenient
from gateway.web.unknown_parameters import WORDS
from tests.clients.case import Case
from tests.clients.plain_readings import PLAIN_READINGS
from tests.clients.refusals import REFUSALS
from tests.clients.second_readings import SECOND_READINGS
from tests.clients.switches import SWITCHES

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "reference" / "clients.md").read_text("utf-8")
MOVING = (DOCS / "how-to" / "move-from-sheetson.md").read_text("utf-8")
_ROW = re.compile(r"^\| `([a-z0-9_.A-Z-]+)`(?: \(`(.*?)`\))? \|(.*)\|$", re.MULTILINE)
_SEVERAL = "several"


def section(title: str, page: str = PAGE) -> str:
    """Return the text below a heading, up to the next heading."""
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def lines(title: str) -> list[str]:
    """Return the names of the lines in the table of a section."""
    return [found[0] for found in _ROW.findall(section(title))]


def covered(cases: Sequence[Case]) -> set[str]:
    return {case.line for case in cases}


CASES: Mapping[str, Sequence[Case]] = {
    "Lenient decoding": SECOND_READINGS,
    "Accepted variants": PLAIN_READINGS,
    "Refused requests": REFUSALS,
    "Differences": REFUSALS,
}


@pytest.mark.parametrize(
    ("title", "line"), [(title, line) for title in CASES for line in lines(title)]
)
def test_every_line_is_tested(title: str, line: str) -> None:
    """Each line of the page has a test case with its name."""
    assert line in covered(CASES[title])


def test_every_case_has_its_line() -> None:
    """Each test case has exactly one line on the page."""
    told = [line for title in CASES for line in lines(title)]

    assert len(told) == len(set(told)) > 40
    assert covered([*SECOND_READINGS, *PLAIN_READINGS, *REFUSALS]) == set(told)


def test_the_page_lists_all_lenient_decodings() -> None:
    """The page has exactly the lenient decodings of the code."""
    names = {
        *map(lenient.twice, lenient.TWICE),
        *map(lenient.in_brackets, lenient.TWICE),
        lenient.QUERY_IN_NAME,
        lenient.WHERE_QUOTES,
        lenient.WORKSHEET_TWICE,
        lenient.WORKSHEET_PLUS,
        lenient.WORKSHEET_NFC,
        lenient.JSON_AS_TEXT,
    }

    assert set(lines("Lenient decoding")) == names | {_SEVERAL}


@pytest.mark.parametrize("line", lines("Lenient decoding"))
def test_cases_have_the_decoding_of_their_line(line: str) -> None:
    """Cases of a line need its lenient decoding or none; only `several` combines decodings."""
    logged = {case.reading for case in SECOND_READINGS if case.line == line}

    assert all("," in str(reading) for reading in logged) == (line == _SEVERAL)
    assert line == _SEVERAL or line in logged <= {line, None}


@pytest.mark.parametrize("case", PLAIN_READINGS, ids=lambda case: case.id)
def test_accepted_variants_need_no_lenient_decoding(case: Case) -> None:
    """Cases of accepted variants expect no lenient decoding in the log."""
    assert case.reading is None


def test_the_page_has_status_and_code_of_errors() -> None:
    """Each line of an error has the status and code that its cases expect."""
    told = {
        name: rest
        for title in ("Refused requests", "Differences")
        for name, _, rest in _ROW.findall(section(title))
    }
    untold = [
        case.id
        for case in REFUSALS
        if case.line in told
        and case.line != "other-status"
        and not (str(case.status) in told[case.line] and f"code {case.code}" in told[case.line])
    ]

    assert untold == []


def test_the_page_lists_all_words_of_other_services() -> None:
    """The table has exactly the parameters of other services that the code recognises."""
    rows = re.findall(r"^\| (`.*?) \|", section("Words of other services"), re.MULTILINE)
    words = [word for row in rows for word in re.findall(r"`(.+?)`", row)]

    assert sorted(map(letters, words)) == sorted(WORDS)


def test_migration_settings_have_these_defaults() -> None:
    """Each migration setting exists with the documented default, and has cases with and
    without it.
    """
    switches = {
        name: default for name, default, _ in _ROW.findall(section("Migration settings", MOVING))
    }
    settings = {".".join(path).replace("*", "NAME") for path in setting_paths()}

    assert switches == {
        "api.empty_cell": '"null"',
        "api.unknown_fields": '"reject"',
        "plans.NAME.max_limit": "100",
    }
    assert set(switches) <= settings
    assert covered(SWITCHES) == {name.rpartition(".")[2] for name in switches}
    for line in covered(SWITCHES):
        assert {bool(case.settings) for case in SWITCHES if case.line == line} == {True, False}


def test_the_commands_for_the_log_find_clients(tmp_path: Path) -> None:
    """The commands of the how-to count lenient decodings by key in a log, and ignore
    other lines.
    """
    block = (
        section("Finding clients in the log", MOVING).partition("```sh\n")[2].partition("```")[0]
    )
    readings = [None, "where-twice", "query-in-name", "query-in-name"]
    log = encoded_lines([*map(logged, readings)])
    (tmp_path / "gateway.log").write_bytes(b'{"event":"breaker","is_open":true}\n' + log)
    done = subprocess.run(  # noqa: S603 - our own words
        ["/bin/sh", "-c", block], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert [line.split() for line in done.stdout.splitlines()] == [
        ["2", "key_1", "query-in-name", "/v2/sheets/Cities"],
        ["1", "key_1", "where-twice", "/v2/sheets/Cities"],
    ]


def logged(reading: str | None) -> RequestEvent:
    """Return the log line of a request that needed this lenient decoding."""
    return RequestEvent(
        id="a",
        method="GET",
        path="/v2/sheets/Cities",
        status=200,
        code=None,
        key="key_1",
        spreadsheet="demo",
        worksheet="Cities",
        cache="hit",
        reading=reading,
        reads=0,
        writes=0,
        google_ms=0.0,
        ms=1.0,
        timestamp=datetime(2020, 1, 1, tzinfo=UTC),
        operation=msgspec.UNSET,
    )
