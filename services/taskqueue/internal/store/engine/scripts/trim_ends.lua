#!lua flags=allow-oom
-- Removes the oldest jobs from the archive queue after the caller has archived them, unless another process removed
-- some since the caller read them.
-- KEYS: archive queue, number of jobs ever removed
-- ARGV: observed number of removed jobs, number of jobs to remove
-- Reply: number of removed jobs
local ends, gone = unpack(KEYS)
local observed, most = unpack(ARGV)
if tonumber(redis.call('GET', gone) or 0) ~= tonumber(observed) then return 0 end
redis.call('LTRIM', ends, most, -1)
redis.call('INCRBY', gone, most)
return tonumber(most)
