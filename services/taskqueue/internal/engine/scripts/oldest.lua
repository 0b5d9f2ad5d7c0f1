#!lua flags=no-writes
-- Tells the earliest due time of each lane and how many of its jobs are due; a step for each flow that waits (see claim).
-- KEYS: lanes
-- Reply: {now ms, then per lane: earliest due ms (-1: empty), due jobs}
local SPAN, EPOCH = 2 ^ 41, 1577836800000
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local reply = {now}
for l = 1, #KEYS do
  local earliest, from, ready = -1, 0, 0
  repeat
    local head = redis.call('ZRANGE', KEYS[l], from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if head[2] then
      local score = tonumber(head[2])
      local flow = math.floor(score / SPAN)
      local base = flow > 0 and flow * SPAN - EPOCH or 0
      local due = score - base
      if due <= now then ready = ready + redis.call('ZCOUNT', KEYS[l], flow * SPAN, base + now) end
      if earliest < 0 or due < earliest then earliest = due end
      from = (flow + 1) * SPAN
    end
  until not head[2]
  reply[2 * l], reply[2 * l + 1] = earliest, ready
end
return reply
