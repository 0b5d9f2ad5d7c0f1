#!lua flags=allow-oom
-- Elects the leader of a shard. A leader that calls again in time stays leader; every change increases the fencing
-- number.
-- KEYS: the leadership: owner, until, fence
-- ARGV: owner, ms
-- Reply: the fencing number of the caller; 0: another process leads
local now = clock()
local owner, ends = unpack(redis.call('HMGET', KEYS[1], 'owner', 'until'))
local leads, over = owner == ARGV[1], tonumber(ends or 0) <= now
if not leads and not over then return 0 end
if not leads or over then redis.call('HINCRBY', KEYS[1], 'fence', 1) end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[2]))
return tonumber(redis.call('HGET', KEYS[1], 'fence'))
