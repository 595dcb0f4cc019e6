"""Write queue of a worksheet. The queue sends one group of writes at a time to Google.

Rules
- Two appends to one worksheet never run at the same time, because Google would lose rows. A write
  that has begun is finished, even if its client disconnects.
- The queue waits for Google's write quota before it forms a group, so that no wait separates the
  group's planning read from its write.
- Waiting writes have limits per key and in total: rows, memory and time. So no key blocks other
  keys. A key without waiting writes can always join, unless memory is full. The first write of a
  key waits for one group of other keys, not for all their writes. An empty queue accepts any size.
- Keys take turns (round robin): a group begins with the key whose turn it is, and all keys add
  writes in rotation. Within a group, writes keep their order of arrival. Only the key of the first
  write uses its turn. Otherwise a key's creates could wait for ever while its updates join groups
  of other keys, or the reverse.
- A group has limits of bytes and rows, and one kind: creates, updates, deletes, or writes by filter
  and upserts. An exclusive task is a group by itself.
- Writes of one key and kind keep their order: if a write does not fit into a group, later writes of
  the key and kind wait, too. Writes of different kinds have no order until they are answered.
- A write with `not_before` joins at that time, so that all writes of the same time are one group.
  Before that time the limits of the queue do not count the write, but the plan of the key limits
  its concurrent requests.
- A group has at most one update of each row, so that each update sees the result of the update
  before. A group also has at most one delete of each row number, because earlier deletes change row
  numbers.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from gateway.errors import (
    UNKNOWN_RETRY_SECONDS,
    QueueFull,
    QuotaSpent,
    ShuttingDown,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Beneficiaries, CallContext, current_call_context, in_call_context
from gateway.settings.model import WriteSettings
from gateway.telemetry.events import current_event, request_failed
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.writes import Outcome, Write

MAX_ROWS = 500
MAX_BYTES = 1_048_576
"""Maximum rows and bytes of a group of writes. The first write of a group can be larger."""

SHARE = 4
"""Divisor of the total memory for waiting writes. The quotient is the maximum of one key."""

CLOSING_SECONDS = 4.0
"""Seconds to finish waiting writes at shutdown, after the server's time for requests."""

RETRY_SECONDS = 5

Perform = Callable[[Sequence[Write]], Awaitable[Sequence[Outcome]]]
"""Function that sends a group of writes of one kind to Google, and returns their outcomes."""

WriteTurns = Callable[[str], Awaitable[AbstractContextManager[None]]]
"""Function that reserves the quota of one write to a spreadsheet for a block. Raises QuotaSpent."""

Held = Callable[[], AbstractAsyncContextManager[None]]
"""Function that holds the write lock of all processes. Raises GatewayError before the block."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class ExclusiveTask:
    """Work in the queue of a worksheet, during which no write to the worksheet runs."""

    work: Callable[[], Awaitable[Any]]
    key_id: str = ""
    row_count: int = 1
    memory_bytes: int = 1


@dataclass(kw_only=True, eq=False)
class Waiting:
    """A write that waits in the queue of its worksheet."""

    key_id: str
    write: Write | ExclusiveTask
    number: int = 0
    """Position in the order of arrival of all writes."""


@dataclass(kw_only=True, eq=False)
class _Request(Waiting):
    """A write with the future for its outcome. A group runs in the context of its first write."""

    answer: asyncio.Future[Any]
    context: Context


W = TypeVar("W", bound=Waiting)


@dataclass(kw_only=True, eq=False)
class Limit:
    """Limit of waiting rows or bytes, per key and in total.

    The first write of a key can exceed the limits. With `is_hard`, it can exceed the total limit
    only if no other write waits.
    """

    per_key: int
    in_all: int
    is_hard: bool
    _by_key: dict[str, int] = field(default_factory=dict)
    _taken: int = 0

    def take(self, key_id: str, amount: int) -> bool:
        """Count rows or bytes for a key. Returns False, and counts nothing, above the limit."""
        own = self._by_key.get(key_id, 0)
        if own and own + amount > self.per_key:
            return False
        must_fit = own > 0 or (self.is_hard and self._taken > 0)
        if must_fit and self._taken + amount > self.in_all:
            return False
        self._taken += amount
        self._by_key[key_id] = own + amount
        return True

    def give_back(self, key_id: str, amount: int) -> None:
        self._taken -= amount
        own = self._by_key[key_id] = self._by_key[key_id] - amount
        if own == 0:
            del self._by_key[key_id]


def memory_limit(in_all: int) -> Limit:
    """Return a hard limit of `in_all` bytes of memory, of which one key can use 1 / `SHARE`."""
    return Limit(per_key=in_all // SHARE, in_all=in_all, is_hard=True)


class BoundedQueue(Generic[W]):
    """Waiting writes of one worksheet. `of_all` limits the memory of all worksheets together."""

    def __init__(self, settings: WriteSettings, of_all: Limit) -> None:
        self._rows = Limit(
            per_key=settings.max_waiting_rows_per_key,
            in_all=settings.max_waiting_rows,
            is_hard=False,
        )
        self._memory = memory_limit(settings.max_waiting_bytes_per_worksheet)
        self._of_all = of_all
        self._number = itertools.count()
        self.turns: dict[str, dict[W, None]] = {}
        """Waiting writes by key, in order of arrival. Keys are in the order of their turns."""

    def join(self, waiting: W) -> None:
        """Add a write at the end. Raises QueueFull."""
        key_id, size = waiting.key_id, waiting.write.memory_bytes
        limits = ((self._rows, waiting.write.row_count), (self._memory, size), (self._of_all, size))
        for number, (limit, amount) in enumerate(limits):
            if not limit.take(key_id, amount):
                for taken, taken_amount in limits[:number]:
                    taken.give_back(key_id, taken_amount)
                raise too_busy()
        waiting.number = next(self._number)
        self.turns.setdefault(key_id, {})[waiting] = None

    def leave(self, waiting: W) -> bool:
        """Remove a write. Returns False if the write is not in the queue."""
        key_id, size = waiting.key_id, waiting.write.memory_bytes
        own = self.turns.get(key_id, {})
        if waiting not in own:
            return False
        del own[waiting]
        if not own:
            del self.turns[key_id]
        self._rows.give_back(key_id, waiting.write.row_count)
        self._memory.give_back(key_id, size)
        self._of_all.give_back(key_id, size)
        return True

    def take_group(self) -> list[W]:
        """Remove and return the next group of writes. The next group begins with another key."""
        leader, own = next(iter(self.turns.items()))
        group = [next(iter(own))]
        if len(own) > 1 or len(self.turns) > 1:
            group = self._going_with(group[0])
        for waiting in group:
            self.leave(waiting)
        if leader in self.turns:
            self.turns[leader] = self.turns.pop(leader)
        return group

    def _going_with(self, first: W) -> list[W]:
        """Return the first write and all writes that fit into its group, in order of arrival."""
        if isinstance(first.write, ExclusiveTask):
            return [first]
        group: list[W] = []
        kind, rows, size, named = first.write.kind, 0, 0, set[int]()
        held_keys: set[str] = set()
        # The first write of each key, then the second write of each key, and so on.
        for waiting in filter(None, itertools.chain(*itertools.zip_longest(*self.turns.values()))):
            write = waiting.write
            if isinstance(write, ExclusiveTask) or write.kind != kind:
                continue
            fits = (
                rows + write.row_count <= MAX_ROWS
                and size + write.byte_count <= MAX_BYTES
                and named.isdisjoint(write.numbers)
            )
            if waiting is first or (fits and waiting.key_id not in held_keys):
                group.append(waiting)
                rows += write.row_count
                size += write.byte_count
                named.update(write.numbers)
            else:
                held_keys.add(waiting.key_id)
        return sorted(group, key=lambda waiting: waiting.number)


class WriteQueues:
    """Settings, memory limit and shutdown of the write queues of all worksheets."""

    def __init__(
        self,
        settings: WriteSettings,
        *,
        write_turn: "WriteTurns | None" = None,
        closing_seconds: float = CLOSING_SECONDS,
    ) -> None:
        self.settings = settings
        self.write_turn = write_turn or no_turn
        self.memory = memory_limit(settings.max_waiting_bytes)
        self.is_closing = False
        self.at_work: dict[asyncio.Task[None], WriteQueue] = {}
        self._closing_seconds = closing_seconds

    async def aclose(self) -> None:
        """Reject new writes, and carry out waiting writes within `CLOSING_SECONDS`."""
        self.is_closing = True
        if self.at_work:
            await asyncio.wait([*self.at_work], timeout=self._closing_seconds)
        for queue in self.at_work.values():
            queue.refuse_all()


class WriteQueue:
    """Write queue of one worksheet. `held` takes the lock of several processes, or is None."""

    def __init__(
        self,
        worksheet: WorksheetId,
        perform: Perform,
        queues: WriteQueues,
        held: Held | None = None,
    ) -> None:
        self._id = worksheet
        self._perform = perform
        self._queues = queues
        self._held = held or nullcontext
        self._line: BoundedQueue[_Request] = BoundedQueue(queues.settings, queues.memory)
        self._instants: dict[float, asyncio.Event] = {}
        """Events that start writes with `not_before`, by time."""
        self._turn_keys: Beneficiaries | None = None
        """API keys whose writes wait for quota now, or None if no write waits for quota."""
        self.is_idle = True
        """False while a task carries out groups of writes."""

    @property
    def waiting_count(self) -> int:
        return sum(map(len, self._line.turns.values()))

    async def exclusively(self, work: Callable[[], Awaitable[T]], *, key_id: str = "") -> T:
        """Wait in the queue, then run work while no write to the worksheet runs.

        Work that has begun is finished, even if the caller is cancelled. Raises the errors of the
        work.
        """
        made: T = await self.write(ExclusiveTask(work=work, key_id=key_id))
        return made

    def refuse_all(self) -> None:
        """Reject all waiting writes, because the gateway shuts down."""
        while self._line.turns:
            for waiting in self._line.take_group():
                _refuse(waiting, _shutting_down())

    async def write(self, write: Write | ExclusiveTask) -> Any:
        """Wait until the write is carried out. Raises the errors of the write.

        Returns the `Results` of a write, or the result of an exclusive task.
        """
        queues, loop = self._queues, asyncio.get_running_loop()
        if queues.is_closing:
            raise _shutting_down()
        if isinstance(write, Write) and write.not_before > loop.time():
            await self._reached(write.not_before)
            if queues.is_closing:
                raise _shutting_down()
        key_id = write.access.key_id if isinstance(write, Write) else write.key_id
        answer: asyncio.Future[Any] = loop.create_future()
        waiting = _Request(key_id=key_id, write=write, answer=answer, context=copy_context())
        self._line.join(waiting)
        if self._turn_keys is not None:
            self._turn_keys.join(key_id)
        if self.is_idle:
            self.is_idle = False
            task = loop.create_task(self._drain(), context=Context())
            queues.at_work[task] = self
            task.add_done_callback(queues.at_work.pop)
        timer = loop.call_later(queues.settings.max_waiting_seconds, self._give_up, waiting)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            # The server cancels requests at the end of its shutdown. A waiting write is withdrawn.
            # A write that has begun goes on.
            if answer.done():
                return answer.result()
            if self._line.leave(waiting):
                raise _shutting_down() from None
            raise WriteOutcomeUnknown(
                "The gateway is shutting down, and Google has not answered this write yet. "
                "Check the worksheet before you send it again.",
                outcome="unknown",
                retry_after_seconds=UNKNOWN_RETRY_SECONDS,
            ) from None
        finally:
            timer.cancel()

    async def _reached(self, instant: float) -> None:
        """Wait for a time of the event loop's clock. Writes of the same time join together."""
        event = self._instants.get(instant)
        if event is None:
            event = self._instants[instant] = asyncio.Event()
            asyncio.get_running_loop().call_at(instant, self._reach, instant)
        try:
            await event.wait()
        except asyncio.CancelledError:  # the server's shutdown time is over
            raise _shutting_down() from None

    def _reach(self, instant: float) -> None:
        self._instants.pop(instant).set()

    def _give_up(self, waiting: _Request) -> None:
        """Remove a write that waited too long. A write that has begun goes on."""
        if self._line.leave(waiting):
            _refuse(waiting, too_busy())

    async def _drain(self) -> None:
        try:
            while self._line.turns:
                group: Sequence[_Request] = ()
                outcomes: Sequence[Any] = ()
                try:
                    async with self._held():
                        group, outcomes = await self._next_group()
                except Exception as error:  # the requests answer or log it
                    if outcomes:  # a failed unlock does not change known outcomes
                        request_failed(current_event(), error)
                    else:
                        group = group or (self._line.take_group() if self._line.turns else ())
                        outcomes = [error] * len(group)
                for waiting, outcome in zip(group, outcomes, strict=True):
                    if isinstance(outcome, Exception):
                        _refuse(waiting, outcome)
                    else:
                        waiting.answer.set_result(outcome)
        finally:
            self.is_idle = True

    async def _next_group(self) -> tuple[Sequence[_Request], Sequence[Any]]:
        """Wait for write quota, then carry out the next group. Returns its writes and outcomes.

        Both results are empty if all waiting writes gave up.
        """
        line = self._line
        turn: AbstractContextManager[None] = nullcontext()
        if not line.turns:
            return (), ()
        first = next(iter(next(iter(line.turns.values()))))
        if not isinstance(first.write, ExclusiveTask):
            # The wait for quota ends at the earliest turn of any waiting key.
            self._turn_keys = keys = Beneficiaries(line.turns)
            try:
                with in_call_context(CallContext(first.key_id, beneficiaries=keys)):
                    turn = await self._queues.write_turn(self._id.spreadsheet)
            except QuotaSpent as error:
                group = line.take_group() if line.turns else []
                return group, [error] * len(group)
            finally:
                self._turn_keys = None
        if not line.turns:
            with turn:  # gives the quota back
                pass
            return (), ()
        group = line.take_group()
        outcomes = self._performed(group, turn)
        return group, await asyncio.create_task(outcomes, context=group[0].context)

    async def _performed(
        self, group: Sequence[_Request], turn: AbstractContextManager[None]
    ) -> Sequence[Any]:
        try:
            with turn:
                writes: list[Write] = []
                for each in group:
                    if isinstance(each.write, ExclusiveTask):  # it is alone in its group
                        return [await each.write.work()]
                    writes.append(each.write)
                keys = Beneficiaries([waiting.key_id for waiting in group])
                with in_call_context(replace(current_call_context(), beneficiaries=keys)):
                    return await self._perform(writes)
        except Exception as error:  # the requests answer or log it
            return [error] * len(group)


async def no_turn(_spreadsheet: str) -> AbstractContextManager[None]:
    """Return an empty context manager at once, for a gateway without a limit of writes."""
    return nullcontext()


def _refuse(waiting: _Request, error: Exception) -> None:
    waiting.answer.set_exception(error)
    waiting.answer.exception()  # marks the error as retrieved, because the client might be gone


def too_busy() -> QueueFull:
    return QueueFull(
        "Too many writes wait for this worksheet. Send the request again after Retry-After.",
        outcome="not_applied",
        retry_after_seconds=RETRY_SECONDS,
    )


def _shutting_down() -> ShuttingDown:
    return ShuttingDown(outcome="not_applied", retry_after_seconds=5)
