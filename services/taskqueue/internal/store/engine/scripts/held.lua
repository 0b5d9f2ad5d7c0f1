#!lua flags=no-writes
-- The pauses of destinations, of all processes.
-- KEYS: 1 marks
-- Reply: {now ms, {destination, its mark ...}}
return {clock(), redis.call('HGETALL', KEYS[1])}
