"""Check that all processes that share a Redis have the same `[[worksheets]]` settings.

Rules
- While a process runs, it stores a digest of its `[[worksheets]]` in Redis. A process with another
  digest does not start, because processes that share rows must agree on which rows are records.
- Redis keeps the digest for `KEPT_SECONDS` after the last process. Without Redis each process uses
  its own settings, and shares no rows.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.cluster.store import Store, StoreUnavailable, open_store, repeated
from gateway.settings.model import ConfigError
from gateway.worksheets.access import Layouts

KEPT_SECONDS = 15.0
PAUSE_SECONDS = 3.0
"""Seconds between two writes of the digest."""

KEY = "{gateway}:header-rows"

AGREE = """
local found = read('GET', KEYS[1])
if type(found) == 'string' and found ~= ARGV[1] then
  return 0
end
if ARGV[2] ~= '0' then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1
"""
"""Lua script: store this process's digest, except if Redis has another digest.

KEYS: the digest. ARGV: the digest of this process; its lifetime in milliseconds, or 0 to store
nothing. Returns 0 if Redis has another digest, else 1.
"""

OTHER_WORKSHEETS = (
    "worksheets: a running process of this Redis has other tables [[worksheets]]. Give all "
    f"processes the same tables, or stop all processes and wait {KEPT_SECONDS:.0f} s"
)


async def agrees(store: Store, layouts: Layouts, *, keeps: bool) -> bool:
    """Return False if running processes have other `[[worksheets]]` settings, else True.

    With `keeps`, stores the digest of the settings in Redis. Returns True if Redis is unavailable.
    """
    milliseconds = round(KEPT_SECONDS * 1000) if keeps else 0
    try:
        return bool(await store.probe(AGREE, [KEY], layouts.digest, milliseconds))
    except StoreUnavailable:
        return True


async def check_agreement(url: str, layouts: Layouts) -> None:
    """Raise ConfigError if running processes with this Redis have other `[[worksheets]]`."""
    async with open_store(url, changed=lambda _: None) as store:
        if not await agrees(store, layouts, keeps=False):
            raise ConfigError(OTHER_WORKSHEETS)


@asynccontextmanager
async def open_agreement(store: Store, layouts: Layouts) -> AsyncIterator[None]:
    """Keep the digest of `layouts` in Redis. Raises ConfigError if Redis has another digest."""
    if not await agrees(store, layouts, keeps=True):
        raise ConfigError(OTHER_WORKSHEETS)

    async def renew() -> None:
        if store.is_available:
            await agrees(store, layouts, keeps=True)

    async with repeated(renew, PAUSE_SECONDS):
        yield
