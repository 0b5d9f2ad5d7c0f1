#!lua flags=no-writes
-- Counts the scheduled jobs of a lane by the hour in which they are due, with one step per flow and hour with jobs.
-- KEYS: lane
-- ARGV: start of the first hour in ms, number of hours, maximum number of steps, score to continue from
-- Reply: {score to continue from (-1: done), jobs after the last hour, then per step: hour, jobs}
local HOUR = 3600000
local begins, hours, steps, from = unpack(ARGV)
local lane, now, over = KEYS[1], clock(), begins + hours * HOUR
local reply = {-1, 0}
for _ = 1, steps do
  local id, score = first(lane, from, '+inf')
  if not id then return reply end
  local flow = math.floor(score / SPAN)
  local base = baseof(flow)
  local due = score - base
  if due <= now then
    from = base + now + 1
  elseif due >= over then
    from = (flow + 1) * SPAN
    reply[2] = reply[2] + redis.call('ZCOUNT', lane, score, from - 1)
  else
    local hour = math.max(0, math.floor((due - begins) / HOUR))
    from = base + begins + (hour + 1) * HOUR
    push(reply, hour, redis.call('ZCOUNT', lane, score, from - 1))
  end
end
reply[1] = from
return reply
