#!lua
-- Revives a failed job after a delay, keeping its id.
-- KEYS: 1 dead, 2 lane, 3 records of the dead, 4 body, 5 crash counters, 6 counters
-- ARGV: 1 id, 2 new body, 3 delay ms, 4 observed record, 5 counter seconds, 6 what its flow adds to a due time
-- Reply: 0 not failed, 1 revived (also when this very call had done it before)
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  if redis.call('ZSCORE', KEYS[2], ARGV[1]) and redis.call('GET', KEYS[4]) == ARGV[2] then return 1 end
  return 0
end
if redis.call('HGET', KEYS[3], ARGV[1]) ~= ARGV[4] then return 0 end
redis.call('SET', KEYS[4], ARGV[2])
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[5], ARGV[1])
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[3]) + tonumber(ARGV[6]), ARGV[1])
redis.call('HINCRBY', KEYS[6], 'revived', 1)
redis.call('EXPIRE', KEYS[6], ARGV[5], 'NX')
return 1
