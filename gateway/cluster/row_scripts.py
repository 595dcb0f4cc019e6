"""Lua scripts for rows that processes share: epochs (versions), renderings, flights (reads).

Rules
- An epoch names a version of a worksheet's rows. It is valid only with Redis's run_id, because a
  restart can restore an old epoch. A missing epoch is replaced by a new one, so that earlier cached
  rows are not served as fresh.
- A flight is a running read of a worksheet from Google. While its Redis key exists, other processes
  wait.
- The news of a write are the rows that the write changed or read. Other processes apply the news to
  cached rows.
- A rendering is all rows of a worksheet, with formatted or with unformatted values. Redis stores a
  rendering as a hash with the fields epoch, read_at (time of the read), digest and body.
- Times are microseconds by Redis's clock. If this clock is set back, renderings with a future time
  are read again.
- Values that no process stores count as missing (`gateway.cluster.stored_values`). A rendering with
  damaged fields begins an epoch, because processes might have cached its rows, and the script
  cannot compare them.
"""

from typing import NamedTuple

from gateway.cluster.stored_values import MAX_BODY_BYTES, MAX_NEWS_BYTES
from gateway.google.wire import DIGEST_BYTES

KEPT_SECONDS = 86_400
NEWS_SECONDS = 300
MAX_NEWS = 64
"""Number of writes whose changed rows are stored. After more writes, a process reads all rows."""

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
"""Lua script: return epochs (versions of rows). KEYS: epochs. ARGV: epoch to store if missing."""

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
"""Lua script: begin an epoch (version of a worksheet's rows) after a write.

KEYS: epoch, news. ARGV: the new epoch; the epoch that the writer knows, or ""; the news of the
write, or "" if unknown. Returns the epoch with the run_id, and 1 if the new epoch follows the epoch
that the writer knows, else 0.
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
"""Lua script: return the news of the last writes, which are the rows that they changed or read.

KEYS: news. Returns a text for each write, with three lines: epoch before, epoch after, and news.
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
"""Lua script: return a rendering (all rows) that is young enough, or ask the caller to read.

One process at a time reads a worksheet from Google (single-flight).

KEYS: epoch, rendering, flight. ARGV: a new epoch, if there is none; the caller's name; the maximum
age in microseconds; the digest of the caller's rendering, or ""; the lifetime of a flight in
milliseconds. Returns the epoch; 'found' (use this rendering), 'read' (the caller must read), or
'wait' (another process reads); age in microseconds, digest and body of the rendering; Redis's time.
The body is empty if the caller has the same digest.
"""


class Publication(NamedTuple):
    """Arguments of the script `PUBLISH`: a rendering (all rows), and data of its reader.

    Times are microseconds by Redis's clock. Flags are 1 or 0.
    """

    expected: str
    """Epoch (version of the rows) that was current when the rendering was read."""
    new: str
    """Name of the new epoch, if the script begins one."""
    reader: str
    digest: bytes
    read_at: int
    body: bytes
    """Encoded rendering, or b"" if Redis already has it or if it is too large to share."""
    is_clean: int
    """0 if the reader's process wrote during the read, so that the rendering is not shared."""
    is_last: int
    """1 if the reader's process has no other running read of this worksheet."""
    other_digest: bytes
    """Digest of the reader's cached rendering of the other kind, formatted or unformatted."""
    other_since: int
    """The other rendering joins a new epoch only if it was read at this time or later."""


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
"""Lua script: publish a rendering (all rows), and begin an epoch if the rows changed.

All processes must have the same rows in an epoch. So a rendering that differs from the published
rendering begins an epoch. A rendering also begins an epoch if none is published in the present
epoch, because another process might have cached other rows without publishing them. This is not
necessary in the first epoch of a worksheet. The rendering of the other kind (formatted or
unformatted) joins the new epoch if it is new enough and equals the reader's cached rendering. The
script refuses a rendering that was read before the published rendering.

KEYS: epoch, rendering, the rendering of the other kind, flight. ARGV: a `Publication`. Returns 1 if
the reader can serve the rendering, or 0 if it must read again; and the epoch.
"""

RELEASE = """
if read('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return 1
"""
"""Lua script: let other processes read after a failed read. KEYS: flight. ARGV: reader's name."""
