"""Lua scripts for rows that processes share: epochs, renderings, reads in flight.

Rules
- An epoch counts only together with Redis's run_id: a restart may restore an old one. A missing
  epoch is made anew, so that nothing kept from before is served as fresh.
- A rendering is a hash of its epoch, the time at which it was read, its digest and its body.
- Times are microseconds by Redis's clock. If that is set back, what is of the future is read again.
- Values that no process stores count as missing (`gateway.cluster.stored_values`). A rendering
  whose fields are damaged begins an epoch: processes may keep its rows, which cannot be compared.
"""

from typing import NamedTuple

from gateway.cluster.stored_values import MAX_BODY_BYTES, MAX_NEWS_BYTES, READ
from gateway.google.wire import DIGEST_BYTES

KEPT_SECONDS = 86_400
NEWS_SECONDS = 300
MAX_NEWS = 64
"""Writes that a process can take over one by one; after more it reads the worksheet."""

_EPOCH = (
    READ
    + f"""
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
)

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
"""The epochs of worksheets. KEYS: epochs. ARGV: a new epoch."""

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

KEYS: epoch, news. ARGV: the new epoch; the one before it as the writer knows it, and what the write
did to its rows; nothing if that is not known. Returns: the epoch as others see it; 1 if it follows
the one that the writer knows.
"""

NEWS = (
    READ
    + f"""
local found = {{}}
for _, each in ipairs(read('LRANGE', KEYS[1], 0, {MAX_NEWS - 1})) do
  if #each <= {MAX_NEWS_BYTES + 256} then
    table.insert(found, each)
  end
end
return found
"""
)
"""News of the last writes. KEYS: news. Returns: epoch before, epoch after and news of each."""

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
"""A rendering that is young enough, or the task to read it.

One process reads at a time, both renderings if it needs them.

KEYS: epoch, rendering, flight. ARGV: a new epoch, a name of the asker, the greatest age, the digest
that the asker has, the time of a flight in milliseconds. Returns: the epoch; 'found', 'read' or
'wait'; age, digest and body of the rendering, no body for the digest that the asker has; Redis's
time.
"""


class Publication(NamedTuple):
    """A rendering to publish, and what its reader knows: the arguments of `PUBLISH`.

    Times are microseconds by Redis's clock; flags are 1 or 0.
    """

    expected: str
    """The epoch for which it was read."""
    new: str
    """A name for the next epoch."""
    reader: str
    digest: bytes
    read_at: int
    body: bytes
    """Empty if it cannot be shared: then each process reads it for itself."""
    is_clean: int
    """0 if the reader wrote meanwhile, so that others must not take it."""
    is_last: int
    """1 if its flight ends."""
    other_digest: bytes
    """The reader's digest of the other rendering."""
    other_since: int
    """When the other rendering must have been read, at the earliest."""


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
"""Publish a rendering; it begins an epoch, unless the worksheet is as the others know it.

Nobody may have another state of this epoch: a rendering that differs from the published one begins
an epoch. So does the first of an epoch, since a process may have unpublished rows of it, unless the
epoch is the first. The other rendering belongs to the new epoch too if the reader has it as it was
published, and it is new enough. A rendering that was read before the published one is refused.

KEYS: epoch, rendering, the other rendering, flight. ARGV: a `Publication`. Returns: 1 if it may be
served, the epoch.
"""

RELEASE = (
    READ
    + """
if read('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return 1
"""
)
"""End a flight that failed. KEYS: flight. ARGV: name of the reader."""
