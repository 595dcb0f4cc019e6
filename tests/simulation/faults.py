"""Random faults of Google's calls during creates, as data for the emulator.

Rules
- A late effect follows a lost connection, or a 502 or 504.
- Only the gateway's writes fail, which carry its metadata (fences). Writes of people succeed.
- A slow read is delayed before or after it reads the rows.
- A fault belongs to a call by the call's number, so a seed always gives the same faults.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Fault = Mapping[str, Any]
PAGE = "<!DOCTYPE html><title>Sorry...</title>"
BATCH = "spreadsheets.batchUpdate"
FENCE = '"metadataKey":"gw-'
READS = (
    "values.get",
    "values.batchGet",
    "values.batchGetByDataFilter",
    "spreadsheets.get",
    "spreadsheets.getByDataFilter",
    "developerMetadata.search",
)
FEWEST_BETWEEN = 3
"""Successful reads between two failing reads, so that a retry succeeds."""


@dataclass(frozen=True, kw_only=True)
class Weather:
    """Frequencies of faults, and limits of delays in milliseconds."""

    share: float
    latest_ms: int
    slowest_ms: int
    timeout_ms: int
    """Delay that exceeds the gateway's timeout, in milliseconds."""
    slowest_look_ms: int = 0
    """Longest delay of a slow read in milliseconds, at least 500; 0 means no slow reads."""
    look_share: float = 0.1
    """Share of the reads that are slow."""
    trip_share: float = 0.0
    """Share of the writes before which a person edits the sheet."""


Make = Callable[[random.Random, Weather], Fault]

BATCH_FAULTS: Mapping[str, Make] = {
    "lost, not applied": lambda *_: {"drop": True},
    "lost, applied": lambda *_: {"drop": True, "apply": True},
    "lost, applied soon": lambda chance, weather: {
        "drop": True,
        "late_ms": chance.randint(1, weather.latest_ms // 2),
    },
    "lost, applied late": lambda chance, weather: {
        "drop": True,
        "late_ms": chance.randint(weather.latest_ms * 3 // 4, weather.latest_ms),
    },
    "504, applied late": lambda chance, weather: {
        "status": chance.choice([502, 504]),
        "late_ms": chance.randint(1, weather.latest_ms),
    },
    "504, applied": lambda *_: {"status": 504, "apply": True},
    "5xx, not applied": lambda chance, _: {"status": chance.choice([500, 502, 503])},
    "5xx, applied": lambda chance, _: {"status": chance.choice([500, 503]), "apply": True},
    "5xx as a page": lambda chance, _: {
        "status": 503,
        "text": PAGE,
        "apply": chance.random() < 0.5,
    },
    "429": lambda *_: {"status": 429},
    "truncated, applied": lambda chance, _: {"truncate": chance.randint(0, 90), "apply": True},
    "slow": lambda chance, weather: {"delay_ms": chance.randint(1, weather.slowest_ms)},
    "too slow, applied": lambda _, weather: {"delay_ms": weather.timeout_ms},
}
READ_FAULTS: Mapping[str, Make] = {
    "5xx": lambda chance, _: {"status": chance.choice([500, 503])},
    "lost": lambda *_: {"drop": True},
    "slow": lambda chance, weather: {"delay_ms": chance.randint(1, weather.slowest_ms)},
}
FEWEST_LOOK_MS = 500


def plan(
    chance: random.Random,
    weather: Weather,
    *,
    batches: int,
    reads: int,
    edit: Callable[[], Fault] | None = None,
) -> list[Fault]:
    """Return random faults for `batches` writes and for `reads` reads of each kind.

    All kinds of faults are about equally frequent. `edit` returns the edit of a person that happens
    just before a write.
    """
    faults: list[Fault] = [
        {**fault, "match": FENCE}
        for fault in _faults(BATCH, BATCH_FAULTS, chance, weather, batches, 0)
    ]
    if edit is not None:
        faults += [
            {"call": BATCH, "skip": number, "match": FENCE, "edit": edit()}
            for number in range(batches)
            if chance.random() < weather.trip_share
        ]
    for call in READS:
        faults += _faults(call, READ_FAULTS, chance, weather, reads, FEWEST_BETWEEN)
        if weather.slowest_look_ms:
            faults += _slow_looks(call, chance, weather, reads)
    return faults


def _slow_looks(call: str, chance: random.Random, weather: Weather, calls: int) -> Iterator[Fault]:
    for number in range(calls):
        if chance.random() < weather.look_share:
            where = chance.choice(["hold_ms", "delay_ms"])
            lasts_ms = chance.randint(FEWEST_LOOK_MS, weather.slowest_look_ms)
            yield {"call": call, "skip": number, where: lasts_ms}


def _faults(
    call: str,
    kinds: Mapping[str, Make],
    chance: random.Random,
    weather: Weather,
    calls: int,
    between: int,
) -> Iterator[Fault]:
    waiting: list[str] = []
    free_from = 0
    for number in range(calls):
        if number >= free_from and chance.random() < weather.share:
            free_from = number + 1 + between
            if not waiting:
                waiting = chance.sample(list(kinds), len(kinds))
            yield {"call": call, "skip": number, **kinds[waiting.pop()](chance, weather)}
