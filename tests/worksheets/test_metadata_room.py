"""Writes in a spreadsheet whose metadata is full; needed fences stay."""

from dataclasses import replace

import pytest

from gateway.errors import MetadataFull, UpstreamUnreachable, WriteOutcomeUnknown
from gateway.google.sheets import Fence
from gateway.worksheets.fences import OLD_SECONDS, Fences, NeverApplied
from tests.clock import ManualClock
from tests.fakes import BOOK
from tests.worksheets.conftest import Bench
from tests.worksheets.fence_scene import LOST, Scene
from tests.worksheets.scripted_sheets import Cost


@pytest.fixture
def scene(clock: ManualClock) -> Scene:
    return Scene(clock)


def leave(scene: Scene, count: int = 3) -> list[Fence]:
    """Create fences of an earlier process, which this process does not know."""
    fences = [scene.fences.new() for _ in range(count)]
    scene.fake.fences += fences
    return fences


async def test_old_fences_of_earlier_processes_make_room(scene: Scene) -> None:
    """One read finds old fences, and the batch deletes them when it is sent again."""
    leave(scene)
    scene.clock.advance(OLD_SECONDS + 2)
    scene.fill()
    batch = scene.batch("a")

    assert await scene.outcome(batch) == "applied"
    assert scene.sheets.cost() == Cost(1, 2)
    assert scene.fake.fences == [batch.fence]
    assert await scene.outcome(scene.batch("b")) == "applied"
    assert scene.sheets.cost() == Cost(0, 1)


@pytest.mark.parametrize("seconds", [0, 100, OLD_SECONDS - 2])
async def test_young_fences_of_other_processes_stay(scene: Scene, seconds: float) -> None:
    """Young fences may prove a write, so the batch fails, with the time until they are old."""
    young = leave(scene)
    scene.clock.advance(seconds)
    scene.fill()
    with pytest.raises(MetadataFull) as caught:
        await scene.commit(scene.batch("a"))
    wait_seconds = caught.value.retry_after_seconds or 0

    assert (caught.value.code, caught.value.status) == (5034, 503)
    assert caught.value.outcome == "not_applied"
    assert caught.value.retryable
    assert 10 <= wait_seconds <= 185
    assert scene.fake.fences == young
    assert scene.names() == []


async def test_a_clock_that_is_behind_makes_no_fence_old(scene: Scene) -> None:
    """The fence of a process whose clock is two minutes behind stays for 185 s all the same."""
    other = Fences(scene.sheets, key="gw", clock=lambda: scene.clock() - 120)
    batch = scene.batch("other", fence=other.new())
    await other.commit(BOOK, batch, resend_seconds=0.0)
    scene.clock.advance(184)
    scene.fill()

    with pytest.raises(MetadataFull):
        await scene.commit(scene.batch("a"))
    assert scene.tokens(batch) == [batch.fence.token]


async def test_a_fence_without_a_time_stays_until_it_was_seen_for_185_s(scene: Scene) -> None:
    """Fences of older versions are deleted 185 s after they were found."""
    scene.fake.fences.append(Fence(id=7, key="gw", token="Kq3-x8_1vWnZr0aT"))
    scene.fill()
    outcomes = []
    for seconds in (400, 184, 2):
        scene.clock.advance(seconds)
        try:
            outcomes.append(await scene.outcome(scene.batch("a")))
        except MetadataFull:
            outcomes.append("full")

    assert outcomes == ["full", "full", "applied"]


async def test_fences_of_open_records_stay(scene: Scene) -> None:
    """Fences of open records stay at any age, because retries search them."""
    needed = leave(scene, 1)
    scene.fences = scene.started([needed[0].id])
    scene.clock.advance(OLD_SECONDS + 2)
    scene.fill()

    with pytest.raises(MetadataFull):
        await scene.commit(scene.batch("a"))
    assert scene.fake.fences == needed


async def test_metadata_that_others_filled(scene: Scene) -> None:
    """Each fence replaces one whose write was answered, so writes go on."""
    await scene.commit(scene.batch("n0"))
    scene.fill()
    scene.sheets.cost()
    outcomes = {await scene.outcome(scene.batch(f"n{number}")) for number in range(1, 20)}

    assert outcomes == {"applied"}
    assert len(scene.fake.fences) == 1
    assert scene.sheets.cost() == Cost(1, 20)


async def test_metadata_that_others_filled_before(scene: Scene) -> None:
    """Without a fence of its own the gateway fails; the search costs 1 read."""
    scene.fill()

    with pytest.raises(MetadataFull) as caught:
        await scene.commit(scene.batch("a"))
    assert caught.value.retry_after_seconds == 185
    assert scene.sheets.cost() == Cost(1, 1)


@pytest.mark.parametrize("fresh_seconds", [0.0, 10.0], ids=["old-look", "fresh-look"])
async def test_a_lost_write_is_settled_in_full_metadata(scene: Scene, fresh_seconds: float) -> None:
    """Reserved fences are deleted for the test of used IDs and for the burnt fence."""
    for name in ("a", "b"):
        await scene.commit(scene.batch(name))
    scene.clock.advance(400)
    await scene.commit(scene.batch("c"))
    lost = scene.batch("lost")
    scene.fill()
    scene.fake.metadata_room += len(lost.fence.key + lost.fence.token)
    scene.sheets.before("apply", scene.fill, LOST)

    outcome = await scene.outcome(lost, fresh_seconds)
    scene.late(lost)()

    assert outcome == "never"
    assert scene.is_burnt(lost)
    assert scene.names() == ["a", "b", "c"]


async def test_a_lost_write_that_gave_up_a_fence(scene: Scene) -> None:
    """The fence that the lost batch would have deleted makes space for the burnt one."""
    scene.sheets.before("apply", LOST)
    assert await scene.outcome(scene.batch("x"), 0.0) == "never"  # used ids are proved
    scene.fill()
    lost = scene.batch("lost")
    scene.sheets.before("apply", lambda: scene.clock.advance(20), LOST, nth=2)

    assert await scene.outcome(lost) == "never"
    assert len(scene.sheets.batches[-1].forgotten) == 1
    assert scene.is_burnt(lost)


async def test_room_cannot_be_looked_for(scene: Scene) -> None:
    """If the search fails, the write fails with `MetadataFull`; the next write succeeds."""
    leave(scene)
    scene.clock.advance(OLD_SECONDS + 2)
    scene.fill()
    scene.sheets.before("find_fences", UpstreamUnreachable("x"))

    with pytest.raises(MetadataFull):
        await scene.commit(scene.batch("a"))
    assert await scene.outcome(scene.batch("b")) == "applied"


async def test_a_batch_whose_fence_is_old_is_not_sent(scene: Scene) -> None:
    """A process that slept sends nothing, because its fence may be deleted as old."""
    batch = scene.batch("a")
    scene.clock.advance(31)

    with pytest.raises(NeverApplied):
        await scene.commit(batch)
    assert scene.sheets.cost() == Cost(0, 0)


async def test_a_crash_loop_does_not_fill_metadata(scene: Scene) -> None:
    """Processes that live 2 s and write 3 times a second for ten minutes: all are applied."""
    began_at = scene.clock()
    gone_young = 0
    for _ in range(300):
        scene.fences = scene.started()
        young = {each.id: each for each in scene.fake.fences}
        for _ in range(6):
            await scene.fences.find_earlier(BOOK)
            batch = replace(scene.batch("x"), ranges=["'Cities'!1:1"])
            assert await scene.outcome(batch) == "applied"
            scene.clock.advance(1 / 3)
        for each in scene.fake.fences:
            young.pop(each.id, None)
        gone_young += sum(scene.clock() - (each.made_at or 0) < 185 for each in young.values())
    cost = scene.sheets.cost()

    assert scene.clock() - began_at >= 599
    assert gone_young == 0
    assert cost.writes - 1800 == cost.reads
    assert cost.reads < 10


async def test_full_metadata_is_named_in_the_answer_of_a_create(bench: Bench) -> None:
    """A create without space gets an error of its own, and succeeds once there is space."""
    bench.fake.metadata_room = 10
    with pytest.raises(MetadataFull) as caught:
        await bench.create(name="Reno")
    bench.fake.metadata_room = 100

    assert caught.value.outcome == "not_applied"
    assert await bench.create(name="Reno") == 5


async def test_a_slow_search_for_room(bench: Bench) -> None:
    """If the read is too old after the search, the rows are read again, and the write is sent."""
    await bench.create(name="Reno")
    bench.fake.metadata_room = 25
    bench.clock.advance(100)
    bench.sheets.before("find_fences", lambda: bench.clock.advance(11))
    bench.sheets.cost()

    assert await bench.create(name="Salem") == 6
    assert bench.sheets.cost() == Cost(2 + 1, 2)


async def test_no_write_is_unknown_for_ever(scene: Scene) -> None:
    """A lost write without space is decided when a fence is old."""
    leave(scene, 2)
    lost = scene.batch("lost")
    scene.sheets.before("apply", scene.fill, LOST)
    with pytest.raises(WriteOutcomeUnknown):
        await scene.commit(lost)
    scene.clock.advance(OLD_SECONDS + 2)

    assert not await scene.fences.is_applied(BOOK, lost.fence, scene.clock())
