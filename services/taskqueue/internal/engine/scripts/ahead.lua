#!lua flags=no-writes
-- Counts the jobs of a lane that are not due yet by the hour in which they are; a step for each flow and hour that has
-- some.
-- KEYS: 1 lane
-- ARGV: 1 ms at which the first hour begins, 2 hours, 3 most steps, 4 score to go on from
-- Reply: {score to go on from (-1: done), jobs after the last hour, then per step: hour, jobs}
local HOUR = 3600000
local now = clock()
local first, from, later = tonumber(ARGV[1]), tonumber(ARGV[4]), 0
local over = first + tonumber(ARGV[2]) * HOUR
local reply = {-1, 0}
for _ = 1, tonumber(ARGV[3]) do
  local head = redis.call('ZRANGE', KEYS[1], from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  if not head[2] then
    reply[2] = later
    return reply
  end
  local score = tonumber(head[2])
  local flow = math.floor(score / SPAN)
  local base = baseof(flow)
  local due = score - base
  if due <= now then
    from = base + now + 1
  elseif due >= over then
    from = (flow + 1) * SPAN
    later = later + redis.call('ZCOUNT', KEYS[1], score, from - 1)
  else
    local hour = math.max(0, math.floor((due - first) / HOUR))
    from = base + first + (hour + 1) * HOUR
    reply[#reply + 1] = hour
    reply[#reply + 1] = redis.call('ZCOUNT', KEYS[1], score, from - 1)
  end
end
reply[1], reply[2] = from, later
return reply
