#!lua flags=allow-oom
-- Takes up to n ready jobs of a channel and leases them under one token. LOW and MODERATE have guaranteed
-- shares; the rest goes by priority, where a lane whose head waited longer than the ageing limit counts as one
-- level higher and shares with the lane of that level. Within a lane the flows (laboratories) take turns.
-- What is due tomorrow costs a claim nothing today: whoever adds a job lowers the time of its flow in the ring, only here
-- is it raised.
-- While too many ends wait for the archive, ordinary flows are not served: what ended must not fill the memory.
-- KEYS: 1 high lane, 2 moderate lane, 3 low lane, 4 leases, 5 claim counter, 6 bell, 7 token of the caller's last claim,
--       8 claims whose answers got lost, 9 ends for the archive, 10 to 12 rings of the lanes, 13 counts of the
--       channel
-- ARGV: 1 n, 2 lease ms, 3 ageing ms, 4 turn (how many jobs the caller claimed before), 5 low share %, 6 moderate share %,
--       7 first ordinary flow, 8 most of all ordinary flows together, 9 most of one ordinary flow, 10 of one reserved,
--       11 to 13 the flow served last in each lane, 14 the last token that the caller knows, when the answer of the claim
--       after it got lost ('' otherwise), 15 most ends that may wait for the archive (0: no limit), then the flows with a
--       limit of their own: flow, most (-1: paused, as if it did not wait)
-- Reply: {now ms, next due ms (-1 none), token, held, last flow of each lane, then per run of jobs: flow (a number),
--        ids (texts)}; token 0 and no ids when nothing may be taken; held: flows at their limits have ready jobs
local now = clock()
local n, turn, ordinary = tonumber(ARGV[1]), tonumber(ARGV[4]), tonumber(ARGV[8])
local nextdue, more, held = -1, false, false
local most, waits, last = {}, {}, {}
local full = ARGV[15] ~= '0' and redis.call('LLEN', KEYS[9]) >= tonumber(ARGV[15])
for a = 16, #ARGV, 2 do most[tonumber(ARGV[a])] = tonumber(ARGV[a + 1]) end
local function isordinary(flow) return flow >= tonumber(ARGV[7]) end
local function wake(due)
  if nextdue < 0 or due < nextdue then nextdue = due end
end

if ARGV[14] ~= '' then
  local lost = redis.call('GET', KEYS[7])
  if lost and lost ~= ARGV[14] then
    redis.call('ZADD', KEYS[8], now, lost)
    redis.call('ZREMRANGEBYSCORE', KEYS[8], '-inf', now - 3600000)
    redis.call('EXPIRE', KEYS[8], 3600)
  end
end

local function headof(l, flow) -- the flow's earliest job: id, score; the ring is told when it is due
  local head = redis.call('ZRANGE', KEYS[l], flow * SPAN, (flow + 1) * SPAN - 1, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  local due = head[2] and tonumber(head[2]) - baseof(flow)
  if not due then
    redis.call('ZREM', KEYS[9 + l], flow)
  elseif due > now then
    redis.call('ZADD', KEYS[9 + l], due, flow)
  end
  return due
end
local function wakeup() -- when the next job of the channel is due
  for l = 1, 3 do
    repeat
      local first = redis.call('ZRANGE', KEYS[9 + l], now + 1, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
      local due = first[2] and headof(l, tonumber(first[1]))
      if due and due > now then wake(due) end
    until not first[2] or due == tonumber(first[2])
  end
end

local WRAP = 2 ^ 13 -- more than there are flows
local lanes, level = {{}, {}, {}}, {}
local function turns(l) -- the flows that may have ready jobs, beginning with the one after the last
  local flows = redis.call('ZRANGE', KEYS[9 + l], '-inf', now, 'BYSCORE')
  for i = 1, #flows do
    local flow = tonumber(flows[i])
    flows[i] = flow > last[l] and flow or flow + WRAP
  end
  if #flows > 1 then table.sort(flows) end
  return flows
end
local function look(l)
  local list, oldest = lanes[l], now
  for _, flow in ipairs(turns(l)) do
    if flow >= WRAP then flow = flow - WRAP end
    local due = headof(l, flow)
    if not due or due > now then
      -- the ring was early
    elseif full and isordinary(flow) then
      held = true
    elseif (most[flow] or 0) >= 0 then
      most[flow] = most[flow] or tonumber(isordinary(flow) and ARGV[9] or ARGV[10])
      if due < oldest then oldest = due end
      if most[flow] > 0 and #list >= n then
        more = true
        break
      elseif most[flow] > 0 then
        local ready = redis.call('ZCOUNT', KEYS[l], flow * SPAN, baseof(flow) + now)
        waits[flow] = (waits[flow] or 0) + ready
        list[#list + 1] = {flow = flow, ready = ready, take = 0}
      else
        held = true
      end
    end
  end
  if now - oldest > tonumber(ARGV[3]) then level[l] = 4 - l end
end
for l = 1, 3 do
  last[l], level[l] = tonumber(ARGV[10 + l]), 3 - l
  look(l)
end

local reserved, others = 0, 0
for flow, ready in pairs(waits) do
  if isordinary(flow) then others = others + math.min(ready, most[flow])
  else reserved = reserved + math.min(ready, most[flow]) end
end
local left = math.min(n, reserved + math.min(others, ordinary))
if left == 0 then
  held = held or others > 0
  if held then ring(KEYS[6]) end -- another process may have places for them
  wakeup()
  return {now, nextdue, 0, held and 1 or 0, last[1], last[2], last[3]}
end
local total = left

local function give(l, want) -- to the flows of a lane in turn, as equally as they can take
  want = math.min(want, left)
  local progress = true
  while want > 0 and progress do
    local each = math.max(1, math.floor(want / #lanes[l]))
    progress = false
    for _, f in ipairs(lanes[l]) do
      local k = math.min(each, want, f.ready - f.take, most[f.flow])
      if isordinary(f.flow) then
        k = math.min(k, ordinary)
        ordinary = ordinary - math.max(k, 0)
      end
      if k > 0 then
        f.take, most[f.flow] = f.take + k, most[f.flow] - k
        want, left, last[l], progress = want - k, left - k, f.flow, true
      end
    end
  end
end
local function share(from, percent) -- of the jobs from there on: small claims add up to it
  return math.floor((from + total) * percent / 100) - math.floor(from * percent / 100)
end
give(3, share(turn, ARGV[5]))
give(2, share(turn + 2, ARGV[6])) -- not the job that is LOW's, when one is claimed at a time
for v = 3, 0, -1 do
  local tied = {}
  for l = 1, 3 do
    if level[l] == v and #lanes[l] > 0 then tied[#tied + 1] = l end
  end
  if #tied == 2 then give(tied[2], math.floor(left / 2)) end
  for _, l in ipairs(tied) do give(l, left) end
end

local token = (now + tonumber(ARGV[2])) * 1000 + redis.call('INCR', KEYS[5]) % 1000
local text = string.format('%.0f', token) -- once: a number among the arguments is made text for each job
local reply, leases, jobs = {now, nextdue, token, 0, last[1], last[2], last[3]}, {}, 0
local size = #reply
for l = 1, 3 do
  local before = jobs
  for _, f in ipairs(lanes[l]) do
    if f.take > 0 then
      local ids = redis.call('ZRANGE', KEYS[l], f.flow * SPAN, baseof(f.flow) + now, 'BYSCORE', 'LIMIT', 0, f.take)
      local rank = redis.call('ZRANK', KEYS[l], ids[1])
      redis.call('ZREMRANGEBYRANK', KEYS[l], rank, rank + f.take - 1)
      size = size + 1
      reply[size] = f.flow
      for i = 1, #ids do
        reply[size + i] = ids[i]
        leases[2 * (jobs + i) - 1] = text
        leases[2 * (jobs + i)] = ids[i]
      end
      size, jobs = size + #ids, jobs + #ids
    end
    if f.take == f.ready then
      headof(l, f.flow)
    elseif most[f.flow] > 0 and (ordinary > 0 or not isordinary(f.flow)) then
      more = true
    else
      held = true
    end
  end
  if jobs > before then redis.call('HINCRBY', KEYS[13], 3 - l, jobs - before) end
end
redis.call('ZADD', KEYS[4], unpack(leases))
redis.call('SET', KEYS[7], text, 'EX', 3600)
if more then nextdue = now else wakeup() end
reply[2], reply[4] = nextdue, held and 1 or 0
if more or held then ring(KEYS[6]) end
return reply
