"""Two processes get requests with the same Idempotency-Key: one row, and one answer."""

import asyncio
from dataclasses import replace

import pytest

from gateway.errors import (
    Forbidden,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    QueueFull,
    WriteOutcomeUnknown,
)
from gateway.worksheets.idempotency import Settled
from tests.cluster.peers import Office, identity_of, until

IDENTITY = identity_of("Reno")
LOST = WriteOutcomeUnknown("no answer")
NAMES = ["Boston", "Denver", "Austin", "Reno"]


async def test_simultaneous_repeats_create_one_row(office: Office) -> None:
    """Two writes with one key create one row; each gets the row, or 409 until the other ends."""
    for number in range(5):
        name = f"n{number}"
        identity = identity_of(name)
        ends = await asyncio.gather(
            *(peer.create(name, identity) for peer in office.peers), return_exceptions=True
        )
        settled = [each for each in ends if isinstance(each, Settled)]
        others = [each for each in ends if not isinstance(each, Settled)]
        repeated = [await peer.create(name, identity) for peer in office.peers]

        assert settled
        assert all(isinstance(each, IdempotencyInProgress) for each in others)
        assert {each.results[0].row for each in (*settled, *repeated)} == {5 + number}
        assert [each.is_replayed for each in settled].count(False) == 1
        assert all(each.is_replayed for each in repeated)
    assert office.held_names()[3:] == [f"n{number}" for number in range(5)]


async def test_repeats_cost_few_reads(office: Office) -> None:
    """Repeats cost no read at the same process, and one read in all at another process."""
    writer, other, reader = office.peers
    await office.settle_in()
    await writer.create("Reno", IDENTITY)
    costs = []
    for repeating in (writer, writer, other, other, other):
        await repeating.create("Reno", IDENTITY)
        assert await reader.names() == NAMES
        costs.append(sum(peer.cost().reads for peer in (other, reader)))

    assert costs == [0, 0, 1, 0, 0]


async def test_a_repeat_waits_for_a_running_write(office: Office) -> None:
    """A repeat during the write waits for the lock and returns the first answer."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.after("apply", gate)
    writing = [asyncio.create_task(first.create("Reno", IDENTITY))]
    await first.sheets.begun("apply")
    writing.append(asyncio.create_task(second.create("Reno", IDENTITY)))
    await until(office.is_waiting)
    gate.set()
    original, twin = await asyncio.gather(*writing)

    assert (original.is_replayed, twin.is_replayed) == (False, True)
    assert twin.results[0].row == original.results[0].row == 5
    assert twin.results[0].record == original.results[0].record
    assert second.sheets.count("apply") == 0
    assert office.held_names() == NAMES


async def test_a_repeat_that_started_too_early_gets_409(office: Office) -> None:
    """A repeat that started before the first record was stored gets 409 and sends nothing.

    Later repeats get the answer.
    """
    first, second, third = office.peers
    gate = office.gate()
    first.sheets.after("read_sheet", gate)
    writing = asyncio.create_task(first.create("Reno", IDENTITY))
    await first.sheets.begun("read_sheet")
    twin = asyncio.create_task(second.create("Reno", IDENTITY))
    await until(office.is_waiting)
    gate.set()
    original = await writing
    with pytest.raises(IdempotencyInProgress) as caught:
        await twin
    repeated = [await peer.create("Reno", IDENTITY) for peer in (second, third)]

    assert original.results[0].row == 5
    assert caught.value.outcome == "unknown"
    assert second.sheets.count("apply") == 0
    assert [each.is_replayed for each in repeated] == [True, True]
    assert [each.results[0].row for each in repeated] == [5, 5]
    assert office.held_names() == NAMES


async def test_a_simultaneous_repeat_of_a_delete_gets_409(office: Office) -> None:
    """A simultaneous second delete with the same key gets 409 with outcome `unknown`.

    A later repeat gets the answer.
    """
    first, second, third = office.peers
    gate = office.gate()
    first.sheets.after("read_sheet", gate)
    deleting = asyncio.create_task(first.delete(4, IDENTITY))
    await first.sheets.begun("read_sheet")
    twin = asyncio.create_task(second.delete(4, IDENTITY))
    await until(office.is_waiting)
    gate.set()
    await deleting
    with pytest.raises(IdempotencyInProgress) as caught:
        await twin

    assert caught.value.outcome == "unknown"
    assert (await third.delete(4, IDENTITY)).is_replayed
    assert office.held_names() == ["Boston", "Denver"]


async def test_a_repeat_in_a_batch_does_not_stop_other_writes(office: Office) -> None:
    """A repeat in a batch does not stop the other creates of this batch."""
    first, second, _ = office.peers
    gate = office.gate()
    first.sheets.after("read_sheet", gate)
    writing = asyncio.create_task(first.create("Reno", IDENTITY))
    await first.sheets.begun("read_sheet")
    group = [
        asyncio.create_task(second.create(name, identity_of(name))) for name in ("Reno", "Bern")
    ]
    await until(office.is_waiting)
    gate.set()
    await writing
    twin, other = await asyncio.gather(*group, return_exceptions=True)

    assert isinstance(twin, IdempotencyInProgress)
    assert isinstance(other, Settled)
    assert other.results[0].row == 6
    assert office.held_names() == [*NAMES, "Bern"]


@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "not applied"])
async def test_a_repeat_completes_a_write_of_a_dead_process(
    office: Office, is_applied: bool
) -> None:
    """A repeat after a killed process leaves one row, whether or not the batch was applied."""
    first, second, _ = office.peers
    gate = office.gate()
    (first.sheets.after if is_applied else first.sheets.before)("apply", gate)
    writing = asyncio.create_task(first.create("Reno", IDENTITY))
    await first.sheets.begun("apply")
    await office.cut_holder()
    repeated = await second.create("Reno", IDENTITY)
    gate.set()
    (end,) = await asyncio.gather(writing, return_exceptions=True)
    again = [await peer.create("Reno", IDENTITY) for peer in office.peers]

    assert repeated.is_replayed == is_applied
    assert repeated.results[0].row == 5
    assert isinstance(end, Settled if is_applied else (QueueFull, IdempotencyInProgress))
    assert [each.results[0].row for each in again] == [5, 5, 5]
    assert office.held_names() == NAMES


@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "not applied"])
async def test_a_repeat_of_an_open_write_at_another_process(
    office: Office, is_applied: bool
) -> None:
    """A repeat of a write with unknown outcome finds the outcome, or sends the row."""
    first, second, _ = office.peers
    (first.sheets.after if is_applied else first.sheets.before)("apply", LOST)
    first.sheets.before("fence_tokens", Forbidden("no access"))
    with pytest.raises(WriteOutcomeUnknown):
        await first.create("Reno", IDENTITY)
    repeated = await second.create("Reno", IDENTITY)
    again = await first.create("Reno", IDENTITY)

    assert repeated.is_replayed == is_applied
    assert again.is_replayed
    assert repeated.results[0].row == again.results[0].row == 5
    assert office.held_names() == NAMES


async def test_simultaneous_repeats_of_an_open_write(office: Office) -> None:
    """If two processes repeat a write with unknown outcome at once, there is one row."""
    first, second, third = office.peers
    first.sheets.before("apply", LOST)
    first.sheets.before("fence_tokens", Forbidden("no access"))
    with pytest.raises(WriteOutcomeUnknown):
        await first.create("Reno", IDENTITY)
    ends = await asyncio.gather(
        *(peer.create("Reno", IDENTITY) for peer in (second, third)), return_exceptions=True
    )
    again = [await peer.create("Reno", IDENTITY) for peer in office.peers]

    assert any(isinstance(each, Settled) for each in ends)
    assert all(isinstance(each, Settled | IdempotencyInProgress) for each in ends)
    assert [each.results[0].row for each in again] == [5, 5, 5]
    assert office.held_names() == NAMES


async def test_a_key_with_another_body_is_refused_by_all(office: Office) -> None:
    """A key with another body is an error at all processes."""
    first, second, _ = office.peers
    await first.create("Reno", IDENTITY)
    with pytest.raises(IdempotencyKeyReused) as caught:
        await second.create("Bern", replace(IDENTITY, fingerprint="another"))

    assert caught.value.outcome == "not_applied"
    assert office.held_names() == NAMES


async def test_a_replayed_write_is_published(office: Office) -> None:
    """A write of a process without Redis is visible to all after another process repeats it."""
    first, second, third = office.peers
    await office.settle_in()
    first.store._lose(ConnectionError("cut"))
    original = await first.create("Reno", IDENTITY)
    replayed = await second.create("Reno", IDENTITY)
    names = [await peer.names() for peer in (second, third)]

    assert original.is_alone
    assert not replayed.is_alone
    assert names == [NAMES, NAMES]
