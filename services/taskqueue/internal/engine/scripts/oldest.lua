#!lua flags=no-writes
-- Tells of each lane since when its oldest ready job is due, and how many are ready; a step for each flow that may have some.
-- KEYS: n lanes, then their n rings
-- Reply: {now ms, then per lane: due ms of the oldest ready job (-1: none), ready jobs}
local now = clock()
local reply, n = {now}, #KEYS / 2
for l = 1, n do
  local oldest, ready = -1, 0
  for _, text in ipairs(redis.call('ZRANGE', KEYS[n + l], '-inf', now, 'BYSCORE')) do
    local flow = tonumber(text)
    local base = baseof(flow)
    local id, score = first(KEYS[l], flow * SPAN, base + now)
    if id then
      ready = ready + redis.call('ZCOUNT', KEYS[l], flow * SPAN, base + now)
      if oldest < 0 or score - base < oldest then oldest = score - base end
    end
  end
  push(reply, oldest, ready)
end
return reply
