"""Use of keys by the hour: sums of requests, rows, bytes and Google calls, stored for 30 days.

Rules
- A request adds to a dict of this process (`gateway.telemetry.events.request_done`). The dict is
  stored every `FLUSH_SECONDS` and at the end. A process that crashes loses the counts since the
  last time.
- Refused requests count by error code, without the worksheet, whose name can be any text.
- Counts that could not be stored are stored later. If the failed commit might have been applied,
  the counts are dropped, so that no request counts twice.
- Only the first failure is logged until a transaction succeeds again.
- SQL computes the sums when they are read. A month of 1,000 keys has 720,000 rows, which SQLite
  sums in a second. `SumsOfUse` groups by the hour or by other columns. Grouping by both is slower
  than two statements, because SQLite would have to sort the rows.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from cachetools import FIFOCache
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.storage.database import BIG, TIME, metadata
from gateway.table.quoting import printable
from gateway.telemetry.events import USE, UseCounts, UsePlace, tallies, usage_failed

FLUSH_SECONDS = 5.0
KEPT = timedelta(days=30)
HOUR = timedelta(hours=1)

key_usage = sa.Table(
    "key_usage",
    metadata,
    sa.Column("hour", TIME, primary_key=True),
    sa.Column("key_id", sa.String, primary_key=True),  # "" for requests without a valid key
    sa.Column("spreadsheet", sa.String, primary_key=True),
    sa.Column("worksheet", sa.String, primary_key=True),
    sa.Column("code", sa.Integer, primary_key=True, autoincrement=False),  # 0 for none
    *(sa.Column(name, BIG, nullable=False) for name in USE),
)
_PLACE = [column.name for column in key_usage.primary_key]
_NAMES = [column.name for column in key_usage.columns]
_ADD = sa.text(
    f"INSERT INTO key_usage ({', '.join(_NAMES)}) "  # noqa: S608 - names of columns
    f"VALUES ({', '.join(f':{name}' for name in _NAMES)}) ON CONFLICT ({', '.join(_PLACE)}) "
    f"DO UPDATE SET {', '.join(f'{name} = key_usage.{name} + excluded.{name}' for name in USE)}"
)
_REFUSED = sa.func.sum(sa.case((key_usage.c.code == 0, 0), else_=key_usage.c.requests))
_SUMS = (*(sa.func.sum(key_usage.c[name]) for name in USE), _REFUSED)
SUMMED = (*USE, "refused")
_MOST_LATEST = 4
_FORGET = sa.delete(key_usage).where(key_usage.c.hour < sa.bindparam("oldest"))


@asynccontextmanager
async def stored_usage(
    engine: AsyncEngine, now: Callable[[], datetime], *, every_seconds: float = FLUSH_SECONDS
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Store the use of keys by this process during the block. `now` returns UTC.

    Yields a function that stores the counts now. The function does nothing if the last attempt
    failed.
    """
    hour, cleared_at, has_failed = _hour_of(now()), "", False
    flushing, is_over = asyncio.Lock(), asyncio.Event()

    async def flush(*, is_retry: bool = False) -> None:
        """Store the counts for the hour in which counting began. Delete old rows once an hour.

        After a failure, only a call with `is_retry` stores counts, so that requests do not wait for
        a locked database.
        """
        nonlocal hour, cleared_at, has_failed
        async with flushing:
            if has_failed and not is_retry:
                return
            begun_in, hour = hour, _hour_of(now())
            taken, tallies.use = tallies.use, {}
            if not taken and cleared_at == hour:
                return
            # All processes update rows in the same order, which prevents deadlocks.
            rows = sorted(
                ({"hour": begun_in, **_row(*each)} for each in taken.items()),
                key=lambda row: [str(row[name]) for name in _PLACE],
            )
            may_be_stored = False
            try:
                async with engine.connect() as connection:
                    if rows:
                        await connection.execute(_ADD, rows)
                    if cleared_at != hour:
                        await connection.execute(_FORGET, {"oldest": _hour_of(now() - KEPT)})
                    may_be_stored = True
                    await connection.commit()
            except Exception as error:  # the edge of a background task
                if not may_be_stored:
                    _give_back(taken)
                if not has_failed:
                    usage_failed(error)
                has_failed = True
                return
            cleared_at, has_failed = hour, False

    async def run() -> None:
        has_ended = False
        while not has_ended:
            instant = now()
            left_seconds = (HOUR - (instant - begin_of_hour(instant))).total_seconds()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(every_seconds, left_seconds)):
                    await is_over.wait()
            has_ended = is_over.is_set()
            await flush(is_retry=True)

    task = asyncio.get_running_loop().create_task(run())
    try:
        yield flush
    finally:
        is_over.set()
        await task


class SumsOfUse:
    """Sums of the stored use of keys. One statement runs at a time.

    If an equal statement begins while a caller waits, the caller gets the result of that statement.
    So reloads of a page of the console use one connection and one core.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._running = asyncio.Lock()
        self._begun = 0
        self._latest: FIFOCache[object, tuple[int, list[dict[str, Any]]]] = FIFOCache(_MOST_LATEST)
        """(Number of the statement, result) by arguments of `find`. Numbers count from 1."""

    async def find(
        self,
        by: Sequence[str],
        since: datetime,
        key_id: str | None = None,
        max_groups: int | None = None,
    ) -> list[dict[str, Any]]:
        """Sum the use since the hour of `since`, grouped by the columns `by` of `key_usage`.

        Returns dicts with the columns `by` and `SUMMED`, most requests first, of all keys or only
        of `key_id`. Groups after the first `max_groups` are left out; None means all groups.
        `refused` counts requests with an error code.
        """
        asked, begun_before = (*by, _hour_of(since), key_id, max_groups), self._begun
        async with self._running:
            number, found = self._latest.pop(asked, (0, []))
            if number <= begun_before:
                self._begun = number = self._begun + 1
                place = [key_usage.c[name] for name in by]
                query = (
                    sa.select(*place, *_SUMS)
                    .where(key_usage.c.hour >= _hour_of(since))
                    .group_by(*place)
                    .order_by(_SUMS[0].desc(), *place)
                    .limit(max_groups)
                )
                if key_id is not None:  # no ID has a NUL
                    query = query.where(key_usage.c.key_id == printable(key_id))
                async with self._engine.connect() as connection:
                    rows = (await connection.execute(query)).all()
                found = [dict(zip((*by, *SUMMED), map(_value, row), strict=True)) for row in rows]
            self._latest[asked] = number, found
        return [{**each} for each in found]


def _value(stored: Any) -> str | int:
    return stored if isinstance(stored, str) else int(stored)  # PostgreSQL sums as decimals


def _row(place: UsePlace, counts: UseCounts) -> dict[str, object]:
    *names, code = place
    texts = [(name or "").encode("utf-8", "replace").decode() for name in names]
    return dict(zip(_NAMES[1:], [*texts, code, *counts], strict=True))


def _give_back(taken: dict[UsePlace, UseCounts]) -> None:
    for place, counts in taken.items():
        present = tallies.use.setdefault(place, [0] * len(USE))
        present[:] = map(sum, zip(present, counts, strict=True))


def begin_of_hour(instant: datetime) -> datetime:
    """Returns the start of the hour that contains a time, in UTC."""
    return instant.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _hour_of(instant: datetime) -> str:
    return begin_of_hour(instant).isoformat()
