"""Compare the classes of errors with the error table of the API contract."""

import re
from collections.abc import Iterator

import pytest

from gateway import errors
from gateway.errors import (
    ChallengeFailed,
    ChallengeUnavailable,
    CreateOnlyKey,
    CursorLost,
    DuplicateKey,
    GatewayError,
    InvalidRequest,
    MetadataFull,
    QueryTooCostly,
    RowNotRemovable,
    RowNumberUnknown,
    RowsMoved,
    TooManyRowsAffected,
    WriteTooLarge,
)
from tests.error_tree import concrete_errors
from tests.recordings import CONTRACT, needs_contract

Entry = tuple[int, int, str | None]
"""Status, error code, and the error's name or None if the table has no name."""


ERRORS = list(concrete_errors())
ADDED = (
    *(InvalidRequest, QueryTooCostly, RowNumberUnknown),
    *(TooManyRowsAffected, DuplicateKey, RowNotRemovable, WriteTooLarge),
    *(MetadataFull, RowsMoved, CursorLost, CreateOnlyKey),
    *(ChallengeFailed, ChallengeUnavailable),
)
CONTRACTED = [error for error in ERRORS if error not in ADDED]
"""Errors that the contract's table must have; the contract does not know the `ADDED` errors."""


def table_entries(text: str) -> Iterator[Entry]:
    """Parse the Markdown table: `A / B` are two cases, and `1, 2` are two codes of one case."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and re.match(r"\d{3}\b", cells[1]):
            yield from row_entries(*cells[1:])


def row_entries(statuses: str, codes: str, names: str) -> Iterator[Entry]:
    """Parse one row of the table; a cell with a single case is used for all cases."""
    plain = re.sub(r"\(.*?\)|[:;].*", "", names)
    cases = [codes_of(case) for case in codes.split(" / ")]
    for index, group in enumerate(cases):
        status = numbers(pick(statuses, index, len(cases)))
        named = re.findall(r"[A-Z][A-Za-z]+", pick(plain, index, len(cases)))
        for place, code in enumerate(group):
            name = named[min(place, len(named) - 1)] if named else None
            yield status[min(place, len(status) - 1)], code, name


def pick(cell: str, index: int, count: int) -> str:
    """Return the text of a cell for the case at `index`, or the only text of the cell."""
    parts = cell.split(" / ")
    return parts[index] if len(parts) == count else parts[0]


def codes_of(case: str) -> list[int]:
    """Parse the codes of a case; `5030-5032` is a range of codes."""
    first, dash, last = case.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else numbers(case)


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def test_rows_with_several_errors_are_parsed() -> None:
    """A row with several errors is parsed into one entry for each error."""
    row = row_entries(
        "412 / 428 / 413", "4120 / 4280 / 4130, 4132", "Fail (`X`) / Need / Big, Vast"
    )
    run = row_entries("503", "5030-5031", "Unavailable (`Retry-After`)")
    shared = row_entries("502", "5020, 5021 / 5022", "UpstreamError / UpstreamAuth")

    assert list(row) == [
        (412, 4120, "Fail"),
        (428, 4280, "Need"),
        (413, 4130, "Big"),
        (413, 4132, "Vast"),
    ]
    assert list(run) == [(503, 5030, "Unavailable"), (503, 5031, "Unavailable")]
    assert [entry[2] for entry in shared] == ["UpstreamError", "UpstreamError", "UpstreamAuth"]


@needs_contract
@pytest.mark.parametrize("error", CONTRACTED, ids=lambda error: error.__name__)
def test_every_error_is_in_the_contract(error: type[GatewayError]) -> None:
    """The contract's table has a row with the status, code and name of each error."""
    entries = set(table_entries(CONTRACT.read_text(encoding="utf-8")))

    assert entries & {(error.status, error.code, name) for name in (error.name, None)}


def test_only_these_codes_are_shared() -> None:
    """No two errors share a code, except the listed codes, which group similar errors."""
    codes = [error.code for error in ERRORS]

    repeated = {code for code in codes if codes.count(code) > 1}
    assert repeated == {101, 4002, 5020, 5030, 5031}
    assert {error.name for error in ERRORS if error.code == 101} == {"SpreadsheetIdNotFound"}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_the_module_docstring_has_every_code(error: type[GatewayError]) -> None:
    """The error tree in the docstring of `gateway.errors` has each error with its code."""
    picture = errors.__doc__ or ""

    assert re.search(rf"\b{error.__name__} {error.code}\b", picture)
