#!lua flags=allow-oom
-- Ends leases: for a worker (mode a), or for the reaper when they have expired (mode r, followed by the fencing number
-- of the leader). Settling requires the current token of the lease. Result, retry, dead letter and callback jobs are
-- written together with the change of state.
-- KEYS: those of lives, then leases, bell, counts of the channel, groups of parked jobs, nl lanes, their nl rings, ng
--       lists of groups, nr result buckets, n bodies, nc bodies of callbacks, windows; in mode r the leadership is
--       last
-- ARGV: as named here (idat: length of a body's key before the id; most: maximum of waiting callbacks of one flow, no
--       limit for the platform's own; untold: appended to the record of a job whose callbacks are dropped), then the
--       names of the groups, then per run of equal jobs: their number, token, op, lane (only r and l), bucket, delay
--       ms, crash counter (0: unchanged), group in which they are parked until their due time (0: none), base of
--       their flow, then their payloads; then the callbacks; then per window: number of the job that leaves it
-- op: s succeeded, f failed (dead letter), u unknown (dead letter), c cancelled, r retry (payload: new body), l back
--     to its lane unchanged, d dropped
-- Reply per job: 1 done, 0 lease lost, 2 settled before, 3 refused because a cancel request is open, 4 done, but its
--        callbacks were dropped
local leases, bell, counts, groups = unpack(KEYS, 12, 15)
local mode, nl, ng, nr, n, nc, seconds, archive, idat, callbacks, most, untold = unpack(ARGV, 1, 12)
local reaping, fence = string.sub(mode, 1, 1) == 'r', tonumber(string.sub(mode, 2))
n, idat = tonumber(n), idat + 1
local lane0 = 15
local ring0 = lane0 + nl
local list0 = ring0 + nl
local res0 = list0 + ng
local body0 = res0 + nr
local cb0 = body0 + n
local now = clock()
local ids = {}
for i = 1, n do ids[i] = string.sub(KEYS[body0 + i], idat) end
local asked = redis.call('HLEN', CANCELS) > 0 and redis.call('HMGET', CANCELS, unpack(ids)) or {}
local traces = redis.call('EXISTS', CRASHES, RENEWALS, CANCELS, INTENTS) > 0
local deposed = reaping and tonumber(redis.call('HGET', KEYS[#KEYS], 'fence') or 0) ~= fence

-- Returns the jobs of a run that hold a lease under its token. Jobs of one claim share the token: listing all of them
-- is cheaper than reading the score of each job, unless most of the claim is not in this batch.
local function holders(from, count, token)
  local held = {}
  if deposed or (reaping and tonumber(token) >= now * 1000) then return held end
  local list = redis.call('ZRANGE', leases, token, token, 'BYSCORE', 'LIMIT', 0, 2 * count)
  if #list < 2 * count then
    for j = 1, #list do held[list[j]] = true end
    return held
  end
  local scores = redis.call('ZMSCORE', leases, unpack(ids, from, from + count - 1))
  for j = 1, count do held[ids[from + j - 1]] = scores[j] and tonumber(scores[j]) == tonumber(token) end
  return held
end
local families, born, room = children(cb0, callbacks - 1, nc), {}, {}
local function fits(family) -- accepts all callbacks of a job, or none if too many of its flow wait
  local base = family[1].base
  local low = base + EPOCH
  room[base] = room[base] or low <= SPAN and math.huge or most - redis.call('ZCOUNT', CALLBACKS, low, low + SPAN - 1)
  if room[base] < #family then return false end
  room[base] = room[base] - #family
  push(born, family)
  return true
end

local verdict, gone, ends, dropped, unlink, retry, crashes = {}, {}, {}, {}, {}, {}, {}
local died, byflow, graves, released, attempts, faults = {}, {}, {}, false, 0, 0
local lanes, parked, results = {}, {}, {}
local heads = {} -- earliest due times by lane and flow
for l = 1, nl do lanes[l], heads[l] = {}, {} end
for g = 1, ng do parked[g] = {} end
for r = 1, nr do results[r] = {} end
local a, i = 12 + ng, 0
while i < n do
  local count, token, op, lane, bucket, delay, crashed, group, base = unpack(ARGV, a + 1, a + 9)
  lane, bucket, group = tonumber(lane), tonumber(bucket), parked[tonumber(group)]
  local again, at, held = op == 'r' or op == 'l', now + delay, holders(i + 1, tonumber(count), token)
  local due = again and string.format('%.0f', at + base) -- converted once for the run
  a = a + 9
  for _ = 1, count do
    a, i = a + 1, i + 1
    local id, body, payload = ids[i], KEYS[body0 + i], ARGV[a]
    if not held[id] then
      local known = redis.call('HEXISTS', KEYS[res0 + bucket], id) + redis.call('HEXISTS', RECORDS, id)
      verdict[i] = known > 0 and 2 or 0
    elseif asked[i] and again then
      verdict[i] = 3
    else
      verdict[i] = 1
      gone[#gone + 1] = id
      if op == 's' then attempts = attempts + 1 end
      if op == 'r' or op == 'f' or op == 'u' then faults = faults + 1 end
      if again then
        push(lanes[lane], due, id)
        heads[lane][base] = math.min(at, heads[lane][base] or at)
        if group then push(group, at, id) end
        released = released or op == 'l' and not group
        if op == 'r' then push(retry, body, payload) end
        if crashed ~= '0' then push(crashes, id, crashed) end
      else
        if families[i] and not fits(families[i]) then verdict[i], payload = 4, table.concat({payload, untold}) end
        if op == 'f' or op == 'u' then
          push(died, now, id)
          push(byflow, now + base, id)
          push(graves, id, payload)
        else
          unlink[#unlink + 1] = body
        end
        if op == 'd' then
          dropped[#dropped + 1] = id
        else
          ends[#ends + 1] = id
          if op == 's' or op == 'c' then
            local stored = results[bucket]
            local size = #stored
            stored[size + 1], stored[size + 2] = id, payload
          end
        end
      end
    end
  end
end
if #gone == 0 then return verdict end

redis.call('ZREM', leases, unpack(gone))
if attempts + faults > 0 then redis.call('HINCRBY', counts, 'attempts', attempts + faults) end
if faults > 0 then redis.call('HINCRBY', counts, 'faults', faults) end
if #unlink > 0 then redis.call('UNLINK', unpack(unlink)) end
if #retry > 0 then redis.call('MSET', unpack(retry)) end
for l = 1, nl do
  put('ZADD', KEYS[lane0 + l], lanes[l])
  for base, due in pairs(heads[l]) do redis.call('ZADD', KEYS[ring0 + l], 'LT', due, flowof(base)) end
end
for g = 1, ng do
  put('ZADD', KEYS[list0 + g], parked[g])
  if #parked[g] > 0 then redis.call('ZADD', groups, 0, ARGV[12 + g]) end
end
put('ZADD', DEAD, died)
put('ZADD', DEADFLOWS, byflow)
put('HSET', RECORDS, graves)
for r = 1, nr do
  if #results[r] > 0 then keep(KEYS[res0 + r], seconds, results[r]) end
end
if archive == '1' then put('RPUSH', ENDS, ends) end
if traces then
  redis.call('HDEL', RENEWALS, unpack(gone))
  redis.call('HDEL', INTENTS, unpack(gone))
  for _, over in ipairs({ends, dropped}) do
    put('HDEL', CRASHES, over)
    put('HDEL', CANCELS, over)
  end
end
put('HSET', CRASHES, crashes)
a = a + 4 * nc
for w = 1, #ARGV - a do
  local left, window = tonumber(ARGV[a + w]), KEYS[cb0 + nc + w]
  if verdict[left] == 1 and redis.call('HGET', window, 'id') == ids[left] then redis.call('DEL', window) end
end
bear(now, born)
if released then ring(bell) end
return verdict
