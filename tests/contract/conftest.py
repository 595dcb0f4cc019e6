"""The things that claim to be `Sheets`: the fake, and `GoogleSheets` on the emulator and on Google.

Google is asked only where the environment names a scratch spreadsheet, see `place`.
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
    """Leave out what needs Google, unless a spreadsheet is named for it."""
    if google_place(os.environ) is not None:
        return
    left_out = [item for item in items if item.get_closest_marker("google") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A spreadsheet on an emulator, for all tests."""
    with serving_emulator(tmp_path_factory.mktemp("emulator")) as place:
        yield place


@pytest.fixture(
    scope="session", params=[FAKE, EMULATOR, pytest.param("google", marks=pytest.mark.google)]
)
def place(request: pytest.FixtureRequest) -> Place | None:
    """Location of the subject's spreadsheet; None for the one in memory."""
    if request.param == FAKE:
        return None
    if request.param == EMULATOR:
        served: Place = request.getfixturevalue("emulator")
        return served
    return google_place(os.environ)


@pytest.fixture(scope="session")
def credentials(place: Place | None) -> Credentials | None:
    """Those of the place; their token is kept from test to test."""
    return None if place is None else load_credentials(place)


@pytest.fixture
async def spreadsheet(
    place: Place | None, credentials: Credentials | None
) -> AsyncIterator[Spreadsheet | None]:
    """The place's spreadsheet."""
    if place is None:
        yield None
        return
    async with open_spreadsheet(place, credentials=credentials) as opened:
        yield opened


@pytest.fixture
async def subject(spreadsheet: Spreadsheet | None) -> AsyncIterator[Subject]:
    """One of those that claim to be `Sheets`; its worksheets are gone after the test."""
    if spreadsheet is None:
        yield FakeSubject()
        return
    remote = RemoteSubject(remote=spreadsheet, sheets=spreadsheet.sheets())
    yield remote
    await remote.clean_up()
