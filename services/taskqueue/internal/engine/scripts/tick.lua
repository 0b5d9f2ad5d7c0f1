#!lua
-- Replaces the definition of a periodic job, and gives birth to the job of its tick, unless the definition changed.
-- KEYS: 1 definitions, then with a job: 2 lane, 3 bell, 4 counters, 5 body
-- ARGV: 1 key, 2 observed definition ('': none), 3 new one ('': none any more), 4 counter seconds, then with a job: 5 id,
--       6 body, 7 due ms, 8 what its flow adds to the due time
-- Reply: 0 it changed, 1 done (also when this very call had done it before)
local known = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if known ~= ARGV[2] then return known == ARGV[3] and 1 or 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
if #KEYS > 1 then
  redis.call('SET', KEYS[5], ARGV[6])
  redis.call('ZADD', KEYS[2], ARGV[7] + ARGV[8], ARGV[5])
  if redis.call('LLEN', KEYS[3]) == 0 then redis.call('RPUSH', KEYS[3], '1') end
  redis.call('HINCRBY', KEYS[4], 'ticks', 1)
  redis.call('EXPIRE', KEYS[4], ARGV[4], 'NX')
end
return 1
