#!lua flags=allow-oom
-- Cancels jobs of one channel group: waiting ones end now with their callbacks, running ones get a durable request.
-- KEYS: 1 cancel requests, 2 crash counters, 3 callback bell, 4 callback lane, 5 records of the dead,
--       6 ends for the archive, 7 ring of callbacks, then per job: lane, leases, result bucket, body; then callback bodies
-- ARGV: 1 n, 2 nc, 3 result seconds, 4 keep ends for the archive,
--       then per job: id, record; then per callback: job number, id, body, what its flow adds to a due time
-- Reply per job: 0 not found, 1 cancelled, 2 cancel requested, 3 finished before
local n, nc = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = clock()
local reply = {}
for i = 1, n do
  local id, record = ARGV[3 + 2 * i], ARGV[4 + 2 * i]
  local k = 7 + (i - 1) * 4
  if redis.call('ZREM', KEYS[k + 1], id) == 1 then
    reply[i] = 1
    keep(KEYS[k + 3], ARGV[3], {id, record})
    redis.call('UNLINK', KEYS[k + 4])
    redis.call('HDEL', KEYS[2], id)
    redis.call('HDEL', KEYS[1], id)
    if ARGV[4] == '1' then redis.call('RPUSH', KEYS[6], id) end
  elseif redis.call('ZSCORE', KEYS[k + 2], id) then
    reply[i] = 2
    redis.call('HSETNX', KEYS[1], id, string.format('%.0f', now))
  else
    local known = redis.call('HGET', KEYS[k + 3], id) or redis.call('HGET', KEYS[5], id)
    reply[i] = known and 3 or 0
    if known == record then reply[i] = -1 end
  end
end
local rang = false
for c = 1, nc do
  local a = 4 + 2 * n + (c - 1) * 4
  if reply[tonumber(ARGV[a + 1])] == 1 then
    redis.call('SET', KEYS[7 + 4 * n + c], ARGV[a + 3])
    await(KEYS[4], KEYS[7], ARGV[a + 2], now, ARGV[a + 4])
    rang = true
  end
end
if rang then ring(KEYS[3]) end
for i = 1, n do
  if reply[i] == -1 then reply[i] = 1 end
end
return reply
