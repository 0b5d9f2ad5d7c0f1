#!lua flags=no-writes
-- Returns where jobs are stored and their data, each job consistently. It may return only the first jobs if the bodies
-- are too large for one call.
-- KEYS: those of lives, then per job: lane, leases, result bucket, body
-- ARGV: maximum bytes of bodies (the first one always fits), then ids
-- Reply: {now in ms, then per job: its bits, score in the lane, token of the lease, record, body, claimed at ms (0
--        unless renewed)}
local reply, bytes = {clock()}, 0
for i = 1, #ARGV - 1 do
  local lane, leases, results, stored = unpack(KEYS, 8 + 4 * i, 11 + 4 * i)
  bytes = bytes + redis.call('STRLEN', stored)
  if i > 1 and bytes > tonumber(ARGV[1]) then break end
  local bits, score, token, _, body, result, grave, _, claimed = look(ARGV[i + 1], lane, leases, results, stored)
  push(reply, bits, tonumber(score or 0))
  push(reply, tonumber(token or 0), result or grave or '')
  push(reply, body or '', tonumber(claimed or 0))
end
return reply
