"""Rows that processes share through Redis: one process reads a worksheet from Google for all.

Rules
- An epoch is a version of a worksheet's rows. A process serves cached rows as fresh only while
  the epoch of the rows is current. Simultaneous requests fetch their epochs in one call.
- The news of a write are the rows that the write changed or read. Other processes apply the news to
  cached rows.
- A rendering is all rows of a worksheet, with formatted or with unformatted values. One process at
  a time reads a rendering and publishes it in Redis. Other processes wait. A rendering that is too
  large is not published, so each process reads it from Google. A flight is such a running read.
- Without Redis each process reads from Google, and does not know the writes of other processes.
"""

import asyncio
import secrets
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Annotated

import msgspec

from gateway.cluster.row_scripts import BEGIN, EPOCHS, LOOK, NEWS, PUBLISH, RELEASE, Publication
from gateway.cluster.store import Store, StoreUnavailable
from gateway.cluster.stored_values import MAX_NEWS_BYTES, MAX_SHARED_BYTES, decoded
from gateway.errors import GatewayError
from gateway.google.rendering import MAX_COLUMNS
from gateway.google.sheets import (
    Column,
    Render,
    Rendering,
    current_call_context,
    record_sent_at,
    recording_sent_at,
)
from gateway.storage.write_records import place_of
from gateway.table.header import parse_header
from gateway.table.table import RowPatch
from gateway.worksheets.access import DEFAULT_LAYOUTS, Layouts, WorksheetId, own_area
from gateway.worksheets.sharing import Missed, News, ReadRendering, Seen, SharedState
from gateway.worksheets.snapshot import Effect

FLIGHT_SECONDS = 25.0
"""Lifetime of the Redis key of a running read. After this time another process can read."""

WAIT_SECONDS = 8.0
"""Maximum seconds to wait for a read by another process, before this process reads from Google."""

PAUSE_SECONDS = 0.03
LONGEST_AGE_SECONDS = 86_400.0
MICROSECONDS = 1_000_000
_OTHER = {Render.DISPLAYED: Render.TYPED, Render.TYPED: Render.DISPLAYED}


class _Body(msgspec.Struct, frozen=True, array_like=True):
    """All rows of a worksheet as stored in Redis."""

    format: int
    range: str
    columns: Annotated[tuple[Column, ...], msgspec.Meta(max_length=MAX_COLUMNS)]
    byte_count: Annotated[int, msgspec.Meta(ge=0, le=MAX_SHARED_BYTES)]


FORMAT = 1
_decoder = msgspec.msgpack.Decoder(_Body)


NEWS_FORMAT = 2

MAX_ROW = 10_000_000
"""Maximum row number. Google limits a spreadsheet to 10 million cells."""

MAX_CELLS = 1_000_000
"""Maximum number of cells in the rows that a write changed or read, padded to the widest row."""

Cell = str | int | float | bool | None
Row = Annotated[int, msgspec.Meta(ge=2, le=MAX_ROW)]
RowOrNone = Annotated[int, msgspec.Meta(ge=0, le=MAX_ROW)]
Place = Annotated[int, msgspec.Meta(ge=0, lt=MAX_COLUMNS)]
"""Column number, from 0."""
Texts = Annotated[Sequence[str], msgspec.Meta(max_length=MAX_COLUMNS)]


class _Patch(msgspec.Struct, frozen=True, array_like=True):
    row: Row
    texts: Mapping[Place, str]
    values: Mapping[Place, Cell]


class _StoredNews(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """Rows that a write changed, or only read (`missed`, `seen`), as stored in Redis."""

    header: Texts = ()
    missed: RowOrNone = 0
    seen: Mapping[Row, Texts] | None = None
    rows: Sequence[_Patch] = ()
    before: Mapping[Row, Texts] = {}
    last_row: RowOrNone = 0


class _All(msgspec.Struct, frozen=True, array_like=True):
    format: int
    news: Sequence[_StoredNews]


_news_decoder = msgspec.msgpack.Decoder(_All)


def encode_news(news: Sequence[News] | None) -> bytes:
    """Encode rows that a write changed or read. Returns b"" if they are too large, or for None."""
    if news is None:
        return b""
    try:
        encoded = msgspec.msgpack.encode(_All(NEWS_FORMAT, [_encodable(each) for each in news]))
    except OverflowError:  # a number of more than 64 bits
        return b""
    return encoded if len(encoded) <= MAX_NEWS_BYTES else b""


def news_between(stored: Iterable[bytes], at: str, epoch: str) -> Sequence[News] | None:
    """Return the changes by all writes from the epoch (version) `at` to `epoch`, in order.

    Returns None if changes are missing. `stored` is the answer of the script `NEWS`.
    """
    following: dict[str, tuple[str, bytes]] = {}
    for each in stored:  # epoch before, epoch after and news of a write
        earlier, later, encoded = (*each.split(b"\n", 2), b"", b"")[:3]
        after = later.decode("ascii", "replace")
        following[earlier.decode("ascii", "replace")] = after, encoded
    chain: list[News] = []
    while at != epoch:
        at, encoded = following.pop(at, ("", b""))
        found = decoded(_news_decoder, encoded)
        if found is None or found.format != NEWS_FORMAT or not all(map(_is_small, found.news)):
            return None
        chain += map(_news, found.news)
    return chain


def _is_small(stored: _StoredNews) -> bool:
    """True if the rows have at most `MAX_CELLS` cells after padding to the widest row."""
    lines = [stored.header, *(stored.seen or {}).values(), *stored.before.values()]
    places = [place for patch in stored.rows for place in (*patch.texts, *patch.values)]
    width = max([*map(len, lines), *(place + 1 for place in places)])
    return width * (len(lines) + len(stored.rows)) <= MAX_CELLS


def _news(stored: _StoredNews) -> News:
    header = parse_header(stored.header)
    if stored.missed:
        return Missed(stored.missed)
    if stored.seen is not None:
        return Seen(header, stored.seen)
    return Effect(
        header=header,
        rows=[
            RowPatch(row=patch.row, texts=patch.texts, values=patch.values) for patch in stored.rows
        ],
        before=stored.before,
        last_row=stored.last_row,
    )


def _encodable(news: News) -> _StoredNews:
    match news:
        case Missed(row):
            return _StoredNews(missed=row)
        case Seen(header, rows):
            return _StoredNews(header=header.cells, seen=rows)
        case Effect():
            return _StoredNews(
                header=news.header.cells,
                rows=[_Patch(each.row, each.texts, each.values) for each in news.rows],  # type: ignore[arg-type]
                before=news.before,
                last_row=news.last_row,
            )


@dataclass
class _Flight:
    """Reads of a worksheet by this process under one Redis key, for which other processes wait."""

    readers: int = 0
    is_set: bool = False
    """True if the key might exist in Redis."""


class SharedRows:
    """Shares rows through Redis (`Sharing`)."""

    def __init__(self, store: Store, *, layouts: Layouts = DEFAULT_LAYOUTS) -> None:
        self._store = store
        self._layouts = layouts
        self._me = secrets.token_hex(8)
        self._asked: dict[WorksheetId, list[asyncio.Future[str | None]]] = {}
        self._is_asking = False
        self._flights: dict[str, _Flight] = {}

    async def is_current(self, state: SharedState) -> bool:
        while True:
            writes = state.writes
            epoch = await self._epoch(state.id)
            if epoch is None:
                state.epoch = None  # rows that are cached now have no known epoch
                return False
            if epoch == state.epoch or (
                writes == state.writes and await self._caught_up(state, epoch)
            ):
                return True

    async def _caught_up(self, state: SharedState, epoch: str) -> bool:
        """Apply the writes of other processes to the cached rows, up to an epoch (version).

        Drops the cached rows if Redis lacks the changes of a write. Returns False if this process
        wrote at the same time.
        """
        async with state.catching_up:
            writes, at, news = state.writes, state.epoch, None
            if at == epoch:
                return True
            if at is not None:
                keys = [self._key("news", state.id)]
                with suppress(StoreUnavailable):
                    news = news_between(await self._store.run(NEWS, keys), at, epoch)
                if (state.writes, state.epoch) != (writes, at):
                    return False
            if news is None:
                state.changed(epoch)
            else:
                for each in news:
                    state.learn(each)
                state.overtaken()
                state.wrote(epoch)
        return True

    async def begin_epoch(self, state: SharedState) -> None:
        """Begin an epoch (version of the rows) after a write, and publish the changed rows."""
        news = encode_news(state.take_news())
        epoch, is_next = await self._begin(state.id, state.epoch or "", news)
        state.is_alone = epoch is None
        if epoch is None or is_next:
            state.wrote(epoch)
        else:  # another process began an epoch at the same time
            state.changed(epoch)

    async def _begin(
        self, worksheet: WorksheetId, earlier: str = "", news: bytes = b""
    ) -> tuple[str | None, bool]:
        """Begin an epoch (row version) with the encoded `news` of a write, or b"" if unknown.

        Returns the epoch, and True if it directly follows `earlier`, the epoch that the writer
        knows. Returns (None, False) if Redis is unavailable.
        """
        keys = [self._key("epoch", worksheet), self._key("news", worksheet)]
        try:
            epoch, is_next = await self._store.run(BEGIN, keys, secrets.token_hex(8), earlier, news)
        except StoreUnavailable:
            return None, False
        return epoch.decode(), bool(is_next)

    async def announce(self, state: SharedState) -> None:
        epoch, _ = await self._begin(state.id)
        state.is_alone = epoch is None

    def change(self, worksheet: WorksheetId) -> None:
        self._store.start(self._begin(worksheet))

    async def read(
        self,
        state: SharedState,
        render: Render,
        *,
        known: bytes | None,
        newer_than: float,
        from_google: ReadRendering,
    ) -> Rendering | None:
        worksheet, max_age_seconds = state.id, current_call_context().max_age_seconds
        flight_key = self._key("flight", worksheet)
        keys = [self._key("epoch", worksheet), self._key(f"rows:{render}", worksheet), flight_key]
        began = time.monotonic()
        with self._flying(flight_key) as flight:
            while True:
                now = time.monotonic()
                age_seconds = min(max_age_seconds + now - began, now - newer_than)
                try:
                    epoch, word, age, digest, body, redis_now = await self._store.run(
                        LOOK,
                        keys,
                        secrets.token_hex(8),
                        self._me,
                        round(min(max(age_seconds, 0.0), LONGEST_AGE_SECONDS) * MICROSECONDS),
                        known or b"",
                        round(FLIGHT_SECONDS * 1000),
                    )
                    ahead = redis_now - round(time.monotonic() * MICROSECONDS)
                    epoch = epoch.decode()
                    if epoch != state.epoch and not await self._caught_up(state, epoch):
                        continue
                    found = _decoded(body, digest, worksheet) if body else None
                    # Otherwise the rows are damaged, or have the format of another version.
                    if word == b"found" and (found is not None or digest == known):
                        state.digests[render] = digest
                        record_sent_at(now - age / MICROSECONDS)
                        return None if digest == known else found
                    # A write does not wait for a read: other processes wait for its lock.
                    if word == b"wait" and not state.is_written and now - began < WAIT_SECONDS:
                        await asyncio.sleep(PAUSE_SECONDS)
                        continue
                    flight.is_set = True
                    rendering, is_served = await self._read_for_all(
                        state,
                        render,
                        known=known,
                        from_google=from_google,
                        stored_digest=digest,
                        ahead=ahead,
                        began=began,
                        flight=flight,
                    )
                    if is_served:
                        return rendering
                    began = time.monotonic()
                except StoreUnavailable:
                    state.epoch = None
                    return await from_google(known)

    @contextmanager
    def _flying(self, key: str) -> Iterator[_Flight]:
        """Register a read under a Redis key during the block. The last read deletes the key."""
        flight = self._flights.setdefault(key, _Flight())
        flight.readers += 1
        try:
            yield flight
        except BaseException:
            flight.is_set = True  # Redis might have begun the flight
            raise
        finally:
            flight.readers -= 1
            if not flight.readers:
                del self._flights[key]
                if flight.is_set:
                    self._store.start(self._store.run(RELEASE, [key], self._me))

    async def _read_for_all(
        self,
        state: SharedState,
        render: Render,
        *,
        known: bytes | None,
        from_google: ReadRendering,
        stored_digest: bytes,
        ahead: int,
        began: float,
        flight: _Flight,
    ) -> tuple[Rendering | None, bool]:
        """Read all rows from Google, and publish them in Redis. Returns the rows, and a flag.

        The rows are None if they have the digest `known` of the caller's cached rows. If the flag
        is False, another process published newer rows during the read, and the caller must read
        again. `stored_digest` is the digest of the rows in Redis, or b"". `ahead` is Redis's clock
        minus this process's clock, in microseconds.

        If this begins an epoch, cached rows of the other kind can stay valid: typed values if they
        were read since `began`, displayed texts of any age.
        """
        worksheet, other = state.id, _OTHER[render]
        keys = [
            self._key("epoch", worksheet),
            self._key(f"rows:{render}", worksheet),
            self._key(f"rows:{other}", worksheet),
            self._key("flight", worksheet),
        ]
        changes, writes = state.changes, state.writes
        with recording_sent_at() as sent_at:
            # Redis needs the body unless it has the same rendering.
            rendering = await from_google(known if known == stored_digest else None)
        sent_seconds = sent_at.at_seconds or time.monotonic()
        body = await _encoded(rendering)
        digest = (known if rendering is None else rendering.digest) or b""
        others_since = began if render is Render.DISPLAYED else -LONGEST_AGE_SECONDS
        while state.epoch is not None and changes == state.changes:
            publication = Publication(
                expected=state.epoch,
                new=secrets.token_hex(8),
                reader=self._me,
                digest=digest,
                read_at=round(sent_seconds * MICROSECONDS) + ahead,
                body=body,
                is_clean=int(writes == state.writes),
                is_last=int(flight.readers == 1),
                other_digest=state.digests.get(other, b""),
                other_since=round(others_since * MICROSECONDS) + ahead,
            )
            try:
                is_served, answer = await self._store.run(PUBLISH, keys, *publication)
                flight.is_set &= not publication.is_last
            except StoreUnavailable:
                state.epoch = None
                break
            epoch = answer.decode()
            if is_served and state.epoch == publication.expected:
                state.digests[render] = digest
                state.found_new(epoch)
                return rendering, True
            if epoch == publication.expected:
                return rendering, False
            # The caller applies the writes of other processes to this rendering.
            await self._caught_up(state, epoch)
        return rendering, True  # the caller discards it, or its epoch is unknown

    def _epoch(self, worksheet: WorksheetId) -> "asyncio.Future[str | None]":
        """Returns a future with the worksheet's current epoch, or None if Redis is unavailable."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(worksheet, []).append(answer)
        if not self._is_asking:
            self._is_asking = True
            self._store.start(self._ask())
        return answer

    async def _ask(self) -> None:
        """Fetch all requested epochs in one call to Redis. Repeat until no request waits."""
        try:
            while self._asked:
                asked, self._asked = self._asked, {}
                keys = [self._key("epoch", each) for each in asked]
                epochs: Sequence[str | None] = [None] * len(keys)
                try:
                    with suppress(StoreUnavailable):
                        found = await self._store.run(EPOCHS, keys, secrets.token_hex(8))
                        epochs = [*map(bytes.decode, found)]
                finally:  # no request waits for ever
                    for answers, epoch in zip(asked.values(), epochs, strict=True):
                        for answer in answers:
                            if not answer.done():  # a cancelled request's answer is done
                                answer.set_result(epoch)
        finally:
            self._is_asking = False

    def _key(self, kind: str, worksheet: WorksheetId) -> str:
        """Return the Redis key of a worksheet. `kind` is epoch, news, flight, or rows:RENDERING.

        The key contains the number of a header row below row 1, so that only processes with the
        same header row share rows.
        """
        row = self._layouts.of(worksheet).header_row
        return f"{{gateway}}:{kind}{f'@{row}' if row > 1 else ''}:{place_of(worksheet)}"


async def _encoded(rendering: Rendering | None) -> bytes:
    """Encode and compress all rows of a worksheet. Returns b"" for None, or for too many bytes."""
    if rendering is None or rendering.byte_count > MAX_SHARED_BYTES:
        return b""
    body = _Body(FORMAT, rendering.range, rendering.columns, rendering.byte_count)

    def compressed() -> bytes:
        try:
            encoded = msgspec.msgpack.encode(body)
        except OverflowError:  # a number of more than 64 bits
            return b""
        return zlib.compress(encoded, 1) if len(encoded) <= MAX_SHARED_BYTES else b""

    return await asyncio.to_thread(compressed)


def _decoded(stored: bytes, digest: bytes, worksheet: WorksheetId) -> Rendering | None:
    """Decode stored rows with this digest. Returns None for damaged bytes or another format."""
    body = decoded(_decoder, stored, max_inflated_bytes=MAX_SHARED_BYTES)
    if body is None or body.format != FORMAT:
        return None
    try:
        own_area(worksheet, body.range)
    except GatewayError:
        return None
    return Rendering(
        range=body.range, columns=body.columns, digest=digest, byte_count=body.byte_count
    )
