#!lua flags=allow-oom
-- Deletes dead letters that the caller has read, unless they were retried since.
-- KEYS: those of lives, then one body per job
-- ARGV: per job: id, observed score
-- Reply: number of deleted ones
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
