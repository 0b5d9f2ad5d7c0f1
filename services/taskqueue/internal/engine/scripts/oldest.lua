#!lua flags=no-writes
-- Tells the earliest due time of each lane; a step for each flow that waits (see claim).
-- KEYS: lanes
-- Reply: {now ms, then per lane: earliest due ms (-1: empty)}
local SPAN, EPOCH = 2 ^ 41, 1577836800000
local t = redis.call('TIME')
local reply = {t[1] * 1000 + math.floor(t[2] / 1000)}
for l = 1, #KEYS do
  local earliest, from = -1, 0
  repeat
    local head = redis.call('ZRANGE', KEYS[l], from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if head[2] then
      local score = tonumber(head[2])
      local flow = math.floor(score / SPAN)
      local due = flow > 0 and score - flow * SPAN + EPOCH or score
      if earliest < 0 or due < earliest then earliest = due end
      from = (flow + 1) * SPAN
    end
  until not head[2]
  reply[l + 1] = earliest
end
return reply
