#!lua flags=allow-oom
-- Compares the ready indexes with the jobs in the lanes, from a cursor on, in one step for each flow. A flow that is
-- missing in its index, or listed there for too late a time, is not claimed in time.
-- KEYS: n lanes, then their n ready indexes
-- ARGV: lane to begin with, score to begin with, maximum number of steps, 1: add what is missing
-- Reply: {lane and score to continue from, flows that were missing}; lane 0: done
local n, l, from, unlisted = #KEYS / 2, tonumber(ARGV[1]), ARGV[2], 0
for _ = 1, ARGV[3] do
  local id, score = first(KEYS[l], from, '+inf')
  if id then
    local flow = math.floor(score / SPAN)
    local due, listed = score - baseof(flow), redis.call('ZSCORE', KEYS[n + l], flow)
    if not listed or tonumber(listed) > due then
      unlisted = unlisted + 1
      if ARGV[4] == '1' then redis.call('ZADD', KEYS[n + l], 'LT', due, flow) end
    end
    from = (flow + 1) * SPAN
  else
    l, from = l + 1, 0
    if l > n then return {0, 0, unlisted} end
  end
end
return {l, tonumber(from), unlisted}
