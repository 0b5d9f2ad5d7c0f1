#!lua flags=allow-oom
-- Lets parked jobs of a group go: those that still wait as they were parked are due now. Whatever became of the others
-- meanwhile, they are forgotten here.
-- KEYS: 1 list of the group, 2 groups, 3 bell, 4 to 6 lanes of the channel, 7 to 9 their rings
-- ARGV: 1 group, 2 most
-- Reply: how many went
local STEPS = 250
local now, went, most = clock(), 0, tonumber(ARGV[2])
local list = redis.call('ZRANGE', KEYS[1], 0, STEPS - 1, 'WITHSCORES')
for i = 1, #list, 2 do
  if went == most then break end
  local id, due = list[i], tonumber(list[i + 1])
  for l = 4, 6 do
    local score = tonumber(redis.call('ZSCORE', KEYS[l], id) or nil)
    local base = score and baseof(math.floor(score / SPAN))
    if score and score - base == due and due > now then
      await(KEYS[l], KEYS[l + 3], id, now, base)
      went = went + 1
    end
  end
  redis.call('ZREM', KEYS[1], id)
end
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('ZREM', KEYS[2], ARGV[1]) end
if went > 0 then ring(KEYS[3]) end
return went
