"""State of a worksheet that several gateway processes share; a single one shares nothing.

Rules
- All rows that processes keep of one epoch are of one state. A write, and a read that finds another
  state, begin a new epoch before they are answered. Rows of an earlier epoch are not served as
  fresh.
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

TELLING_SECONDS = 0.25
"""Time for which a read waits for the end of a write that it shows."""


class Written(NamedTuple):
    """A write changed the worksheet."""

    effect: Effect


class Seen(NamedTuple):
    """Rows as they were seen for a write, by their numbers."""

    header: Header
    rows: Mapping[int, Sequence[str]]


class Missed(NamedTuple):
    """A row does not exist."""

    row: int


News = Written | Seen | Missed

ReadRendering = Callable[[bytes | None], Awaitable[Rendering | None]]
"""Reads a rendering from Google; None if it has the digest."""


class SharedState:
    """Knowledge of the work of other processes on a worksheet; a single process has none.

    `moment`, `learn`, `expire` and `forget` are those of the worksheet.
    """

    def __init__(
        self,
        worksheet: WorksheetId,
        peers: "Peers",
        *,
        header: HeaderCache,
        moment: Callable[[], int],
        learn: Callable[[News], None],
        expire: Callable[[], None],
        forget: Callable[[], None],
    ) -> None:
        self.id = worksheet
        self.peers = peers
        self.header = header
        self.learn = learn
        self.forget = forget
        self._moment, self._expire = moment, expire
        self.epoch: str | None = None
        """The epoch of all kept rows; None if it is unknown."""
        self.own_epoch: str | None = None
        """Epoch of the last write under the lock; None if another process wrote it."""
        self.changes = 0
        """Counts the changes by others, and those that they may have made."""
        self.writes = 0
        """Counts the changes by this process, so that no earlier answer is published."""
        self.newest_seconds = float("-inf")
        """When the newest of the rows was seen that this process may have answered."""
        self.overtaken_at = -1
        """The moment at which this process last learned of changes by others."""
        self.is_alone = False
        """True if the others may not know yet of the last write."""
        self.digests: dict[Render, bytes] = {}
        """Digests of the renderings that this process published or found last."""
        self.catching_up = asyncio.Lock()
        self.is_written = False
        """True if this process holds the lock."""
        self._told = asyncio.Event()
        self._told.set()
        self._news: list[News] | None = []

    def changed(self, epoch: str | None) -> None:
        """Take in that others changed the worksheet, or may have."""
        if epoch is None or epoch != self.epoch:
            self.epoch = epoch
            self.changes += 1
            self.overtaken()
            self.forget()

    def overtaken(self) -> None:
        """Note that what was read before may be older than a change by others."""
        self.overtaken_at = self._moment()

    def tell(self, news: "News | None") -> None:
        """Note what a write of this process did, for the others; None: that is not known.

        They cannot tell whether rows that they read meanwhile are from before others moved.
        """
        if not self.is_written:  # it is news of others, or nobody asks for it
            return
        effect = news.effect if isinstance(news, Written) else None
        has_moved = effect is not None and (effect.removed or effect.is_inside)
        if news is None or has_moved or self._news is None:
            self._news = None
        else:
            self._news.append(news)

    def take_news(self) -> "Sequence[News] | None":
        """News since the last time; None if they are not all that the others need."""
        news, self._news = self._news, []
        return news

    def wrote(self, epoch: str | None) -> None:
        """Take in that a write of this process began an epoch; its rows are patched with it."""
        self.epoch = epoch
        self.writes += 1

    def found_new(self, epoch: str) -> None:
        """Take in that a read of this process began an epoch: older rows are not fresh."""
        if epoch != self.epoch:
            self.epoch = epoch
            self._expire()

    @contextmanager
    def written(self) -> Iterator[None]:
        """The worksheet is written to during the block, at whose end the others know of it."""
        self.is_written = True
        try:
            yield
        finally:
            self.is_written = False
            self._told.set()

    def show(self) -> None:
        """Note that kept rows show a write of this process."""
        if self.is_written:
            self._told.clear()

    async def may_be_shown(self) -> bool:
        """Wait until the others know what kept rows show; False if that takes too long."""
        if not self._told.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(TELLING_SECONDS):
                    await self._told.wait()
        return self._told.is_set()

    def seen(self, seconds: float, news: News | None) -> None:
        """Note rows that this process may answer now; no rows read before may replace them."""
        self.newest_seconds = max(self.newest_seconds, seconds)
        self.tell(news)


class Sharing(Protocol):
    """Rows that processes share."""

    async def is_current(self, state: SharedState) -> bool:
        """Bring the kept rows up to date, or drop them. False: that cannot be known for now."""
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

        It was sent later than `newer_than` (infinity: it is read now), and at most
        `max_age_seconds` of the call context ago; `record_sent_at` tells when.
        """
        ...

    async def announce(self, state: SharedState) -> None:
        """Begin an epoch: a write of some process is answered."""
        ...

    def change(self, worksheet: WorksheetId) -> None:
        """Begin an epoch soon: somebody changed the worksheet."""
        ...


class OpenFence(NamedTuple):
    """The fence of a batch whose outcome is open; `sent_at` is on the wall clock, in seconds."""

    fence: Fence
    sent_at: float


class WriteLock(Protocol):
    """The lock of worksheets, for writes of any process: at most one fence of each is open."""

    def held(self, state: SharedState) -> AbstractAsyncContextManager[None]:
        """Hold the lock during the block, at whose end the others know of the write.

        Raises RecordsUnavailable, `not_applied`, before the block only; QueueFull if it takes too
        long. All else is for use in the block.
        """
        ...

    def earlier(self, worksheet: WorksheetId) -> OpenFence | None:
        """The fence that an earlier holder left open, until it is `settled`."""
        ...

    def settled(self, worksheet: WorksheetId, fence: Fence) -> None:
        """Note that the outcome of an open batch is known."""
        ...

    async def opening(self, worksheet: WorksheetId, fence: Fence) -> None:
        """Store the fence of a batch before it is sent.

        Raises RecordsUnavailable, or QueueFull if the lock is lost.
        """
        ...

    def left_open(self, worksheet: WorksheetId, fence: Fence) -> None:
        """Note that the outcome of a batch is not known at the end of the block."""
        ...


@dataclass(frozen=True, kw_only=True)
class Peers:
    """The other processes of the gateway, by what this one shares with them."""

    rows: Sharing
    lock: WriteLock
