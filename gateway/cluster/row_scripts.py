"""Lua scripts for rows that processes share: epochs, renderings, reads in flight.

Rules
- An epoch is valid only with Redis's run_id, because a restart may restore an old epoch. A missing
  epoch is replaced by a new one, so that earlier cached rows are not served as fresh.
- A rendering is a hash of its epoch, the time at which it was read, its digest and its body.
- Times are microseconds by Redis's clock. After that is set back, renderings with a future time are
  read again.
- Values that no process stores count as missing (`gateway.cluster.stored_values`). A rendering with
  damaged fields begins an epoch: processes may have cached its rows, which cannot be compared.
"""

from typing import NamedTuple

from gateway.cluster.stored_values import MAX_BODY_BYTES, MAX_NEWS_BYTES
from gateway.google.wire import DIGEST_BYTES

KEPT_SECONDS = 86_400
NEWS_SECONDS = 300
MAX_NEWS = 64
"""Maximum number of writes whose news are stored; a process that is further behind rereads."""

_EPOCH = f"""
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')

local function begin(key, epoch)
  redis.call('SET', key, epoch, 'EX', {KEPT_SECONDS})
  return run .. ':' .. epoch
end

local function stored_epoch(key)
  local epoch = read('GET', key)
  return epoch and #epoch <= 64 and string.match(epoch, '^[%w-]+$') and run .. ':' .. epoch
end

local function epoch_of(key, new)
  return stored_epoch(key) or begin(key, 'first-' .. new)
end

local function rendering(key)
  local found, is_damaged = read('HMGET', key, 'epoch', 'read_at', 'digest')
  local epoch, read_at, digest = found[1], number(found[2], 1e17), found[3]
  if epoch and read_at and digest and #digest == {DIGEST_BYTES} then
    return {{epoch = epoch, read_at = read_at, digest = digest}}
  end
  is_damaged = redis.call('DEL', key) == 1 or is_damaged
  return {{epoch = '', read_at = 0, digest = ''}}, is_damaged
end
"""

EPOCHS = (
    _EPOCH
    + """
local reply = {}
for i, key in ipairs(KEYS) do
  reply[i] = epoch_of(key, ARGV[1])
end
return reply
"""
)
"""Return the epochs of worksheets. KEYS: epochs. ARGV: a new epoch for missing ones."""

BEGIN = (
    _EPOCH
    + f"""
local is_next = stored_epoch(KEYS[1]) == ARGV[2]
local epoch = begin(KEYS[1], ARGV[1])
if ARGV[3] ~= '' and is_next then
  read('LLEN', KEYS[2])
  redis.call('LPUSH', KEYS[2], ARGV[2] .. '\\n' .. epoch .. '\\n' .. ARGV[3])
  redis.call('LTRIM', KEYS[2], 0, {MAX_NEWS - 1})
  redis.call('EXPIRE', KEYS[2], {NEWS_SECONDS})
end
return {{epoch, is_next and 1 or 0}}
"""
)
"""Begin an epoch after a write.

KEYS: epoch, news. ARGV: the new epoch; the earlier epoch that the writer knows, "" for none; the
news of the write, "" if unknown. Returns: the epoch with the run_id; 1 if it follows the epoch that
the writer knows.
"""

NEWS = f"""
local found = {{}}
for _, each in ipairs(read('LRANGE', KEYS[1], 0, {MAX_NEWS - 1})) do
  if #each <= {MAX_NEWS_BYTES + 256} then
    table.insert(found, each)
  end
end
return found
"""
"""Return the news of the last writes.

KEYS: news. Returns for each write a text: epoch before, epoch after and news, one per line.
"""

LOOK = (
    _EPOCH
    + f"""
local new, asker, max_age, known, flight_ms = unpack(ARGV)
local found, is_damaged = rendering(KEYS[2])
local epoch = is_damaged and begin(KEYS[1], new) or epoch_of(KEYS[1], new)
local digest, age = found.epoch == epoch and found.digest or '', now - found.read_at
if digest ~= '' and age >= 0 and age < tonumber(max_age) then
  local is_known = digest == known
  local is_small = redis.call('HSTRLEN', KEYS[2], 'body') <= {MAX_BODY_BYTES}
  local body = not is_known and is_small and redis.call('HGET', KEYS[2], 'body') or ''
  if body ~= '' or is_known then
    return {{epoch, 'found', age, digest, body, now}}
  end
end
local reader, left = read('GET', KEYS[3]), redis.call('PTTL', KEYS[3])
local is_free = reader == asker
if not reader or left < 0 or left > tonumber(flight_ms) then
  is_free = redis.call('SET', KEYS[3], asker, 'PX', flight_ms)
end
return {{epoch, is_free and 'read' or 'wait', 0, digest, '', now}}
"""
)
"""Return a rendering that is young enough, or the task to read it (single-flight).

One process reads at a time, both renderings if it needs them.

KEYS: epoch, rendering, flight. ARGV: a new epoch, the caller's name, the maximum age, the caller's
digest, the lifetime of a flight in milliseconds. Returns: the epoch; 'found', 'read' or 'wait';
age, digest and body of the rendering, no body if its digest is the caller's; Redis's time.
"""


class Publication(NamedTuple):
    """Arguments of `PUBLISH`: a rendering, and its reader's knowledge of the worksheet.

    Times are microseconds by Redis's clock; flags are 1 or 0.
    """

    expected: str
    """The epoch for which it was read."""
    new: str
    """Name for a new epoch."""
    reader: str
    digest: bytes
    read_at: int
    body: bytes
    """The encoded rendering; empty if it cannot be shared, so that each process reads it."""
    is_clean: int
    """0 if the reader's process wrote meanwhile, so that others must not use the rendering."""
    is_last: int
    """1 if the flight ends with this read."""
    other_digest: bytes
    """The reader's digest of the other rendering."""
    other_since: int
    """Earliest acceptable time of reading the other rendering."""


PUBLISH = (
    _EPOCH
    + f"local {', '.join(Publication._fields)} = unpack(ARGV)"
    + f"""
if is_last == '1' and read('GET', KEYS[4]) == reader then
  redis.call('DEL', KEYS[4])
end
read_at, is_clean = tonumber(read_at), is_clean == '1'
local found, is_damaged = rendering(KEYS[2])
local other, is_other_damaged = rendering(KEYS[3])
if is_damaged or is_other_damaged then
  begin(KEYS[1], new)
end
local epoch = epoch_of(KEYS[1], new)
if epoch ~= expected then
  return {{0, epoch}}
end
local is_there = found.epoch == epoch
local is_same = is_there and found.digest == digest
local is_past = is_there and found.read_at <= now
if is_past and not is_same and found.read_at >= read_at then
  return {{0, epoch}}
end
local has_other = other.epoch == epoch
local is_of_both = (
  has_other and other.digest == other_digest and other.read_at >= tonumber(other_since))
local is_first = not is_there and string.find(epoch, ':first-', 1, true)
if not is_clean or not is_same and (not is_first or has_other and not is_of_both) then
  epoch = begin(KEYS[1], new)
  if is_clean and is_of_both then
    redis.call('HSET', KEYS[3], 'epoch', epoch)
  end
end
if not is_clean then
  redis.call('DEL', KEYS[2])
elseif is_same and body == '' then
  redis.call('HSET', KEYS[2], 'read_at', string.format('%.0f', read_at))
else
  redis.call('HSET', KEYS[2],
    'epoch', epoch, 'read_at', string.format('%.0f', read_at), 'digest', digest, 'body', body)
  redis.call('EXPIRE', KEYS[2], {KEPT_SECONDS})
end
return {{1, epoch}}
"""
)
"""Publish a rendering; it begins an epoch unless it equals the published rendering.

All processes must have the same state of an epoch. So a rendering that differs from the published
one begins an epoch. So does the first rendering of an epoch, because a process may have unpublished
rows of it, unless the epoch is the first. The other rendering joins the new epoch if the reader has
the published state of it and it is new enough. A rendering that was read before the published one
is refused.

KEYS: epoch, rendering, the other rendering, flight. ARGV: a `Publication`. Returns: 1 if the
rendering may be served, else 0; the epoch.
"""

RELEASE = """
if read('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return 1
"""
"""End a failed flight. KEYS: flight. ARGV: name of the reader."""
