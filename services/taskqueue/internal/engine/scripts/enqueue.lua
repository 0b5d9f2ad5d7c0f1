#!lua
-- Accepts a batch as a whole: bodies, lane entries, windows and the idempotency record appear together or not
-- at all. Refused at maxmemory (no allow-oom flag): back-pressure belongs here, draining goes on.
-- KEYS: 1 idempotency record, then nl lanes, nb bells, nw windows, n bodies, nw bodies of the
--       jobs observed in the windows (the window key itself when none was seen), at last the rings of the lanes
-- ARGV: 1 request hash, 2 idempotency seconds, 3 lane limit, 4 nl, 5 nb, 6 nw, 7 n,
--       8 window slack ms, 9 ring when due within ms, 10 keep the ids (0: a repeat brings the same ones),
--       11 most waiting jobs of one flow in a lane (the platform's own excepted; of one-time passwords a hundredth),
--       12 how much of a body's key stands before the id,
--       then per run of jobs that are alike: how many, lane, due ms (0 = now), what their flow adds to the due time,
--       window (0 = none, else a run of one), observed id (override only), override, then their bodies
-- Reply: {1, ids} new; {2, ids} replay; no ids: those of the batch, which were not kept; {3} other request under this key;
-- {4, lane} full; {5, window} changed; {6, lane} one flow's part is full
local stored = redis.call('GET', KEYS[1])
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
local now = clock()
local soonest = now + tonumber(ARGV[9])

local fresh = {} -- new jobs by lane and flow
local heads = {} -- earliest due times by lane and flow
local function earliest(lane, base, due)
  if not heads[lane][base] or due < heads[lane][base] then heads[lane][base] = due end
end
local ids, bodies, adds, opens, overrides, soon, joins = {ARGV[1]}, {}, {}, {}, {}, false, false
local born = 0
for l = 1, nl do adds[l], fresh[l], heads[l] = {}, {}, {} end
local a, i, idAt = 12, 0, tonumber(ARGV[12]) + 1
while i < n do
  local count, lane, due = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  local base, w = ARGV[a + 4], tonumber(ARGV[a + 5])
  if due < now then due = now end
  if due <= soonest then soon = true end
  local score = string.format('%.0f', due + base) -- once for the run: a number costs its text in every call
  local joined = false
  if w > 0 then
    local seen = redis.call('HGET', KEYS[win0 + w], 'id') or ''
    local override = ARGV[a + 7] == '1'
    if override and seen ~= ARGV[a + 6] then return {5, w} end -- its body is not among the declared keys
    if seen ~= '' and redis.call('ZSCORE', KEYS[lane0 + lane], seen) then
      joined, joins = true, true
      ids[i + 2] = seen
      if override then
        overrides[#overrides + 1] = {w = w, id = seen, lane = lane, due = due, score = score, body = ARGV[a + 8]}
        earliest(lane, base, due)
      end
    else
      opens[#opens + 1] = {w = w, id = string.sub(KEYS[body0 + i + 1], idAt), due = due}
    end
  end
  if not joined then
    local add = adds[lane]
    local size = #add
    fresh[lane][base] = (fresh[lane][base] or 0) + count
    earliest(lane, base, due)
    for j = 1, count do
      local key = KEYS[body0 + i + j]
      local id = string.sub(key, idAt)
      ids[i + j + 1] = id
      add[size + 2 * j - 1] = score
      add[size + 2 * j] = id
      bodies[2 * (born + j) - 1] = key
      bodies[2 * (born + j)] = ARGV[a + 7 + j]
    end
    born = born + count
  end
  a, i = a + 7 + count, i + count
end
local packed = ARGV[1]
if ARGV[10] == '1' or joins then packed = table.concat(ids, ',') end
local limit = tonumber(ARGV[3])
for l = 1, nl do
  if #adds[l] > 0 and redis.call('ZCARD', KEYS[lane0 + l]) + #adds[l] / 2 > limit then return {4, l} end
end
for l = 1, nl do
  for base, count in pairs(fresh[l]) do
    local first = base + EPOCH -- the flow's part of the scores
    local most = tonumber(ARGV[11])
    if first < 2048 * SPAN then most = math.ceil(most / 100) end
    if first > SPAN and redis.call('ZCOUNT', KEYS[lane0 + l], first, first + SPAN - 1) + count > most then return {6, l} end
  end
end

if born > 0 then redis.call('MSET', unpack(bodies)) end
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
for l = 1, nl do
  for base, due in pairs(heads[l]) do
    redis.call('ZADD', KEYS[#KEYS - nl + l], 'LT', due, flowof(base))
  end
end
redis.call('SET', KEYS[1], ARGV[10] == '1' and packed or ARGV[1], 'EX', ARGV[2])
if soon then
  for b = 1, nb do ring(KEYS[bell0 + b]) end
end
return {1, string.sub(packed, #ARGV[1] + 2)}
