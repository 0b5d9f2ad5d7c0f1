#!lua flags=allow-oom
-- Prolongs leases. Accepts my token or the one I proposed before: a lost reply must not lose a live job.
-- The first renewal is the proof that the job ran.
-- KEYS: 1 leases, 2 cancel requests, 3 renewals
-- ARGV: per job: id, my token, proposed token, claimed at ms
-- Reply per job: 0 lost, 1 renewed, 2 renewed and a cancel request waits
local n = #ARGV / 4
local ids = {}
for i = 1, n do ids[i] = ARGV[4 * i - 3] end
local scores = redis.call('ZMSCORE', KEYS[1], unpack(ids))
local asked = redis.call('HLEN', KEYS[2]) > 0 and redis.call('HMGET', KEYS[2], unpack(ids)) or {}
local reply, leases = {}, {}
for i = 1, n do
  local a = 4 * i - 3
  local score, proposed = scores[i] and tonumber(scores[i]), tonumber(ARGV[a + 2])
  if score and (score == tonumber(ARGV[a + 1]) or score == proposed) then
    reply[i] = asked[i] and 2 or 1
    leases[#leases + 1] = proposed
    leases[#leases + 1] = ids[i]
    redis.call('HSETNX', KEYS[3], ids[i], ARGV[a + 3])
  else
    reply[i] = 0
  end
end
if #leases > 0 then redis.call('ZADD', KEYS[1], 'XX', unpack(leases)) end
return reply
