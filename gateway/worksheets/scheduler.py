"""Run long computations on the event loop in short slices, with fair turns for the API keys.

Rules
- After each slice the event loop runs everything else that is ready. So a long job delays other
  requests by one slice at most. A thread would hold the interpreter lock for longer.
- All queries of a key together can use one slice in each iteration of the event loop. A query that
  needs more joins the queue of its key, which has at most `MAX_WAITING` queries.
- Keys take turns, one slice each. Every second turn goes to building rows, which all keys use. A
  queue whose slice was too long skips turns in return. Within a queue, the order is first come,
  first served.
"""

import asyncio
from collections import OrderedDict, deque
from math import inf
from typing import Any, NamedTuple, TypeVar

from gateway.errors import TooManyInFlight
from gateway.table.steps import Metered, Work

T = TypeVar("T")

SLICE_STEPS = 20_000
"""Number of steps (units of work) of a slice, which take about 1 to 2 ms."""

MAX_WAITING = 32
"""Maximum number of waiting queries of one API key."""

MAX_SECONDS = 60.0
"""Maximum seconds from the start of a query to its end."""

Lane = str | None
"""Name of the queue of a key's queries, a key's writes or all exports, or None for row building."""


class _Job(NamedTuple):
    work: Metered[Any]
    done: asyncio.Future[Any]


class Scheduler:
    """Runs long work in slices. `max_steps` is the step budget of one query."""

    def __init__(self, max_steps: float = inf) -> None:
        self.max_steps = max_steps
        self._lanes: OrderedDict[Lane, deque[_Job]] = OrderedDict()
        """Jobs by queue, in the order of the queues' turns. Empty queues are removed."""
        self._debts: dict[Lane, int] = {}
        """Number of steps that the jobs of each queue took beyond their slices."""
        self._room_steps: dict[Lane, int] = {}
        """Number of steps that each queue can still run in this iteration of the event loop."""
        self._beginners: dict[Lane, deque[_Job]] = {}
        """Jobs whose first slice has not ended."""
        self._is_round_due = False
        self._task: asyncio.Task[None] | None = None

    def try_at_once(self, work: Metered[Any], lane: Lane) -> bool:
        """Run work at once, up to the end of its first slice. Returns True if the work is done.

        Runs nothing if the queue `lane` has used its slice. Raises OutOfSteps above the step
        budget.
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
        """Run work that `try_at_once` has not finished.

        Raises OutOfSteps if the work exceeds its step budget. Raises TooManyInFlight if too many
        queries of the key wait, or if the work takes longer than `MAX_SECONDS`.
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
            reason = f"This query, with other queries, took more than {MAX_SECONDS:.0f} seconds."
            raise _too_many(reason) from None
        return work.result

    async def build(self, work: Work[T], lane: Lane = None) -> T:
        """Run work without a step budget. Raises TooManyInFlight in the queue of a key."""
        metered = Metered(work)
        if self.try_at_once(metered, lane):
            return metered.result
        return await self.finish(metered, lane)

    def _see_to_round(self) -> None:
        if not self._is_round_due:
            self._is_round_due = True
            asyncio.get_running_loop().call_soon(self._begin_round)

    def _begin_round(self) -> None:
        """Give each queue a new slice. Jobs that wait for their first slice share one slice."""
        self._is_round_due = False
        self._room_steps.clear()
        for lane in [*self._beginners]:
            if sum(SLICE_STEPS - room for room in self._room_steps.values()) >= SLICE_STEPS:
                break
            jobs = self._beginners.pop(lane)
            while jobs and self._has_begun(jobs[0], lane):
                jobs.popleft()
            if jobs:
                self._beginners[lane] = jobs  # moves to the end
        if self._beginners:
            self._see_to_round()

    def _has_begun(self, job: _Job, lane: Lane) -> bool:
        """Run the first slice of a job as far as possible now. Returns True if it is complete."""
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
            raise _too_many(f"This key already has {MAX_WAITING} long queries, the maximum.")
        jobs.append(job)
        if self._task is None:
            self._task = asyncio.create_task(self._take_turns())

    async def _take_turns(self) -> None:
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
        """Return the queue of the next key, or None if only row building is queued."""
        keys = [lane for lane in self._lanes if lane is not None]
        least = min((self._debts.get(key, 0) for key in keys), default=0)
        for key in keys:
            if self._debts.get(key, 0) - least < SLICE_STEPS:
                return key
            self._debts[key] -= SLICE_STEPS
        return None

    def _take_turn(self, lane: Lane, jobs: deque[_Job]) -> None:
        work, done = jobs[0]
        before = work.steps
        try:
            if not done.done() and work.advance(SLICE_STEPS):
                done.set_result(None)
        except Exception as error:
            done.set_exception(error)
        if done.done():
            jobs.popleft()
        self._debts[lane] = self._debts.get(lane, 0) + max(0, work.steps - before - SLICE_STEPS)
        if not jobs:
            del self._lanes[lane], self._debts[lane]


def _too_many(reason: str) -> TooManyInFlight:
    return TooManyInFlight(
        f"{reason} Wait for an answer to one of these queries, then send the request again.",
        retry_after_seconds=1,
    )
