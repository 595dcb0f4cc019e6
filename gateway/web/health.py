"""`/livez` and `/readyz`, without reads and writes at Google.

Until Google has accepted an account, `/readyz` requests tokens, now and then. Afterwards it says
nothing of Google: rows that were read before can be served while Google is away.
"""

import asyncio
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from gateway.storage.database import STORE_ERRORS
from gateway.web.answers import json_answer
from gateway.web.state import State

PROBE_SECONDS = 0.8
"""Limit for key store and sign-in together: Kubernetes waits 1 s for the answer of a probe."""


async def livez(_: Request[State]) -> Response:
    return json_answer({"status": "alive"})


async def readyz(request: Request[State]) -> Response:
    ends = asyncio.get_running_loop().time() + PROBE_SECONDS
    try:
        async with asyncio.timeout_at(ends):
            await request.state["ready"]()
    except STORE_ERRORS:
        if not request.state["outlasts_outage"]():
            return json_answer({"status": "the key store does not answer"}, status=503)
    is_accepted = False
    with suppress(TimeoutError):  # a sign-in goes on, for the next probe
        async with asyncio.timeout_at(ends):
            is_accepted = await request.state["was_accepted"]()
    if not is_accepted:
        return json_answer({"status": "Google has accepted no account since the start"}, status=503)
    answer: dict[str, object] = {"status": "ready"}
    if refused := request.state["refused_accounts"]():
        answer["refused_accounts"] = refused
    if (is_available := request.state["is_redis_available"]()) is not None:
        answer["redis"] = "available" if is_available else "unavailable"
    return json_answer(answer)
