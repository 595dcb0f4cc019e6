"""The protocol of fences: the outcome of a batch, whatever is lost or late."""

import asyncio
import random
from collections.abc import Callable
from functools import partial

import pytest

from gateway.errors import (
    GatewayError,
    QuotaSpent,
    SpreadsheetNotShared,
    UpstreamRefusal,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Fence
from gateway.worksheets.fences import Fences
from tests.clock import ManualClock
from tests.fakes import BOOK
from tests.worksheets.fence_scene import LOST, Scene
from tests.worksheets.scripted_sheets import Cost

USED = UpstreamRefusal("Invalid requests[0].createDeveloperMetadata: the id is used")


@pytest.fixture
def scene(clock: ManualClock) -> Scene:
    return Scene(clock)


async def test_an_acknowledged_batch_costs_one_write(scene: Scene) -> None:
    """A batch leaves its rows and its fence, and the answer shows the rows."""
    batch = scene.batch()

    view = await scene.commit(batch)

    assert view is not None
    assert view.blocks[1].texts[-1] == ["Reno"]
    assert scene.tokens(batch) == [batch.fence.token]
    assert scene.sheets.cost() == Cost(0, 1)


async def test_a_lost_answer_is_found_by_its_fence(scene: Scene) -> None:
    """One read of the fence proves that the batch was applied."""
    scene.sheets.after("apply", LOST)

    assert await scene.outcome(scene.batch()) == "applied, answer lost"
    assert scene.names() == ["Reno"]
    assert scene.sheets.cost() == Cost(1, 1)


async def test_a_lost_batch_is_sent_again(scene: Scene) -> None:
    """The batch is sent again unchanged, after a test that Google refuses used IDs."""
    scene.sheets.before("apply", LOST)
    batch = scene.batch()

    assert await scene.outcome(batch) == "applied"
    assert scene.names() == ["Reno"]
    assert scene.tokens(batch) == [batch.fence.token]
    assert scene.sheets.cost() == Cost(1, 1 + 2 + 1)


async def test_each_further_write_has_its_turn(scene: Scene) -> None:
    """A test or a burnt fence reserves its own quota, so the batch keeps the quota it reserved."""
    scene.sheets.before("apply", LOST)

    await scene.outcome(scene.batch())

    assert scene.turns == scene.sheets.cost().writes - 1


async def test_used_ids_are_proved_once(scene: Scene) -> None:
    """The test of used IDs is made once."""
    await scene.commit(scene.batch("a"))
    for name in ("b", "c"):
        scene.sheets.before("apply", LOST)
        await scene.outcome(scene.batch(name))

    assert scene.sheets.count("put_fence") == 2
    assert scene.names() == ["a", "b", "c"]


async def test_a_refused_new_fence_proves_nothing(scene: Scene) -> None:
    """Metadata may be full: only a refusal of an existing ID proves that used IDs are refused."""
    await scene.commit(scene.batch())
    scene.sheets.before("apply", LOST)
    scene.sheets.before("put_fence", USED)

    assert await scene.outcome(scene.batch()) == "applied"
    assert scene.sheets.count("put_fence") == 3


async def test_a_refusal_for_lack_of_room_proves_nothing(clock: ManualClock) -> None:
    """If Google accepts used IDs, full metadata does not change that, and nothing doubles."""
    scene = Scene(clock, repeatable_ids=True)
    await scene.commit(scene.batch("a"))
    scene.fill()
    late = scene.batch("b")
    scene.sheets.before("apply", LOST)
    scene.sheets.before("fence_tokens", lambda: setattr(scene.fake, "metadata_room", 1000), nth=2)
    scene.sheets.before("apply", lambda: setattr(scene.fake, "metadata_room", 1000), nth=2)

    outcome = await scene.outcome(late)
    scene.late(late)()

    assert outcome == "unknown"
    assert scene.names() == ["a", "b"]


async def test_room_that_comes_during_the_proof(clock: ManualClock) -> None:
    """Metadata that is full only during the second creation proves nothing either."""
    scene = Scene(clock, repeatable_ids=True)
    late = scene.batch("a")
    scene.sheets.before("apply", LOST)
    scene.sheets.before("put_fence", scene.fill, nth=2)
    scene.sheets.before("apply", lambda: setattr(scene.fake, "metadata_room", 1000), nth=2)

    outcome = await scene.outcome(late)
    scene.fake.metadata_room = 1000
    scene.late(late)()

    assert outcome == "unknown"
    assert scene.names() == ["a"]


async def test_a_late_first_copy_is_refused(scene: Scene) -> None:
    """The second copy is applied, and Google refuses the late first copy."""
    batch = scene.batch()
    scene.sheets.before("apply", LOST)

    assert await scene.outcome(batch) == "applied"
    scene.late(batch)()

    assert scene.names() == ["Reno"]


async def test_a_first_copy_that_lands_before_the_second(scene: Scene) -> None:
    """If the first copy is applied between search and second copy, the search finds it."""
    batch = scene.batch()
    scene.sheets.before("apply", LOST)
    scene.sheets.before("apply", scene.late(batch), nth=2)

    assert await scene.outcome(batch) == "applied, answer lost"
    assert scene.names() == ["Reno"]


async def test_a_stale_batch_is_burnt(scene: Scene) -> None:
    """A batch whose read is old is burnt instead of sent again, so it can never be applied."""
    batch = scene.batch()
    scene.sheets.before("apply", LOST)

    assert await scene.outcome(batch, fresh_seconds=0) == "never"
    scene.late(batch)()

    assert scene.names() == []
    assert scene.is_burnt(batch)


async def test_a_burn_that_comes_too_late(scene: Scene) -> None:
    """If the copy is applied first, Google refuses the burnt fence, and the search finds it."""
    batch = scene.batch()
    scene.sheets.before("apply", LOST)
    scene.sheets.before("put_fence", scene.late(batch), nth=3)

    assert await scene.outcome(batch, fresh_seconds=0) == "applied, answer lost"
    assert scene.names() == ["Reno"]


@pytest.mark.parametrize("is_burnt", [False, True], ids=["not-done", "done"])
async def test_a_burn_without_an_answer(scene: Scene, is_burnt: bool) -> None:
    """A burnt fence whose answer is lost is searched, and created again if it is missing."""
    batch = scene.batch()
    scene.sheets.before("apply", LOST)
    (scene.sheets.after if is_burnt else scene.sheets.before)("put_fence", LOST, nth=3)

    assert await scene.outcome(batch, fresh_seconds=0) == "never"
    assert scene.is_burnt(batch)


async def test_a_search_that_misses_a_new_fence(scene: Scene) -> None:
    """A search that misses the new fence leads to a refused copy, not to two rows."""
    batch = scene.batch()
    scene.sheets.after("apply", LOST)
    hidden = scene.fake.fences

    async def outcome() -> str:
        return await scene.outcome(batch)

    def hide() -> None:
        hidden[:], kept[:] = [], [*hidden]

    def show() -> None:
        hidden[:] = [*kept, *hidden]

    kept: list[Fence] = []
    scene.sheets.before("fence_tokens", hide)
    scene.sheets.after("fence_tokens", show)

    assert await outcome() == "applied, answer lost"
    assert scene.names() == ["Reno"]


@pytest.mark.parametrize(
    "trouble",
    [
        SpreadsheetNotShared("x", outcome="not_applied"),
        QuotaSpent("x", outcome="not_applied"),
        UpstreamRefusal("Invalid requests[1].appendCells: protected"),
        UpstreamRefusal("Unable to parse range"),
    ],
    ids=["403", "429", "refused", "unnamed"],
)
async def test_a_refused_second_copy_proves_nothing(scene: Scene, trouble: GatewayError) -> None:
    """A refused second copy says nothing about the first one: its fence is burnt."""
    batch = scene.batch()
    scene.sheets.before("apply", LOST)
    scene.sheets.before("apply", trouble, nth=2)

    outcome = await scene.outcome(batch)
    if outcome == "never":
        scene.late(batch)()

    assert outcome in ("never", "unknown")
    assert scene.names() == []


async def test_a_refusal_that_names_a_request_is_final(scene: Scene) -> None:
    """Google refused the only copy, so nothing was applied and nothing is searched."""
    scene.sheets.before("apply", UpstreamRefusal("Invalid requests[1].appendCells: protected"))

    with pytest.raises(UpstreamRefusal):
        await scene.commit(scene.batch())

    assert scene.sheets.cost() == Cost(0, 1)


async def test_a_refusal_that_names_no_request_is_open(scene: Scene) -> None:
    """Google may have refused the ranges of the answer after it applied the batch."""
    scene.sheets.after("apply", UpstreamRefusal("Unable to parse range: 'Cities'!A4:ZZZ"))

    assert await scene.outcome(scene.batch()) == "applied, answer lost"
    assert scene.names() == ["Reno"]


async def test_an_id_that_others_use(scene: Scene) -> None:
    """A batch with an ID that another write uses fails, and nothing of it is applied."""
    other = scene.batch("other")
    await scene.commit(other)
    batch = scene.batch(fence=Fence(id=other.fence.id, key="gw", token="own"))

    assert await scene.outcome(batch) == "never"
    assert scene.names() == ["other"]


async def test_an_id_that_others_use_after_a_lost_answer(scene: Scene) -> None:
    """The token shows that the fence belongs to another write."""
    other = scene.batch("other")
    await scene.commit(other)
    batch = scene.batch(fence=Fence(id=other.fence.id, key="gw", token="own"))
    scene.sheets.before("apply", LOST)

    assert await scene.outcome(batch) == "never"
    assert scene.names() == ["other"]


async def test_nothing_is_proved_while_google_is_away(scene: Scene) -> None:
    """Without an answer to the search the outcome is unknown, and the client retries after 10 s."""
    await scene.commit(scene.batch("a"))
    scene.sheets.before("apply", LOST)
    for nth in range(1, 100):
        scene.sheets.before("fence_tokens", UpstreamUnreachable("x"), nth=nth)
    fences = Fences(
        scene.sheets, key="gw", clock=scene.clock, sleep=asyncio.sleep, limit_seconds=0.3
    )

    with pytest.raises(WriteOutcomeUnknown) as caught:
        await fences.commit(BOOK, scene.batch(), resend_seconds=10.0)

    assert caught.value.retry_after_seconds == 10


@pytest.mark.parametrize("was_applied", [False, True])
async def test_a_write_of_an_earlier_process(scene: Scene, was_applied: bool) -> None:
    """The fence shows the outcome; if the write was not applied, it no longer can be."""
    batch = scene.batch()
    (scene.sheets.after if was_applied else scene.sheets.before)("apply", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await scene.commit(batch)
    later = scene.started([batch.fence.id])

    assert await later.is_applied(BOOK, batch.fence, scene.clock()) is was_applied
    scene.late(batch)()
    assert scene.names() == ["Reno"] * was_applied


class TestUsedIdsAccepted:
    """Google accepts used IDs: fences prove writes, but nothing is sent twice."""

    @pytest.fixture
    def scene(self, clock: ManualClock) -> Scene:
        return Scene(clock, repeatable_ids=True)

    async def test_a_lost_batch_is_open(self, scene: Scene) -> None:
        """The batch is not sent again, and the client retries after 185 s."""
        scene.sheets.before("apply", LOST)

        with pytest.raises(WriteOutcomeUnknown) as caught:
            await scene.commit(scene.batch())

        assert caught.value.retry_after_seconds == 185
        assert scene.sheets.count("apply") == 1

    async def test_a_lost_answer_is_found(self, scene: Scene) -> None:
        """A fence that exists proves the write."""
        scene.sheets.after("apply", LOST)

        assert await scene.outcome(scene.batch()) == "applied, answer lost"
        assert scene.sheets.cost() == Cost(1, 1)

    async def test_absence_takes_two_searches(self, scene: Scene) -> None:
        """Two searches prove absence: 180 s after the last copy, and 30 s later."""
        batch = scene.batch()
        scene.sheets.before("apply", LOST)
        with pytest.raises(WriteOutcomeUnknown):
            await scene.commit(batch)
        sent_at = scene.clock()
        outcomes: list[bool | None] = []
        for seconds in (179, 2, 29, 2):
            scene.clock.advance(seconds)
            try:
                outcomes.append(await scene.fences.is_applied(BOOK, batch.fence, sent_at))
            except WriteOutcomeUnknown:
                outcomes.append(None)

        assert outcomes == [None, None, None, False]

    async def test_a_late_effect_is_found(self, scene: Scene) -> None:
        """A copy that is applied after three minutes is reported as applied."""
        batch = scene.batch()
        scene.sheets.before("apply", LOST)
        with pytest.raises(WriteOutcomeUnknown):
            await scene.commit(batch)
        scene.late(batch)()

        assert await scene.fences.is_applied(BOOK, batch.fence, scene.clock())


@pytest.mark.parametrize("repeatable_ids", [False, True], ids=["refused", "accepted"])
async def test_random_faults_never_double_or_lose(clock: ManualClock, repeatable_ids: bool) -> None:
    """Whatever is lost or late, each outcome is correct, and no row exists twice."""
    for seed in range(400):
        chance = random.Random(seed)  # noqa: S311 - no secret
        scene = Scene(clock, repeatable_ids=repeatable_ids)
        under_way: list[Callable[[], None]] = []
        told: dict[str, str] = {}

        def land_some(under_way: list[Callable[[], None]] = under_way) -> None:
            chance.shuffle(under_way)  # noqa: B023 - used in this round only
            while under_way and chance.random() < 0.5:  # noqa: B023
                under_way.pop()()

        for number in range(6):
            batch = scene.batch(f"n{number}")
            for nth in (1, 2):
                match chance.choice(["answered", "unanswered", "lost", "late"]):
                    case "unanswered":
                        scene.sheets.after("apply", LOST, nth=nth)
                    case "lost":
                        scene.sheets.before("apply", LOST, nth=nth)
                    case "late":
                        send = partial(under_way.append, scene.late(batch))
                        scene.sheets.before("apply", send, LOST, nth=nth)
            for kind in ("fence_tokens", "put_fence", "apply"):
                scene.sheets.before(kind, land_some, nth=chance.randint(1, 3))
            told[f"n{number}"] = await scene.outcome(batch, chance.choice([0.0, 10.0]))
            scene.sheets.clear()
        while under_way:
            land_some()
        names = scene.names()
        for name, outcome in told.items():
            wanted = {"never": (0,), "unknown": (0, 1)}.get(outcome, (1,))
            assert names.count(name) in wanted, (seed, told, names)
