#!lua flags=allow-oom
-- Gives a job that ended as unknown the end that an operator found out: sent, which finishes it, or not sent, which
-- leaves it among the dead for a retry. Its callbacks are born with the change.
-- KEYS: 1 dead, 2 records of the dead, 3 result bucket, 4 body, 5 callback bell, 6 callback lane, 7 ends for the archive,
--       8 ring of callbacks, 9 dead by flow, then callback bodies
-- ARGV: 1 id, 2 observed record, 3 new record, 4 sent, 5 result seconds, 6 keep ends for the archive,
--       then per callback: id, body, what its flow adds to a due time
-- Reply: 0 it is not what was observed, 1 resolved (also when this very call had done it before)
local id = ARGV[1]
local known = redis.call('HGET', KEYS[2], id)
if known ~= ARGV[2] then
  local now = known or redis.call('HGET', KEYS[3], id)
  return now == ARGV[3] and 1 or 0
end
if ARGV[4] == '1' then
  redis.call('HDEL', KEYS[2], id)
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZREM', KEYS[9], id)
  redis.call('UNLINK', KEYS[4])
  keep(KEYS[3], ARGV[5], {id, ARGV[3]})
else
  redis.call('HSET', KEYS[2], id, ARGV[3])
end
if ARGV[6] == '1' then redis.call('RPUSH', KEYS[7], id) end
local now = clock()
for a = 7, #ARGV, 3 do
  redis.call('SET', KEYS[10 + (a - 7) / 3], ARGV[a + 1])
  await(KEYS[6], KEYS[8], ARGV[a], now, ARGV[a + 2])
end
if #ARGV > 6 then ring(KEYS[5]) end
return 1
