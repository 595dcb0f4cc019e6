"""Tests that recorded streams of valid and invalid requests have the recorded outcomes."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.pipelines import cut
from tests.server.streams import Outcome, any_stream, played
from tests.server.wire import single_bytes

RECORDED = [
    json.loads(line)
    for line in Path(__file__).with_name("streams.jsonl").read_text("ascii").splitlines()
]
SEEDS = range(200)


@pytest.mark.parametrize(
    ("sent", "ends", "expected"),
    [(sent, ends, outcome) for sent, ends, *outcome in RECORDED],
    ids=range(len(RECORDED)),
)
async def test_a_stream_has_the_recorded_outcome(
    sent: str, ends: bool, expected: Sequence[object]
) -> None:
    """Statuses, body sizes, and kind and time of the connection's end equal the recorded
    outcome.
    """
    outcome = await played([sent.encode("latin-1")], ends=ends)

    assert outcome == Outcome(*expected)  # type: ignore[arg-type]


async def test_packets_do_not_change_the_outcome() -> None:
    """A stream has the same outcome in one packet, byte by byte, and cut at random positions."""
    for seed in SEEDS:
        random = Random(seed)  # noqa: S311
        raw, ends = any_stream(random), random.random() < 0.3
        ways = [[raw], single_bytes(raw)]
        if len(raw) > 1:
            ways.append(cut(random, raw))
        outcomes = [await played(parts, ends=ends) for parts in ways]

        assert outcomes == [outcomes[0]] * len(ways), f"seed {seed}: {raw!r}"
