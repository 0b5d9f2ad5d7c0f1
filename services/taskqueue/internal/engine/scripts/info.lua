#!lua flags=no-writes
-- Where jobs are, each in one consistent look: of the first ones, until their bodies are too many bytes for one call.
-- KEYS: 1 renewals, 2 cancel requests, 3 records of the dead, then per job: lane, leases, result bucket, body
-- ARGV: 1 most bytes of bodies (the first one always fits), then ids
-- Reply: {now ms, then per job: place (0 none, 1 lane, 2 leased, 3 result), score, record, body, claimed at ms (0 unless renewed), cancel requested}
local reply, bytes = {clock()}, 0
for i = 1, #ARGV - 1 do
  local id, k = ARGV[i + 1], 3 + (i - 1) * 4
  bytes = bytes + redis.call('STRLEN', KEYS[k + 4])
  if i > 1 and bytes > tonumber(ARGV[1]) then break end
  local place, score = 0, redis.call('ZSCORE', KEYS[k + 1], id)
  if score then place = 1 end
  if place == 0 then
    score = redis.call('ZSCORE', KEYS[k + 2], id)
    if score then place = 2 end
  end
  local record = ''
  if place == 0 then
    record = redis.call('HGET', KEYS[k + 3], id) or redis.call('HGET', KEYS[3], id) or ''
    if record ~= '' then place = 3 end
  end
  local r = #reply
  reply[r + 1] = place
  reply[r + 2] = score and tonumber(score) or 0
  reply[r + 3] = record
  reply[r + 4] = redis.call('GET', KEYS[k + 4]) or ''
  reply[r + 5] = tonumber(redis.call('HGET', KEYS[1], id) or 0)
  reply[r + 6] = redis.call('HEXISTS', KEYS[2], id)
end
return reply
