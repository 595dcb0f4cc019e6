"""Control routes under `/_emulator/` for tests.

Rules: only clients on this machine can use these routes, because the routes need no credentials.
The statistics do not count calls of these routes.
"""

from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Annotated, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from sheets_emulator.faults import read_faults
from sheets_emulator.formulas.display import displayed, plain
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.result import CellError
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.http.answer import json_answer, refusal_answer
from sheets_emulator.http.body import whole_body
from sheets_emulator.refusal import Refusal, invalid, of_code
from sheets_emulator.service import Service

Control = Callable[[Service, Request], Awaitable[object]]


class Access(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of a request that sets the role of an account or user for a spreadsheet."""

    account: Annotated[str, msgspec.Meta(min_length=1)]
    role: Literal["writer", "reader", "none"]


def control_routes(service: Service) -> Mount:
    routes = [
        Route(path, _endpoint(service, control), methods=[method])
        for method, path, control in CONTROLS
    ]
    return Mount("/_emulator", routes=routes)


async def _stats(service: Service, _: Request) -> object:
    return {**service.tally.describe(), "projects": service.quota.describe()}


async def _reset(service: Service, _: Request) -> object:
    service.reset()
    return {}


async def _faults(service: Service, request: Request) -> object:
    faults = read_faults(await whole_body(request))
    service.faults.replace(faults)
    return {"faults": len(faults)}


async def _spreadsheet(service: Service, request: Request) -> object:
    workbook = service.store.workbooks.get(request.path_params["spreadsheet_id"])
    if workbook is None:
        raise of_code(404)
    results = service.store.results(workbook)
    return {sheet.title: _cells(sheet, results) for sheet in workbook.sheets}


async def _share(service: Service, request: Request) -> object:
    spreadsheet_id = request.path_params["spreadsheet_id"]
    try:
        access = msgspec.json.decode(await whole_body(request), type=Access)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid(f"Invalid access: {error}") from error
    if spreadsheet_id not in service.store.workbooks:
        raise of_code(404)
    service.store.roles[spreadsheet_id, access.account] = access.role
    return {}


async def _revoke(service: Service, request: Request) -> object:
    service.tokens.revoke(_account(service, request))
    return {}


async def _restore(service: Service, request: Request) -> object:
    service.tokens.revoked.discard(_account(service, request))
    return {}


async def _disable(service: Service, request: Request) -> object:
    service.disabled.add(_project(service, request))
    return {}


async def _enable(service: Service, request: Request) -> object:
    service.disabled.discard(_project(service, request))
    return {}


def _account(service: Service, request: Request) -> str:
    account: str = request.path_params["account"]
    if account not in service.tokens.accounts:
        raise of_code(404)
    return account


def _project(service: Service, request: Request) -> str:
    project: str = request.path_params["project"]
    if project not in {each.project for each in service.tokens.accounts.values()}:
        raise of_code(404)
    return project


def _endpoint(service: Service, control: Control) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            if _is_remote(request):
                raise of_code(403)
            found = json_answer(await control(service, request))
        except Refusal as refusal:
            found = refusal_answer(refusal)
        return Response(found.body, found.status, media_type=found.content_type)

    return answer


def _is_remote(request: Request) -> bool:
    """True if the client has an address of another machine.

    A client in this process, such as a test, has no address.
    """
    try:
        address = ip_address(request.client.host if request.client else "")
    except ValueError:
        return False
    return not address.is_loopback


def _cells(sheet: Sheet, results: Results) -> list[list[dict[str, object]]]:
    """Return all cells of a worksheet by row.

    Rows end after the last cell that was ever written.
    """
    return [
        [_cell(sheet, row, column, results) for column in range(len(contents))]
        for row, contents in enumerate(sheet.rows)
    ]


def _cell(sheet: Sheet, row: int, column: int, results: Results) -> dict[str, object]:
    evaluated = results.of(sheet, row, column)
    value = evaluated.value
    return {
        "value": value.text if isinstance(value, CellError) else plain(value),
        "formula": sheet.cell(row, column).formula,
        "text": displayed(evaluated),
    }


CONTROLS: tuple[tuple[str, str, Control], ...] = (
    ("GET", "/stats", _stats),
    ("POST", "/reset", _reset),
    ("POST", "/faults", _faults),
    ("GET", "/spreadsheets/{spreadsheet_id}", _spreadsheet),
    ("POST", "/spreadsheets/{spreadsheet_id}/access", _share),
    ("POST", "/accounts/{account}/revoke", _revoke),
    ("POST", "/accounts/{account}/restore", _restore),
    ("POST", "/projects/{project}/disable", _disable),
    ("POST", "/projects/{project}/enable", _enable),
)
