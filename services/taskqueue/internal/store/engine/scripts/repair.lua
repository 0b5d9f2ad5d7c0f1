#!lua flags=allow-oom
-- Removes a damaged job from the queue, unless it changed since it was observed. A finished job stays finished; a job
-- with a body becomes a dead letter, which operators can retry; of a job without a body, only the record is kept.
-- KEYS: those of lives, then as named here
-- ARGV: id, observed bits, new record ('': only the data about a running job is deleted), base of its flow, seconds
--       for which a record without a body is kept
-- Reply: 1 repaired, 0 it changed meanwhile
local lane, leases, results, stored = unpack(KEYS, 12, 15)
local id, observed, record, base, seconds = unpack(ARGV)
local bits, _, _, _, body, result, grave = look(id, lane, leases, results, stored)
if bits ~= tonumber(observed) then return 0 end
for _, known in ipairs({CRASHES, RENEWALS, CANCELS, INTENTS}) do redis.call('HDEL', known, id) end
if record == '' then return 1 end
unbury(id)
redis.call('ZREM', lane, id)
redis.call('ZREM', leases, id)
if result then
  redis.call('UNLINK', stored)
elseif body then
  local now = clock()
  redis.call('ZADD', DEAD, now, id)
  redis.call('ZADD', DEADFLOWS, now + base, id)
  redis.call('HSET', RECORDS, id, grave or record)
else
  keep(results, seconds, {id, grave or record})
end
return 1
