-- Appends an event to a channel's stream and publishes it, once for each id.
-- KEYS[1] the stream; ARGV: id, event, data, entries to keep, seconds to keep them, channel
local added = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], ARGV[1], 'event', ARGV[2], 'data', ARGV[3])
if type(added) == 'table' and added.err then
  if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) > 0 then
    return 0 -- delivered before
  end
  -- The id comes from a replica whose clock is behind. The event is appended at the end with a new id; a repeated
  -- delivery appends it again.
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], '*', 'event', ARGV[2], 'data', ARGV[3])
end
redis.call('EXPIRE', KEYS[1], ARGV[5])
redis.call('PUBLISH', ARGV[6], ARGV[3])
return 1
