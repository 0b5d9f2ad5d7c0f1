#!lua flags=no-writes
-- What exists of jobs, each in one consistent look: of the first ones, until their bodies are too many bytes for one call.
-- KEYS: 1 dead, 2 records of the dead, 3 crash counters, 4 renewals, 5 cancel requests, 6 send intents,
--       then per job: lane, leases, result bucket, body
-- ARGV: 1 most bytes of bodies (the first one always fits), then ids
-- Reply: {now ms, then per job: bits, score in the lane, token of the lease, record, body, claimed at ms (0 unless renewed)};
--        bits: 1 lane, 2 leased, 4 dead, 8 body, 16 result, 32 record of the dead, 64 crash counter, 128 renewal, 256 cancel
--        request, 512 send intent
local reply, bytes = {clock()}, 0
for i = 1, #ARGV - 1 do
  local id, k = ARGV[i + 1], 6 + (i - 1) * 4
  bytes = bytes + redis.call('STRLEN', KEYS[k + 4])
  if i > 1 and bytes > tonumber(ARGV[1]) then break end
  local bits = 4 * (redis.call('ZSCORE', KEYS[1], id) and 1 or 0)
  local score, token = redis.call('ZSCORE', KEYS[k + 1], id), redis.call('ZSCORE', KEYS[k + 2], id)
  local result, body = redis.call('HGET', KEYS[k + 3], id), redis.call('GET', KEYS[k + 4])
  local grave = redis.call('HGET', KEYS[2], id)
  for bit, is in pairs({[1] = score, [2] = token, [8] = body, [16] = result, [32] = grave}) do
    if is then bits = bits + bit end
  end
  for h = 3, 6 do bits = bits + 2 ^ (h + 3) * redis.call('HEXISTS', KEYS[h], id) end
  local r = #reply
  reply[r + 1] = bits
  reply[r + 2] = tonumber(score or 0)
  reply[r + 3] = tonumber(token or 0)
  reply[r + 4] = result or grave or ''
  reply[r + 5] = body or ''
  reply[r + 6] = tonumber(redis.call('HGET', KEYS[4], id) or 0)
end
return reply
