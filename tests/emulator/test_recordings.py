"""The emulator's answers are those that Google gave: recorded exchanges, replayed."""

from collections import Counter

import pytest

from tests.emulator.conftest import BenchBuilder
from tests.emulator.replay import RECORDINGS, Played, kind_of, play_all, sequences

DIFFERENT: dict[str, str] = {}
"""The exchanges that are answered otherwise, by cassette, run and number -> why."""
LEAST_EQUAL = {"get": 0.97, "batchUpdate": 0.97}


def line(played: Played) -> str:
    """One line of the table of what differs."""
    exchange = played.exchange
    where = f"{played.name} ({exchange['method']} {exchange['path'][:120]})"
    wanted = f"{exchange['status']} {exchange['response_body']}"
    reason = DIFFERENT.get(played.name, "not known why")
    return f"{where}: {reason}\n  Google   {wanted}\n  emulator {played.status} {played.body}"


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recorded exchanges are not there")
def test_recorded_exchanges_are_answered_as_google_answered(build: BenchBuilder) -> None:
    """Every exchange has the recorded status and body but those known to differ; no values do."""
    recorded = sequences(RECORDINGS)
    total = Counter(kind_of(exchange) for exchanges in recorded for exchange in exchanges)
    different = [
        played for played in play_all(build({"Data": "x\n"}), recorded) if not played.is_equal
    ]
    counts = Counter(played.kind for played in different)
    print(*(f"{kind}: {total[kind] - counts[kind]} of {total[kind]} equal" for kind in total))
    print(*map(line, different), sep="\n")

    assert [played.name for played in different if played.kind == "values"] == []
    assert {played.name for played in different} == set(DIFFERENT)
    for kind, least in LEAST_EQUAL.items():
        assert 1 - counts[kind] / total[kind] >= least, kind
