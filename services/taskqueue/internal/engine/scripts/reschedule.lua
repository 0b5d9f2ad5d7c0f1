#!lua flags=allow-oom
-- Moves a waiting job to another time, within its flow (see claim); its body tells the time, its window lives on.
-- KEYS: 1 lane, 2 leases, 3 result bucket, 4 bell, 5 records of the dead, 6 body, 7 window (the body again: none),
--       8 ring (see claim)
-- ARGV: 1 id, 2 due ms, 3 ring when due within ms, 4 observed body, 5 new body, 6 window slack ms
-- Reply: 0 not found, 1 moved, 2 running or finished, 3 the body is not the observed one
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local due = tonumber(ARGV[2])
if due < now then due = now end
local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or nil)
if score then
  local body = redis.call('GET', KEYS[6])
  if body ~= ARGV[4] and body ~= ARGV[5] then return 3 end
  local flow = math.floor(score / 2 ^ 41)
  local base = flow > 0 and flow * 2 ^ 41 - 1577836800000 or 0
  redis.call('SET', KEYS[6], ARGV[5])
  redis.call('ZADD', KEYS[1], 'XX', due + base, ARGV[1])
  redis.call('ZADD', KEYS[8], 'LT', due, flow)
  if KEYS[7] ~= KEYS[6] and redis.call('HGET', KEYS[7], 'id') == ARGV[1] then
    redis.call('PEXPIREAT', KEYS[7], string.format('%.0f', due + tonumber(ARGV[6])))
  end
  if due <= now + tonumber(ARGV[3]) and redis.call('LLEN', KEYS[4]) == 0 then redis.call('RPUSH', KEYS[4], '1') end
  return 1
end
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 2 end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) + redis.call('HEXISTS', KEYS[5], ARGV[1]) > 0 then return 2 end
return 0
