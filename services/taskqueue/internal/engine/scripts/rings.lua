#!lua flags=allow-oom
-- Puts into the rings what waits in the lanes, from a place on, a step for each flow: jobs that a previous version
-- enqueued are in no ring, and a flow that is missing there would wait for ever.
-- KEYS: n lanes, then their n rings
-- ARGV: lane to begin with, score to begin with, most steps
-- Reply: {lane and score to go on from}; lane 0: all are done
local n, l, from = #KEYS / 2, tonumber(ARGV[1]), ARGV[2]
for _ = 1, ARGV[3] do
  local id, score = first(KEYS[l], from, '+inf')
  if id then
    local flow = math.floor(score / SPAN)
    redis.call('ZADD', KEYS[n + l], 'LT', score - baseof(flow), flow)
    from = (flow + 1) * SPAN
  else
    l, from = l + 1, 0
    if l > n then return {0, 0} end
  end
end
return {l, tonumber(from)}
