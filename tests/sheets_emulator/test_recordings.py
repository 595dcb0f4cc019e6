"""Recorded requests and Google's answers, compared with the emulator's answers."""

from collections import Counter

from tests.recordings import EXCHANGES, needs_exchanges
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.replay import Played, kind_of, play_all, sequences


def line(played: Played) -> str:
    """Three lines with a request, the answer of Google and the answer of the emulator."""
    exchange = played.exchange
    where = f"{played.name} ({exchange['method']} {exchange['path'][:120]})"
    wanted = f"{exchange['status']} {exchange['response_body']}"
    return f"{where}\n  Google   {wanted}\n  emulator {played.status} {played.body}"


@needs_exchanges
def test_recorded_exchanges_get_the_answers_of_google(build: BenchBuilder) -> None:
    """Each replayed request gets the recorded status and body."""
    recorded = sequences(EXCHANGES)
    total = Counter(kind_of(exchange) for exchanges in recorded for exchange in exchanges)
    different = [
        played for played in play_all(build({"Data": "x\n"}), recorded) if not played.is_equal
    ]
    counts = Counter(played.kind for played in different)
    print(*(f"{kind}: {total[kind] - counts[kind]} of {total[kind]} equal" for kind in total))

    assert total.keys() == {"values", "get", "batchUpdate"}
    assert [line(played) for played in different] == []
