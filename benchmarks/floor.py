"""Bare Starlette server, the reference for ratios of speed. GET returns the bytes of the last PUT.

Usage: python -m benchmarks.floor PORT
"""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def make_app() -> Starlette:
    """Return an app whose PUT sets the bytes that every GET returns."""
    ready = [b""]

    async def put(request: Request) -> Response:
        ready[0] = await request.body()
        return Response(status_code=204)

    async def get(_: Request) -> Response:
        return Response(ready[0], media_type="application/json")

    return Starlette(
        routes=[Route("/{path:path}", put, methods=["PUT"]), Route("/{path:path}", get)]
    )


if __name__ == "__main__":
    uvicorn.run(
        make_app(),
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )
