#!lua flags=allow-oom
-- Cancels jobs: waiting ones end now, with their callbacks; running ones get a durable cancel request.
-- KEYS: those of lives, then per job: lane, leases, result bucket, body; then bodies of callbacks
-- ARGV: number of jobs, number of callbacks, result seconds, 1: add to the archive queue, then per job: id, record;
--       then the callbacks
-- Reply per job: 0 not found, 1 cancelled (also when this very call was repeated), 2 cancel requested, 3 finished
--        before
local n, nc, seconds, archive = unpack(ARGV, 1, 4)
local now, families = clock(), children(11 + 4 * n, 4 + 2 * n, nc)
local reply, born = {}, {}
for i = 1, n do
  local lane, leases, results, body = unpack(KEYS, 8 + 4 * i, 11 + 4 * i)
  local id, record = unpack(ARGV, 3 + 2 * i, 4 + 2 * i)
  if redis.call('ZREM', lane, id) == 1 then
    reply[i] = 1
    keep(results, seconds, {id, record})
    redis.call('UNLINK', body)
    redis.call('HDEL', CRASHES, id)
    redis.call('HDEL', CANCELS, id)
    if archive == '1' then redis.call('RPUSH', ENDS, id) end
    push(born, families[i])
  elseif redis.call('ZSCORE', leases, id) then
    reply[i] = 2
    redis.call('HSETNX', CANCELS, id, string.format('%.0f', now))
  else
    local known = recordof(results, id)
    reply[i] = known == record and 1 or known and 3 or 0
  end
end
bear(now, born)
return reply
