#!lua flags=no-writes
-- Lists members of a sorted set by score and then by text, after a cursor. The member at the cursor may have been
-- removed.
-- KEYS: sorted set
-- ARGV: lowest score, highest score, text: members with the lowest score are skipped up to this text ('': none),
--       maximum number of members
-- Reply: member, score, member, score, ...
local set, low, high, after, most = KEYS[1], unpack(ARGV)
local from = redis.call('ZCOUNT', set, '-inf', low - 1)
local last = from + redis.call('ZCOUNT', set, low, high) - 1
local to = after == '' and from or from + redis.call('ZCOUNT', set, low, low)
while from < to do
  local middle = math.floor((from + to) / 2)
  if redis.call('ZRANGE', set, middle, middle)[1] <= after then from = middle + 1 else to = middle end
end
last = math.min(last, from + most - 1)
return last < from and {} or redis.call('ZRANGE', set, from, last, 'WITHSCORES')
