"""The error tree against the contract's table."""

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
"""Status, code, and the name where the table has one."""


ERRORS = list(concrete_errors())
ADDED = (
    *(InvalidRequest, QueryTooCostly, RowNumberUnknown),
    *(TooManyRowsAffected, DuplicateKey, RowNotRemovable, WriteTooLarge),
    *(MetadataFull, RowsMoved, CursorLost, CreateOnlyKey),
    *(ChallengeFailed, ChallengeUnavailable),
)
CONTRACTED = [error for error in ERRORS if error not in ADDED]
"""The contract's table has no code for a request that cannot be read, or costs too much."""


def table_entries(text: str) -> Iterator[Entry]:
    """The rows of the table, taken apart: `A / B` are cases, `1, 2` several within one."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and re.match(r"\d{3}\b", cells[1]):
            yield from row_entries(*cells[1:])


def row_entries(statuses: str, codes: str, names: str) -> Iterator[Entry]:
    """The entries of one row; a cell with a single case stands for all of them."""
    plain = re.sub(r"\(.*?\)|[:;].*", "", names)
    cases = [codes_of(case) for case in codes.split(" / ")]
    for index, group in enumerate(cases):
        status = numbers(pick(statuses, index, len(cases)))
        named = re.findall(r"[A-Z][A-Za-z]+", pick(plain, index, len(cases)))
        for place, code in enumerate(group):
            name = named[min(place, len(named) - 1)] if named else None
            yield status[min(place, len(status) - 1)], code, name


def pick(cell: str, index: int, count: int) -> str:
    """The part of a cell that belongs to a case."""
    parts = cell.split(" / ")
    return parts[index] if len(parts) == count else parts[0]


def codes_of(case: str) -> list[int]:
    """`5030-5032` is a run of codes."""
    first, dash, last = case.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else numbers(case)


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def test_the_table_is_taken_apart() -> None:
    """The rows that put several errors into one line are read as they are meant."""
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
    """Status, code and name of an error are a row of the contract's table."""
    entries = set(table_entries(CONTRACT.read_text(encoding="utf-8")))

    assert entries & {(error.status, error.code, name) for name in (error.name, None)}


def test_codes_are_not_shared() -> None:
    """But 101 is trouble with the id, 4002 an unknown field too, 5031 an end to what can be borne.

    5020 and 5030 are of Google.
    """
    codes = [error.code for error in ERRORS]

    repeated = {code for code in codes if codes.count(code) > 1}
    assert repeated == {101, 4002, 5020, 5030, 5031}
    assert {error.name for error in ERRORS if error.code == 101} == {"SpreadsheetIdNotFound"}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_the_tree_is_drawn_with_every_code(error: type[GatewayError]) -> None:
    """The picture at the head of the module names each error with its code."""
    picture = errors.__doc__ or ""

    assert re.search(rf"\b{error.__name__} {error.code}\b", picture)
