"""Findings of `check` about valid but unusual settings."""

import pytest

from gateway.commands.check import check_settings
from gateway.settings.model import load_settings

REDIS = {"cluster.redis": "redis://host"}
POSTGRES = {
    "access.database": "postgresql+asyncpg://host/gateway",
    "access.pepper": "0123456789abcdef",
}


@pytest.mark.parametrize(
    ("overrides", "is_unused"),
    [
        pytest.param(REDIS, True, id="with SQLite"),
        pytest.param({**REDIS, **POSTGRES}, False, id="with PostgreSQL"),
        pytest.param(POSTGRES, False, id="no Redis"),
    ],
)
def test_an_unused_redis_is_reported(overrides: dict[str, str], is_unused: bool) -> None:
    """`cluster.redis` with SQLite gives a finding, because SQLite allows one process only."""
    findings = [each.text for each in check_settings(load_settings(None, {}, overrides))]

    assert [text.startswith("cluster.redis: not used") for text in findings] == [True] * is_unused
