#!lua flags=allow-oom
-- Forgets dead jobs that the caller has read, only where they are still the same death.
-- KEYS: those of lives, then one body per job
-- ARGV: per job: id, observed score
-- Reply: how many went
local went = 0
for i = 1, #ARGV / 2 do
  local id, died = unpack(ARGV, 2 * i - 1, 2 * i)
  if tonumber(redis.call('ZSCORE', DEAD, id) or nil) == tonumber(died) then
    unbury(id)
    redis.call('UNLINK', KEYS[11 + i])
    went = went + 1
  end
end
return went
