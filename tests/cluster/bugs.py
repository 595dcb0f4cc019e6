"""Planted bugs of gateway processes that share a spreadsheet; scenarios must detect each bug."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.cluster import shared_rows
from gateway.cluster.shared_rows import SharedRows
from gateway.cluster.write_lock import PostgresWriteLock
from gateway.storage.worksheet_rows import worksheets
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.sharing import OpenFence, SharedState

Bug = Callable[[], AbstractContextManager[object]]


def keeping_the_epoch() -> AbstractContextManager[object]:
    """Bug: a write is answered before its epoch starts, which makes older cached rows invalid."""

    async def unchanged(_: SharedRows, state: SharedState) -> str | None:
        state.take_news()
        return state.epoch

    return patch.object(SharedRows, "begin_epoch", unchanged)


def not_waiting() -> AbstractContextManager[object]:
    """Bug: a process does not wait for the lock of another process."""

    async def connected(lock: PostgresWriteLock, _: WorksheetId) -> Any:
        return await lock._locks.connect()

    return patch.object(PostgresWriteLock, "_locked", connected)


def not_checking_the_holder() -> AbstractContextManager[object]:
    """Bug: a fence (mark of a running batch) is stored without a check of the lock's holder."""

    async def stored(
        connection: AsyncConnection, worksheet: WorksheetId, _: str, fence: OpenFence
    ) -> bool:
        values = {"fence_id": fence.fence.id, "token": fence.fence.token, "sent_at": fence.sent_at}
        await connection.execute(
            update(worksheets).where(worksheets.c.title == worksheet.title).values(values)
        )
        return True

    return patch("gateway.cluster.write_lock.open_fence", stored)


def leaving_open_fences() -> AbstractContextManager[object]:
    """Bug: the next holder of the lock ignores the open fence of an earlier holder.

    The late batch of that holder can then still take effect.
    """
    return patch.object(PostgresWriteLock, "earlier", lambda *_: None)


def publishing_under_any_epoch() -> AbstractContextManager[object]:
    """Bug: rows of an earlier epoch, which a write made invalid, are stored as current rows."""
    return _scripts("if epoch ~= expected then", "if false then", ("PUBLISH",))


def believing_epochs_after_a_restart() -> AbstractContextManager[object]:
    """Bug: epochs stay valid after a restart of Redis."""
    run_id = "string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')"
    return _scripts(run_id, "'any'", ("EPOCHS", "BEGIN", "LOOK", "PUBLISH"))


def _scripts(right: str, wrong: str, names: tuple[str, ...]) -> AbstractContextManager[object]:
    """Replace the text `right` by `wrong` in the Redis scripts with these names."""
    planted = ExitStack()
    for name in names:
        script = getattr(shared_rows, name)
        if right not in script:
            raise ValueError(f"{name} has no {right}")
        planted.enter_context(patch.object(shared_rows, name, script.replace(right, wrong)))
    return planted
