"""Worksheets of typed writes, and how tests look at and edit them."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tests.journeys.conftest import (
    Api,
)

BATCH = "spreadsheets.batchUpdate"
SEARCH = "developerMetadata.search"
HEADER = "name,day,at,clock,length,price,share,done,text,sum,bad,empty\n"
WORKBOOK: Mapping[str, Mapping[str, str]] = {
    "demo": {
        "Typed": HEADER
        + "ann,2026-02-01,2026-02-01 10:30:00,9:15:00 PM,25:30:00,5,50%,TRUE,'2026-02-01,"
        "=F2*2,=1/0,\n"
        "bob,2/2/2026,2026-02-02 11:30:00,9:15:00,26:30:00,$6.50,5%,FALSE,x,=B3+1,=A9+1/0,\n",
        "Cold": HEADER + "ann,2026-02-01,,,,5,,,,,,\n",
        "Chain": "name,day\nfirst,2026-02-01\nwritten,2/3/2026\nblank,\nlast,05-Feb-2026\n",
        "First": "name,day\nfirst,2026-02-01\nlast,soon\n",
        "Blank": "name,day,done\nann,,\n",
        "New": "name,day\n",
        "Long": "day,text\n" + f"2026-02-01,{'x' * 3000}\n" * 40,
        "Form": "name,count,price,done,day,clock,text\nann,5,9.5,TRUE,2026-02-01,9:15:00,x\n",
    }
}
TABS = sorted(WORKBOOK["demo"])
"""Worksheets in tab order."""
COLUMNS = HEADER.strip().split(",")


def edit(api: Api, *requests: Mapping[str, Any]) -> None:
    """Apply requests as a person's edit, before a call that no test counts."""
    api.emulator.faults({"call": "*", "edit": {"requests": requests}})
    api.get("New")


def cells_of(title: str, row: int, column: int, rows: int = 1) -> Mapping[str, int]:
    """A range in one column. The column counts from 0, rows count from 1."""
    rows_ = {"startRowIndex": row - 1, "endRowIndex": row - 1 + rows}
    columns = {"startColumnIndex": column, "endColumnIndex": column + 1}
    return {"sheetId": TABS.index(title), **rows_, **columns}


def formatted(
    title: str, row: int, column: int, type_: str, pattern: str = "", rows: int = 1
) -> Mapping[str, Any]:
    """The request that gives cells a number format."""
    number_format = {"type": type_} | ({"pattern": pattern} if pattern else {})
    return {
        "repeatCell": {
            "range": cells_of(title, row, column, rows),
            "cell": {"userEnteredFormat": {"numberFormat": number_format}},
            "fields": "userEnteredFormat.numberFormat",
        }
    }


def held(api: Api, title: str, row: int, field: str) -> tuple[object, str]:
    """The value and the text of a cell."""
    header = [cell["text"] for cell in api.emulator.cells(title)[0]]
    line = api.emulator.cells(title)[row - 1]
    at = header.index(field)
    if at >= len(line):
        return None, ""
    return line[at]["value"], line[at]["text"]


def patch(api: Api, path: str, body: object, **options: Any) -> Any:
    """A typed update; `path` may have parameters."""
    mark = "&" if "?" in path else "?"
    return api.send("PATCH", f"{path}{mark}values=typed", json=body, **options)


def post(api: Api, path: str, body: object, **options: Any) -> Any:
    """A typed create or upsert."""
    mark = "&" if "?" in path else "?"
    return api.post(f"{path}{mark}values=typed", json=body, **options)


def spent(api: Api, since: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """Number of reads and writes since `since`."""
    reads, writes = api.emulator.calls()
    return reads - since[0], writes - since[1]


def where(**fields: str) -> str:
    return "where=" + quote(str(fields).replace("'", '"'))
