"""Fixtures: an emulator without data on a local port, and unmodified Google clients of it."""

from collections.abc import Iterator
from typing import Any

import gspread
import pytest

from sheets_emulator.app import EmulatorOptions
from tests.discovery import all_problems
from tests.sheets_emulator.stock.served import Served, serving, stock_api_client, stock_gspread

OF_SHEETS = "/v4/"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve an emulator for a module, and check all exchanges by Google's discovery document."""
    with serving(tmp_path_factory.mktemp("stock"), EmulatorOptions()) as running:
        yield running
    exchanges = running.recorder.take()

    assert all_problems(each for each in exchanges if each.raw_path.startswith(OF_SHEETS)) == []


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[gspread.Client]:
    """An unmodified gspread client of the emulator."""
    with stock_gspread(served) as opened:
        yield opened


@pytest.fixture(scope="module")
def sheets(served: Served) -> Iterator[Any]:
    """The `spreadsheets` resource of an unmodified google-api-python-client."""
    with stock_api_client(served) as service:
        yield service.spreadsheets()


@pytest.fixture(scope="module")
def book(client: gspread.Client) -> gspread.Spreadsheet:
    """A spreadsheet that gspread created, shared by the tests of a module."""
    return client.create("A long session")


@pytest.fixture
def sheet(book: gspread.Spreadsheet, request: pytest.FixtureRequest) -> gspread.Worksheet:
    """A new worksheet of ten rows and six columns, named after the test."""
    return book.add_worksheet(request.node.name[:90], rows=10, cols=6)
