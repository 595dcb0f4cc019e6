"""Pool of worksheets, bounded in number and in the memory of their rows.

Rules: a worksheet with a running read or a queued write stays. Worksheets that were never read go
first, so that invented names displace no others; then those whose rows were renewed longest ago.
Uses are not recorded: rows in use are renewed every few seconds.
"""

from collections import OrderedDict
from collections.abc import Iterator

from gateway.telemetry.events import snapshots_kept
from gateway.worksheets.worksheet import Demand, Resources, Worksheet
from gateway.worksheets.worksheet_id import WorksheetId


class Pool:
    def __init__(self, *, max_worksheets: int, max_bytes: int) -> None:
        self._max_worksheets = max_worksheets
        self._max_bytes = max_bytes
        self._worksheets: OrderedDict[WorksheetId, Worksheet] = OrderedDict()
        self._weights: dict[WorksheetId, int] = {}
        """The memory of the rows of each worksheet, those renewed longest ago first."""
        self._byte_count = 0

    def get(self, worksheet_id: WorksheetId, resources: Resources) -> Worksheet:
        """The worksheet that is in use, or a new one."""
        worksheet = self._worksheets.get(worksheet_id)
        if worksheet is not None:
            self._worksheets.move_to_end(worksheet_id)
            return worksheet
        if len(self._worksheets) >= self._max_worksheets:
            self._make_room()
        worksheet = self._worksheets[worksheet_id] = Worksheet(worksheet_id, resources)
        return worksheet

    def find(self, worksheet_id: WorksheetId) -> Worksheet | None:
        """A worksheet that is in use."""
        return self._worksheets.get(worksheet_id)

    def loaded(self, spreadsheet: str) -> Iterator[Worksheet]:
        """The worksheets of a spreadsheet that have rows."""
        return (self._worksheets[each] for each in self._weights if each.spreadsheet == spreadsheet)

    def demands(self) -> Iterator[Demand]:
        """The demand for each worksheet with rows."""
        return (self._worksheets[each].demand for each in self._weights)

    def beside(self, worksheet: Worksheet) -> Iterator[Worksheet]:
        """The other worksheets of the spreadsheet that have rows."""
        spreadsheet = worksheet.id.spreadsheet
        for each in self._weights:
            if each.spreadsheet == spreadsheet and each != worksheet.id:
                yield self._worksheets[each]

    def weigh(self, worksheet: Worksheet) -> None:
        """Count the memory of a worksheet whose rows changed, and evict others."""
        if self._worksheets.get(worksheet.id) is not worksheet:
            return  # evicted meanwhile
        byte_count = worksheet.byte_count
        while byte_count > self._max_bytes and worksheet.make_lighter():
            byte_count = worksheet.byte_count
        if byte_count > self._max_bytes:
            worksheet.drop_rows()
            return
        self._byte_count += byte_count - self._weights.pop(worksheet.id, 0)
        if worksheet.blocks:
            self._weights[worksheet.id] = byte_count
        while self._byte_count > self._max_bytes:
            self._worksheets[next(iter(self._weights))].drop_rows()
        snapshots_kept(len(self._weights), self._byte_count)

    def _make_room(self) -> None:
        """Evict worksheets that were never read, or the one renewed longest ago."""
        idle = [each for each in self._worksheets.values() if each.is_idle]
        unseen = [each for each in idle if not each.blocks and each.header.last() is None]
        for worksheet in unseen or idle[: len(self._worksheets) - self._max_worksheets + 1]:
            worksheet.drop_rows()
            del self._worksheets[worksheet.id]
