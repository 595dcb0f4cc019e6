"""Tests of damaged Redis data of shared rows: epochs, changes of writes, renderings and locks.

A rendering is all cells of a worksheet, displayed or typed. An epoch names a version of the rows.
"""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from gateway.cluster.shared_rows import WAIT_SECONDS
from gateway.cluster.stored_values import MAX_SHARED_BYTES, decoded
from tests.cluster.garbage import ANY_KIND, ANY_TEXT, BODIES, BYTES, NEWS, Spoil, bomb, put
from tests.cluster.peers import Office
from tests.worksheets.conftest import WORKSHEET
from tests.worksheets.scripted_sheets import Cost

PLACE = f"{WORKSHEET.spreadsheet}/{WORKSHEET.title}"
EPOCH = f"{{gateway}}:epoch:{PLACE}"
NEWS_KEY = f"{{gateway}}:news:{PLACE}"
ROWS = f"{{gateway}}:rows:FORMATTED_VALUE:{PLACE}"
FLIGHT = f"{{gateway}}:flight:{PLACE}"


@asynccontextmanager
async def worked(office: Office) -> AsyncIterator[None]:
    """Fill the caches before the block, and assert after the block that all processes work."""
    await office.settle_in()
    await office.peers[0].created("Reno")
    yield
    async with asyncio.timeout(WAIT_SECONDS / 2):
        assert await shown(office) == [office.held_names()] * 3
        await office.peers[1].update(3, name="Bern")
        assert await shown(office) == [["Boston", "Bern", "Austin", "Reno"]] * 3
        await office.peers[2].created("Oslo")
        assert await shown(office) == [["Boston", "Bern", "Austin", "Reno", "Oslo"]] * 3
    assert office.held_names() == ["Boston", "Bern", "Austin", "Reno", "Oslo"]
    assert all(peer.store.is_available for peer in office.peers)


async def shown(office: Office) -> list[list[object]]:
    return [await peer.names() for peer in office.peers]


@ANY_KIND
@pytest.mark.parametrize("key", [EPOCH, NEWS_KEY, ROWS, FLIGHT], ids=lambda key: key.split(":")[1])
async def test_a_value_of_any_type_counts_as_missing(
    office: Office, key: str, spoil: Spoil
) -> None:
    """With a value of a wrong type, reads and writes continue, and each write is visible.

    The processes go on using Redis.
    """
    async with worked(office), office.redis() as client:
        await put(client, key, spoil)


@ANY_TEXT
@pytest.mark.parametrize("field", ["epoch", "read_at", "digest", "body"])
async def test_a_damaged_rendering_hides_no_rows(
    office: Office, field: str, garbage: bytes
) -> None:
    """With a damaged rendering in Redis, all processes return Google's rows and later writes."""
    first, second, third = office.peers
    await first.names()
    async with office.redis() as client:
        await client.hset(ROWS, field, garbage)
    names = await shown(office)
    await second.update(3, name="Bern")
    later = [await third.names(), await first.names()]

    assert names == [["Boston", "Denver", "Austin"]] * 3
    assert later == [["Boston", "Bern", "Austin"]] * 2
    assert all(peer.store.is_available for peer in office.peers)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_a_damaged_body_is_read_again(office: Office, body: bytes) -> None:
    """If the stored rows are damaged, one process reads Google and stores rows for the others."""
    first, second, third = office.peers
    await first.names()
    async with office.redis() as client:
        await client.hset(ROWS, "body", body)
    names = [await second.names(), await third.names()]

    assert names == [office.held_names()] * 2
    assert [second.cost(), third.cost()] == [Cost(1, 0), Cost(0, 0)]


@pytest.mark.parametrize("news", NEWS.values(), ids=NEWS)
async def test_damaged_changes_are_missing(office: Office, news: bytes) -> None:
    """A process reads the worksheet if the stored change of another process's write is damaged."""
    writer, other, _ = office.peers
    await office.settle_in()
    await writer.created("Reno")
    async with office.redis() as client:
        before, after, _rest = (await client.lindex(NEWS_KEY, 0)).split(b"\n", 2)
        await client.lset(NEWS_KEY, 0, b"\n".join([before, after, news]))
    names = await other.names()

    assert names == ["Boston", "Denver", "Austin", "Reno"]
    assert other.cost() == Cost(1, 0)


@pytest.mark.parametrize("link", [b"", b"x", b"\n", BYTES, b"9" * 400_000], ids=range(5))
async def test_garbage_between_changes_hides_no_write(office: Office, link: bytes) -> None:
    """Damaged entries between stored changes hide no change of another write."""
    writer, other, _ = office.peers
    await office.settle_in()
    await writer.created("Reno")
    async with office.redis() as client:
        await client.lpush(NEWS_KEY, link)
    await writer.update(3, name="Bern")
    names = await other.names()

    assert names == ["Boston", "Bern", "Austin", "Reno"]
    assert other.cost() == Cost(0, 0)


async def test_a_damaged_rendering_begins_an_epoch(office: Office) -> None:
    """A damaged rendering starts a new epoch, so that older cached rows are not fresh."""
    first, second, third = office.peers
    async with office.redis() as client:
        await client.flushall()
        await office.settle_in(first, third)
        office.cities.type(2, "Basel")
        await client.hset(ROWS, "digest", "x" * 100)
        names = [await second.names(), await first.names(), await third.names()]

    assert names == [["Basel", "Denver", "Austin"]] * 3


def test_decompression_is_limited() -> None:
    """A value that decompresses to 256 MiB uses only the memory of the largest rendering."""
    packed = bomb(256)
    tracemalloc.start()
    found = decoded(msgspec.msgpack.Decoder(), packed, max_inflated_bytes=MAX_SHARED_BYTES)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found is None
    assert len(packed) < 300_000
    assert peak < 3 * MAX_SHARED_BYTES
