#!lua flags=no-writes
-- Lists leases that ran out, with the token to compare when they are settled, and what is known of each job.
-- KEYS: those of lives, then leases, claims whose answers got lost
-- ARGV: most
-- Reply: {now ms, id, token, crash counter, renewed, cancel, intent, never seen ...}
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
