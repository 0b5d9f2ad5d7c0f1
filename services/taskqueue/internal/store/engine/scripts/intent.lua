#!lua flags=allow-oom
-- Records that a paid send is about to begin, only for the holder of a lease that has not expired.
-- KEYS, ARGV: as named here
-- Reply: 0 lease lost, 1 recorded
local leases, intents = unpack(KEYS)
local id, token, provider = unpack(ARGV)
local score = tonumber(redis.call('ZSCORE', leases, id) or nil)
if score ~= tonumber(token) or score < clock() * 1000 then return 0 end
redis.call('HSET', intents, id, provider)
return 1
