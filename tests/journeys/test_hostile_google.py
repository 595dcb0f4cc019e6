"""Harmful answers from Google: the right error in time and in little memory.

The tricks work on the HTTP stream, because faults of the emulator are complete answers.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gateway.settings.model import GoogleSettings
from tests.journeys.conftest import Api, EmulatorControl, KeysOnDisk, running_gateways
from tests.journeys.failure import refused
from tests.journeys.hostile import (
    Hostile,
    Trick,
    answering,
    dripping,
    packed,
    running_hostile,
    stalling,
    start_of,
)
from tests.journeys.standalone import standing_alone
from tests.journeys.waiting import until

MB = 1_000_000
READ_SECONDS = 1.0
SLACK_SECONDS = 3.0
"""Time that an answer can take beyond the timeout of its call on a busy machine."""
MOST_GROWTH_BYTES = 3 * GoogleSettings().max_answer_bytes
"""Memory for the unpacked answer, one more chunk, and overhead."""
GZIP = {"content-encoding": "gzip"}
BOMB = packed(b'["aaaa"],', 40 * MB)
COLUMNS = packed(b"[],", 33 * MB)

# What Google does, and the code of the answer.
TRICKS: Mapping[str, tuple[Trick, int]] = {
    "40 MB packed": (answering(BOMB, GZIP), 4132),
    "11 million columns": (answering(COLUMNS, GZIP), 5020),
    "stall at byte 100": (stalling(start_of(100)), 5040),
    "stall before the first byte": (stalling(b""), 5040),
    "blanks without end": (dripping(b""), 5040),
    "an answer, and blanks without end": (dripping(start_of(100)), 5040),
    "packed nonsense": (answering(b"\x00" * 1000, GZIP), 5020),
    "half of what is packed": (answering(BOMB[:1000], GZIP), 5020),
    "packed otherwise": (answering(b"\x00" * 1000, {"content-encoding": "br"}), 5020),
    "lists 20 million deep": (answering(b"[" * 20 * MB), 5020),
}


@pytest.fixture(scope="module")
def bad_google(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[EmulatorControl, Hostile]]:
    """An emulator that can send harmful answers."""
    with running_hostile(tmp_path_factory.mktemp("hostile")) as running:
        yield running


@pytest.fixture
def control(bad_google: tuple[EmulatorControl, Hostile]) -> EmulatorControl:
    return bad_google[0]


@pytest.fixture
def hostile(bad_google: tuple[EmulatorControl, Hostile]) -> Iterator[Hostile]:
    """The `Hostile` application, without a trick before and after the test."""
    hostile = bad_google[1]
    hostile.trick, hostile.ended = None, 0
    hostile.peers.clear()
    yield hostile
    hostile.trick = None


@pytest.fixture
def tricked(control: EmulatorControl, access: KeysOnDisk) -> Iterator[Api]:
    """A gateway on the hostile emulator with a short read timeout."""
    with running_gateways(control, access) as start:
        yield start({"google.read_timeout_seconds": READ_SECONDS})


@pytest.mark.parametrize("name", TRICKS)
def test_a_harmful_answer_ends_in_time(tricked: Api, hostile: Hostile, name: str) -> None:
    """A harmful answer gives the right error, its connection is closed, and the next read
    succeeds.
    """
    assert tricked.names("Cities", limit="1") == ["New York"]
    hostile.trick, code = TRICKS[name]
    began = time.monotonic()
    answer = tricked.get("Cities")
    seconds = time.monotonic() - began
    are_ended = until(lambda: hostile.ended == len(hostile.peers) > 0)
    hostile.trick = None

    assert refused(answer)[1] == code
    assert seconds < 3 * READ_SECONDS + SLACK_SECONDS
    assert are_ended
    assert until(lambda: tricked.get("Cities").status_code == 200)


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the memory is read as Linux tells it"
)
@pytest.mark.parametrize(
    ("bomb", "found"),
    [
        pytest.param(BOMB, (413, 4132), id="40-MB"),
        pytest.param(COLUMNS, (502, 5020), id="11-million-columns"),
    ],
)
def test_a_compression_bomb_takes_little_memory(
    control: EmulatorControl,
    access: KeysOnDisk,
    hostile: Hostile,
    tmp_path: Path,
    bomb: bytes,
    found: tuple[int, int],
) -> None:
    """The gateway unpacks little more of an answer than `max_answer_bytes`, repeatedly."""
    with standing_alone(tmp_path, control, access) as gateway:
        assert gateway.api.names("Cities", limit="1") == ["New York"]
        hostile.trick = answering(bomb, GZIP)
        gateway.forget_peak()
        before = gateway.resident_bytes()
        answers = [gateway.api.get(f"New/{row}") for row in range(2, 7)]
        growth = gateway.peak_bytes() - before

    assert [refused(answer) for answer in answers] == [found] * 5
    assert growth <= MOST_GROWTH_BYTES
