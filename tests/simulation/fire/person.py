"""A person who works in the worksheets of a fire, past the gateway."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.simulation.edits import person_at
from tests.simulation.fire.ledger import Fields, fields_of
from tests.simulation.fire.orders import HEADER, SPREADSHEET


@dataclass(kw_only=True)
class Person:
    """A person who moves the columns of all worksheets at once; `header` is the current one."""

    url: str
    credentials: Path
    header: tuple[str, ...] = HEADER
    sheet_ids: Sequence[int] = ()

    def arrive(self) -> None:
        """Find out about the worksheets, before anything goes wrong."""
        sheets = self._send("GET", "?fields=sheets.properties.sheetId")["sheets"]
        self.sheet_ids = [sheet["properties"].get("sheetId", 0) for sheet in sheets]

    def move_column(self) -> None:
        """The last column becomes the second one."""
        self._edit(
            {
                "moveDimension": {
                    "source": {
                        "sheetId": sheet_id,
                        "dimension": "COLUMNS",
                        "startIndex": len(HEADER) - 1,
                        "endIndex": len(HEADER),
                    },
                    "destinationIndex": 1,
                }
            }
            for sheet_id in self.sheet_ids
        )
        first, *middle, last = self.header
        self.header = (first, last, *middle)

    def add_row(self, index: int, number: int) -> Fields:
        """A row below the last one of a worksheet; its fields."""
        row = {name: f"{name}:{number}" for name in self.header if name}
        cells = [
            {"userEnteredValue": {"stringValue": row[name]}} if name else {} for name in self.header
        ]
        cell_rows = [{"values": cells}]
        added = {
            "sheetId": self.sheet_ids[index],
            "rows": cell_rows,
            "fields": "userEnteredValue",
        }
        self._edit([{"appendCells": added}])
        return fields_of(row)

    def _edit(self, requests: Iterable[Mapping[str, Any]]) -> None:
        self._send("POST", ":batchUpdate", {"requests": list(requests)})

    def _send(self, method: str, rest: str, body: object = None) -> Any:
        with person_at(self.url, self.credentials, SPREADSHEET) as client:
            return client.send(method, rest, body)
