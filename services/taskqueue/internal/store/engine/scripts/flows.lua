#!lua flags=no-writes
-- Lists the flows of a lane with at least a minimum number of jobs, and an evenly spread sample of them, in one step
-- per flow.
-- KEYS: lane
-- ARGV: minimum number of jobs, size of a sample, score to begin with, maximum number of steps
-- Reply: {score to continue from (-1: done), then per flow: flow, jobs, ids of the sample (a list)}
local lane, least, sample, from = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]
local reply = {-1}
for _ = 1, ARGV[4] do
  local id, score = first(lane, from, '+inf')
  if not id then return reply end
  local flow = math.floor(score / SPAN)
  local count = redis.call('ZCOUNT', lane, flow * SPAN, (flow + 1) * SPAN - 1)
  if count >= least then
    local rank, n, ids = redis.call('ZRANK', lane, id), math.min(count, sample), {}
    for i = 0, n - 1 do
      local at = rank + math.floor(i * count / n)
      ids[i + 1] = redis.call('ZRANGE', lane, at, at)[1]
    end
    push(reply, flow, count)
    push(reply, ids)
  end
  from = (flow + 1) * SPAN
end
reply[1] = from
return reply
