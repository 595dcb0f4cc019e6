"""`/livez` and `/readyz`, without reads and writes at Google.

Until Google has accepted an account, `/readyz` requests tokens, now and then. Afterwards it says
nothing of Google: rows that were read before can be served while Google is away.
"""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from gateway.storage.database import STORE_ERRORS
from gateway.web.answers import json_answer
from gateway.web.state import State

PING_SECONDS = 0.8
"""Less than the time that Kubernetes waits for a probe, 1 s."""


async def livez(_: Request[State]) -> Response:
    return json_answer({"status": "alive"})


async def readyz(request: Request[State]) -> Response:
    try:
        async with asyncio.timeout(PING_SECONDS):
            await request.state["ready"]()
    except STORE_ERRORS:
        if not request.state["outlasts_outage"]():
            return json_answer({"status": "the key store does not answer"}, status=503)
    if not await request.state["was_accepted"]():
        return json_answer({"status": "Google has accepted no account since the start"}, status=503)
    answer: dict[str, object] = {"status": "ready"}
    if refused := request.state["refused_accounts"]():
        answer["refused_accounts"] = refused
    if (is_available := request.state["is_redis_available"]()) is not None:
        answer["redis"] = "available" if is_available else "unavailable"
    return json_answer(answer)
