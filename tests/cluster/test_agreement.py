"""A process with other header rows of worksheets than the running processes does not start."""

from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from gateway.cluster.agreement import KEPT_SECONDS, KEY, check_agreement, open_agreement
from gateway.cluster.shared_rows import SharedRows
from gateway.cluster.store import open_store
from gateway.commands.doctor.shared_store import check_redis
from gateway.settings.model import ConfigError, WorksheetSettings
from gateway.worksheets.access import DEFAULT_LAYOUTS, Layouts, WorksheetId
from tests.cluster.redis_server import RedisServer


def layouts(**rows: int) -> Layouts:
    """Return layouts with these header rows by worksheet title."""
    return Layouts(
        [
            WorksheetSettings(spreadsheet="book", title=title, header_row=row)
            for title, row in rows.items()
        ]
    )


def ending(**settings: Any) -> Layouts:
    """Return layouts with these settings of the worksheet `Orders`."""
    return Layouts([WorksheetSettings(spreadsheet="book", title="Orders", **settings)])


SAME = {
    "none": (DEFAULT_LAYOUTS, layouts()),
    "row 1": (DEFAULT_LAYOUTS, layouts(Orders=1)),
    "other order": (layouts(Orders=3, Cities=2), layouts(Cities=2, Orders=3)),
    "the defaults": (DEFAULT_LAYOUTS, ending(filled_down=True)),
    "NFC and NFD": (layouts(Café=3), layouts(Café=3)),
}
OTHERS = {
    "another row": (layouts(Orders=3), layouts(Orders=4)),
    "one more": (layouts(Orders=3), layouts(Orders=3, Cities=2)),
    "none": (layouts(Orders=3), DEFAULT_LAYOUTS),
    "the first": (DEFAULT_LAYOUTS, layouts(Orders=3)),
    "a record field": (layouts(Orders=3), ending(header_row=3, record_field="order")),
    "another record field": (ending(record_field="order"), ending(record_field="name")),
    "not filled down": (DEFAULT_LAYOUTS, ending(filled_down=False)),
}


@pytest.mark.parametrize(("running", "joining"), SAME.values(), ids=SAME)
async def test_processes_with_the_same_header_rows_join(
    server: RedisServer, running: Layouts, joining: Layouts
) -> None:
    """Processes share rows if their header rows are equal.

    The order of tables and the Unicode form of a title do not matter.
    """
    async with (
        open_store(server.url) as store,
        open_agreement(store, running),
        open_store(server.url) as other,
        open_agreement(other, joining),
    ):
        await check_agreement(server.url, joining)
        finding = await check_redis(server.url, joining)

    assert finding.level == "ok"


@pytest.mark.parametrize(("running", "joining"), OTHERS.values(), ids=OTHERS)
async def test_a_process_with_other_header_rows_does_not_join(
    server: RedisServer, running: Layouts, joining: Layouts
) -> None:
    """A process with different header rows does not start, and `check` names the setting.

    The running process continues.
    """
    async with open_store(server.url) as store, open_agreement(store, running):
        async with open_store(server.url) as other:
            with pytest.raises(ConfigError, match="has other tables"):
                async with open_agreement(other, joining):
                    pass
        with pytest.raises(ConfigError, match="has other tables"):
            await check_agreement(server.url, joining)
        finding = await check_redis(server.url, joining)
        await check_agreement(server.url, running)

    assert finding.level == "problem"
    assert "running processes have other tables [[worksheets]]" in finding.text


async def test_the_agreement_expires_after_the_last_process(
    server: RedisServer, redis: Redis
) -> None:
    """After the last process stopped, the stored settings expire, and other settings can start."""
    async with open_store(server.url) as store, open_agreement(store, DEFAULT_LAYOUTS):
        pass

    assert 0 < await redis.pttl(KEY) <= KEPT_SECONDS * 1000


async def test_check_stores_nothing(server: RedisServer, redis: Redis) -> None:
    """`check` stores nothing, and can run while processes with other settings run."""
    await check_redis(server.url, layouts(Orders=3))
    await check_agreement(server.url, layouts(Orders=3))

    assert await redis.exists(KEY) == 0


async def test_garbage_counts_as_missing(server: RedisServer, redis: Redis) -> None:
    """A stored value of another Redis type does not prevent a process from joining."""
    await redis.lpush(KEY, "x")

    async with open_store(server.url) as store, open_agreement(store, DEFAULT_LAYOUTS):
        assert await redis.get(KEY) == DEFAULT_LAYOUTS.digest


async def test_a_process_starts_without_redis(tmp_path: Path) -> None:
    """Without Redis a process starts, and shares nothing with other processes."""
    async with (
        open_store(f"unix://{tmp_path}/none.sock", changed=lambda _: None) as store,
        open_agreement(store, layouts(Orders=3)),
    ):
        assert not store.is_available


async def test_keys_of_shared_rows_have_the_header_row(server: RedisServer) -> None:
    """Redis keys of shared rows contain a configured header row, so that others do not use them."""
    async with open_store(server.url) as store:
        plain, titled = SharedRows(store), SharedRows(store, layouts=layouts(Orders=3))
        orders, cities = (WorksheetId("book", title) for title in ("Orders", "Cities"))

        assert plain._key("epoch", orders) == "{gateway}:epoch:book/Orders"
        assert titled._key("epoch", orders) == "{gateway}:epoch@3:book/Orders"
        assert titled._key("epoch", cities) == "{gateway}:epoch:book/Cities"
