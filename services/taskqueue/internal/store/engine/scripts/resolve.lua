#!lua flags=allow-oom
-- Replaces the record of a job that ended as unknown, after an operator found out the outcome. If the message was
-- sent, the job is finished; if not, it stays a dead letter for a retry. Its callbacks are created with the change.
-- KEYS: those of lives, then result bucket, body, bodies of callbacks
-- ARGV: as named here, then the callbacks
-- Reply: 0 the record is not the observed one, 1 resolved (also when this very call was repeated)
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
