#!lua flags=no-writes
-- Returns the current pauses of destinations.
-- KEYS: 1 marks
-- Reply: {now in ms, {destination, its mark ...}}
return {clock(), redis.call('HGETALL', KEYS[1])}
