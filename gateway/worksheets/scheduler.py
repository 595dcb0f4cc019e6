"""Scheduler of counted work on the event loop: slices and fair turns.

Rules
- One slice runs, then everything else that is ready: long work delays others by one slice at most,
  and needs no thread, which would hold the interpreter lock for longer.
- In each round of the loop, the queries of a key share one immediate slice. A query that needs more
  joins its key's queue of at most `MAX_WAITING` queries.
- Keys take turns, slice by slice; every second turn builds rows, which serve all keys. A lane that
  took more than a slice, in a long block, skips turns for it. Within a lane: first come, first
  served.
"""

import asyncio
from collections import OrderedDict, deque
from math import inf
from typing import Any, NamedTuple, TypeVar

from gateway.errors import TooManyInFlight
from gateway.table.steps import Metered, Work

T = TypeVar("T")

SLICE_STEPS = 20_000
"""Steps of a slice, which takes about 1 to 2 ms."""

MAX_WAITING = 32
"""Maximum number of waiting queries of one key."""

MAX_SECONDS = 60.0
"""Maximum time from a query's start to its end."""

Lane = str | None
"""The queries or the writes of a key, the exports of all keys, or None for building rows."""


class _Job(NamedTuple):
    work: Metered[Any]
    done: asyncio.Future[Any]


class Scheduler:
    """The queue for work that takes more than a slice.

    `max_steps` is the budget of a search.
    """

    def __init__(self, max_steps: float = inf) -> None:
        self.max_steps = max_steps
        self._lanes: OrderedDict[Lane, deque[_Job]] = OrderedDict()
        """Jobs by lane, in the order of the lanes' turns; only lanes with jobs."""
        self._debts: dict[Lane, int] = {}
        """Steps of each lane beyond its slices."""
        self._room_steps: dict[Lane, int] = {}
        """Steps that a lane may still take at once in this round of the loop."""
        self._beginners: dict[Lane, deque[_Job]] = {}
        """Jobs that wait for their first slice."""
        self._is_round_due = False
        self._task: asyncio.Task[None] | None = None

    def try_at_once(self, work: Metered[Any], lane: Lane) -> bool:
        """Run the rest of the first slice, if the lane has room; True if the work is done.

        Raises OutOfSteps past its budget.
        """
        if lane in self._beginners:
            return False
        if not self._is_round_due:
            self._see_to_round()
        room, before = self._room_steps.get(lane, SLICE_STEPS), work.steps
        if room <= 0:
            return False
        try:
            return work.advance(min(room, SLICE_STEPS - before))
        finally:
            self._room_steps[lane] = room - (work.steps - before)

    async def finish(self, work: Metered[T], lane: Lane) -> T:
        """Run work after `try_at_once` has not finished it.

        Raises OutOfSteps past its budget, and TooManyInFlight if many queries of the key wait, or
        if they take too long.
        """
        job = _Job(work, asyncio.get_running_loop().create_future())
        if work.steps < SLICE_STEPS:
            self._beginners.setdefault(lane, deque()).append(job)
            self._see_to_round()
        else:
            self._queue(job, lane)
        try:
            async with asyncio.timeout(None if lane is None else MAX_SECONDS):
                await job.done
        except TimeoutError:
            raise _too_many("The long queries of this key take too much time.") from None
        return work.result

    async def build(self, work: Work[T], lane: Lane = None) -> T:
        """Run work without a budget: for all keys (lane None) or for a lane.

        Raises as `finish`.
        """
        metered = Metered(work)
        if self.try_at_once(metered, lane):
            return metered.result
        return await self.finish(metered, lane)

    def _see_to_round(self) -> None:
        """Schedule a round for the next turn of the loop."""
        if not self._is_round_due:
            self._is_round_due = True
            asyncio.get_running_loop().call_soon(self._begin_round)

    def _begin_round(self) -> None:
        """Begin a round: each lane may use a new slice; waiting lanes share one, in turn."""
        self._is_round_due = False
        self._room_steps.clear()
        for lane in [*self._beginners]:
            if sum(SLICE_STEPS - room for room in self._room_steps.values()) >= SLICE_STEPS:
                break
            jobs = self._beginners.pop(lane)
            while jobs and self._has_begun(jobs[0], lane):
                jobs.popleft()
            if jobs:
                self._beginners[lane] = jobs  # behind the other lanes
        if self._beginners:
            self._see_to_round()

    def _has_begun(self, job: _Job, lane: Lane) -> bool:
        """True if a job's first slice is complete, after using the lane's room."""
        if job.done.done():
            return True
        try:
            if self.try_at_once(job.work, lane):
                job.done.set_result(None)
            elif job.work.steps < SLICE_STEPS:
                return False
            else:
                self._queue(job, lane)
        except Exception as error:
            job.done.set_exception(error)
        return True

    def _queue(self, job: _Job, lane: Lane) -> None:
        jobs = self._lanes.setdefault(lane, deque())
        if lane is not None and sum(not job.done.done() for job in jobs) >= MAX_WAITING:
            raise _too_many(f"This key has {MAX_WAITING} long queries under way.")
        jobs.append(job)
        if self._task is None:
            self._task = asyncio.create_task(self._take_turns())

    async def _take_turns(self) -> None:
        """Run slices until no lane is left."""
        is_for_rows = False
        try:
            while self._lanes:
                await asyncio.sleep(0)
                is_for_rows = None in self._lanes and not is_for_rows
                lane = None if is_for_rows else self._next_key()
                self._lanes.move_to_end(lane)
                self._take_turn(lane, self._lanes[lane])
        finally:
            self._task = None

    def _next_key(self) -> Lane:
        """Lane of the next key; None if only rows are built."""
        keys = [lane for lane in self._lanes if lane is not None]
        least = min((self._debts.get(key, 0) for key in keys), default=0)
        for key in keys:
            if self._debts.get(key, 0) - least < SLICE_STEPS:
                return key
            self._debts[key] -= SLICE_STEPS
        return None

    def _take_turn(self, lane: Lane, jobs: deque[_Job]) -> None:
        work = jobs[0].work
        before = work.steps
        if _run_slice(jobs[0]):
            jobs.popleft()
        self._debts[lane] = self._debts.get(lane, 0) + max(0, work.steps - before - SLICE_STEPS)
        if not jobs:
            del self._lanes[lane], self._debts[lane]


def _run_slice(job: _Job) -> bool:
    """Run a slice of a job; True if it is done or was cancelled."""
    if job.done.done():
        return True
    try:
        if not job.work.advance(SLICE_STEPS):
            return False
    except Exception as error:
        job.done.set_exception(error)
    else:
        job.done.set_result(None)
    return True


def _too_many(reason: str) -> TooManyInFlight:
    return TooManyInFlight(f"{reason} Wait for the answer to one of them.", retry_after_seconds=1)
