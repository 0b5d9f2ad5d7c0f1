#!lua
-- Replaces the definition of a periodic job, and gives birth to the job of its tick, unless the definition changed.
-- KEYS: 1 definitions, then with a job: 2 lane, 3 bell, 4 body
-- ARGV: 1 key, 2 observed definition ('': none), 3 new one ('': none any more), then with a job: 4 id, 5 body,
--       6 due ms, 7 what its flow adds to the due time
-- Reply: 0 it changed, 1 done (also when this very call had done it before)
local known = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if known ~= ARGV[2] then
  if known ~= ARGV[3] then return 0 end
  if known ~= '' then redis.call('HSET', KEYS[1], ARGV[1], known) end -- a write, so that WAIT after it waits for the tick
  return 1
end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
if #KEYS > 1 then
  redis.call('SET', KEYS[4], ARGV[5])
  redis.call('ZADD', KEYS[2], ARGV[6] + ARGV[7], ARGV[4])
  if redis.call('LLEN', KEYS[3]) == 0 then redis.call('RPUSH', KEYS[3], '1') end
end
return 1
