"""A stand-in for Cloudflare's siteverify."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.server.running import in_background, make_server
from gateway.server.sockets import bind

SECRET = "1x-secret"
GOOD = "good-"
"""Prefix of valid tokens. A token is valid once, or again with its `idempotency_key`."""


@dataclass
class Siteverify:
    """Records used tokens and their repetitions. `status` and `text` replace an answer."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    used: dict[str, str | None] = field(default_factory=dict)
    status: int = 200
    text: str = ""

    async def answer(self, request: Request) -> Response:
        text = self.text or json.dumps(self.verdict(await request.json()))
        return Response(text, self.status, media_type="application/json")

    def verdict(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(asked)
        token, repetition = asked["response"], asked.get("idempotency_key")
        if asked["secret"] != SECRET:
            return {"success": False, "error-codes": ["invalid-input-secret"]}
        if not token.startswith(GOOD):
            return {"success": False, "error-codes": ["invalid-input-response"]}
        if token in self.used and (repetition is None or self.used[token] != repetition):
            return {"success": False, "error-codes": ["timeout-or-duplicate"]}
        self.used[token] = repetition
        return {"success": True, "error-codes": [], "hostname": "shop.example"}


@contextmanager
def running_siteverify() -> Iterator[Siteverify]:
    served = Siteverify()
    app = Starlette(routes=[Route("/siteverify", served.answer, methods=["POST"])])
    with in_background(make_server(app, shutdown_seconds=1), bind("127.0.0.1", 0)) as url:
        served.url = f"{url}/siteverify"
        yield served
