"""Layouts of worksheets, on which all processes of a Redis have to agree.

Rules
- A process keeps a digest of its `[[worksheets]]` in Redis while it runs. One with another digest
  does not join: it would take rows above a header, or filled down in advance, for records.
- The digest outlasts the last process by `KEPT_SECONDS`. Without Redis each process serves by its
  own settings; it shares no rows then.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from gateway.cluster.store import Store, StoreUnavailable, open_store
from gateway.cluster.stored_values import READ
from gateway.settings.model import ConfigError
from gateway.worksheets.access import Layouts

KEPT_SECONDS = 15.0
PAUSE_SECONDS = 3.0
"""Time between two renewals."""

KEY = "{gateway}:header-rows"

AGREE = (
    READ
    + """
local found = read('GET', KEYS[1])
if type(found) == 'string' and found ~= ARGV[1] then
  return 0
end
if ARGV[2] ~= '0' then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1
"""
)
"""0 if another digest is kept, else 1. KEYS: the digest. ARGV: the own digest; for how many
milliseconds to keep it, 0 to keep nothing."""

OTHER_WORKSHEETS = (
    "worksheets: a running process of this Redis has other tables [[worksheets]]. Give all "
    f"processes the same ones, or stop them and wait {KEPT_SECONDS:.0f} s"
)


async def agrees(store: Store, layouts: Layouts, *, keeps: bool) -> bool:
    """False if running processes have other layouts; True without Redis, too.

    `keeps`: these are noted for others.
    """
    milliseconds = round(KEPT_SECONDS * 1000) if keeps else 0
    try:
        return bool(await store.probe(AGREE, [KEY], layouts.digest, milliseconds))
    except StoreUnavailable:
        return True


async def check_agreement(url: str, layouts: Layouts) -> None:
    """Raise ConfigError if running processes of a Redis have other layouts."""
    async with open_store(url, changed=lambda _: None) as store:
        if not await agrees(store, layouts, keeps=False):
            raise ConfigError(OTHER_WORKSHEETS)


@asynccontextmanager
async def open_agreement(store: Store, layouts: Layouts) -> AsyncIterator[None]:
    """Keep the layouts of this process in Redis. Raises ConfigError if others have other ones."""
    if not await agrees(store, layouts, keeps=True):
        raise ConfigError(OTHER_WORKSHEETS)
    renewing = asyncio.create_task(_renew_forever(store, layouts))
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing


async def _renew_forever(store: Store, layouts: Layouts) -> None:
    while True:
        await asyncio.sleep(PAUSE_SECONDS)
        if store.is_available:
            await agrees(store, layouts, keeps=True)
