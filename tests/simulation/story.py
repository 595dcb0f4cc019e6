"""Invented histories of a worksheet, for tests of the verdict.

The verdict is the check of a campaign's answers against the effects at Google.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.marks import NativeTable
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from tests.simulation.verbs.entries import Answer, Entry, ListRead, Outcome
from tests.simulation.verbs.history import History, Version
from tests.simulation.verbs.operations import HEADER, Filter, Kind, Operation
from tests.simulation.verbs.verdict import judge
from tests.simulation.witness import SentBatch

TITLE = "Verbs0"
KEPT_SECONDS = 1.0
Cells = tuple[str, ...]
Bodies = tuple[Mapping[str, str], ...]


def row(number: int, group: str = "", key: str = "", *, note: int = 0) -> Cells:
    """Return a row of the worksheet; `note` is the number of the update that wrote its note."""
    return (f"id:{number}", "", "", f"note:{note or number}", group, key)


ONE, TWO, THREE = row(1, "group:0"), row(2, "group:1"), row(3, "group:0")
KEYED: Cells = ("", "", "", "note:4", "", "key:0")
CHANGED = row(1, "group:0", note=7)
CHANGED_THREE = row(3, "group:0", note=7)
IN_GROUP_0 = Filter(field="group", texts=("group:0",))
NOTE: Bodies = ({"note": "note:7"},)
NEW: Bodies = ({"id": "id:7", "note": "note:7"},)
NEW_ROW = row(7)
UPSERT: Bodies = ({"key": "key:0", "note": "note:7"},)
UPSERTED: Cells = ("", "", "", "note:7", "", "key:0")


@dataclass(kw_only=True)
class Story:
    """Versions of a worksheet since 0 s. `above` are the rows above its header."""

    above: Sequence[Cells] = ()
    history: History = field(default_factory=History)
    sent: dict[int, SentBatch] = field(default_factory=dict)
    kills: tuple[float, ...] = ()

    def add(
        self,
        at: float,
        *rows: Cells,
        fence: int | None = None,
        sent_at: float | None = None,
        removed: Sequence[int] = (),
        emptied: Sequence[int] = (),
        is_lost: bool = False,
        is_idle: bool = False,
        answer_from: int = 0,
        key: str = "",
        table_rows: int = 0,
        adding: Sequence[Mapping[str, Any]] = (),
    ) -> "Story":
        """Add a version with these rows below the header; a gateway's batch wrote it if `fence`.

        `fence` is the metadata ID of the batch. `is_idle`: the batch changed no row. `answer_from`:
        the first row that the batch's answer shows, if the batch added rows. `key`: the metadata
        key of its gateway. `table_rows`: number of rows in the body of a native table. `adding`:
        the requests that add rows.
        """
        span = Span(top=0, left=0, bottom=1 + table_rows, right=len(HEADER))
        table = NativeTable(table_id="table", name="Table", span=span, rows={})
        sheet = Sheet(
            sheet_id=0,
            title=TITLE,
            row_count=20,
            column_count=len(HEADER),
            rows=[*self.above, HEADER, *rows],
            tables=[table] * bool(table_rows),
        )
        if is_idle:
            workbook = Workbook(spreadsheet_id="demo", title="Demo", sheets=[sheet])
            self.history.tabs = {sheet.sheet_id: TITLE}
            self.history.idle.append((at, fence or 0, workbook))
        else:
            version = Version(since=at, sheet=sheet, fence=fence, header_row=len(self.above) + 1)
            self.history.versions.setdefault(TITLE, []).append(version)
        if fence is not None:
            requests = [
                {"createDeveloperMetadata": {"developerMetadata": {"metadataKey": key}}},
                *([{"appendCells": {"sheetId": 0}}] * bool(answer_from)),
                *adding,
                *map(_emptying, emptied),
                *(_deletion(each) for each in sorted(removed, reverse=True)),
            ]
            ranges = [f"'{TITLE}'!1:1", *[f"'{TITLE}'!A{answer_from}:ZZZ"] * bool(answer_from)]
            self.sent[fence] = SentBatch(
                sent_at=at - 0.1 if sent_at is None else sent_at,
                body=json.dumps({"requests": requests, "responseRanges": ranges}).encode(),
                is_lost=is_lost,
            )
        return self


def _deletion(number: int) -> Mapping[str, Any]:
    lines = {"dimension": "ROWS", "startIndex": number - 1, "endIndex": number}
    return {"deleteDimension": {"range": lines}}


def _emptying(number: int) -> Mapping[str, Any]:
    start = {"sheetId": 0, "rowIndex": number - 1, "columnIndex": 0}
    return {"updateCells": {"start": start, "rows": [{"values": [{}] * len(HEADER)}]}}


def begun(*rows: Cells, above: Sequence[Cells] = ()) -> Story:
    return Story(above=above).add(0.0, *rows)


def entry(
    kind: Kind,
    bodies: Bodies = (),
    *,
    outcome: Outcome = "done",
    told: Sequence[Mapping[str, Any]] = (),
    rows: tuple[int, ...] = (),
    number: int = 7,
    asked_at: float = 4.0,
    answered_at: float = 6.0,
    code: int = 0,
    **more: Any,
) -> Entry:
    """Return an operation with its answer, by default sent at 4 s and answered at 6 s."""
    return Entry(
        worksheet=TITLE,
        operation=Operation(kind=kind, number=number, bodies=bodies, rows=rows, **more),
        answer=Answer(outcome=outcome, results=told, status=code // 10 or 200, code=code),
        asked_at=asked_at,
        answered_at=answered_at,
    )


def created(at_row: int = 4, **more: Any) -> Entry:
    return entry("create", NEW, told=[{"rowIndex": at_row, **NEW[0]}], **more)


def updated(at_row: int = 2, **more: Any) -> Entry:
    return entry("update", NOTE, told=[{"rowIndex": at_row, **NOTE[0]}], rows=(at_row,), **more)


def updated_where(*at_rows: int, **more: Any) -> Entry:
    told = [{"rowIndex": each} for each in at_rows]
    return entry("update where", NOTE, told=told, filter=IN_GROUP_0, **more)


def deleted(at_row: int, **more: Any) -> Entry:
    return entry("delete", rows=(at_row,), **more)


def deleted_where(*at_rows: int, **more: Any) -> Entry:
    return entry("delete where", told=[{"rowIndex": each} for each in at_rows], **more)


def upserted(at_row: int, *, is_new: bool, **more: Any) -> Entry:
    told = [{"rowIndex": at_row, "created": is_new, **UPSERT[0]}]
    return entry("upsert", UPSERT, told=told, **more)


def kinds_of(
    story: Story,
    *entries: Entry,
    reads: Sequence[ListRead] = (),
    failures: Sequence[float] = (),
) -> set[str]:
    """Return the kinds of problems that the verdict finds.

    At the end of the story a read without cache shows the current worksheet.
    """
    courses = story.history.courses(story.sent, story.kills)
    last = ListRead(
        worksheet=TITLE,
        asked_at=99.0,
        answered_at=99.0,
        records=records_of(courses[TITLE].versions[-1]),
    )
    verdict = judge(
        entries,
        reads,
        [last],
        courses,
        saw_failure=lambda since, until: any(since <= each <= until for each in failures),
        kept_seconds=KEPT_SECONDS,
    )
    return {problem.kind for problem in verdict.problems}


def records_of(version: Version) -> Sequence[Mapping[str, Any]]:
    return [{"rowIndex": number, **texts} for number, texts in version.records().items()]


def at_5(*rows: Cells, **more: Any) -> Story:
    """Return a story of two rows, which a batch at 5 s replaces by `rows`."""
    return begun(ONE, TWO).add(5.0, *rows, fence=1, **more)


def twice(*, is_lost: bool = False) -> Story:
    return at_5(ONE, TWO, NEW_ROW).add(5.5, ONE, TWO, NEW_ROW, NEW_ROW, fence=2, is_lost=is_lost)
