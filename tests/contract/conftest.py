"""Implementations of `Sheets`: the fake, and `GoogleSheets` on the emulator and on Google.

Tests call Google only if the environment names a test spreadsheet, see `place`.
"""

import os
from collections.abc import AsyncIterator, Iterator

import pytest
from google.auth.credentials import Credentials

from tests.contract.place import Place, google_place, serving_emulator
from tests.contract.spreadsheet import Spreadsheet, load_credentials, open_spreadsheet
from tests.contract.subject import FakeSubject, RemoteSubject, Subject

FAKE, EMULATOR = "fake", "emulator"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests marked `google` unless the environment names a spreadsheet."""
    if google_place(os.environ) is not None:
        return
    left_out = [item for item in items if item.get_closest_marker("google") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A spreadsheet on an emulator, shared by all tests."""
    with serving_emulator(tmp_path_factory.mktemp("emulator")) as place:
        yield place


@pytest.fixture(
    scope="session", params=[FAKE, EMULATOR, pytest.param("google", marks=pytest.mark.google)]
)
def place(request: pytest.FixtureRequest) -> Place | None:
    """The `Place` of the tested spreadsheet; None for the fake in memory."""
    if request.param == FAKE:
        return None
    if request.param == EMULATOR:
        served: Place = request.getfixturevalue("emulator")
        return served
    return google_place(os.environ)


@pytest.fixture(scope="session")
def credentials(place: Place | None) -> Credentials | None:
    """Credentials of the place, shared by all tests so that their token is reused."""
    return None if place is None else load_credentials(place)


@pytest.fixture
async def spreadsheet(
    place: Place | None, credentials: Credentials | None
) -> AsyncIterator[Spreadsheet | None]:
    """The spreadsheet of the place; None for the fake."""
    if place is None:
        yield None
        return
    async with open_spreadsheet(place, credentials=credentials) as opened:
        yield opened


@pytest.fixture
async def subject(spreadsheet: Spreadsheet | None) -> AsyncIterator[Subject]:
    """Yield the fake, or GoogleSheets on the emulator or on Google.

    Deletes its worksheets at the end.
    """
    if spreadsheet is None:
        yield FakeSubject()
        return
    remote = RemoteSubject(remote=spreadsheet, sheets=spreadsheet.sheets())
    yield remote
    await remote.clean_up()
