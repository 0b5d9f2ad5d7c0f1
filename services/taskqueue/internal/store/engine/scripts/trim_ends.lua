#!lua flags=allow-oom
-- Forgets the oldest ends after the caller has archived them, unless someone else forgot some since it read them.
-- KEYS: ends for the archive, how many were ever forgotten
-- ARGV: observed count of those, how many to forget
-- Reply: how many went
local ends, gone = unpack(KEYS)
local observed, most = unpack(ARGV)
if tonumber(redis.call('GET', gone) or 0) ~= tonumber(observed) then return 0 end
redis.call('LTRIM', ends, most, -1)
redis.call('INCRBY', gone, most)
return tonumber(most)
