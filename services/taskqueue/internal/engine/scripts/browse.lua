#!lua flags=no-writes
-- Lists members of a sorted set in order of score and then of text, from a place on that need not exist any more.
-- KEYS: 1 sorted set
-- ARGV: 1 lowest score, 2 the same exclusive, 3 highest score, 4 text: members of the lowest score up to it are left
--       out ('': none), 5 most
-- Reply: member, score, member, score, ...
local first = redis.call('ZCOUNT', KEYS[1], '-inf', ARGV[2])
local last = first + redis.call('ZCOUNT', KEYS[1], ARGV[1], ARGV[3]) - 1
local from, to = first, first + redis.call('ZCOUNT', KEYS[1], ARGV[1], ARGV[1])
if ARGV[4] == '' then to = from end
while from < to do
  local middle = math.floor((from + to) / 2)
  if redis.call('ZRANGE', KEYS[1], middle, middle)[1] <= ARGV[4] then from = middle + 1 else to = middle end
end
last = math.min(last, from + tonumber(ARGV[5]) - 1)
if last < from then return {} end
return redis.call('ZRANGE', KEYS[1], from, last, 'WITHSCORES')
