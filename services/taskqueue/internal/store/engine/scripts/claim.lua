#!lua flags=allow-oom
-- Claims up to n ready jobs of a channel and leases them under one token. The low and the moderate lane have guaranteed
-- shares; the rest is given by priority. A lane whose first job has waited longer than the ageing limit counts as one
-- level higher and shares with the lane of that level. Within a lane the flows (laboratories) take turns.
-- Scheduled jobs do not slow a claim: a script that adds a job lowers the time of its flow in the ring, and only this
-- script raises it.
-- While the archive queue is too long, ordinary flows are not served, because finished jobs must not fill the memory.
-- KEYS: high lane, moderate lane, low lane, their rings, then as named here; claimer: token of the caller's last
--       claim; lost: claims whose replies were lost; ends: archive queue
-- ARGV: as named here (turn: how many jobs the caller claimed before; ordinary: maximum for all ordinary flows
--       together; each, eachreserved: maximum for one ordinary or reserved flow; known: the last token that the caller
--       received, when the reply of the claim after it was lost, else ''; mostends: maximum length of the archive
--       queue, 0: no limit), then the flow served last in each lane, then the flows with their own limit: flow,
--       maximum (-1: paused)
-- Reply: {now in ms, next due time in ms (-1: none), token, held, last flow of each lane, then per run of jobs: flow
--        (a number), ids (texts)}; token 0 and no ids when nothing may be claimed; held: ready jobs were skipped
--        because their flows are at their limits
local leases, counter, bell, claimer, lost, ends, counts = unpack(KEYS, 7, 13)
local n, lease, ageing, turn, lowshare, moderateshare, firstlab, ordinary, each, eachreserved, known, mostends =
  unpack(ARGV, 1, 12)
n, firstlab, ordinary, mostends = tonumber(n), tonumber(firstlab), tonumber(ordinary), tonumber(mostends)
local now = clock()
local nextdue, more, held = -1, false, false
local most, waits, last = {}, {}, {}
local full = mostends > 0 and redis.call('LLEN', ends) >= mostends
for a = 16, #ARGV, 2 do most[tonumber(ARGV[a])] = tonumber(ARGV[a + 1]) end
local function isordinary(flow) return flow >= firstlab end

if known ~= '' then
  local before = redis.call('GET', claimer)
  if before and before ~= known then
    redis.call('ZADD', lost, now, before)
    redis.call('ZREMRANGEBYSCORE', lost, '-inf', now - 3600000)
    redis.call('EXPIRE', lost, 3600)
  end
end

local function headof(l, flow) -- due time of the flow's earliest job; corrects the ring
  local id, score = first(KEYS[l], flow * SPAN, (flow + 1) * SPAN - 1)
  local due = id and score - baseof(flow)
  if not due then
    redis.call('ZREM', KEYS[3 + l], flow)
  elseif due > now then
    redis.call('ZADD', KEYS[3 + l], due, flow)
  end
  return due
end
local function wakeup() -- finds the next due time of the channel
  for l = 1, 3 do
    repeat
      local flow, at = first(KEYS[3 + l], now + 1, '+inf')
      local due = flow and headof(l, tonumber(flow))
      if due and due > now and (nextdue < 0 or due < nextdue) then nextdue = due end
    until not flow or due == at
  end
end

local WRAP = 2 ^ 13 -- greater than the number of flows
local lanes, level = {{}, {}, {}}, {}
local function turns(l) -- flows that may have ready jobs, beginning after the one served last
  local flows = redis.call('ZRANGE', KEYS[3 + l], '-inf', now, 'BYSCORE')
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
      -- no job is due yet
    elseif full and isordinary(flow) then
      held = true
    elseif (most[flow] or 0) >= 0 then
      most[flow] = most[flow] or tonumber(isordinary(flow) and each or eachreserved)
      oldest = math.min(oldest, due)
      if most[flow] == 0 then
        held = true
      elseif #list >= n then
        more = true
        break
      else
        local ready = redis.call('ZCOUNT', KEYS[l], flow * SPAN, baseof(flow) + now)
        waits[flow] = (waits[flow] or 0) + ready
        push(list, {flow = flow, ready = ready, take = 0})
      end
    end
  end
  level[l] = now - oldest > tonumber(ageing) and 4 - l or 3 - l
end
for l = 1, 3 do
  last[l] = tonumber(ARGV[12 + l])
  look(l)
end

local reserved, others = 0, 0
for flow, ready in pairs(waits) do
  if isordinary(flow) then others = others + math.min(ready, most[flow])
  else reserved = reserved + math.min(ready, most[flow]) end
end
local total = math.min(n, reserved + math.min(others, ordinary))
local left = total
if left == 0 then
  held = held or others > 0
  if held then ring(bell) end -- another process may have free slots for them
  wakeup()
  return {now, nextdue, 0, held and 1 or 0, last[1], last[2], last[3]}
end

local function give(l, want) -- takes from the flows of a lane in turn, as equally as possible
  want = math.min(want, left)
  local progress = true
  while want > 0 and progress do
    local part = math.max(1, math.floor(want / #lanes[l]))
    progress = false
    for _, f in ipairs(lanes[l]) do
      local k = math.min(part, want, f.ready - f.take, most[f.flow])
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
local function share(from, percent) -- share of the jobs after from; small claims add up to it
  return math.floor((from + total) * percent / 100) - math.floor(from * percent / 100)
end
give(3, share(turn, lowshare))
give(2, share(turn + 2, moderateshare)) -- turn + 2: claims of one job must not give LOW's share away
for v = 3, 0, -1 do
  local tied = {}
  for l = 1, 3 do
    if level[l] == v and #lanes[l] > 0 then push(tied, l) end
  end
  if #tied == 2 then give(tied[2], math.floor(left / 2)) end
  for _, l in ipairs(tied) do give(l, left) end
end

local token = (now + lease) * 1000 + redis.call('INCR', counter) % 1000
local text = string.format('%.0f', token) -- converted once: a number would be converted for each job
local reply, taken, jobs = {now, nextdue, token, 0, last[1], last[2], last[3]}, {}, 0
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
        taken[2 * (jobs + i) - 1] = text
        taken[2 * (jobs + i)] = ids[i]
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
  if jobs > before then redis.call('HINCRBY', counts, 3 - l, jobs - before) end
end
redis.call('ZADD', leases, unpack(taken))
redis.call('SET', claimer, text, 'EX', 3600)
if more then nextdue = now else wakeup() end
reply[2], reply[4] = nextdue, held and 1 or 0
if more or held then ring(bell) end
return reply
