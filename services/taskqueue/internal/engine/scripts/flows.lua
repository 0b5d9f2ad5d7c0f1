#!lua flags=no-writes
-- Lists the flows of a lane that have many jobs, with some of the jobs, evenly spread; a step for each flow.
-- KEYS: 1 lane
-- ARGV: 1 least jobs, 2 sample, 3 score to begin with, 4 most steps
-- Reply: {score to go on from (-1: done), then per flow: flow, jobs, ids of the sample (a list)}
local reply, from = {-1}, tonumber(ARGV[3])
for _ = 1, tonumber(ARGV[4]) do
  local head = redis.call('ZRANGE', KEYS[1], from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  if not head[2] then return reply end
  local flow = math.floor(tonumber(head[2]) / SPAN)
  local count = redis.call('ZCOUNT', KEYS[1], flow * SPAN, (flow + 1) * SPAN - 1)
  if count >= tonumber(ARGV[1]) then
    local rank, ids = redis.call('ZRANK', KEYS[1], head[1]), {}
    local n = math.min(count, tonumber(ARGV[2]))
    for i = 0, n - 1 do
      local at = rank + math.floor(i * count / n)
      ids[i + 1] = redis.call('ZRANGE', KEYS[1], at, at)[1]
    end
    reply[#reply + 1] = flow
    reply[#reply + 1] = count
    reply[#reply + 1] = ids
  end
  from = (flow + 1) * SPAN
end
reply[1] = from
return reply
