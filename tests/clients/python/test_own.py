"""Behaviour of only the Python client: `with` blocks, texts of errors, copies of errors."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from sheets_gateway_client import (
    AsyncSheets,
    CursorLost,
    RetryOptions,
    Row,
    Sheets,
    SheetsError,
    SheetsFailure,
)
from tests.clients.middlebox import Fault, Middlebox
from tests.journeys.conftest import Api


def test_a_block_closes_the_client(api: Api) -> None:
    """`with` returns the client, and closes its connections at the end."""
    with Sheets(api.url, api.keys["paid"]) as sheets:
        row = sheets.sheet("Cities").get(2)

    assert row["name"] == "New York"
    with pytest.raises(RuntimeError, match="closed"):
        sheets.sheet("Cities").get(2)


async def test_an_async_block_closes_the_client(api: Api) -> None:
    """`async with` returns the client, and closes its connections at the end."""
    async with AsyncSheets(api.url, api.keys["paid"]) as sheets:
        rows = [row async for row in sheets.sheet("Cities").rows(page_size=4)]

    assert len(rows) == 10
    with pytest.raises(RuntimeError, match="closed"):
        await sheets.sheet("Cities").get(2)


def test_a_page_is_iterable(api: Api) -> None:
    """A page and a list of worksheets can be iterated and have a length."""
    with Sheets(api.url, api.keys["paid"]) as sheets:
        page = sheets.sheet("Cities").list(limit=2)
        worksheets = sheets.worksheets()

    assert ([row["name"] for row in page], len(page)) == (["New York", "Los Angeles"], 2)
    assert [each.name for each in worksheets] == [each.name for each in worksheets.sheets]
    assert len(worksheets) == len(worksheets.sheets)


def test_an_unknown_field_of_a_row_is_named() -> None:
    """The KeyError names the unknown field and the fields of the row."""
    row = Row(row_index=7, fields={"name": "Austin", "state": None})
    with pytest.raises(KeyError, match=r"Row 7 has no field 'nmae'\. Its fields are 'name', 's"):
        row["nmae"]

    assert row["state"] is None


def test_an_error_prints_its_status_and_code(api: Api) -> None:
    """The text of an error has status, name, code and message."""
    with Sheets(api.url, api.keys["paid"]) as sheets, pytest.raises(SheetsError) as raised:
        sheets.sheet("Cities").create({"nmae": "b"})

    assert issubclass(CursorLost, SheetsError)
    assert str(raised.value) == f"400 InvalidBody (104): {raised.value.message}"


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))],  # noqa: S301
    ids=["copy", "deepcopy", "pickle"],
)
@pytest.mark.parametrize("fault", [Fault(), Fault(status=502)], ids=["connection", "answer"])
def test_failures_can_be_copied(
    api: Api, middlebox: Middlebox, fault: Fault, duplicate: Callable[[Any], Any]
) -> None:
    """Copied and pickled errors keep their text and all attributes."""
    middlebox.fail(fault)
    with (
        Sheets(middlebox.url, api.keys["paid"], retry=RetryOptions(tries=1)) as sheets,
        pytest.raises(SheetsFailure) as raised,
    ):
        sheets.sheet("Cities").create({"name": "x"})
    error = raised.value
    copied = duplicate(error)

    assert (type(copied), str(copied)) == (type(error), str(error))
    assert vars(copied) == vars(error)
    assert copied.idempotency_key
    assert (error.__cause__ is None) == isinstance(error, SheetsError)
