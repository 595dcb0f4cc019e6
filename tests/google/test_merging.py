"""Merging of concurrent reads of several worksheets into one call."""

import asyncio
from collections.abc import Sequence

import pytest

from gateway.errors import SheetTooLarge, UpstreamError, UpstreamRefusal
from gateway.google.calls import APART_SECONDS
from gateway.google.sheets import (
    Beneficiaries,
    CallContext,
    Render,
    Rendering,
    in_call_context,
    recording_sent_at,
)
from gateway.settings.model import GoogleSettings
from tests.fakes import BOOK, FakeSheets
from tests.google.pipelines import Bench
from tests.worksheets.scripted_sheets import ScriptedSheets

TITLES = ("A", "B", "C")


class Scene:
    """Three worksheets of one spreadsheet, and the calls that read them."""

    def __init__(self, reads_per_minute: int = 540) -> None:
        settings = GoogleSettings(reads_per_minute=reads_per_minute, max_waiting_seconds=100)
        fake = FakeSheets()
        for title in TITLES:
            fake.add(title, [["name"], [title]])
        self.fake = fake
        self.google = ScriptedSheets(fake)
        self.bench = Bench(settings=settings, sheets={"main": self.google})
        self.timers = self.bench.timers
        self.sheets = self.bench.google

    async def read(
        self, title: str, known: bytes | None = b"old", render: Render = Render.DISPLAYED
    ) -> Rendering | None:
        return await self.sheets.read_columns(BOOK, f"'{title}'!A1:Z", render=render, known=known)

    async def read_all(self, *titles: str) -> list[object]:
        reads = (self.read(title) for title in titles or TITLES)
        return list(await asyncio.gather(*reads, return_exceptions=True))

    def counts(self) -> tuple[int, int]:
        return self.google.count("read_several"), self.google.count("read_columns")


@pytest.fixture
def scene() -> Scene:
    return Scene()


def column(rendering: object) -> Sequence[object]:
    assert isinstance(rendering, Rendering)
    return rendering.columns[0]


async def test_reads_that_begin_together_are_one_call(scene: Scene) -> None:
    """Reads of three worksheets that begin together are sent as one `read_several` call."""
    assert [column(each) for each in await scene.read_all()] == [("name", t) for t in TITLES]
    assert scene.counts() == (1, 0)


async def test_each_merged_read_has_its_own_digest(scene: Scene) -> None:
    """In a merged call, only the worksheet with its known digest gives None."""
    found = await scene.read("A")
    assert isinstance(found, Rendering)

    again, other = await asyncio.gather(scene.read("A", found.digest), scene.read("B"))

    assert again is None
    assert column(other) == ("name", "B")
    assert scene.counts() == (1, 1)


async def test_reads_that_are_not_merged(scene: Scene) -> None:
    """Reads of another rendering, or of a worksheet without a known digest, are not merged."""
    await asyncio.gather(
        scene.read("A"),
        scene.read("A", render=Render.TYPED),
        scene.read("B", known=None),
    )

    assert scene.counts() == (0, 3)


async def test_reads_join_one_that_waits_for_the_quota() -> None:
    """A read joins a merged call that waits for quota, and the keys of all reads share its turn."""
    scene = Scene(reads_per_minute=1)
    await scene.read("A")
    groups = [Beneficiaries(["k1"]), Beneficiaries(["k2"])]

    async def read(title: str, group: Beneficiaries) -> Rendering | None:
        with in_call_context(CallContext(next(iter(group.key_ids)), beneficiaries=group)):
            return await scene.read(title)

    tasks = [asyncio.create_task(read("A", groups[0]))]
    await scene.timers.advance(1)
    with recording_sent_at() as sent_at:
        tasks.append(asyncio.create_task(read("B", groups[1])))
    await scene.timers.advance(1)
    groups[1].join("k3")
    (waiter,) = scene.bench.budget.reads._queue
    assert sent_at.at_seconds is None
    assert [*waiter.call_context.key_ids] == ["k1", "k2", "k3"]
    await scene.timers.advance(60)

    assert [column(each)[1] for each in await asyncio.gather(*tasks)] == ["A", "B"]
    assert scene.counts() == (1, 1)
    assert sent_at.at_seconds is not None


@pytest.mark.parametrize("error", [UpstreamRefusal("?"), SheetTooLarge("?")], ids=["400", "size"])
async def test_a_refused_merged_call_is_split(scene: Scene, error: Exception) -> None:
    """After a refused merged call, worksheets are read one by one for `APART_SECONDS`."""
    scene.google.before("read_several", error)

    assert [column(each)[1] for each in await scene.read_all()] == list(TITLES)
    assert scene.counts() == (1, 3)
    await scene.read_all()
    assert scene.counts() == (1, 6)
    scene.timers.clock.advance(APART_SECONDS)
    await scene.read_all()
    assert scene.counts() == (2, 6)


async def test_only_the_worksheet_that_is_gone_fails(scene: Scene) -> None:
    """If one worksheet of a merged call does not exist, only the read of that worksheet fails."""
    del scene.fake.worksheets[1]

    a, b, c = await scene.read_all()

    assert (column(a)[1], column(c)[1]) == ("A", "C")
    assert isinstance(b, UpstreamRefusal)


async def test_an_outage_fails_all_merged_reads(scene: Scene) -> None:
    """An outage of a merged call fails all its reads and is not repeated for each worksheet."""
    scene.google.before("read_several", UpstreamError("failed"))

    assert [type(each) for each in await scene.read_all()] == [UpstreamError] * 3
    assert scene.counts() == (1, 0)


async def test_a_merged_call_continues_after_a_cancelled_read(scene: Scene) -> None:
    """If the read that began a merged call is cancelled, the other reads get their answers."""
    first, *others = (asyncio.create_task(scene.read(title)) for title in TITLES)
    await asyncio.sleep(0)
    first.cancel()

    assert [column(each)[1] for each in await asyncio.gather(*others)] == ["B", "C"]


async def test_many_long_titles_are_several_calls() -> None:
    """Reads of many long titles are several calls, so that the ranges fit into a URL."""
    scene = Scene()
    titles = [f"{number}" + "x" * 90 for number in range(60)]
    for title in titles:
        scene.fake.add(title, [["name"]])

    await scene.read_all(*titles)

    assert scene.counts() == (2, 0)
