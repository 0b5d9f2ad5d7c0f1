#!lua flags=allow-oom
-- Moves a waiting job to another time, within its flow. Its body and its window get the new time as well.
-- KEYS: those of lives, then as named here; window is the body's key when there is none
-- ARGV: id, due ms, ms within which a due job causes a wake-up, observed body, new body, window slack ms
-- Reply: 0 not found, 1 moved, 2 running or finished, 3 the body is not the observed one
local lane, flows, leases, bell, results, body, window = unpack(KEYS, 12, 18)
local id, due, soon, observed, changed, slack = unpack(ARGV)
local now = clock()
due = math.max(due, now)
local score = tonumber(redis.call('ZSCORE', lane, id) or nil)
if not score then return (redis.call('ZSCORE', leases, id) or recordof(results, id)) and 2 or 0 end
local stored = redis.call('GET', body)
if stored ~= observed and stored ~= changed then return 3 end
redis.call('SET', body, changed)
await(lane, flows, id, due, baseof(math.floor(score / SPAN)))
if window ~= body and redis.call('HGET', window, 'id') == id then
  redis.call('PEXPIREAT', window, string.format('%.0f', due + slack))
end
if due <= now + soon then ring(bell) end
return 1
