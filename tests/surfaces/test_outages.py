"""Reads while Google fails: small worksheets, and large ones, which are read in windows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.errors import QuotaSpent, UpstreamError
from tests.surfaces.stage import KEYS, Surface, open_surface

STALE: dict[str, object] = {"cache.max_stale_seconds": 3600}
SETTINGS = {
    "small": STALE,
    "large": {**STALE, "cache.window_above_cells": 1},
}


@pytest.fixture(params=SETTINGS)
def opened(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Surface]:
    """Open an application that reads rows again for each request, one for each test."""
    with open_surface(tmp_path, {"paid": KEYS["paid"]}, SETTINGS[request.param]) as surface:
        yield surface


@pytest.mark.parametrize(
    ("failure", "detail"),
    [(UpstreamError("503"), "google"), (QuotaSpent("spent", retry_after_seconds=7), "budget")],
    ids=["google fails", "quota spent"],
)
@pytest.mark.parametrize("target", ["Cities?limit=1&skip=1", "Cities/3"])
def test_rows_of_before_the_outage(
    surface: Surface, target: str, failure: UpstreamError | QuotaSpent, detail: str
) -> None:
    """Cached rows are served, marked as stale, and show an acknowledged write."""
    surface.send("GET", "Cities")
    written = surface.send("PATCH", "Cities/3", body=b'{"state":"CA"}')
    surface.calls.failure = failure

    answer = surface.send("GET", target)
    row = answer.json()["results"][0] if "results" in answer.json() else answer.json()

    assert written.status_code == 200
    assert (answer.status_code, row["rowIndex"], row["state"]) == (200, 3, "CA")
    assert "; hit; ttl=-" in answer.headers["cache-status"]
    assert answer.headers["cache-status"].endswith(f"detail={detail}")
    assert answer.headers["age"].isdigit()
