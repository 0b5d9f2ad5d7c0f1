#!lua flags=no-writes
-- Counts the jobs of a shard, with one step for each flow that may have ready jobs.
-- KEYS: dead letters, archive queue, n lanes, their n rings, then per lane: leases and counts of its channel
-- ARGV: per lane: its priority
-- Reply: dead letters, length of the archive queue, then per lane: jobs, ready jobs, age in ms of the oldest ready
--        job, running jobs of the channel, jobs ever claimed, attempts of the channel ever, failed ones
local now, n, reply = clock(), #ARGV, {redis.call('ZCARD', KEYS[1]), redis.call('LLEN', KEYS[2])}
for l = 1, n do
  local lane, flows, leases, counts = KEYS[2 + l], KEYS[2 + n + l], KEYS[1 + 2 * n + 2 * l], KEYS[2 + 2 * n + 2 * l]
  local age, ready = 0, 0
  for _, text in ipairs(redis.call('ZRANGE', flows, '-inf', now, 'BYSCORE')) do
    local low, base = text * SPAN, baseof(tonumber(text))
    local id, score = first(lane, low, base + now)
    if id then
      ready = ready + redis.call('ZCOUNT', lane, low, base + now)
      age = math.max(age, base + now - score)
    end
  end
  local begun, attempts, faults = unpack(redis.call('HMGET', counts, ARGV[l], 'attempts', 'faults'))
  push(reply, redis.call('ZCARD', lane), ready)
  push(reply, age, redis.call('ZCARD', leases))
  push(reply, tonumber(begun or 0), tonumber(attempts or 0))
  push(reply, tonumber(faults or 0))
end
return reply
