#!lua
-- Accepts a batch as a whole: bodies, lane entries, windows and the idempotency record appear together or not
-- at all. Refused at maxmemory (no allow-oom flag): back-pressure belongs here, draining goes on.
-- KEYS: 1 idempotency record, then nl lanes, nb bells, nw windows, n bodies, nw bodies of the
--       jobs observed in the windows (the window key itself when none was seen)
-- ARGV: 1 request hash, 2 idempotency seconds, 3 lane limit, 4 nl, 5 nb, 6 nw, 7 n,
--       8 window slack ms, 9 ring when due within ms, 10 keep the ids (0: a repeat brings the same ones),
--       11 most waiting jobs of one flow in a lane (the platform's own excepted), 12 number of shards by which the batch
--       was placed here; 0: it was placed by a former one, so it may repeat and join and begins nothing
--       then per job: id, lane, due ms (0 = now), body, window (0 = none), observed id (override only), override,
--       what its flow adds to the due time
-- Reply: {1, ids} new; {2, ids} replay, empty when they were not kept; {3} other request under this key; {4, lane} full; {5, window} changed; {6, lane} one flow's part is full;
-- {7} the queue grew: it belongs to another shard (see forward)
local number = tonumber(ARGV[12])
local stored = redis.call('GET', KEYS[1])
if stored and string.sub(stored, 1, 1) == '>' then
  if tonumber(string.sub(stored, 2)) > number then return {7} end
  stored = nil
end
if number == 0 and not stored and ARGV[6] == '0' then return {7} end
if stored then
  if string.sub(stored, 1, #ARGV[1]) ~= ARGV[1] then return {3} end
  redis.call('SET', KEYS[1], stored, 'KEEPTTL') -- a write, so that WAIT after it waits for the batch
  return {2, string.sub(stored, #ARGV[1] + 2)}
end
local nl, nb, nw, n = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local lane0 = 1
local bell0 = lane0 + nl
local win0 = bell0 + nb
local body0 = win0 + nw
local seen0 = body0 + n
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local soonest = now + tonumber(ARGV[9])

local SPAN, EPOCH = 2 ^ 41, 1577836800000
local fresh = {} -- new jobs by lane and flow
local ids, bodies, adds, opens, overrides, ring = {ARGV[1]}, {}, {}, {}, {}, false
local keys = {}
for l = 1, nl do adds[l], fresh[l] = {}, {} end
for i = 1, n do
  local a = 12 + (i - 1) * 8
  local id, lane, due, w = ARGV[a + 1], tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), tonumber(ARGV[a + 5])
  if due < now then due = now end
  local base = ARGV[a + 8]
  local score = due + base
  local joined = false
  if w > 0 then
    if tonumber(redis.call('HGET', KEYS[win0 + w], 'moved') or 0) > number then return {7} end
    local seen = redis.call('HGET', KEYS[win0 + w], 'id') or ''
    local override = ARGV[a + 7] == '1'
    if override and seen ~= ARGV[a + 6] then return {5, w} end -- its body is not among the declared keys
    if seen ~= '' and redis.call('ZSCORE', KEYS[lane0 + lane], seen) then
      joined = true
      ids[i + 1] = seen
      if override then
        overrides[#overrides + 1] = {w = w, id = seen, lane = lane, due = due, score = score, body = ARGV[a + 4]}
      end
    else
      if number == 0 then return {7} end
      opens[#opens + 1] = {w = w, id = id, due = due}
    end
  end
  if not joined then
    ids[i + 1] = id
    local add = adds[lane]
    fresh[lane][base] = (fresh[lane][base] or 0) + 1
    add[#add + 1] = score
    add[#add + 1] = id
    bodies[#bodies + 1] = KEYS[body0 + i]
    bodies[#bodies + 1] = ARGV[a + 4]
    keys[#keys + 1] = KEYS[body0 + i]
  end
  if due <= soonest then ring = true end
end
local packed = table.concat(ids, ',')
local function note() redis.call('SET', KEYS[1], ARGV[10] == '1' and packed or ARGV[1], 'EX', ARGV[2]) end
if #keys > 0 and redis.call('EXISTS', unpack(keys)) > 0 then
  note()
  return {2, string.sub(packed, #ARGV[1] + 2)}
end
local limit = tonumber(ARGV[3])
for l = 1, nl do
  if #adds[l] > 0 and redis.call('ZCARD', KEYS[lane0 + l]) + #adds[l] / 2 > limit then return {4, l} end
end
for l = 1, nl do
  for base, count in pairs(fresh[l]) do
    local first = base + EPOCH -- the flow's part of the scores, see claim
    if first > SPAN and redis.call('ZCOUNT', KEYS[lane0 + l], first, first + SPAN - 1) + count > tonumber(ARGV[11]) then return {6, l} end
  end
end

if #bodies > 0 then redis.call('MSET', unpack(bodies)) end
for l = 1, nl do
  if #adds[l] > 0 then redis.call('ZADD', KEYS[lane0 + l], unpack(adds[l])) end
end
for _, o in ipairs(opens) do
  redis.call('DEL', KEYS[win0 + o.w])
  redis.call('HSET', KEYS[win0 + o.w], 'id', o.id)
  redis.call('PEXPIREAT', KEYS[win0 + o.w], string.format('%.0f', o.due + tonumber(ARGV[8])))
end
for _, j in ipairs(overrides) do
  redis.call('SET', KEYS[seen0 + j.w], j.body)
  redis.call('ZADD', KEYS[lane0 + j.lane], 'XX', j.score, j.id)
  redis.call('PEXPIREAT', KEYS[win0 + j.w], string.format('%.0f', j.due + tonumber(ARGV[8])))
end
note()
if ring then
  for b = 1, nb do
    if redis.call('LLEN', KEYS[bell0 + b]) == 0 then redis.call('RPUSH', KEYS[bell0 + b], '1') end
  end
end
return {1, string.sub(packed, #ARGV[1] + 2)}
