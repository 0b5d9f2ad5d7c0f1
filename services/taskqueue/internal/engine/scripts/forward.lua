#!lua
-- Asks a shard where a key lived before the queue grew whether a batch belongs there still. When it does not, marks say
-- to processes that do not know of the growth yet that it belongs elsewhere now.
-- KEYS: 1 idempotency record, then nw windows, nw lanes of their jobs
-- ARGV: 1 number of shards now, 2 seconds of the marks (0: nobody can be so late, so none are left), 3 nw,
--       4 mark of the idempotency record ('': nobody else has its key)
-- Reply: 0 it belongs elsewhere, 1 it belongs here, 2 some of its windows wait here and others do not
local stored = redis.call('GET', KEYS[1])
if stored and string.sub(stored, 1, 1) ~= '>' then return 1 end
local nw, waits = tonumber(ARGV[3]), 0
for w = 1, nw do
  local id = redis.call('HGET', KEYS[1 + w], 'id')
  if id and redis.call('ZSCORE', KEYS[1 + nw + w], id) then waits = waits + 1 end
end
if waits > 0 then return waits == nw and 1 or 2 end
if ARGV[2] ~= '0' then
  if ARGV[4] ~= '' then redis.call('SET', KEYS[1], ARGV[4], 'EX', ARGV[2]) end
  for w = 1, nw do
    redis.call('DEL', KEYS[1 + w])
    redis.call('HSET', KEYS[1 + w], 'moved', ARGV[1])
    redis.call('EXPIRE', KEYS[1 + w], ARGV[2])
  end
end
return 0
