#!lua flags=no-writes
-- What is left alone, of all processes.
-- KEYS: 1 marks
-- Reply: {now ms, {destination, its mark ...}}
return {clock(), redis.call('HGETALL', KEYS[1])}
