"""Lua scripts for membership, quota and key rates: atomic changes in Redis, by Redis's clock.

Rules
- Times are Unix times in microseconds by Redis's clock. Scripts never compare clocks of processes.
  All keys have one hash tag, so that Redis Cluster accepts the scripts, too.
- `members` is a hash with the fields `born` (its creation time) and `turn` (number of times that a
  process returned or data was lost). Another field for each process has the ID as its name and
  "seen share name" as its value: time of the last heartbeat, share, and "HOST PID". A share is the
  fraction of every rate that a process uses while it does not reach Redis. The sum of all shares is
  at most 1. A share that becomes smaller counts in full until its process knows the new value.
- A process without heartbeats might use its share, so the other processes use `1 - share`. In the
  first seconds of an empty `members`, they use only the shares of processes that have returned.
- No burst is available after Redis lost or restored its data, after a process returned, or after
  the usable fraction changed, because calls of the last minute might have used the whole rate. So a
  rate stores `full_at` (the time at which the whole burst is available) with a `stamp` of `born`,
  `turn` and this fraction. If the stamp is another one, the burst counts as used.
- A command can arrive late if Redis hung. A late heartbeat is ignored, because its process did not
  wait for it.
- Values that no process stores count as missing (`gateway.cluster.stored_values`). A time too far
  in the future also counts as missing, so that neither damaged data nor a changed clock blocks
  calls for longer than a limit.
"""

from gateway.google.quota import LONGEST_PAUSE_SECONDS, RECOVERY_SECONDS

MOST_BURSTS = 3
"""Maximum use of a key that Redis stores, as a multiple of the burst."""

_RATES = (
    f"local recovery = {RECOVERY_SECONDS * 1e6:.0f}\n"
    f"local longest_pause = {LONGEST_PAUSE_SECONDS * 1e6:.0f}\n"
    """
local function instant(found, ahead)
  return number(found, now + ahead + 1000000) or 0
end
"""
)
"""Lua: maximum microseconds for which a limit and a pause from Google's 429s are valid.

`instant` returns a stored time, or 0 if it is more than `ahead` microseconds in the future.
"""

_MEMBERS = """
local function members(key, kept)
  local born, turn, all = nil, 0, {}
  local lines = read('HGETALL', key)
  for i = 1, #lines, 2 do
    local name, line = lines[i], lines[i + 1]
    if name == 'born' then
      born = number(line, now)
    elseif name == 'turn' then
      turn = number(line, 1e15) or 0
    else
      local seen, share, rest = string.match(line, '^(%d+) (%d%.%d+) (.* %d+)$')
      seen, share = number(seen, now + kept), tonumber(share)
      if seen and share <= 1 and #line < 400 then
        all[name] = {seen = seen, share = share, name = rest}
      else
        redis.call('HDEL', key, name)
      end
    end
  end
  return born, text(turn), all
end
"""

PROBE = """
redis.call('SET', KEYS[1], 1, 'PX', 1000)
redis.call('INFO', 'server')
return text(now)
"""
"""Lua script: test a write and `INFO`, and return Redis's time. KEYS: the key for the write."""

HEARTBEAT = (
    _MEMBERS
    + """
local me, last, known = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local name, deadline = ARGV[4], tonumber(ARGV[5])
local silent, settle, kept = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
if now > deadline then
  return {0, text(now)}
end
local born, turn, all = members(KEYS[1], kept)
local mine = all[me]
local is_lost = last > 0 and not (mine and mine.seen >= last)
if is_lost then
  redis.call('HSET', KEYS[1], 'turn', text(turn + 1))
end
if not born then
  born = now
  redis.call('HSET', KEYS[1], 'born', text(now))
end
local count, others, gone = 1, 0, {}
for id, each in pairs(all) do
  if id ~= me and now - each.seen > kept then
    redis.call('HDEL', KEYS[1], id)
  elseif id ~= me then
    count = count + 1
    others = others + each.share
    if now - each.seen > silent then
      table.insert(gone, id)
      table.insert(gone, each.name)
    end
  end
end
local share = known
if now - born >= settle then
  share = math.floor(math.max(0, math.min(1 / count, 1 - others)) * 1000000) / 1000000
end
local line = string.format('%.0f %.6f %s', now, math.max(known, share), name)
redis.call('HSET', KEYS[1], me, line)
redis.call('EXPIRE', KEYS[1], 86400)
return {1, text(now), count, text(share * 1000000), is_lost and 1 or 0, unpack(gone)}
"""
)
"""Lua script: register the heartbeat of a process.

KEYS: members. ARGV: ID; Redis's time at the last heartbeat, or 0; the process's known share of all
rates; name; the time after which the heartbeat is late; then `Tempo.script_arguments`. Returns 0
and Redis's time for a late heartbeat. Otherwise returns 1, Redis's time, the number of processes,
the share in millionths, 1 if the data was lost (else 0), and ID and name of each silent process.
"""

LEAVE = """
return read('HDEL', KEYS[1], unpack(ARGV))
"""
"""Lua script: remove processes from `members`. KEYS: `members`. ARGV: IDs of the processes."""

TAKE = (
    _MEMBERS
    + _RATES
    + """
local me, last, price = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local silent, settle, kept = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local born, turn, all = members(KEYS[1], kept)
if not (born and all[me] and all[me].seen >= last) then
  return {0, '500000'}
end

local present, absent = 0, 0
for _, each in pairs(all) do
  if now - each.seen <= silent then
    present = present + each.share
  elseif now - each.seen <= kept then
    absent = absent + each.share
  end
end
local rest = now - born < settle and present or 1 - absent
rest = math.floor(math.max(0, math.min(1, rest)) * 10000 + 0.5) / 10000
if rest == 0 then
  return {0, text(math.max(500000, born + settle - now))}
end

local function limit_of(per_minute, burst)
  local count = math.max(1, math.floor(burst * rest + 0.001))
  local left = (per_minute + burst) * rest - count
  return 60000000 / math.max(0.1, math.min(per_minute * rest, left)), count
end

local stamp = text(born) .. ':' .. turn .. ':' .. rest
local rates, wait = {}, 0
for i = 2, #KEYS do
  local stored = read(
    'HMGET', KEYS[i], 'full_at', 'stamp', 'quota', 'quota_until', 'pause', 'paused_until')
  local per_minute, burst = tonumber(ARGV[3 + 2 * i]), tonumber(ARGV[4 + 2 * i])
  local quota, quota_until = number(stored[3], 1e9) or 0, instant(stored[4], recovery)
  if quota > 0 and quota_until > now and 0.9 * quota < per_minute then
    per_minute, burst = 0.9 * quota, quota - math.floor(0.9 * quota)
  else
    quota = 0
  end
  local interval, count = limit_of(per_minute, burst)
  local tau = interval * count
  local known, paused_until = number(stored[1], 1e17), instant(stored[6], longest_pause)
  local pause = number(stored[5], longest_pause) or 0
  local full_at = math.min(math.max(known or 0, now), math.max(now, paused_until) + tau)
  if not known or stored[2] ~= stamp then
    full_at = math.max(full_at, now + tau)
  end
  wait = math.max(wait, full_at + interval - now - tau)
  rates[i] = {full_at, interval, tau, quota, quota_until, pause, paused_until}
end

local is_taken = price < 0 or wait <= 1
local reply = {is_taken and 1 or 0, text(math.min(wait, longest_pause))}
for i = 2, #KEYS do
  local full_at, interval, tau, quota, quota_until, pause, paused_until = unpack(rates[i])
  if is_taken then
    full_at = full_at + price * interval
  end
  redis.call('HSET', KEYS[i], 'full_at', text(full_at), 'stamp', stamp)
  redis.call('EXPIRE', KEYS[i], 86400)
  local next_call = math.min(full_at + interval - now - tau, longest_pause)
  for _, each in ipairs({next_call, quota, quota_until - now, paused_until - now, pause}) do
    table.insert(reply, text(each))
  end
end
return reply
"""
)
"""Lua script: count a call to Google in several rates (GCRA), or undo the count.

KEYS: members, rates. ARGV: ID; Redis's time at the last heartbeat; 1 to count, -1 to undo;
`Tempo.script_arguments`; calls per minute and burst of each rate. Returns 1 if the call can be
sent, else 0; the microseconds to wait, at most a minute; and for each rate the microseconds until
the next call, at most a minute, and the four values of `gateway.google.quota.Learnt`. Returns only
the first two values if the process is not a member, or if silent processes can use all rates.
"""

LEARN = (
    _RATES
    + """
local quota, quota_until = tonumber(ARGV[1]), now + ARGV[2]
local paused_until, pause, rest = now + ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local stored = read('HMGET', KEYS[1], 'full_at', 'quota', 'quota_until', 'paused_until')
local old_quota, old_until = number(stored[2], 1e9) or 0, instant(stored[3], recovery)
if quota > 0 and (old_until < now or old_quota == 0 or quota <= old_quota) then
  redis.call('HSET', KEYS[1], 'quota', quota, 'quota_until', text(quota_until))
end
if pause > 0 and paused_until > instant(stored[4], longest_pause) then
  local full_at = math.max(number(stored[1], 1e17) or 0, paused_until + rest)
  redis.call('HSET', KEYS[1],
    'pause', text(pause), 'paused_until', text(paused_until), 'full_at', text(full_at))
end
redis.call('EXPIRE', KEYS[1], 86400)
return 1
"""
)
"""Lua script: store the limit and the pause that a process learnt from Google's 429s.

KEYS: rate. ARGV: the four values of `gateway.google.quota.Learnt`, with times in microseconds; and
the microseconds in which the burst recovers, minus the interval of one call.
"""

EXCHANGE_USE = (
    f"local most_bursts = {MOST_BURSTS}\n"
    + """
local me, hold = ARGV[1], tonumber(ARGV[2])
local reply = {}
for i = 1, #KEYS do
  local key, at = KEYS[i], 6 * i - 3
  local fresh, used, in_flight = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local interval, burst = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local found, elsewhere, last = {}, 0, 0
  local stored = read('HGETALL', key)
  for j = 1, #stored, 2 do
    local name, value = stored[j], stored[j + 1]
    if name == 'generation' or name == 'total' or name == 'full_at' then
      found[name] = value
    elseif name ~= me then
      local running, seen = string.match(value, '^(%d+) (%d+)$')
      running, seen = number(running, 1e6), number(seen, now)
      if running and seen and now - seen < hold then
        elsewhere, last = elsewhere + running, hold
      else
        redis.call('HDEL', key, name)
      end
    end
  end
  local generation, total = found.generation or '', number(found.total, 1e15, -1e15)
  local full_at = number(found.full_at, 1e17)
  local is_known = #generation == #fresh and string.match(generation, '^%x+$')
  if not (is_known and total and full_at) then
    generation, total, full_at = fresh, 0, now + tonumber(ARGV[at + 5])
  end
  total = total + used
  full_at = math.max(now, math.min(full_at, now + most_bursts * burst)) + used * interval
  full_at = math.max(now, full_at)
  redis.call('HSET', key, 'generation', generation, 'total', text(total), 'full_at', text(full_at))
  if in_flight > 0 then
    redis.call('HSET', key, me, string.format('%d %.0f', in_flight, now))
    last = hold
  else
    redis.call('HDEL', key, me)
  end
  redis.call('PEXPIRE', key, text(math.max(full_at - now, last) / 1000 + 12000))
  for _, each in ipairs({generation, text(total), text(full_at - now), text(elsewhere)}) do
    table.insert(reply, each)
  end
end
return reply
"""
)
"""Lua script: add a process's use of API keys, and return the use by all processes.

`full_at` is the time at which the whole burst is available again. `total` is the use since the
state in Redis began, and `generation` identifies this state. From `total` a process computes the
use by other processes since its last exchange, without comparing clocks.

KEYS: one for each API key. ARGV: ID; microseconds after which running requests expire; for each key
a generation, the use, the running requests, the microseconds for one request and for the burst, and
the microseconds to `full_at`. Generation and `full_at` are only used if Redis has no state of the
key. Returns for each key: generation, total, microseconds to `full_at`, running requests of other
processes.
"""
