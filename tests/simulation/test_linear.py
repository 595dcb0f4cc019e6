"""Concurrent reads and updates of the same rows are linearizable."""

from pathlib import Path

import pytest

from tests.simulation.linear import (
    NEVER,
    Histories,
    Operation,
    Result,
    anomalies,
    is_linearizable,
    run,
)


def read(client: int, seen: str, began: float, ended: float) -> Operation:
    return Operation(client=client, kind="read", began=began, ended=ended, seen=seen)


def swap(
    client: int,
    expected: str,
    written: str,
    began: float,
    ended: float = NEVER,
    *,
    result: Result = "done",
    seen: str | None = None,
) -> Operation:
    return Operation(
        client=client,
        kind="swap",
        began=began,
        ended=ended,
        result=result,
        expected=expected,
        written=written,
        seen=seen,
    )


GOOD = [
    pytest.param([], id="nothing"),
    pytest.param([read(1, "a", 0, 1), swap(1, "a", "b", 2, 3), read(2, "b", 4, 5)], id="in turn"),
    pytest.param([swap(1, "a", "b", 0, 5), read(2, "b", 1, 2), read(3, "b", 3, 4)], id="early"),
    pytest.param([swap(1, "a", "b", 0, 5), read(2, "a", 1, 4)], id="late"),
    pytest.param(
        [swap(1, "a", "b", 0, 3), swap(2, "a", "c", 0, 3, result="refused", seen="b")],
        id="one of two refused",
    ),
    pytest.param(
        [swap(1, "a", "b", 0, result="open"), read(2, "a", 1, 2), read(2, "b", 3, 4)],
        id="open, done later",
    ),
    pytest.param([swap(1, "a", "b", 0, result="open"), read(2, "a", 1, 2)], id="open, not done"),
    pytest.param(
        [swap(2, "b", "c", 0, 9), swap(1, "a", "b", 0, 9), read(3, "c", 1, 8)], id="a chain at once"
    ),
]
BAD = [
    pytest.param(
        [swap(1, "a", "b", 0, 3), swap(2, "a", "c", 0, 3)], "lost update", id="both replaced a"
    ),
    pytest.param(
        [swap(1, "a", "b", 0, 1), read(1, "a", 2, 3)], "stale read", id="before its own write"
    ),
    pytest.param(
        [swap(1, "a", "b", 0, 1), read(2, "a", 2, 3)], "not linearizable", id="stale of another"
    ),
    pytest.param(
        [
            swap(1, "a", "b", 0, 1),
            swap(1, "b", "c", 2, 3),
            swap(1, "a", "d", 4, 5, result="refused", seen="b"),
        ],
        "stale read",
        id="refused with an old value",
    ),
    pytest.param([read(1, "b", 0, 1), swap(1, "a", "b", 2, 3)], "not linear", id="from the future"),
    pytest.param([read(1, "x", 0, 1)], "not linearizable", id="out of nothing"),
    pytest.param(
        [swap(1, "a", "b", 0, 1, result="refused", seen="a")],
        "not linear",
        id="refused for nothing",
    ),
    pytest.param(
        [swap(1, "a", "b", 0, 3), read(2, "b", 0, 1), read(3, "a", 2, 3)],
        "not linearizable",
        id="new, then old",
    ),
    pytest.param(
        [swap(1, "a", "b", 0, 1), read(2, "b", 2, 3), read(2, "a", 4, 5)],
        "not linearizable",
        id="an update undone",
    ),
    pytest.param([swap(1, "x", "b", 0, 1)], "not linearizable", id="matched what never was"),
]


@pytest.mark.parametrize("history", GOOD)
def test_linearizable_histories_have_no_anomaly(history: list[Operation]) -> None:
    """A history that some order of operations explains has no anomaly."""
    assert anomalies(history, "a") == []
    assert is_linearizable(history[::-1], "a")


@pytest.mark.parametrize(("history", "name"), BAD)
def test_every_anomaly_is_found(history: list[Operation], name: str) -> None:
    """A history that no order explains gets the name of its most specific anomaly."""
    found = anomalies(history, "a")

    assert any(each.startswith(name) for each in found), found
    assert not is_linearizable(history, "a")


def test_rows_are_linearizable(tmp_path: Path) -> None:
    """With `If-Match` no update is lost, and reads and updates of a row are linearizable."""
    campaign = Histories(histories=24, steps=6)

    report = run(tmp_path, campaign)

    assert report.problems == [], str(report)
    assert report.figures["swap done"] > campaign.histories, str(report)
    assert report.figures["swap refused"] > campaign.histories, str(report)
