"""State of a worksheet that several gateway processes share. A single process does not use it.

Rules
- An epoch is the version of a worksheet's cached rows. All cached rows of one epoch show the same
  state. A write begins a new epoch before it is answered. A read that finds other rows begins a new
  epoch, too. Rows of an earlier epoch are not served as fresh.
- A process writes only while it holds the lock of the worksheet. Before it sends a batch, it stores
  the batch's fence with the lock. A fence is metadata that proves the write. The next holder first
  looks up if that batch was applied.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from gateway.google.sheets import Fence, Render, Rendering
from gateway.table.header import Header
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.snapshot import Effect, HeaderCache

PUBLISHING_SECONDS = 0.25
"""Maximum seconds that a read waits until a write that its rows show is published."""


class Seen(NamedTuple):
    """News for other processes: displayed texts by row number, as a read or a write showed them."""

    header: Header
    rows: Mapping[int, Sequence[str]]


class Missed(NamedTuple):
    """News for other processes: a client got the answer that the row does not exist."""

    row: int


News = Effect | Seen | Missed
"""News for other processes. An `Effect` says that a write changed the worksheet."""

ReadRendering = Callable[[bytes | None], Awaitable[Rendering | None]]
"""Reads all texts or all values from Google. Returns None if they have the given digest."""


@dataclass(kw_only=True, eq=False)
class SharedState:
    """State of a worksheet in this process, which several processes share.

    `learn` applies news of other processes. `expire` and `forget` invalidate cached rows. All three
    are methods of `Worksheet`.
    """

    id: WorksheetId
    peers: "Peers"
    header: HeaderCache
    learn: Callable[[News], None]
    expire: Callable[[], None]
    forget: Callable[[], None]
    epoch: str | None = None
    """Epoch (version) of the cached rows, or None if unknown."""
    own_epoch: str | None = None
    """Epoch (version) of this process's last write, or None if another process wrote since."""
    changes: int = 0
    """Number of actual or possible changes of the worksheet by other processes."""
    writes: int = 0
    """Number of changes by this process. A read from before a change is not published."""
    newest_seconds: float = float("-inf")
    """Monotonic seconds at the read of the newest rows that this process might have served."""
    overtaken_at: int = -1
    """Event number (`Worksheet.moment`) of the last change that another process made."""
    is_alone: bool = False
    """True if other processes might not know the last write to the worksheet."""
    digests: dict[Render, bytes] = field(default_factory=dict)
    """Digests of the texts and values that this process last published or found published."""
    catching_up: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_written: bool = False
    """True if this process holds the write lock."""
    _is_published: asyncio.Event = field(default_factory=asyncio.Event)
    _news: list[News] | None = field(default_factory=list)

    def __post_init__(self) -> None:
        self._is_published.set()

    def changed(self, epoch: str | None) -> None:
        """Record that other processes changed the worksheet, or might have (`epoch` None)."""
        if epoch is None or epoch != self.epoch:
            self.epoch = epoch
            self.changes += 1
            self.overtaken()
            self.forget()

    def overtaken(self) -> None:
        """Record that earlier reads can be older than a change by another process."""
        self.overtaken_at = self.header.moment()

    def add_news(self, news: "News | None") -> None:
        """Add news of this process for other processes. None means that the change is unknown.

        News of moved rows is dropped, because other processes might have read newer rows.
        """
        if not self.is_written:  # learned from other processes, or no sharing
            return
        has_moved = isinstance(news, Effect) and (news.removed or news.is_inside)
        if news is None or has_moved or self._news is None:
            self._news = None
        else:
            self._news.append(news)

    def take_news(self) -> "Sequence[News] | None":
        """Return and clear the collected news, or None if a change was unknown or moved rows."""
        news, self._news = self._news, []
        return news

    def wrote(self, epoch: str | None) -> None:
        """Record the epoch of a write by this process, which the cached rows already show."""
        self.epoch = epoch
        self.writes += 1

    def found_new(self, epoch: str) -> None:
        """Record the epoch of a read by this process. If the epoch is new, cached rows expire."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.expire()

    @contextmanager
    def written(self) -> Iterator[None]:
        """Mark the worksheet as written to in the block, and the write as published at its end."""
        self.is_written = True
        try:
            yield
        finally:
            self.is_written = False
            self._is_published.set()

    def show(self) -> None:
        """Record that cached rows show the running write, which is not published yet."""
        if self.is_written:
            self._is_published.clear()

    async def may_be_shown(self) -> bool:
        """Wait until cached rows show only published writes. Returns False after a time limit."""
        if not self._is_published.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(PUBLISHING_SECONDS):
                    await self._is_published.wait()
        return self._is_published.is_set()

    def seen(self, seconds: float, news: News | None) -> None:
        """Record that this process serves rows of monotonic time `seconds` now, and none older.

        `news` describes the rows for other processes. None means that a change is unknown.
        """
        self.newest_seconds = max(self.newest_seconds, seconds)
        self.add_news(news)


class Sharing(Protocol):
    """Rows that processes share through Redis."""

    async def is_current(self, state: SharedState) -> bool:
        """Update or drop cached rows, so that all have the current epoch (version of the rows).

        Returns False if the epoch is unknown.
        """
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
        """Return all texts or all values, from another process or from Google.

        Returns None if they have the digest `known`. The read was sent after `newer_than` (infinity
        forces a new read), and at most `max_age_seconds` of the `CallContext` ago. Reports the
        sending time of the read with `record_sent_at`.
        """
        ...

    async def announce(self, state: SharedState) -> None:
        """Begin a new epoch (version of the rows) before a write is answered."""
        ...

    def change(self, worksheet: WorksheetId) -> None:
        """Begin a new epoch (version of the rows) soon, after a client reported a change."""
        ...


class OpenFence(NamedTuple):
    """Fence of a batch whose outcome is unknown. `sent_at` is Unix time in seconds."""

    fence: Fence
    sent_at: float


class WriteLock(Protocol):
    """Write lock of worksheets across processes. Each worksheet has at most one open fence.

    A fence is metadata of a batch in the spreadsheet. An open fence belongs to a batch with unknown
    outcome.
    """

    def held(self, state: SharedState) -> AbstractAsyncContextManager[None]:
        """Hold the lock during the block, and publish the write at the end.

        Before the block, raises RecordsUnavailable (`not_applied`), or QueueFull if the wait was
        too long. The other methods are allowed only within the block.
        """
        ...

    def earlier(self, worksheet: WorksheetId) -> OpenFence | None:
        """Return the fence that an earlier lock holder left open. Returns None after `settled`."""
        ...

    def settled(self, worksheet: WorksheetId, fence: Fence) -> None:
        """Record that the outcome of the batch with this fence is known."""
        ...

    async def opening(self, worksheet: WorksheetId, fence: Fence) -> None:
        """Store the fence of a batch before it is sent. Raises RecordsUnavailable, or QueueFull."""
        ...

    def left_open(self, worksheet: WorksheetId, fence: Fence) -> None:
        """Record that the outcome of a batch is still unknown when the lock is released."""
        ...


@dataclass(frozen=True, kw_only=True)
class Peers:
    """Shared rows and write lock of several processes."""

    rows: Sharing
    lock: WriteLock
