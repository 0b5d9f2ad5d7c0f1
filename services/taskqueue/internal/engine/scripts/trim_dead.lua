#!lua flags=allow-oom
-- Forgets dead jobs that the caller has read, only where they are still the same death.
-- KEYS: 1 dead, 2 records of the dead, 3 dead by flow, then one body per job
-- ARGV: per job: id, observed score
-- Reply: how many went
local went = 0
for i = 1, #ARGV / 2 do
  local id = ARGV[2 * i - 1]
  local score = redis.call('ZSCORE', KEYS[1], id)
  if score and tonumber(score) == tonumber(ARGV[2 * i]) then
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZREM', KEYS[3], id)
    redis.call('HDEL', KEYS[2], id)
    redis.call('UNLINK', KEYS[3 + i])
    went = went + 1
  end
end
return went
