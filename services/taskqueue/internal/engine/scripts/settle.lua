#!lua flags=allow-oom
-- Ends leases: the ack of a worker (mode a) and the reaper's verdict on expired ones (mode r, with
-- the fencing number of its leadership). Only the owner
-- of the observed token settles; result, retry, dead letter and callback jobs appear with the state change.
-- KEYS: 1 leases, 2 crash counters, 3 renewals, 4 cancel requests, 5 send intents, 6 dead, 7 bell of the channel,
--       8 bell of callbacks, 9 callback lane, 10 records of the dead, 11 ends for the archive, 12 ring of callbacks, 13 dead by flow, 14 groups of
--       parked jobs, 15 counts of the channel, then nl lanes, their nl rings, ng lists of groups, nr result buckets, n bodies, nc callback bodies, windows;
--       mode r: at last the leadership of the reaper
-- ARGV: 1 mode, 2 nl, 3 nr, 4 n, 5 nc, 6 result seconds, 7 keep ends for the archive, 8 how much of a body's key stands
--       before the id, 9 where the callbacks begin, 10 most callbacks of one flow that may wait (the platform's own
--       excepted), 11 what is appended to the record of a job whose callbacks are dropped because there are too many,
--       12 ng, then the names of the groups,
--       then per run of jobs that are alike: how many, token, op, lane (r and l only), bucket, delay ms, crash counter
--       ('' = leave), group in which they are parked until their due time (0: none), what their flow adds to a due time, then their payloads;
--       then per callback: job number, id, body, what its flow adds;
--       then per window: number of the job that leaves it
-- op: s succeeded, f failed (kept dead), u unknown (kept dead), c cancelled, r retry (payload = new body),
--     l back to its lane as it is, d dropped
-- Reply per job: 1 done, 0 lease lost, 2 already settled, 3 refused: a cancel request waits, 4 done, and its callbacks were
-- dropped
local reaping, fence = string.sub(ARGV[1], 1, 1) == 'r', tonumber(string.sub(ARGV[1], 2))
local nl, nr, n, nc = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local ng = tonumber(ARGV[12])
local lane0 = 15
local ring0 = lane0 + nl
local list0 = ring0 + nl
local res0 = list0 + ng
local body0 = res0 + nr
local cb0 = body0 + n
local now = clock()
local ids, idAt = {}, tonumber(ARGV[8]) + 1
for i = 1, n do ids[i] = string.sub(KEYS[body0 + i], idAt) end
local asked = redis.call('HLEN', KEYS[4]) > 0 and redis.call('HMGET', KEYS[4], unpack(ids)) or {}
local traces = redis.call('EXISTS', KEYS[2], KEYS[3], KEYS[4], KEYS[5]) > 0

local deposed = reaping and tonumber(redis.call('HGET', KEYS[#KEYS], 'fence') or 0) ~= fence
local verdict, gone, ended, unlink, retry, died, lanes, results = {}, {}, {}, {}, {}, {}, {}, {}
local crashes, graves, ends, released, byflow = {}, {}, {}, false, {}
local heads = {} -- earliest due times by lane and flow
local parked, attempts, faults = {}, 0, 0
for l = 1, nl do lanes[l], heads[l] = {}, {} end
for g = 1, ng do parked[g] = {} end
for r = 1, nr do results[r] = {} end
-- Which jobs of a run hold a lease under its token. Jobs of one claim share it: to list those costs less than to have a
-- score made text for each job, unless most of the claim is not in this batch.
local function holders(first, count, token)
  local held = {}
  if deposed or (reaping and tonumber(token) >= now * 1000) then return held end
  local list = redis.call('ZRANGE', KEYS[1], token, token, 'BYSCORE', 'LIMIT', 0, 2 * count)
  if #list < 2 * count then
    for j = 1, #list do held[list[j]] = true end
    return held
  end
  local scores = redis.call('ZMSCORE', KEYS[1], unpack(ids, first, first + count - 1))
  for j = 1, count do held[ids[first + j - 1]] = scores[j] and tonumber(scores[j]) == tonumber(token) end
  return held
end
local children, room, born, bodies = {}, {}, {}, {}
for c = 1, nc do
  local b = tonumber(ARGV[9]) + 4 * (c - 1)
  local parent = tonumber(ARGV[b])
  children[parent] = children[parent] or {}
  table.insert(children[parent], {key = KEYS[cb0 + c], id = ARGV[b + 1], body = ARGV[b + 2], base = ARGV[b + 3]})
end
local function bear(list) -- all callbacks of a job, or none when too many of its flow wait
  local base = list[1].base
  local first = base + EPOCH
  if not room[base] then
    room[base] = first <= SPAN and math.huge or
      ARGV[10] - redis.call('ZCOUNT', KEYS[9], first, first + SPAN - 1)
  end
  if room[base] < #list then return false end
  room[base] = room[base] - #list
  for _, child in ipairs(list) do
    born[#born + 1] = now + child.base
    born[#born + 1] = child.id
    bodies[#bodies + 1] = child.key
    bodies[#bodies + 1] = child.body
  end
  return true
end
local a, i = 12 + ng, 0
while i < n do
  local count, token, op, bucket = tonumber(ARGV[a + 1]), ARGV[a + 2], ARGV[a + 3], tonumber(ARGV[a + 5])
  local lane, crashed = lanes[tonumber(ARGV[a + 4])], ARGV[a + 7]
  local again, base, list = op == 'r' or op == 'l', a + 9, parked[tonumber(ARGV[a + 8])]
  local at = again and now + tonumber(ARGV[a + 6])
  local due = again and string.format('%.0f', at + tonumber(ARGV[base]))
  local held = holders(i + 1, count, token)
  for j = 1, count do
    i = i + 1
    local id, payload = ids[i], ARGV[base + j]
    if not held[id] then
      local known = redis.call('HEXISTS', KEYS[res0 + bucket], id) + redis.call('HEXISTS', KEYS[10], id)
      verdict[i] = known > 0 and 2 or 0
    elseif asked[i] and again then
      verdict[i] = 3
    else
      verdict[i] = 1
      gone[#gone + 1] = id
      if op == 's' then attempts = attempts + 1 end
      if op == 'r' or op == 'f' or op == 'u' then faults = faults + 1 end
      if again then
        lane[#lane + 1] = due
        lane[#lane + 1] = id
        local earliest = heads[tonumber(ARGV[a + 4])]
        earliest[ARGV[base]] = math.min(at, earliest[ARGV[base]] or math.huge)
        if list then
          list[#list + 1] = at
          list[#list + 1] = id
        end
        if op == 'r' then
          retry[#retry + 1] = KEYS[body0 + i]
          retry[#retry + 1] = payload
        elseif not list then
          released = true
        end
        if crashed ~= '' then
          crashes[#crashes + 1] = id
          crashes[#crashes + 1] = crashed
        end
      else
        if children[i] and not bear(children[i]) then
          verdict[i], payload = 4, table.concat({payload, ARGV[11]})
        end
        if op == 'f' or op == 'u' then
          died[#died + 1] = now
          died[#died + 1] = id
          byflow[#byflow + 1] = now + ARGV[base]
          byflow[#byflow + 1] = id
          graves[#graves + 1] = id
          graves[#graves + 1] = payload
        else
          unlink[#unlink + 1] = KEYS[body0 + i]
          if op ~= 'd' then
            local stored = results[bucket]
            stored[#stored + 1] = id
            stored[#stored + 1] = payload
          end
        end
        ended[#ended + 1] = id
        if op ~= 'd' then ends[#ends + 1] = id end
      end
    end
  end
  a = base + count
end
if #gone == 0 then return verdict end

redis.call('ZREM', KEYS[1], unpack(gone))
if attempts + faults > 0 then redis.call('HINCRBY', KEYS[15], 'attempts', attempts + faults) end
if faults > 0 then redis.call('HINCRBY', KEYS[15], 'faults', faults) end
if #unlink > 0 then redis.call('UNLINK', unpack(unlink)) end
if #retry > 0 then redis.call('MSET', unpack(retry)) end
for l = 1, nl do
  if #lanes[l] > 0 then redis.call('ZADD', KEYS[lane0 + l], unpack(lanes[l])) end
  for base, due in pairs(heads[l]) do redis.call('ZADD', KEYS[ring0 + l], 'LT', due, flowof(base)) end
end
for g = 1, ng do
  if #parked[g] > 0 then
    redis.call('ZADD', KEYS[list0 + g], unpack(parked[g]))
    redis.call('ZADD', KEYS[14], 0, ARGV[12 + g])
  end
end
if #died > 0 then
  redis.call('ZADD', KEYS[6], unpack(died))
  redis.call('ZADD', KEYS[13], unpack(byflow))
  redis.call('HSET', KEYS[10], unpack(graves))
end
for r = 1, nr do
  if #results[r] > 0 then
    keep(KEYS[res0 + r], ARGV[6], results[r])
  end
end
if #ends > 0 and ARGV[7] == '1' then redis.call('RPUSH', KEYS[11], unpack(ends)) end
if traces then
  redis.call('HDEL', KEYS[3], unpack(gone))
  redis.call('HDEL', KEYS[5], unpack(gone))
  if #ended > 0 then
    redis.call('HDEL', KEYS[2], unpack(ended))
    redis.call('HDEL', KEYS[4], unpack(ended))
  end
end
if #crashes > 0 then redis.call('HSET', KEYS[2], unpack(crashes)) end

a = a + 4 * nc
for w = 1, #ARGV - a do
  local left, window = tonumber(ARGV[a + w]), KEYS[cb0 + nc + w]
  if verdict[left] == 1 and redis.call('HGET', window, 'id') == ids[left] then redis.call('DEL', window) end
end
if #born > 0 then
  redis.call('MSET', unpack(bodies))
  redis.call('ZADD', KEYS[9], unpack(born))
  for base in pairs(room) do redis.call('ZADD', KEYS[12], 'LT', now, flowof(base)) end
  ring(KEYS[8])
end
if released then ring(KEYS[7]) end
return verdict
