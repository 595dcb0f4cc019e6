"""Google clients that call a `Sheets`, in place of Google."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from gateway.google import calls
from gateway.google.calls import GoogleSheets
from gateway.google.client import Client, open_accounts
from gateway.google.pipeline import Call
from gateway.google.sheets import Fence, Sheets
from gateway.settings.model import MAIN_ACCOUNT, GoogleSettings

T = TypeVar("T")


class StandIn(Client):
    """Google client whose calls a `Sheets` answers, without credentials."""

    project = None
    account = None

    def __init__(self, sheets: Sheets) -> None:
        self._sheets = sheets

    async def sign_in(self, within_seconds: float = 0.0) -> None:
        pass

    async def make(self, call: Call[T]) -> T:
        make = getattr(call, "make", None) or partial(answered, self._sheets, call)
        answer: T = await make()
        return answer


async def answered(sheets: Sheets, call: Call[Any]) -> Any:
    """Make a call with the matching method of `Sheets`, and return its result."""
    book = call.spreadsheet
    match call:
        case calls.JoinedRead():
            return await answered(sheets, call.close())
        case calls.ReadValues():
            return await sheets.read_values(book, call.range, render=call.render)
        case calls.ReadColumns():
            return await sheets.read_columns(book, call.range, render=call.render, known=call.known)
        case calls.ReadArea():
            return await sheets.read_columns(book, call.area, render=call.render, known=call.known)
        case calls.ReadSeveral():
            return await sheets.read_several(book, call.ranges, render=call.render)
        case calls.ReadRanges():
            return await sheets.read_ranges(book, call.ranges)
        case calls.ListWorksheets():
            return await sheets.list_worksheets(book)
        case calls.ReadSheet():
            return await sheets.read_sheet(book, call.ranges, detail=call.detail)
        case calls.ReadSpreadsheet():
            return await sheets.read_spreadsheet(book, call.ranges)
        case calls.Apply():
            return await sheets.apply(book, call.batch)
        case calls.ChangeFences(created=()):
            fences = [Fence(id=each, key=call.key, token="") for each in call.forgotten]
            return await sheets.delete_fences(book, fences)
        case calls.ChangeFences():
            return await sheets.put_fence(book, *call.created, forgotten=call.forgotten)
        case calls.FindFences(id=int(fence_id)):
            tokens = await sheets.fence_tokens(book, fence_id)
            return [Fence(id=fence_id, key="", token=each) for each in tokens]
        case calls.FindFences():
            return await sheets.find_fences(book, call.key)
        case _:
            raise TypeError(f"no method makes {call}")


def stand_in(
    open_sheets: Callable[[], AbstractAsyncContextManager[Sheets]],
) -> Callable[[], AbstractAsyncContextManager[Mapping[str, Client]]]:
    """Return a function that opens one account, whose calls a `Sheets` answers."""

    @asynccontextmanager
    async def open_clients() -> AsyncIterator[Mapping[str, Client]]:
        async with open_sheets() as sheets:
            yield {MAIN_ACCOUNT: StandIn(sheets)}

    return open_clients


@asynccontextmanager
async def open_client(settings: GoogleSettings, **options: Any) -> AsyncIterator[Client]:
    """Open the client of one account. `options` are passed to `open_accounts`."""
    async with open_accounts({MAIN_ACCOUNT: settings}, **options) as clients:
        yield clients[MAIN_ACCOUNT]


@asynccontextmanager
async def open_google(settings: GoogleSettings, **options: Any) -> AsyncIterator[GoogleSheets]:
    """Open Google Sheets with one account, without a pipeline."""
    async with open_client(settings, **options) as client:
        yield GoogleSheets(client.make)
