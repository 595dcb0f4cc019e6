"""`/livez` and `/readyz`, without reads and writes at Google.

Until Google has accepted an account, `/readyz` sometimes requests tokens. Afterwards it does not
depend on Google, because cached rows can be served during an outage of Google.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from gateway.storage.database import STORE_ERRORS
from gateway.web.answers import Answer, json_answer
from gateway.web.request import Request

PROBE_SECONDS = 0.8
"""Time limit for key store and sign-in together; a probe of Kubernetes waits 1 s."""


async def livez(_request: Request) -> Answer:
    return json_answer({"status": "alive"})


async def readyz(request: Request) -> Answer:
    is_ready, members = await readiness(request)
    return json_answer(members, status=200 if is_ready else 503)


async def readiness(request: Request) -> tuple[bool, Mapping[str, object]]:
    """True if requests can be served, and details as JSON members."""
    ends = asyncio.get_running_loop().time() + PROBE_SECONDS
    try:
        async with asyncio.timeout_at(ends):
            await request.state["ready"]()
    except STORE_ERRORS:
        if not request.state["outlasts_outage"]():
            return False, {"status": "the key store does not answer"}
    is_accepted = False
    with suppress(TimeoutError):  # a sign-in goes on, for the next probe
        async with asyncio.timeout_at(ends):
            is_accepted = await request.state["was_accepted"]()
    if not is_accepted:
        return False, {"status": "Google has accepted no account since the start"}
    members: dict[str, object] = {"status": "ready"}
    if refused := request.state["accounts"].refused_count:
        members["refused_accounts"] = refused
    if (is_available := request.state["is_redis_available"]()) is not None:
        members["redis"] = "available" if is_available else "unavailable"
    return True, members
