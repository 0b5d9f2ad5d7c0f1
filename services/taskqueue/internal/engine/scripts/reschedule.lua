#!lua flags=allow-oom
-- Moves a waiting job to another time; nothing but its score changes.
-- KEYS: 1 lane, 2 leases, 3 result bucket, 4 bell, 5 records of the dead
-- ARGV: 1 id, 2 due ms, 3 ring when due within ms
-- Reply: 0 not found, 1 moved, 2 running or finished
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local due = tonumber(ARGV[2])
if due < now then due = now end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  redis.call('ZADD', KEYS[1], 'XX', due, ARGV[1])
  if due <= now + tonumber(ARGV[3]) and redis.call('LLEN', KEYS[4]) == 0 then redis.call('RPUSH', KEYS[4], '1') end
  return 1
end
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 2 end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) + redis.call('HEXISTS', KEYS[5], ARGV[1]) > 0 then return 2 end
return 0
