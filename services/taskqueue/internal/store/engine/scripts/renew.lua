#!lua flags=allow-oom
-- Extends leases. The lease may have the caller's token or the one it proposed before, so that a running job survives a
-- lost reply. The first renewal proves that the job was running.
-- KEYS: as named here
-- ARGV: per job: id, caller's token, proposed token, claimed at ms
-- Reply per job: 0 lost, 1 renewed, 2 renewed, and a cancel request is open
local leases, cancels, renewals = unpack(KEYS)
local ids, reply, renewed = {}, {}, {}
for a = 1, #ARGV, 4 do push(ids, ARGV[a]) end
local scores = redis.call('ZMSCORE', leases, unpack(ids))
local asked = redis.call('HLEN', cancels) > 0 and redis.call('HMGET', cancels, unpack(ids)) or {}
for i, id in ipairs(ids) do
  local _, mine, proposed, claimed = unpack(ARGV, 4 * i - 3, 4 * i)
  local score = tonumber(scores[i] or nil)
  if score and (score == tonumber(mine) or score == tonumber(proposed)) then
    reply[i] = asked[i] and 2 or 1
    push(renewed, proposed, id)
    redis.call('HSETNX', renewals, id, claimed)
  else
    reply[i] = 0
  end
end
if #renewed > 0 then redis.call('ZADD', leases, 'XX', unpack(renewed)) end
return reply
