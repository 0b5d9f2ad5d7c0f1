#!lua
-- Accepts a batch: bodies, lane entries, windows and the idempotency record are written together or not at all. It is
-- rejected at maxmemory (no allow-oom flag), so that stored jobs can still be finished.
-- KEYS: idempotency record, nl lanes, their nl rings, nb bells, nw windows, n bodies, nw bodies of the jobs seen in
--       the windows (the window key itself when none was seen)
-- ARGV: as named here (seconds: lifetime of the idempotency record; slack: ms by which a window outlives its job;
--       within: a job due within so many ms causes a wake-up; keepids: 0 when a repeat has the same ids; flowmost:
--       maximum of one flow in a lane, a hundredth of it for reserved flows, no limit for the platform's own; idat:
--       length of a body's key before the id), then per run of equal jobs: their number, lane, due ms (0: now), base
--       of their flow, window (0: none; else the run has one job), seen id (only with override), override, then their
--       bodies
-- Reply: {1, ids} new; {2, ids} repeat; empty ids: those of the batch, which were not stored; {3} the key was used for
--        another request; {4, lane} lane full; {5, window} window changed; {6, lane} flow at its limit
local record = KEYS[1]
local hash, seconds, nl, nb, nw, n, lanemost, flowmost, slack, within, keepids, idat = unpack(ARGV, 1, 12)
local stored = redis.call('GET', record)
if stored then
  if string.sub(stored, 1, #hash) ~= hash then return {3} end
  redis.call('SET', record, stored, 'KEEPTTL') -- a write, without which WAIT would not wait for the batch
  return {2, string.sub(stored, #hash + 2)}
end
n, idat = tonumber(n), idat + 1
local lane0 = 1
local ring0 = lane0 + nl
local bell0 = ring0 + nl
local win0 = bell0 + nb
local body0 = win0 + nw
local seen0 = body0 + n
local now = clock()

local adds, fresh = {}, {} -- new jobs by lane, and their number by lane and flow
local heads = {} -- earliest due times by lane and flow
local ids, bodies, opens, overrides, soon, joins = {hash}, {}, {}, {}, false, false
for l = 1, nl do adds[l], fresh[l], heads[l] = {}, {}, {} end
local a, i = 12, 0
while i < n do
  local count, lane, due, base, w, observed, override = unpack(ARGV, a + 1, a + 7)
  lane, w, due, override = tonumber(lane), tonumber(w), math.max(due, now), override == '1'
  soon = soon or due <= now + within
  local score = string.format('%.0f', due + base) -- converted once: a number would be converted in each call
  local seen = w > 0 and redis.call('HGET', KEYS[win0 + w], 'id') or ''
  if override and seen ~= observed then return {5, w} end -- the body of the job seen now is not a declared key
  local joined = seen ~= '' and redis.call('ZSCORE', KEYS[lane0 + lane], seen)
  if not joined or override then heads[lane][base] = math.min(due, heads[lane][base] or due) end
  if joined then
    joins = true
    ids[i + 2] = seen
    if override then push(overrides, {w = w, id = seen, lane = lane, due = due, score = score, body = ARGV[a + 8]}) end
  else
    if w > 0 then push(opens, {w = w, id = string.sub(KEYS[body0 + i + 1], idat), due = due}) end
    fresh[lane][base] = (fresh[lane][base] or 0) + count
    local add, size, born = adds[lane], #adds[lane], #bodies
    for j = 1, count do
      local key = KEYS[body0 + i + j]
      local id = string.sub(key, idat)
      ids[i + j + 1] = id
      add[size + 2 * j - 1], add[size + 2 * j] = score, id
      bodies[born + 2 * j - 1], bodies[born + 2 * j] = key, ARGV[a + 7 + j]
    end
  end
  a, i = a + 7 + count, i + count
end
local FIRSTLAB = 2048 * SPAN -- lowest score of ordinary flows
local function lanelimit(l) -- a sixteenth of a lane is reserved
  for base in pairs(fresh[l]) do
    if base + EPOCH >= FIRSTLAB then return lanemost - math.floor(lanemost / 16) end
  end
  return tonumber(lanemost)
end
for l = 1, nl do
  if #adds[l] > 0 and redis.call('ZCARD', KEYS[lane0 + l]) + #adds[l] / 2 > lanelimit(l) then return {4, l} end
end
for l = 1, nl do
  for base, count in pairs(fresh[l]) do
    local low = base + EPOCH -- lowest score of the flow
    local most = low < FIRSTLAB and math.ceil(flowmost / 100) or tonumber(flowmost)
    if low > SPAN and redis.call('ZCOUNT', KEYS[lane0 + l], low, low + SPAN - 1) + count > most then return {6, l} end
  end
end

if #bodies > 0 then redis.call('MSET', unpack(bodies)) end
for _, o in ipairs(opens) do
  redis.call('DEL', KEYS[win0 + o.w])
  redis.call('HSET', KEYS[win0 + o.w], 'id', o.id)
  redis.call('PEXPIREAT', KEYS[win0 + o.w], string.format('%.0f', o.due + slack))
end
for l = 1, nl do put('ZADD', KEYS[lane0 + l], adds[l]) end
for _, j in ipairs(overrides) do
  redis.call('SET', KEYS[seen0 + j.w], j.body)
  redis.call('ZADD', KEYS[lane0 + j.lane], 'XX', j.score, j.id)
  redis.call('PEXPIREAT', KEYS[win0 + j.w], string.format('%.0f', j.due + slack))
end
for l = 1, nl do
  for base, due in pairs(heads[l]) do redis.call('ZADD', KEYS[ring0 + l], 'LT', due, flowof(base)) end
end
local packed = hash
if keepids == '1' or joins then packed = table.concat(ids, ',') end
redis.call('SET', record, keepids == '1' and packed or hash, 'EX', seconds)
if soon then
  for b = 1, nb do ring(KEYS[bell0 + b]) end
end
return {1, string.sub(packed, #hash + 2)}
