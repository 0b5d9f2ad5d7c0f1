#!lua
-- Revives failed jobs after a delay, keeping their ids; each one wholly or not at all.
-- KEYS: 1 dead, 2 records of the dead, 3 crash counters, 4 dead by flow, then per job: lane, body, window (the body again: none), ring
-- ARGV: 1 delay ms, then per job: id, new body, observed record, what its flow adds to a due time
-- Reply per job: 0 not failed, 1 revived (also when this very call had done it before)
local due = clock() + ARGV[1]
local reply = {}
for i = 1, (#ARGV - 1) / 4 do
  local k, a = 4 * i, 4 * i - 3
  local id, body = ARGV[a + 1], ARGV[a + 2]
  local lane, stored, window = KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
  if not redis.call('ZSCORE', KEYS[1], id) then
    reply[i] = redis.call('ZSCORE', lane, id) and redis.call('GET', stored) == body and 1 or 0
  elseif redis.call('HGET', KEYS[2], id) ~= ARGV[a + 3] then
    reply[i] = 0
  else
    reply[i] = 1
    redis.call('SET', stored, body)
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZREM', KEYS[4], id)
    redis.call('HDEL', KEYS[2], id)
    redis.call('HDEL', KEYS[3], id)
    await(lane, KEYS[k + 4], id, due, ARGV[a + 4])
    if window ~= stored and redis.call('HGET', window, 'id') == id then redis.call('DEL', window) end
  end
end
return reply
