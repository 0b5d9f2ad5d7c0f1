#!lua
-- Revives failed jobs after a delay under their ids, each one completely or not at all.
-- KEYS: those of lives, then per job: lane, body, window (the body again: none), ring
-- ARGV: delay ms, then per job: id, new body, observed record, base of its flow
-- Reply per job: 0 not failed, 1 revived (also when this very call was repeated)
local due = clock() + ARGV[1]
local reply = {}
for i = 1, (#ARGV - 1) / 4 do
  local lane, stored, window, flows = unpack(KEYS, 8 + 4 * i, 11 + 4 * i)
  local id, body, observed, base = unpack(ARGV, 4 * i - 2, 4 * i + 1)
  if not redis.call('ZSCORE', DEAD, id) then
    reply[i] = redis.call('ZSCORE', lane, id) and redis.call('GET', stored) == body and 1 or 0
  elseif redis.call('HGET', RECORDS, id) ~= observed then
    reply[i] = 0
  else
    reply[i] = 1
    unbury(id)
    redis.call('SET', stored, body)
    redis.call('HDEL', CRASHES, id)
    await(lane, flows, id, due, base)
    if window ~= stored and redis.call('HGET', window, 'id') == id then redis.call('DEL', window) end
  end
end
return reply
