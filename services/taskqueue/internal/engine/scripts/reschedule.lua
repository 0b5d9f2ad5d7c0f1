#!lua flags=allow-oom
-- Moves a waiting job to another time; nothing but its score changes, which stays in its flow (see claim).
-- KEYS: 1 lane, 2 leases, 3 result bucket, 4 bell, 5 records of the dead
-- ARGV: 1 id, 2 due ms, 3 ring when due within ms
-- Reply: 0 not found, 1 moved, 2 running or finished
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local due = tonumber(ARGV[2])
if due < now then due = now end
local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or nil)
if score then
  local flow = math.floor(score / 2 ^ 41)
  local base = flow > 0 and flow * 2 ^ 41 - 1577836800000 or 0
  redis.call('ZADD', KEYS[1], 'XX', due + base, ARGV[1])
  if due <= now + tonumber(ARGV[3]) and redis.call('LLEN', KEYS[4]) == 0 then redis.call('RPUSH', KEYS[4], '1') end
  return 1
end
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 2 end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) + redis.call('HEXISTS', KEYS[5], ARGV[1]) > 0 then return 2 end
return 0
