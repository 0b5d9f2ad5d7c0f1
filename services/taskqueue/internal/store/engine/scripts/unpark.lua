#!lua flags=allow-oom
-- Releases parked jobs of a group: jobs unchanged since they were parked become due now. Other jobs in the list have
-- run or were moved, and are only removed from it.
-- KEYS: list of the group, groups, bell, 4 to 6 lanes of the channel, 7 to 9 their rings
-- ARGV: group, maximum number of jobs
-- Reply: number of released jobs
local STEPS = 250
local parked, groups, bell = unpack(KEYS, 1, 3)
local now, went = clock(), 0
local list = redis.call('ZRANGE', parked, 0, STEPS - 1, 'WITHSCORES')
for i = 1, #list, 2 do
  if went == tonumber(ARGV[2]) then break end
  local id, due = list[i], tonumber(list[i + 1])
  for l = 4, 6 do
    local score = tonumber(redis.call('ZSCORE', KEYS[l], id) or nil)
    local base = score and baseof(math.floor(score / SPAN))
    if score and score - base == due and due > now then
      await(KEYS[l], KEYS[l + 3], id, now, base)
      went = went + 1
    end
  end
  redis.call('ZREM', parked, id)
end
if redis.call('EXISTS', parked) == 0 then redis.call('ZREM', groups, ARGV[1]) end
if went > 0 then ring(bell) end
return went
