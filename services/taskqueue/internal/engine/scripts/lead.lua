#!lua flags=allow-oom
-- Elects who tidies a shard. A leader that asks again in time stays; every change raises the fencing number.
-- KEYS: 1 the leadership: owner, until, fence
-- ARGV: 1 owner, 2 ms
-- Reply: the fencing number of the caller; 0: somebody else leads
local now = clock()
local state = redis.call('HMGET', KEYS[1], 'owner', 'until')
local leads = state[1] == ARGV[1]
local over = tonumber(state[2] or 0) <= now
if not leads and not over then return 0 end
if not leads or over then redis.call('HINCRBY', KEYS[1], 'fence', 1) end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + tonumber(ARGV[2])))
return tonumber(redis.call('HGET', KEYS[1], 'fence'))
