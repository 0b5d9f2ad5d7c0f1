#!lua flags=allow-oom
-- Forgets the oldest ends after the caller has archived them, unless somebody else forgot some since it read them.
-- KEYS: 1 ends for the archive, 2 how many were ever forgotten
-- ARGV: 1 observed count of KEYS[2], 2 how many to forget
-- Reply: how many went
if tonumber(redis.call('GET', KEYS[2]) or 0) ~= tonumber(ARGV[1]) then return 0 end
redis.call('LTRIM', KEYS[1], ARGV[2], -1)
redis.call('INCRBY', KEYS[2], ARGV[2])
return tonumber(ARGV[2])
