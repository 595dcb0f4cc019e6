"""gzip of bodies, for clients that take it.

Rules
- A body with a strong tag is sent as it is, because the tag names its bytes. Tags of lists,
  of schemas and of the description are weak, and those of exports absent.
- Short bodies are compressed at once, and kept: an answer that is given again is the same object.
  Long ones are compressed in a thread, and exports part by part, so that no request waits for them.
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
"""Bodies up to this size are not compressed."""

_AT_ONCE_BYTES = 32_768
"""Takes half a millisecond."""
_KEPT = 64
_LEVEL = 1
"""Rows take a fifth of their bytes; level 6 saves a fifth of these."""
_BEST = 9
_WITH_GZIP_HEADER = 31
"""`wbits` of zlib."""
_ENCODING = (b"content-encoding", b"gzip")


async def compressed_answer(answer: Answer) -> Answer:
    """The answer with its body in gzip, or as it is if the body is short."""
    body = answer.body
    headers = [line for line in answer.headers if line[0] != b"content-length"]
    if isinstance(body, AsyncGenerator):
        return replaced(answer, headers=[*headers, _ENCODING], body=_compressed_parts(body))
    if not isinstance(body, bytes) or len(body) <= MIN_BYTES:
        return answer
    if len(body) <= _AT_ONCE_BYTES:
        found = _kept(body)
    else:
        found = await asyncio.to_thread(_compressed, body)
    length = (b"content-length", b"%d" % len(found))
    return replaced(answer, headers=[*headers, _ENCODING, length], body=found)


async def compressed_file(content: bytes) -> bytes:
    """The content of a file that is compressed once, as small as can be."""
    return await asyncio.to_thread(_compressed, content, _BEST)


def _compressed(content: bytes, level: int = _LEVEL) -> bytes:
    return zlib.compress(content, level, _WITH_GZIP_HEADER)


@lru_cache(_KEPT)
def _kept(content: bytes) -> bytes:
    return _compressed(content)


async def _compressed_parts(parts: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WITH_GZIP_HEADER)
    loop = asyncio.get_running_loop()
    async with aclosing(parts):
        async for part in parts:
            if packed := await loop.run_in_executor(None, packer.compress, part):
                yield packed
    yield packer.flush()
