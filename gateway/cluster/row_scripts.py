"""Lua scripts for rows that processes share: epochs, renderings, reads in flight.

Rules
- An epoch counts only together with Redis's run_id: a restart may restore an old one. A missing
  epoch is made anew, so that nothing kept from before is served as fresh.
- A rendering is a hash of its epoch, the time at which it was read, its digest and its body.
- Times are microseconds by Redis's clock. If that is set back, what is of the future is read again.
"""

KEPT_SECONDS = 86_400
NEWS_SECONDS = 300
MAX_NEWS = 64
"""Writes that a process can take over one by one; after more it reads the worksheet."""

_EPOCH = f"""
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function begin(key, epoch)
  redis.call('SET', key, epoch, 'EX', {KEPT_SECONDS})
  return run .. ':' .. epoch
end

local function epoch_of(key, new)
  local epoch = redis.call('GET', key)
  return epoch and run .. ':' .. epoch or begin(key, 'first-' .. new)
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
"""The epochs of worksheets. KEYS: epochs. ARGV: a new epoch."""

BEGIN = (
    _EPOCH
    + f"""
local earlier = redis.call('GET', KEYS[1])
local is_next = earlier and ARGV[2] == run .. ':' .. earlier
local epoch = begin(KEYS[1], ARGV[1])
if ARGV[3] ~= '' and is_next then
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

NEWS = """
return redis.call('LRANGE', KEYS[1], 0, -1)
"""
"""What the last writes did. KEYS: news. Returns: epoch before, epoch after and news of each."""

LOOK = (
    _EPOCH
    + """
local epoch = epoch_of(KEYS[1], ARGV[1])
local found = redis.call('HMGET', KEYS[2], 'epoch', 'read_at', 'digest')
if found[1] ~= epoch then
  found = {'', 0, ''}
end
local age = now - tonumber(found[2])
if found[3] ~= '' and age >= 0 and age < tonumber(ARGV[3]) then
  local body = found[3] ~= ARGV[4] and redis.call('HGET', KEYS[2], 'body') or ''
  if body ~= '' or found[3] == ARGV[4] then
    return {epoch, 'found', age, found[3], body, now}
  end
end
local is_free = redis.call('SET', KEYS[3], ARGV[2], 'NX', 'PX', ARGV[5])
if not is_free and redis.call('GET', KEYS[3]) == ARGV[2] then
  is_free = true
end
return {epoch, is_free and 'read' or 'wait', 0, found[3], '', now}
"""
)
"""A rendering that is young enough, or the task to read it.

One process reads at a time, both renderings if it needs them.

KEYS: epoch, rendering, flight. ARGV: a new epoch, a name of the asker, the greatest age, the digest
that the asker has, the time of a flight in milliseconds. Returns: the epoch; 'found', 'read' or
'wait'; age, digest and body of the rendering, no body for the digest that the asker has; Redis's
time.
"""

PUBLISH = (
    _EPOCH
    + f"""
if ARGV[8] == '1' and redis.call('GET', KEYS[4]) == ARGV[3] then
  redis.call('DEL', KEYS[4])
end
local expected, new, digest, body = ARGV[1], ARGV[2], ARGV[4], ARGV[6]
local read_at, is_clean = tonumber(ARGV[5]), ARGV[7] == '1'
local epoch = epoch_of(KEYS[1], new)
if epoch ~= expected then
  return {{0, epoch}}
end
local found = redis.call('HMGET', KEYS[2], 'epoch', 'read_at', 'digest')
local is_there = found[1] == epoch
local is_same = is_there and found[3] == digest
local is_past = is_there and tonumber(found[2]) <= now
if is_past and not is_same and tonumber(found[2]) >= read_at then
  return {{0, epoch}}
end
local other = redis.call('HMGET', KEYS[3], 'epoch', 'digest', 'read_at')
local has_other = other[1] == epoch
local is_of_both = has_other and other[2] == ARGV[9] and tonumber(other[3]) >= tonumber(ARGV[10])
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
Without a body each process reads it for itself.

KEYS: epoch, rendering, the other rendering, flight. ARGV: the epoch for which it was read, a new
epoch, name of the reader, digest, when it was read, body, 0 if the reader wrote meanwhile, so that
others must not take it, 1 if its flight ends, the reader's digest of the other rendering, since
when that must have been read. Returns: 1 if it may be served, the epoch.
"""

RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return 1
"""
"""End a flight that failed. KEYS: flight. ARGV: name of the reader."""
