#!lua flags=no-writes
-- What exists of jobs, in one consistent look; for the auditor.
-- KEYS: 1 dead, 2 records of the dead, 3 crash counters, 4 renewals, 5 cancel requests, 6 send intents,
--       then per job: lane, leases, result bucket, body
-- ARGV: ids
-- Reply: {now ms, then per job: bits, lease token (0 none)}; bits: 1 lane, 2 leased, 4 dead, 8 body, 16 result,
--        32 record of the dead, 64 crash counter, 128 renewal, 256 cancel request, 512 send intent
local reply = {clock()}
for i = 1, #ARGV do
  local id, k = ARGV[i], 6 + (i - 1) * 4
  local bits = 0
  if redis.call('ZSCORE', KEYS[k + 1], id) then bits = bits + 1 end
  local token = redis.call('ZSCORE', KEYS[k + 2], id)
  if token then bits = bits + 2 end
  if redis.call('ZSCORE', KEYS[1], id) then bits = bits + 4 end
  bits = bits + 8 * redis.call('EXISTS', KEYS[k + 4])
  bits = bits + 16 * redis.call('HEXISTS', KEYS[k + 3], id)
  for h = 2, 6 do bits = bits + 2 ^ (h + 3) * redis.call('HEXISTS', KEYS[h], id) end
  reply[#reply + 1] = bits
  reply[#reply + 1] = token and tonumber(token) or 0
end
return reply
