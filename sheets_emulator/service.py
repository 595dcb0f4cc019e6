"""The emulator without HTTP: state, limits, faults and the steps of a call.

Rules:
- Steps of a call: token, disabled API, limit, count, fault, an append's search for its table, the
  fault's hold, first half of the latency, the fault's edit, the effect, the fault's delay, second
  half of the latency, the answer. The latency has a random part (jitter), drawn once per call.
- An effect is synchronous, so every call is atomic on one event loop.
- An append with OVERWRITE writes to the end of the table found on arrival. So overlapping appends
  overwrite each other. An append whose fault has an edit or a late effect searches for the table at
  the time of the effect.
- A call that began before a reset does not change data after the reset. The call gets a 503.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from sheets_emulator.drive import Drive, DriveRequest, answer_drive
from sheets_emulator.edits.batch import edit
from sheets_emulator.faults import TOKEN, Fault, Faults
from sheets_emulator.file_times import FileTimes
from sheets_emulator.http.answer import Answer, json_answer, refusal_answer, text_answer
from sheets_emulator.http.credentials import project_number
from sheets_emulator.http.tokens import GrantError, Tokens, failure
from sheets_emulator.operations import OPERATIONS, Call, execute, with_seen_table
from sheets_emulator.protocol.message import Message
from sheets_emulator.protocol.query import is_pretty
from sheets_emulator.quota import Quota
from sheets_emulator.refusal import Refusal, of_code, quota_exceeded, service_disabled
from sheets_emulator.state.seed import Seed
from sheets_emulator.state.store import Store
from sheets_emulator.tally import Tally

USUAL_LIMIT = 60  # calls per minute in the 429 of a fault, if no limit is configured


class Cancellable(Protocol):
    """An effect that is scheduled for later."""

    def cancel(self) -> None:
        """Cancel the effect."""


def call_later(seconds: float, effect: Callable[[], None]) -> Cancellable:
    """Schedule an effect on the running event loop."""
    return asyncio.get_running_loop().call_later(seconds, effect)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Clock, timers and randomness of the emulator. Tests pass their own functions.

    `now` returns seconds since 1970. `later` runs a function after some seconds. `share` returns a
    random number from 0 to 1: the part of the jitter that a call gets.
    """

    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    later: Callable[[float, Callable[[], None]], Cancellable] = call_later
    share: Callable[[], float] = random.random


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of a call. An `answer` of None drops the connection.

    `truncate` is the number of bytes after which the answer is cut, or None.
    """

    answer: Answer | None
    truncate: int | None = None


@dataclass(kw_only=True)
class Service:
    """The state of an emulator.

    With `racing_inserts` an append with INSERT_ROWS also searches for its table on arrival.
    `disabled` has the projects that do not use the Sheets API. `late_effects` are scheduled effects
    by number.
    """

    seed: Seed
    store: Store
    tokens: Tokens
    quota: Quota
    timing: Timing
    latency_seconds: float
    jitter_seconds: float = 0.0
    racing_inserts: bool = False
    tally: Tally = field(default_factory=Tally)
    faults: Faults = field(default_factory=Faults)
    file_times: FileTimes = field(default_factory=FileTimes)
    late_effects: dict[int, Cancellable] = field(default_factory=dict)
    late_numbers: Iterator[int] = field(default_factory=count)
    disabled: set[str] = field(default_factory=set)
    resets: int = 0

    def reset(self) -> None:
        """Restore the seed, revoked keys and disabled APIs. Clear counts, limits and faults.

        Tokens stay valid.
        """
        self.resets += 1
        for effect in self.late_effects.values():
            effect.cancel()
        self.late_effects.clear()
        self.tally.reset()
        self.quota.reset()
        self.faults.replace([])
        self.tokens.revoked.clear()
        self.disabled.clear()
        self.store.restore(self.seed.workbooks)
        self.file_times = FileTimes()
        self._note_times()

    async def call(self, call: Call) -> Outcome:
        """Answer a call with a valid token. Raises a 503 if a reset happened during the call."""
        kind = OPERATIONS[call.name].kind
        pretty = is_pretty(call.query_string)
        refusal = self._refusal(call, kind)
        if refusal is not None:
            self.tally.refuse()
            self.quota.refuse(call.account, call.project)
            return Outcome(answer=refusal_answer(refusal, is_pretty=pretty))
        self.tally.count(call.name, kind)
        fault = self.faults.take(call.name, call.body)
        resets = self.resets
        half = self._latency() / 2
        arrived = self._arrived(call, fault)
        await self._wait(fault.hold_ms / 1000 + half)
        self._require_no_reset_since(resets)
        answer = self._answered(arrived, fault, pretty)
        await self._wait(fault.delay_ms / 1000 + half)
        self._require_no_reset_since(resets)
        self._schedule_effect(call, fault)
        return Outcome(answer=None if fault.drop else answer, truncate=fault.truncate)

    async def token(self, body: bytes) -> Outcome:
        self.tally.count(TOKEN, None)
        fault = self.faults.take(TOKEN, body)
        half = self._latency() / 2
        await self._wait(fault.hold_ms / 1000 + half)
        answer = _faulty_grant(fault) if fault.is_failing else self._granted(body)
        await self._wait(fault.delay_ms / 1000 + half)
        return Outcome(answer=None if fault.drop else answer, truncate=fault.truncate)

    async def drive(self, request: DriveRequest) -> Outcome:
        """Answer a call of the Drive API. Limits and faults do not apply."""
        resets = self.resets
        half = self._latency() / 2
        await self._wait(half)
        self._require_no_reset_since(resets)
        drive = Drive(
            store=self.store, times=self.file_times, request=request, moment=self.timing.now()
        )
        answer = answer_drive(drive)
        self._note_times()
        await self._wait(half)
        return Outcome(answer=answer)

    def _refusal(self, call: Call, kind: str) -> Refusal | None:
        """Return the error of a disabled API or a limit.

        Otherwise count the call and return None.
        """
        if call.project in self.disabled:
            return service_disabled(project_number(call.project))
        scope = self.quota.take(call.account, call.project, kind)
        return None if scope is None else self._exceeded(call, kind, scope)

    def _exceeded(self, call: Call, kind: str, scope: str) -> Refusal:
        limit = self.quota.limits[scope][kind] or USUAL_LIMIT
        return quota_exceeded(kind, limit, scope=scope, project_number=project_number(call.project))

    def _arrived(self, call: Call, fault: Fault) -> Call:
        """Add the position of the table to an append that searches on arrival."""
        if fault.edit is not None:
            return call
        return with_seen_table(self.store, call, is_inserting_too=self.racing_inserts)

    def _answered(self, call: Call, fault: Fault, pretty: bool) -> Answer:
        """Apply the fault's edit and the call's effect, if there are any, and return the answer."""
        try:
            if fault.edit is not None:
                self._edit(call.spreadsheet_id, fault.edit)
            stage = self.store if fault.has_effect else self.store.rehearsal()
            answer = json_answer(execute(stage, call), is_pretty=pretty)
        except Refusal as refusal:
            answer = refusal_answer(refusal, is_pretty=pretty)
        self._note_times()
        if fault.is_failing:
            answer = self._faulty_answer(call, fault, is_pretty=pretty)
        return answer

    def _faulty_answer(self, call: Call, fault: Fault, *, is_pretty: bool) -> Answer:
        status = fault.code or 200
        if fault.text is not None:
            return text_answer(fault.text, status=status)
        refusal = of_code(status)
        if status == 429:
            refusal = self._exceeded(call, OPERATIONS[call.name].kind, "user")
        return refusal_answer(refusal, is_pretty=is_pretty)

    def _granted(self, body: bytes) -> Answer:
        try:
            return json_answer(self.tokens.issue(body))
        except GrantError as error:
            return json_answer(error.body(), status=400)

    def _edit(self, spreadsheet_id: str, body: dict[str, object]) -> None:
        """Apply the edit of a fault.

        An edit is not counted as a call, and protections do not apply.
        """
        draft = self.store.draft(spreadsheet_id)
        edit(
            draft,
            Message(fields=body, place=""),
            account="",
            repeatable_metadata_ids=self.store.repeatable_metadata_ids,
        )
        self.store.keep(draft)

    def _schedule_effect(self, call: Call, fault: Fault) -> None:
        """Schedule the effect of a fault with `late_ms`. An error of the effect is ignored."""
        if not fault.late_ms:
            return

        number = next(self.late_numbers)

        def take_effect() -> None:
            del self.late_effects[number]
            with suppress(Refusal):
                execute(self.store, call)
            self._note_times()

        self.late_effects[number] = self.timing.later(fault.late_ms / 1000, take_effect)

    def _note_times(self) -> None:
        self.file_times.note(self.store.workbooks, self.timing.now())

    def _latency(self) -> float:
        """Return the latency of a call in seconds."""
        return self.latency_seconds + self.jitter_seconds * self.timing.share()

    def _require_no_reset_since(self, resets: int) -> None:
        if self.resets != resets:
            raise of_code(503)

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            await self.timing.sleep(seconds)


def _faulty_grant(fault: Fault) -> Answer:
    """Return the answer of a fault to a token request."""
    status = fault.code or 200
    if fault.text is not None:
        return text_answer(fault.text, status=status)
    return json_answer(failure(status).body(), status=status)
