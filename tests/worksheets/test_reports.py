"""Reports of changes are processed at most once in two seconds, and none is lost."""

import asyncio

from gateway.worksheets.worksheet import REPORT_SECONDS, Reports


async def test_a_report_within_the_time_waits_for_its_end() -> None:
    loop = asyncio.get_running_loop()
    taken: list[float] = []
    began = loop.time()
    reports = Reports(lambda: taken.append(loop.time() - began), clock=loop.time)

    for _ in range(5):
        reports.add()
    await asyncio.sleep(REPORT_SECONDS + 0.2)
    reports.add()

    assert len(taken) == 2
    assert taken[1] >= REPORT_SECONDS - 0.01
