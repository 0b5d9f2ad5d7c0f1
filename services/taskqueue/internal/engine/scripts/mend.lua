#!lua flags=allow-oom
-- Takes a damaged job out of the queue, only while it still is what was observed. One that ended stays ended; one with a
-- body becomes a dead letter, for people to revive; of one without a body the record stays.
-- KEYS: 1 dead, 2 records of the dead, 3 crash counters, 4 renewals, 5 cancel requests, 6 send intents, 7 lane,
--       8 leases, 9 result bucket, 10 body, 11 dead by flow
-- ARGV: 1 id, 2 observed bits (see info), 3 record ('': only its traces are forgotten), 4 what its flow adds to a time,
--       5 result seconds
-- Reply: 1 mended, 0 it changed meanwhile
local id = ARGV[1]
local body, result = redis.call('EXISTS', KEYS[10]), redis.call('HEXISTS', KEYS[9], id)
local bits = 8 * body + 16 * result
if redis.call('ZSCORE', KEYS[7], id) then bits = bits + 1 end
if redis.call('ZSCORE', KEYS[8], id) then bits = bits + 2 end
if redis.call('ZSCORE', KEYS[1], id) then bits = bits + 4 end
for h = 2, 6 do bits = bits + 2 ^ (h + 3) * redis.call('HEXISTS', KEYS[h], id) end
if bits ~= tonumber(ARGV[2]) then return 0 end
for h = 3, 6 do redis.call('HDEL', KEYS[h], id) end
if ARGV[3] == '' then return 1 end
local record = redis.call('HGET', KEYS[2], id) or ARGV[3]
for _, k in ipairs({1, 7, 8, 11}) do redis.call('ZREM', KEYS[k], id) end
redis.call('HDEL', KEYS[2], id)
if result == 1 then
  redis.call('UNLINK', KEYS[10])
elseif body == 1 then
  local now = clock()
  redis.call('ZADD', KEYS[1], now, id)
  redis.call('ZADD', KEYS[11], now + ARGV[4], id)
  redis.call('HSET', KEYS[2], id, record)
else
  keep(KEYS[9], ARGV[5], {id, record})
end
return 1
