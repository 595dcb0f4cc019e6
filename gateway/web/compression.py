"""gzip of bodies, for clients that accept gzip.

Rules
- A body with a strong ETag is not compressed, because the ETag identifies its bytes. Lists,
  schemas and the API description have weak ETags, exports have none.
- Short bodies are compressed on the event loop and cached (LRU). Long bodies are compressed in a
  thread, exports part by part, so that no other request waits.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import lru_cache
from typing import Final

from msgspec.structs import replace as replaced

from gateway.web.answers import Answer

MIN_BYTES: Final = 1_024
"""Bodies up to this size in bytes are not compressed."""

_AT_ONCE_BYTES = 32_768
"""Maximum size of bodies compressed on the event loop, which takes half a millisecond."""
_KEPT = 64
_LEVEL = 1
"""Compression level. Rows shrink to a fifth; level 6 would save another fifth."""
BEST = 9
_WITH_GZIP_HEADER = 31
"""Argument `wbits` of zlib that selects the gzip format."""
_ENCODING = (b"content-encoding", b"gzip")


async def compressed_answer(answer: Answer) -> Answer:
    """Return the answer with its body in gzip. A short body, or a list of parts, is unchanged."""
    body = answer.body
    headers = [line for line in answer.headers if line[0] != b"content-length"]
    if isinstance(body, AsyncGenerator):
        return replaced(answer, headers=[*headers, _ENCODING], body=_compressed_parts(body))
    if not isinstance(body, bytes) or len(body) <= MIN_BYTES:
        return answer
    if len(body) <= _AT_ONCE_BYTES:
        found = _cached(body)
    else:
        found = await asyncio.to_thread(compressed, body)
    length = (b"content-length", b"%d" % len(found))
    return replaced(answer, headers=[*headers, _ENCODING, length], body=found)


def compressed(content: bytes, level: int = _LEVEL) -> bytes:
    return zlib.compress(content, level, _WITH_GZIP_HEADER)


_cached = lru_cache(_KEPT)(compressed)


async def _compressed_parts(parts: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WITH_GZIP_HEADER)
    loop = asyncio.get_running_loop()
    async with aclosing(parts):
        async for part in parts:
            if packed := await loop.run_in_executor(None, packer.compress, part):
                yield packed
    yield packer.flush()
