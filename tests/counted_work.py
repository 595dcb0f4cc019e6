"""Count Python instructions of metered work, to compare with the reported steps."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from gateway.table.steps import Work

INSTRUCTIONS_OF_STEP = 30
INSTRUCTIONS_BESIDE = 10_000
"""Instructions allowed in any block, for planning conditions and for operands counted in
an earlier block.
"""


@dataclass(slots=True)
class Instructions:
    """Number of instructions since `count` was set to 0."""

    count: int = 0


@contextmanager
def counting(part: str = "") -> Iterator[Instructions]:
    """Count the instructions of functions whose file path contains `part`."""
    counted = Instructions()

    def called(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        if part not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return count

    def count(_frame: FrameType, event: str, _: object) -> None:
        if event == "opcode":
            counted.count += 1

    other = sys.gettrace()  # the trace function of coverage
    sys.settrace(called)
    try:
        yield counted
    finally:
        sys.settrace(other)


def uncounted(work: Work[Any], beside: int = INSTRUCTIONS_BESIDE) -> str:
    """Return the first block that runs many more instructions than its steps, or "".

    `beside` is the number of instructions that any block can run without steps.
    """
    steps = 0
    with counting() as instructions:
        while True:
            instructions.count = 0
            following = next(work, None)
            if instructions.count > INSTRUCTIONS_OF_STEP * steps + beside:
                return f"{instructions.count} instructions in a block of {steps} steps"
            if following is None:
                return ""
            steps = following


async def longest_turn(request: Awaitable[object]) -> int:
    """Return the largest number of gateway instructions between two turns of the event
    loop during a request.
    """
    longest = 0
    with counting("/gateway/") as instructions:

        async def watch() -> None:
            nonlocal longest
            while True:
                longest = max(longest, instructions.count)
                instructions.count = 0
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        await asyncio.sleep(0)
        await request
        watching.cancel()
    return max(longest, instructions.count)
