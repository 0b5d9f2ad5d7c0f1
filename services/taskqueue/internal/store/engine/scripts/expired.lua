#!lua flags=no-writes
-- Lists expired leases, with the token to compare when settling, and the evidence about each job.
-- KEYS: those of lives, then leases, claims whose replies were lost
-- ARGV: maximum number of leases
-- Reply: {now in ms, then per lease: id, token, crash counter, 1 each: renewed, cancel requested, send intended,
--        claim's reply lost}
local leases, lost = unpack(KEYS, 12, 13)
local now = clock()
local reply = {now}
local list = redis.call('ZRANGE', leases, '-inf', now * 1000 - 1, 'BYSCORE', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
for i = 1, #list, 2 do
  local id, token = list[i], tonumber(list[i + 1])
  push(reply, id, token)
  push(reply, tonumber(redis.call('HGET', CRASHES, id) or 0), redis.call('HEXISTS', RENEWALS, id))
  push(reply, redis.call('HEXISTS', CANCELS, id), redis.call('HEXISTS', INTENTS, id))
  push(reply, redis.call('ZSCORE', lost, string.format('%.0f', token)) and 1 or 0)
end
return reply
