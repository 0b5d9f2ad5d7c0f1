#!lua flags=allow-oom
-- Pauses a destination; the pause grows with the time for which it has been failing. With try, it reports whether the
-- caller may test the destination now, and then pauses it for all others. A mark has two times in ms: the end of the
-- pause, and the first failure. A mark whose first failure is in the future comes from a wrong clock and is ignored.
-- KEYS: marks
-- ARGV: destination, ms, longest ms, try
-- Reply: ms to wait; 0: go
local to, ms, longest, try = unpack(ARGV)
local now = clock()
local ends, since = string.match(redis.call('HGET', KEYS[1], to) or '', '^(%d+) (%d+)$')
if since and tonumber(since) > now then ends, since = nil, nil end
if try == '1' then
  if not ends then return 0 end
  if tonumber(ends) > now then return tonumber(ends) - now end
end
since = tonumber(since or now)
ms = math.max(ms, math.min(longest, math.floor((now - since) / 4)))
redis.call('HSET', KEYS[1], to, string.format('%.0f %.0f', now + ms, since))
return 0
