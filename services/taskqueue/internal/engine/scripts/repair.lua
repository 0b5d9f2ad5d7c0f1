#!lua flags=allow-oom
-- Mends one job, only while it still is what was observed.
-- KEYS: 1 dead, 2 records of the dead, 3 crash counters, 4 renewals, 5 cancel requests, 6 send intents, 7 lane,
--       8 leases, 9 result bucket, 10 body, 11 dead by flow
-- ARGV: 1 id, 2 observed bits (see inspect), 3 steps, 4 record, 5 lease ms, 6 result seconds
-- steps, in order: l a d b remove it from the lane, the leases, the dead, the bodies; h forget the record of the dead;
--       r store the record as a result; g dead-letter it, with the record; m make the record of the dead a result;
--       t forget traces; s shorten the lease
-- Reply: 1 mended, 0 it changed meanwhile
local id = ARGV[1]
local bits = 0
if redis.call('ZSCORE', KEYS[7], id) then bits = bits + 1 end
if redis.call('ZSCORE', KEYS[8], id) then bits = bits + 2 end
if redis.call('ZSCORE', KEYS[1], id) then bits = bits + 4 end
bits = bits + 8 * redis.call('EXISTS', KEYS[10])
bits = bits + 16 * redis.call('HEXISTS', KEYS[9], id)
for h = 2, 6 do bits = bits + 2 ^ (h + 3) * redis.call('HEXISTS', KEYS[h], id) end
if bits ~= tonumber(ARGV[2]) then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function result(record)
  redis.call('HSET', KEYS[9], id, record)
  redis.call('EXPIRE', KEYS[9], ARGV[6], 'NX')
  redis.call('EXPIRE', KEYS[9], ARGV[6], 'GT')
end
for step in string.gmatch(ARGV[3], '.') do
  if step == 'l' then redis.call('ZREM', KEYS[7], id) end
  if step == 'a' then redis.call('ZREM', KEYS[8], id) end
  if step == 'd' then
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZREM', KEYS[11], id)
  end
  if step == 'b' then redis.call('UNLINK', KEYS[10]) end
  if step == 'h' then redis.call('HDEL', KEYS[2], id) end
  if step == 'r' then result(ARGV[4]) end
  if step == 'g' then
    redis.call('ZADD', KEYS[1], now, id)
    redis.call('HSET', KEYS[2], id, ARGV[4])
  end
  if step == 'm' then
    result(redis.call('HGET', KEYS[2], id))
    redis.call('HDEL', KEYS[2], id)
  end
  if step == 't' then
    for h = 3, 6 do redis.call('HDEL', KEYS[h], id) end
  end
  if step == 's' then redis.call('ZADD', KEYS[8], 'XX', (now + tonumber(ARGV[5])) * 1000, id) end
end
return 1
