#!lua flags=allow-oom
-- Tells how many shards the queue has, and notes that a process works with them: the largest number that was ever wanted.
-- KEYS: 1 numbers of shards, each with the time at which somebody last worked with it
-- ARGV: 1 number that is wanted, 2 number that an older version worked with ('0': none), when nothing is noted yet
-- Reply: {now ms, number, then per former number: number, ms}
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local known = redis.call('HGETALL', KEYS[1])
if #known == 0 and ARGV[2] ~= '0' then known = {ARGV[2], string.format('%.0f', now)} end
local number = tonumber(ARGV[1])
for i = 1, #known, 2 do number = math.max(number, tonumber(known[i])) end
local reply = {now, number}
for i = 1, #known, 2 do
  if tonumber(known[i]) < number then
    redis.call('HSETNX', KEYS[1], known[i], known[i + 1])
    reply[#reply + 1] = tonumber(known[i])
    reply[#reply + 1] = tonumber(known[i + 1])
  end
end
redis.call('HSET', KEYS[1], string.format('%.0f', number), string.format('%.0f', now))
return reply
