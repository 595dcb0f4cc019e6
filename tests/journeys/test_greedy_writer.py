"""One key that writes as much as it can into a worksheet that others write to as well."""

from concurrent.futures import ThreadPoolExecutor

from tests.journeys.conftest import Api
from tests.journeys.failure import refused

ARRAY = [{"name": "greedy"}] * 500


def test_a_greedy_key_keeps_no_other_from_writing(api: Api) -> None:
    """Its lists fill its own part of the line; each create of another key is answered 201."""
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
