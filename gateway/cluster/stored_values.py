"""Safe decoding of values from Redis, in Lua and Python: an invalid value counts as missing.

Rules
- A value is invalid if no process stores such a value, for example another type, invalid bytes, or
  a number out of range. Scripts delete values of another type. The next write replaces other
  invalid values.
- A decoded value takes no more memory than the largest value that a process stores.
- If a worksheet's epoch (version of its rows), the news of a write (the rows that it changed), or
  rows are missing, the process reads from Google.
"""

import zlib
from typing import TypeVar

import msgspec

T = TypeVar("T")

MAX_SHARED_BYTES = 8 * 1024 * 1024
"""Maximum bytes of a worksheet's rows in Redis, in memory and before compression.

More bytes would block the event loop for too long.
"""

MAX_BODY_BYTES = MAX_SHARED_BYTES + 64 * 1024
"""Maximum compressed bytes. Incompressible data grows by five bytes per 16 KiB."""

MAX_NEWS_BYTES = 256 * 1024
"""Maximum bytes of the news of a write. After larger news, other processes read all rows."""

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
"""Lua functions for all scripts.

`now` is Redis's time in microseconds. `text` formats a number. `read` runs a command on a key and
returns the answer. If the value has another type, `read` deletes the value and also returns true.
`number` parses a whole number between `least` (default 0) and `most`, or returns nil.
"""


def decoded(
    decoder: msgspec.msgpack.Decoder[T], stored: bytes, *, max_inflated_bytes: int | None = None
) -> T | None:
    """Decode a MessagePack value. Returns None if the value is invalid or has other types.

    If `max_inflated_bytes` is not None, the value is compressed with zlib. Returns None if such a
    value is truncated, or has more bytes after decompression.
    """
    try:
        if max_inflated_bytes is not None:
            inflating = zlib.decompressobj()
            stored = inflating.decompress(stored, max_inflated_bytes + 1)
            if not inflating.eof or len(stored) > max_inflated_bytes:
                return None
        return decoder.decode(stored)
    except (ValueError, zlib.error):  # errors of msgspec and of bytes that are not UTF-8
        return None
