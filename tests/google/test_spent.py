"""Spent quota, which is stored in a file so that a restart does not spend quota twice."""

import math
import os
import struct
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.errors import QuotaSpent
from gateway.google.quota import LONGEST_SECONDS, Bucket, SpentQuota, open_budget, open_spent_quota
from gateway.google.sheets import CallContext
from gateway.settings.model import GoogleSettings
from tests.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def bucket(spent: SpentQuota, clock: ManualClock, *, is_write: bool = True) -> Bucket:
    """Return a bucket in which no call waits."""
    settings = GoogleSettings(max_waiting_seconds=0.0)
    budget = open_budget(settings, clock=clock, spent=spent)
    return budget.writes if is_write else budget.reads


async def sent(subject: Bucket) -> int:
    """Return the number of calls that can be sent at once."""
    count = 0
    while count < 100:
        try:
            await subject.take(CallContext())
        except QuotaSpent:
            break
        count += 1
    return count


async def test_a_restart_keeps_the_spent_quota(tmp_path: Path, clock: ManualClock) -> None:
    """Eight starts within a minute send together no more calls than one process."""
    total = 0
    for _ in range(8):
        async with open_spent_quota(tmp_path / "quota") as spent:
            total += await sent(bucket(spent, clock))

    assert total == 6


async def test_spent_writes_do_not_limit_reads(tmp_path: Path, clock: ManualClock) -> None:
    """After a restart, spent quota of writes does not limit reads."""
    async with open_spent_quota(tmp_path / "quota") as spent:
        await sent(bucket(spent, clock))
    async with open_spent_quota(tmp_path / "quota") as spent:
        assert await sent(bucket(spent, clock, is_write=False)) == 6


@pytest.mark.parametrize("step_seconds", [-86_400.0, -5.0, 86_400.0])
async def test_a_changed_wall_clock(tmp_path: Path, step_seconds: float) -> None:
    """If the wall clock was changed between two starts, calls wait at most a minute."""
    wall = ManualClock()
    async with open_spent_quota(tmp_path / "quota", now=wall) as spent:
        spent.note(6.0, is_write=True)
    wall.advance(step_seconds)
    async with open_spent_quota(tmp_path / "quota", now=wall) as spent:
        assert 0 <= spent.seconds(is_write=True) <= LONGEST_SECONDS


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 16], ids=["empty", "cut", "nan"])
async def test_a_damaged_file(tmp_path: Path, content: bytes) -> None:
    """A damaged quota file counts as no spent quota."""
    (tmp_path / "quota").write_bytes(content)
    async with open_spent_quota(tmp_path / "quota") as spent:
        assert spent.seconds(is_write=True) == 0


async def test_a_full_disk(clock: ManualClock) -> None:
    """On a full disk the quota is still limited, and one log line reports the failure."""
    with capture_logs() as events:
        async with open_spent_quota(Path("/dev/full")) as spent:
            assert await sent(bucket(spent, clock)) == 6

    assert [event["event"] for event in events] == ["quota-file-failed"]


async def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    """Without a quota file the gateway runs, and one log line reports the failure."""
    with capture_logs() as events:
        async with open_spent_quota(tmp_path / "no" / "quota") as spent:
            spent.note(5.0, is_write=True)

    assert [event["event"] for event in events] == ["quota-file-failed"]


async def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link in place of the quota file is not followed, and a log line reports it."""
    (tmp_path / "precious").write_text("content")
    (tmp_path / "quota").symlink_to(tmp_path / "precious")
    with capture_logs() as events:
        async with open_spent_quota(tmp_path / "quota") as spent:
            spent.note(5.0, is_write=True)

    assert [event["event"] for event in events] == ["quota-file-failed"]
    assert (tmp_path / "precious").read_text() == "content"


async def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """Opening a named pipe in place of the quota file does not block, and a log line reports it."""
    os.mkfifo(tmp_path / "quota")
    with capture_logs() as events:
        async with open_spent_quota(tmp_path / "quota") as spent:
            assert spent.seconds(is_write=True) == 0

    assert {event["event"] for event in events} == {"quota-file-failed"}


@pytest.mark.parametrize("number", [math.inf, 1e300, 4e9, -math.inf, -1e300, math.nan])
async def test_a_damaged_number_costs_a_minute_once(tmp_path: Path, number: float) -> None:
    """A damaged number delays at most one start by a minute, even if another number is updated."""
    wall = ManualClock()
    (tmp_path / "quota").write_bytes(struct.pack("<dd", 0.0, number))
    async with open_spent_quota(tmp_path / "quota", now=wall) as spent:
        first = spent.seconds(is_write=True)
        spent.note(1.0, is_write=False)
    wall.advance(LONGEST_SECONDS)
    async with open_spent_quota(tmp_path / "quota", now=wall) as spent:
        second = spent.seconds(is_write=True)

    assert first in (0.0, LONGEST_SECONDS)
    assert second == 0
