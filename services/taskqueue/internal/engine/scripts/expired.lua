#!lua flags=no-writes
-- Lists leases that ran out, with the token to compare when they are settled, and what is known of each job.
-- KEYS: 1 leases, 2 crash counters, 3 renewals, 4 cancel requests, 5 send intents, 6 claims whose answers got lost
-- ARGV: 1 most
-- Reply: {now ms, id, token, crash counter, renewed, cancel, intent, never seen ...}
local now = clock()
local reply = {now}
local ids = redis.call('ZRANGE', KEYS[1], '-inf', now * 1000 - 1, 'BYSCORE', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
for i = 1, #ids, 2 do
  local id = ids[i]
  reply[#reply + 1] = id
  reply[#reply + 1] = tonumber(ids[i + 1])
  reply[#reply + 1] = tonumber(redis.call('HGET', KEYS[2], id) or 0)
  reply[#reply + 1] = redis.call('HEXISTS', KEYS[3], id)
  reply[#reply + 1] = redis.call('HEXISTS', KEYS[4], id)
  reply[#reply + 1] = redis.call('HEXISTS', KEYS[5], id)
  reply[#reply + 1] = redis.call('ZSCORE', KEYS[6], string.format('%.0f', tonumber(ids[i + 1]))) and 1 or 0
end
return reply
