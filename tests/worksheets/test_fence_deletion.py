"""Old fences are deleted by later batches."""

import pytest

from gateway.errors import SpreadsheetNotShared, UpstreamRefusal
from tests.clock import ManualClock
from tests.fakes import BOOK
from tests.worksheets.fence_scene import FRESH_SECONDS, LOST, Scene
from tests.worksheets.scripted_sheets import Cost


@pytest.fixture
def scene(clock: ManualClock) -> Scene:
    return Scene(clock)


async def test_fences_stay_while_a_copy_may_land(scene: Scene) -> None:
    """After 185 s the next batch deletes the fences of finished writes, except the last two."""
    for name in ("a", "b", "c"):
        await scene.commit(scene.batch(name))
    scene.clock.advance(184)
    await scene.commit(scene.batch("d"))
    before = len(scene.fake.fences)
    scene.clock.advance(2)
    await scene.commit(scene.batch("e"))

    assert before == 4
    assert len(scene.fake.fences) == 3


async def test_few_fences_stay(scene: Scene) -> None:
    """At most 500 fences stay, however many writes there are in three minutes."""
    for number in range(600):
        await scene.commit(scene.batch(f"n{number}"))

    assert len(scene.fake.fences) <= 500


async def test_fences_of_an_earlier_process(scene: Scene) -> None:
    """One read finds them, and they are deleted, except those of open writes."""
    batches = [scene.batch(name) for name in ("a", "b")]
    for batch in batches:
        await scene.commit(batch)
    scene.fences = scene.started([batches[1].fence.id])
    await scene.fences.find_earlier(BOOK)
    scene.clock.advance(186)
    scene.sheets.cost()
    for _ in range(2):
        await scene.fences.find_earlier(BOOK)
    cost = scene.sheets.cost()
    scene.clock.advance(186)
    last = scene.batch("c")
    await scene.commit(last)

    assert cost == Cost(1, 0)
    assert {each.id for each in scene.fake.fences} == {batches[1].fence.id, last.fence.id}


async def test_fences_of_open_writes_do_not_pile_up(scene: Scene) -> None:
    """A fence of an open write is deleted when no copy can be applied any more."""
    await scene.commit(scene.batch("a"))
    away = SpreadsheetNotShared("x", outcome="not_applied")
    scene.sheets.after("apply", LOST)
    scene.sheets.before("fence_tokens", away)
    batch = scene.batch("b")
    assert await scene.outcome(batch) == "unknown"
    scene.clock.advance(186)
    await scene.commit(scene.batch("c"))

    assert scene.names() == ["a", "b", "c"]
    assert scene.tokens(batch) == []


async def test_fences_of_another_process_with_the_same_key(scene: Scene) -> None:
    """A found fence may be in use: it stays while a copy of its write can be applied."""
    other = scene.started()
    scene.clock.advance(186)
    batch = scene.batch("a")
    await other.commit(BOOK, batch, resend_seconds=0.0)
    await scene.fences.find_earlier(BOOK)
    await scene.commit(scene.batch("b"))

    assert scene.tokens(batch) == [batch.fence.token]


async def test_a_refused_deletion_is_left_out(scene: Scene) -> None:
    """If Google refuses to delete a fence, the batch is sent without the deletion."""
    for name in ("a", "b", "c"):
        await scene.commit(scene.batch(name))
    scene.clock.advance(200)
    scene.sheets.before("apply", UpstreamRefusal("Invalid requests[0].deleteDeveloperMetadata: no"))

    assert await scene.outcome(scene.batch("d")) == "applied"
    assert scene.names() == ["a", "b", "c", "d"]


async def test_a_refused_deletion_takes_too_long(scene: Scene) -> None:
    """If the wait for quota makes the read too old, nothing is sent."""
    for name in ("a", "b", "c"):
        await scene.commit(scene.batch(name))
    scene.clock.advance(200)
    scene.turn_seconds = FRESH_SECONDS + 1
    scene.sheets.before("apply", UpstreamRefusal("Invalid requests[0].deleteDeveloperMetadata: no"))

    assert await scene.outcome(scene.batch("d")) == "never"
    assert await scene.outcome(scene.batch("e")) == "applied"
    assert scene.names() == ["a", "b", "c", "e"]
    assert scene.sheets.batches[-1].forgotten != scene.sheets.batches[-2].forgotten
