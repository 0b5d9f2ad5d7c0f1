#!lua flags=allow-oom
-- Gives a job that ended as unknown the end that an operator found out: sent, which finishes it, or not sent, which
-- leaves it among the dead for a retry. Its callbacks are created with the change.
-- KEYS: those of lives, then result bucket, body, bodies of callbacks
-- ARGV: as named here, then the callbacks
-- Reply: 0 it is not what was observed, 1 resolved (also when this very call had done it before)
local results, body = unpack(KEYS, 12, 13)
local id, observed, record, sent, seconds, archive, nc = unpack(ARGV, 1, 7)
if redis.call('HGET', RECORDS, id) ~= observed then return recordof(results, id) == record and 1 or 0 end
if sent == '1' then
  unbury(id)
  redis.call('UNLINK', body)
  keep(results, seconds, {id, record})
else
  redis.call('HSET', RECORDS, id, record)
end
if archive == '1' then redis.call('RPUSH', ENDS, id) end
bear(clock(), {children(13, 7, nc)[1]})
return 1
