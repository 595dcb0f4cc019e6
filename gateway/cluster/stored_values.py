"""Values read from Redis, where anything may stand: "decoded or none", in Lua and in Python.

Rules
- What no process stores counts as missing: another type of value, other bytes, a number or a time
  out of its range. Scripts delete a value of another type; all else is overwritten by the next use.
- Nothing that is read takes more memory than the largest value that a process stores.
- Whoever doubts an epoch, news or rows asks Google.
"""

import zlib
from typing import TypeVar

import msgspec

T = TypeVar("T")

MAX_SHARED_BYTES = 8 * 1024 * 1024
"""Maximum memory, and size before compression, of a published rendering: more holds the event loop
too long."""

MAX_BODY_BYTES = MAX_SHARED_BYTES + 64 * 1024
"""Maximum compressed size: what cannot be compressed grows by five bytes in 16 KiB."""

MAX_NEWS_BYTES = 256 * 1024
"""Maximum size of the news of a write; after a larger one the others read the worksheet."""

READ = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function text(number)
  return string.format('%.0f', number)
end

local function read(command, key, ...)
  local found = redis.pcall(command, key, ...)
  if type(found) ~= 'table' or not found.err then
    return found
  end
  if string.find(found.err, 'WRONGTYPE', 1, true) then
    redis.call('DEL', key)
  end
  return redis.call(command, key, ...), true
end

local function number(found, most, least)
  local value = tonumber(found or nil)
  return value and value >= (least or 0) and value <= most and value % 1 == 0 and value or nil
end
"""
"""Redis's time in microseconds; a number as text; what a command reads of a key, and true if
its value had another type and was deleted; a whole number from `least`, or 0, to `most`, or nil."""


def decoded(
    decoder: msgspec.msgpack.Decoder[T], stored: bytes, *, max_inflated_bytes: int | None = None
) -> T | None:
    """A message of MessagePack; None if it is not one, or of another shape.

    With `max_inflated_bytes` it is compressed; None also if it is truncated or larger than that.
    """
    try:
        if max_inflated_bytes is not None:
            inflating = zlib.decompressobj()
            stored = inflating.decompress(stored, max_inflated_bytes + 1)
            if not inflating.eof or len(stored) > max_inflated_bytes:
                return None
        return decoder.decode(stored)
    except (ValueError, zlib.error):  # msgspec's errors, and that of bytes that are not UTF-8
        return None
