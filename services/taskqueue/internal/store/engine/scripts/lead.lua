#!lua flags=allow-oom
-- Elects the leader of a shard. A leader that calls again in time stays leader; every change increases the fencing
-- number. An end later than that of a new leadership comes from a wrong clock; the shard must not wait for it.
-- KEYS: the leadership: owner, until, fence
-- ARGV: owner, ms
-- Reply: the fencing number of the caller; 0: another process leads
local now = clock()
local owner, ends = unpack(redis.call('HMGET', KEYS[1], 'owner', 'until'))
ends = tonumber(ends or 0)
local leads, over = owner == ARGV[1], ends <= now
if not leads and not over and ends <= now + ARGV[2] then return 0 end
if not leads or over then redis.call('HINCRBY', KEYS[1], 'fence', 1) end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[2]))
return tonumber(redis.call('HGET', KEYS[1], 'fence'))
