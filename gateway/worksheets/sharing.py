"""State of a worksheet that several gateway processes share; a single process shares nothing.

Rules
- All cached rows of one epoch show the same state. A write, and a read that finds another state,
  begin a new epoch before they are answered. Rows of an earlier epoch are not served as fresh.
- Writes are carried out under the worksheet's lock. Before a batch is sent, its fence is stored
  with the lock: a successor settles it first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gateway.google.sheets import Fence, Render, Rendering
from gateway.table.header import Header
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.snapshot import Effect, HeaderCache

PUBLISHING_SECONDS = 0.25
"""Maximum wait of a read for the end of a write that its rows show."""


class Written(NamedTuple):
    """A write changed the worksheet."""

    effect: Effect


class Seen(NamedTuple):
    """Rows as a write's look or answer showed them, by number."""

    header: Header
    rows: Mapping[int, Sequence[str]]


class Missed(NamedTuple):
    """A row does not exist."""

    row: int


News = Written | Seen | Missed

ReadRendering = Callable[[bytes | None], Awaitable[Rendering | None]]
"""Reads a rendering from Google; None if it has the digest."""


class SharedState:
    """State of a worksheet among several processes; unused by a single process.

    `learn`, `expire` and `forget` are methods of the worksheet.
    """

    def __init__(
        self,
        worksheet: WorksheetId,
        peers: "Peers",
        *,
        header: HeaderCache,
        learn: Callable[[News], None],
        expire: Callable[[], None],
        forget: Callable[[], None],
    ) -> None:
        self.id = worksheet
        self.peers = peers
        self.header = header
        self.learn = learn
        self.forget = forget
        self._expire = expire
        self.epoch: str | None = None
        """Epoch of all cached rows; None if unknown."""
        self.own_epoch: str | None = None
        """Epoch of the last write under the lock; None if another process wrote it."""
        self.changes = 0
        """Number of certain or possible changes by other processes."""
        self.writes = 0
        """Number of changes by this process, so that no earlier answer is published."""
        self.newest_seconds = float("-inf")
        """Time at which the newest rows that this process may have served were seen."""
        self.overtaken_at = -1
        """Moment at which this process last noticed changes by others."""
        self.is_alone = False
        """True if other processes may not know of the last write yet."""
        self.digests: dict[Render, bytes] = {}
        """Digests of the renderings that this process published or found last."""
        self.catching_up = asyncio.Lock()
        self.is_written = False
        """True if this process holds the lock."""
        self._is_published = asyncio.Event()
        self._is_published.set()
        self._news: list[News] | None = []

    def changed(self, epoch: str | None) -> None:
        """Record that other processes changed the worksheet, or may have."""
        if epoch is None or epoch != self.epoch:
            self.epoch = epoch
            self.changes += 1
            self.overtaken()
            self.forget()

    def overtaken(self) -> None:
        """Record that earlier reads may be older than a change by other processes."""
        self.overtaken_at = self.header.moment()

    def add_news(self, news: "News | None") -> None:
        """Add the news of a write of this process for other processes; None if unknown.

        News of moved rows are dropped, because other processes cannot apply them to rows that they
        read meanwhile.
        """
        if not self.is_written:  # news of other processes, or a single process
            return
        effect = news.effect if isinstance(news, Written) else None
        has_moved = effect is not None and (effect.removed or effect.is_inside)
        if news is None or has_moved or self._news is None:
            self._news = None
        else:
            self._news.append(news)

    def take_news(self) -> "Sequence[News] | None":
        """Return and clear the news; None if they are incomplete."""
        news, self._news = self._news, []
        return news

    def wrote(self, epoch: str | None) -> None:
        """Record the epoch that a write of this process began; cached rows are patched with it."""
        self.epoch = epoch
        self.writes += 1

    def found_new(self, epoch: str) -> None:
        """Record the epoch of a read of this process; older rows of another epoch expire."""
        if epoch != self.epoch:
            self.epoch = epoch
            self._expire()

    @contextmanager
    def written(self) -> Iterator[None]:
        """Mark the worksheet as written to during the block; its end publishes the write."""
        self.is_written = True
        try:
            yield
        finally:
            self.is_written = False
            self._is_published.set()

    def show(self) -> None:
        """Record that cached rows show an unpublished write of this process."""
        if self.is_written:
            self._is_published.clear()

    async def may_be_shown(self) -> bool:
        """Wait until the writes in the cached rows are published.

        Returns False after `PUBLISHING_SECONDS`.
        """
        if not self._is_published.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(PUBLISHING_SECONDS):
                    await self._is_published.wait()
        return self._is_published.is_set()

    def seen(self, seconds: float, news: News | None) -> None:
        """Record rows that this process may serve now; no earlier rows may replace them."""
        self.newest_seconds = max(self.newest_seconds, seconds)
        self.add_news(news)


class Sharing(Protocol):
    """Rows shared by processes."""

    async def is_current(self, state: SharedState) -> bool:
        """Update the cached rows to the current epoch, or drop them; False if it is unknown."""
        ...

    async def read(
        self,
        state: SharedState,
        render: Render,
        *,
        known: bytes | None,
        newer_than: float,
        from_google: ReadRendering,
    ) -> Rendering | None:
        """A rendering that a process read for all, or reads now; None if it is the known one.

        Its read was sent later than `newer_than` (infinity: now), and at most `max_age_seconds` of
        the call context ago; `record_sent_at` receives the time.
        """
        ...

    async def announce(self, state: SharedState) -> None:
        """Begin an epoch before a write is answered."""
        ...

    def change(self, worksheet: WorksheetId) -> None:
        """Begin an epoch soon, after a reported change."""
        ...


class OpenFence(NamedTuple):
    """The fence of a batch whose outcome is open; `sent_at` is on the wall clock, in seconds."""

    fence: Fence
    sent_at: float


class WriteLock(Protocol):
    """Write lock of worksheets across processes; each worksheet has at most one open fence."""

    def held(self, state: SharedState) -> AbstractAsyncContextManager[None]:
        """Hold the lock during the block; its end publishes the write.

        Raises RecordsUnavailable, `not_applied`, before the block only; QueueFull after too long a
        wait. All other methods must be called within the block.
        """
        ...

    def earlier(self, worksheet: WorksheetId) -> OpenFence | None:
        """The fence that an earlier holder left open, until it is `settled`."""
        ...

    def settled(self, worksheet: WorksheetId, fence: Fence) -> None:
        """Record that the outcome of an open batch is known."""
        ...

    async def opening(self, worksheet: WorksheetId, fence: Fence) -> None:
        """Store the fence of a batch before it is sent.

        Raises RecordsUnavailable, or QueueFull if the lock is lost.
        """
        ...

    def left_open(self, worksheet: WorksheetId, fence: Fence) -> None:
        """Record that the outcome of a batch is unknown at the end of the block."""
        ...


@dataclass(frozen=True, kw_only=True)
class Peers:
    """Shared rows and write lock of several processes."""

    rows: Sharing
    lock: WriteLock
