"""Safe decoding of values read from Redis, in Lua and in Python: each is valid or missing.

Rules
- A value that no process stores counts as missing: another type, other bytes, a number or a time
  out of its range. Scripts delete values of another type; the next use overwrites all others.
- A value that is read takes no more memory than the largest value that a process stores.
- If an epoch, news or rows are missing, the process reads from Google.
"""

import zlib
from typing import TypeVar

import msgspec

T = TypeVar("T")

MAX_SHARED_BYTES = 8 * 1024 * 1024
"""Maximum memory, and size before compression, of a published rendering; a larger one would block
the event loop for too long."""

MAX_BODY_BYTES = MAX_SHARED_BYTES + 64 * 1024
"""Maximum compressed size; incompressible data grows by five bytes per 16 KiB."""

MAX_NEWS_BYTES = 256 * 1024
"""Maximum size of the news of a write; after larger ones other processes read the worksheet."""

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
"""Lua functions: `now` is Redis's time in microseconds, `text` formats a number. `read` runs a
command on a key and returns its answer, and true if the value had another type and was deleted.
`number` parses a whole number from `least`, or 0, to `most`, else returns nil."""


def decoded(
    decoder: msgspec.msgpack.Decoder[T], stored: bytes, *, max_inflated_bytes: int | None = None
) -> T | None:
    """Decode a MessagePack value; None if it is invalid or of another shape.

    With `max_inflated_bytes` the value is compressed; None also if it is truncated or larger.
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
