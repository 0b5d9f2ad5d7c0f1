#!lua flags=allow-oom
-- Moves a waiting job to another time, within its flow; its body tells the time, its window lives on.
-- KEYS: 1 lane, 2 leases, 3 result bucket, 4 bell, 5 records of the dead, 6 body, 7 window (the body again: none),
--       8 ring
-- ARGV: 1 id, 2 due ms, 3 ring when due within ms, 4 observed body, 5 new body, 6 window slack ms
-- Reply: 0 not found, 1 moved, 2 running or finished, 3 the body is not the observed one
local now = clock()
local due = tonumber(ARGV[2])
if due < now then due = now end
local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or nil)
if score then
  local body = redis.call('GET', KEYS[6])
  if body ~= ARGV[4] and body ~= ARGV[5] then return 3 end
  redis.call('SET', KEYS[6], ARGV[5])
  await(KEYS[1], KEYS[8], ARGV[1], due, baseof(math.floor(score / SPAN)))
  if KEYS[7] ~= KEYS[6] and redis.call('HGET', KEYS[7], 'id') == ARGV[1] then
    redis.call('PEXPIREAT', KEYS[7], string.format('%.0f', due + tonumber(ARGV[6])))
  end
  if due <= now + tonumber(ARGV[3]) then ring(KEYS[4]) end
  return 1
end
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 2 end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) + redis.call('HEXISTS', KEYS[5], ARGV[1]) > 0 then return 2 end
return 0
