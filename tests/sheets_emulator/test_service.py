"""Latency of calls, and its random part (jitter)."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.sheets_emulator.bench import write_seed
from tests.sheets_emulator.held_clock import HeldClock, Traffic


def traffic_of(folder: Path, options: EmulatorOptions, clock: HeldClock) -> Traffic:
    """An emulator with these options and the spreadsheet `book`."""
    seed = write_seed(folder, {"book/Data.csv": "head\n"})
    emulator = create_emulator(replace(options, seed=seed), timing=clock.timing())
    return Traffic(emulator=emulator, clock=clock)


@pytest.mark.parametrize(
    ("share", "half"), [(0.0, 0.05), (0.5, 0.15), (1.0, 0.25)], ids=["least", "middle", "most"]
)
async def test_jitter_is_added_to_the_latency(tmp_path: Path, share: float, half: float) -> None:
    """A call waits half of latency and jitter before the effect, and half after the effect."""
    clock = HeldClock(share=lambda: share)
    options = EmulatorOptions(latency_ms=100, latency_jitter_ms=400)
    traffic = traffic_of(tmp_path, options, clock)
    append = traffic.append("row")
    await clock.advance(1000)

    assert append.written() == "Data!A2"
    assert clock.slept == pytest.approx([half, half])


async def test_every_call_draws_its_own_jitter(tmp_path: Path) -> None:
    """Calls that start together end in another order. A token request waits, too."""
    clock = HeldClock(share=Random(3).random)  # noqa: S311 - nothing secret
    traffic = traffic_of(tmp_path, EmulatorOptions(latency_jitter_ms=100), clock)
    replies = {name: traffic.append(name, option="INSERT_ROWS") for name in "abcd"}
    await clock.advance(1000)
    ended = sorted(replies, key=lambda name: replies[name].written())
    clock.slept.clear()
    token = traffic.token()
    await clock.advance(1000)

    assert ended != list("abcd")
    assert traffic.column() == ["head", *ended]
    assert token.done()
    assert len(clock.slept) == 2
    assert 0 < clock.slept[0] < 0.05
