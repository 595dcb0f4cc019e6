"""Reads of several worksheets in one call."""

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
    """Three worksheets that were read before."""

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
    assert [column(each) for each in await scene.read_all()] == [("name", t) for t in TITLES]
    assert scene.counts() == (1, 0)


async def test_what_is_known_is_left_out(scene: Scene) -> None:
    """Each read is compared with what is known of its own worksheet."""
    found = await scene.read("A")
    assert isinstance(found, Rendering)

    again, other = await asyncio.gather(scene.read("A", found.digest), scene.read("B"))

    assert again is None
    assert column(other) == ("name", "B")
    assert scene.counts() == (1, 1)


async def test_renderings_and_new_worksheets_are_apart(scene: Scene) -> None:
    await asyncio.gather(
        scene.read("A"),
        scene.read("A", render=Render.TYPED),
        scene.read("B", known=None),
    )

    assert scene.counts() == (0, 3)


async def test_reads_join_one_that_waits_for_the_quota() -> None:
    """It goes with all that have come by then; their keys share its turn."""
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
async def test_a_refused_call_is_taken_apart(scene: Scene, error: Exception) -> None:
    """Each worksheet is read alone, and those of the spreadsheet stay apart for a while."""
    scene.google.before("read_several", error)

    assert [column(each)[1] for each in await scene.read_all()] == list(TITLES)
    assert scene.counts() == (1, 3)
    await scene.read_all()
    assert scene.counts() == (1, 6)
    scene.timers.clock.advance(APART_SECONDS)
    await scene.read_all()
    assert scene.counts() == (2, 6)


async def test_only_the_worksheet_that_is_gone_fails(scene: Scene) -> None:
    del scene.fake.worksheets[1]

    a, b, c = await scene.read_all()

    assert (column(a)[1], column(c)[1]) == ("A", "C")
    assert isinstance(b, UpstreamRefusal)


async def test_another_failure_is_that_of_all(scene: Scene) -> None:
    scene.google.before("read_several", UpstreamError("failed"))

    assert [type(each) for each in await scene.read_all()] == [UpstreamError] * 3
    assert scene.counts() == (1, 0)


async def test_a_cancelled_read_leaves_the_others(scene: Scene) -> None:
    """Whoever began the call: it goes on for those who joined it."""
    first, *others = (asyncio.create_task(scene.read(title)) for title in TITLES)
    await asyncio.sleep(0)
    first.cancel()

    assert [column(each)[1] for each in await asyncio.gather(*others)] == ["B", "C"]


async def test_many_long_titles_are_several_calls() -> None:
    """The ranges of a call fit into a URL."""
    scene = Scene()
    titles = [f"{number}" + "x" * 90 for number in range(60)]
    for title in titles:
        scene.fake.add(title, [["name"]])

    await scene.read_all(*titles)

    assert scene.counts() == (2, 0)
