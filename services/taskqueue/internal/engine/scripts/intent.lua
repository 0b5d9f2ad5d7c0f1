#!lua flags=allow-oom
-- Marks that a paid send is about to begin, only for the owner of a lease that still runs.
-- KEYS: 1 leases, 2 send intents
-- ARGV: 1 id, 2 token, 3 provider
-- Reply: 0 lease lost, 1 marked
local now = clock()
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or tonumber(score) ~= tonumber(ARGV[2]) or tonumber(score) < now * 1000 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
return 1
