-- Counts one attempt of one subject. KEYS[1]: sorted set of the allowed attempts, scored by their time. ARGV: limit,
-- window in microseconds.
-- Returns {1, further attempts allowed} or {0, microseconds until the next attempt is allowed}.
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- Times of a subject only increase, so that each is a unique member, even after a failover to a replica with a slower
-- clock. A time beyond the window comes from a wrong clock; counting from it would lock the subject until then.
local newest = redis.call('ZREVRANGE', KEYS[1], 0, 0)[1]
if newest and tonumber(newest) > now + window then
  redis.call('DEL', KEYS[1])
elseif newest and tonumber(newest) >= now then
  now = tonumber(newest) + 1
end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window))
local passed = redis.call('ZCARD', KEYS[1])
if passed >= limit then
  local oldest = redis.call('ZRANGE', KEYS[1], passed - limit, passed - limit)[1]
  return {0, tonumber(oldest) + window - now}
end
local stamp = string.format('%.0f', now)
redis.call('ZADD', KEYS[1], stamp, stamp)
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', window / 1000 + 1000))
return {1, limit - passed - 1}
