"""Warning about unrestricted keys at startup."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.storage.key_store import Grants, KeyRequest
from tests.journeys.conftest import EmulatorControl, make_keys, running_gateways

ONE = KeyRequest(name="one", grants=Grants(spreadsheets=frozenset({"demo"})))
ANY = KeyRequest(name="any", grants=Grants(spreadsheets=None, may_create=False, may_update=False))


@pytest.mark.parametrize(
    ("requests", "revoked", "count"),
    [
        pytest.param({"one": ONE, "any": ANY, "more": ANY}, [], 2, id="two of any"),
        pytest.param({"one": ONE, "any": ANY}, ["any"], 0, id="revoked"),
        pytest.param({"one": ONE}, [], 0, id="none"),
    ],
)
def test_every_start_warns_of_keys_for_any_spreadsheet(
    emulator: EmulatorControl,
    tmp_path: Path,
    requests: dict[str, KeyRequest],
    revoked: list[str],
    count: int,
) -> None:
    """Each start logs one warning with the ids of all active keys for any spreadsheet."""
    keys = make_keys(tmp_path, requests, revoked=revoked)
    with capture_logs() as lines:
        for _ in range(2):
            with running_gateways(emulator, keys) as start:
                start()

    told = [line for line in lines if line["event"] == "any-spreadsheet-keys"]
    assert [line["count"] for line in told] == [count] * (2 if count else 0)
    assert all(len(set(line["keys"])) == count for line in told)
    assert all(line["log_level"] == "warning" for line in told)
