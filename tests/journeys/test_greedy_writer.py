"""One key that writes as much as possible into a worksheet that other keys write to."""

from concurrent.futures import ThreadPoolExecutor

from tests.journeys.conftest import Api
from tests.journeys.failure import refused

ARRAY = [{"name": "greedy"}] * 500


def test_a_greedy_key_does_not_block_other_keys(api: Api) -> None:
    """A key that fills its share of the queue does not prevent creates of other keys."""
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "times": 99, "delay_ms": 200})

    def greedy(_: int) -> tuple[int, int]:
        answer = api.post("New", json=ARRAY)
        return (201, 0) if answer.status_code == 201 else refused(answer)

    with ThreadPoolExecutor(12) as crowd:
        lists = crowd.map(greedy, range(24))
        polite = [api.post("New", key="any", json={"name": str(number)}) for number in range(6)]
        ended = list(lists)
    rows = api.emulator.texts("New")

    assert [answer.status_code for answer in polite] == [201] * 6
    assert set(ended) == {(201, 0), (503, 5031)}
    assert len(rows) == 1 + 500 * ended.count((201, 0)) + 6
    for answer in polite:
        assert rows[answer.json()["rowIndex"] - 1] == [answer.json()["name"]]
