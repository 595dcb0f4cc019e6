"""Guarantees between processes; each scenario returns a line per violation.

The planted bugs in `tests.cluster.bugs` prove that the scenarios find violations. A fence is a
metadata entry that each batch creates; an epoch names a version of the rows in Redis.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from gateway.errors import QueueFull
from gateway.worksheets.idempotency import Settled
from tests.cluster.peers import Office, until
from tests.worksheets.conftest import CITIES

Scenario = Callable[[Office], Awaitable[list[str]]]
NAMES = [line[0] for line in CITIES[1:]]


async def a_write_is_seen_by_all(office: Office) -> list[str]:
    """After a write is answered, no process returns rows from before the write."""
    writer, *others = office.peers
    await office.settle_in()
    defects = []
    writes: list[tuple[str, Coroutine[Any, Any, Settled]]] = [
        ("create", writer.create("Reno")),
        ("update", writer.update(3, name="Bern")),
        ("delete", writer.delete(2)),
    ]
    for name, write in writes:
        await write
        for number, other in enumerate(others):
            shown = await other.names()
            if shown != office.held_names():
                defects.append(f"after the {name} process {number + 1} answers {shown}")
    return defects


async def writes_are_at_google_one_at_a_time(office: Office) -> list[str]:
    """A write waits while another process's batch is at Google."""
    first, second, _ = office.peers
    await office.settle_in()
    gate = office.gate()
    office.google.before("apply", gate)
    writing = [asyncio.create_task(first.created("Reno"))]
    await office.google.begun("apply")
    writing.append(asyncio.create_task(second.created("Bern")))

    async def waits_or_writes() -> bool:
        return second.sheets.count("apply") > 0 or await office.is_waiting()

    await until(waits_or_writes)
    defects = []
    if second.sheets.count("apply") or second.sheets.count("put_fence"):
        defects.append("two processes write at once")
    gate.set()
    ends = await asyncio.gather(*writing, return_exceptions=True)
    if ends != [5, 6] or office.held_names() != [*NAMES, "Reno", "Bern"]:
        defects.append(f"the creates end with {ends}, the names are {office.held_names()}")
    return defects


async def a_holder_that_was_followed_writes_nothing(office: Office) -> list[str]:
    """A process suspended before it stored its fence, and then replaced, changes nothing."""
    first, second, _ = office.peers
    await office.settle_in()
    gate = office.gate()
    first.sheets.after("read_sheet", gate)
    late = asyncio.create_task(first.update(2, name="late"))
    await first.sheets.begun("read_sheet")
    await office.cut_holder()
    await second.update(2, name="newer")
    gate.set()
    (end,) = await asyncio.gather(late, return_exceptions=True)
    defects = []
    if not isinstance(end, QueueFull) or end.outcome != "not_applied":
        defects.append(f"the update of the earlier holder ends with {end!r}")
    if office.held_names()[0] != "newer":
        defects.append(f"the row has {office.held_names()[0]!r}")
    return defects


async def a_late_batch_is_refused(office: Office) -> list[str]:
    """Google rejects a late batch of a process that was suspended and replaced."""
    first, second, _ = office.peers
    await office.settle_in()
    gate = office.gate()
    first.sheets.before("apply", gate)
    late = asyncio.create_task(first.update(2, name="late"))
    await first.sheets.begun("apply")
    await office.cut_holder()
    await second.update(2, name="newer")
    gate.set()
    (end,) = await asyncio.gather(late, return_exceptions=True)
    defects = []
    if not isinstance(end, QueueFull) or end.outcome != "not_applied":
        defects.append(f"the late update ends with {end!r}")
    if office.held_names()[0] != "newer":
        defects.append(f"the row has {office.held_names()[0]!r}")
    return defects


async def a_read_from_before_a_write_is_not_shared(office: Office) -> list[str]:
    """Rows that Google read before a write are not shared after the write."""
    writer, reader, third = office.peers
    await writer.created("Oslo")
    gate = office.gate()
    reader.sheets.after("read_columns", gate)
    reading = asyncio.create_task(reader.names())
    await reader.sheets.begun("read_columns")
    await writer.created("Reno")
    gate.set()
    await reading  # the read began before the write
    defects = []
    for word, peer in (("reader", reader), ("third process", third), ("writer", writer)):
        shown = await peer.names()
        if shown != office.held_names():
            defects.append(f"the {word} answers {shown}")
    return defects


async def a_restart_restores_no_epoch(office: Office) -> list[str]:
    """Rows of an epoch from an older Redis dump are not returned as fresh."""
    writer, *others = office.peers
    await office.settle_in()
    async with office.redis() as client:
        await client.save()
    await writer.created("Reno")
    office.server.restore()
    await office.reconnect()
    defects = []
    for number, other in enumerate(others):
        listed = await other.listed()
        if listed.names != office.held_names() and not listed.freshness.is_alone:
            defects.append(f"process {number + 1} answers {listed.names}")
    return defects
