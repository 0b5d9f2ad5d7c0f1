#!lua flags=allow-oom
-- Takes up to n ready jobs of a channel and leases them under one token. LOW and MODERATE have guaranteed
-- shares; the rest goes by priority, where a lane whose head waited longer than the ageing limit counts as one
-- level higher and shares with the lane of that level.
-- KEYS: 1 high lane, 2 moderate lane, 3 low lane, 4 leases, 5 claim counter, 6 bell
-- ARGV: 1 n, 2 lease ms, 3 ageing ms, 4 turn (how many jobs the caller claimed before), 5 low share %, 6 moderate share %
-- Reply: {now ms, next due ms (-1 none), token, id ...}; token 0 and no ids when nothing is ready
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local n, turn = tonumber(ARGV[1]), tonumber(ARGV[4])
local ready, level, nextdue, total = {}, {}, -1, 0
for l = 1, 3 do
  ready[l], level[l] = 0, 3 - l
  local head = redis.call('ZRANGE', KEYS[l], 0, 0, 'WITHSCORES')
  if head[2] then
    local due = tonumber(head[2])
    if due <= now then
      ready[l] = redis.call('ZCOUNT', KEYS[l], '-inf', now)
      total = total + ready[l]
      if now - due > tonumber(ARGV[3]) then level[l] = level[l] + 1 end
    elseif nextdue < 0 or due < nextdue then
      nextdue = due
    end
  end
end
if total == 0 then return {now, nextdue, 0} end

local take, left = {0, 0, 0}, n
local function give(l, want)
  local k = math.min(want, left, ready[l] - take[l])
  if k > 0 then
    take[l] = take[l] + k
    left = left - k
  end
end
local function share(percent) -- of the jobs from turn on: small claims add up to it
  return math.floor((turn + n) * percent / 100) - math.floor(turn * percent / 100)
end
give(3, share(ARGV[5]))
give(2, share(ARGV[6]))
for v = 3, 0, -1 do
  local tied = {}
  for l = 1, 3 do
    if level[l] == v and take[l] < ready[l] then tied[#tied + 1] = l end
  end
  if #tied == 2 then give(tied[2], math.floor(left / 2)) end
  for _, l in ipairs(tied) do give(l, left) end
end

local token = (now + tonumber(ARGV[2])) * 1000 + redis.call('INCR', KEYS[5]) % 1000
local reply, leases = {now, nextdue, token}, {}
for l = 1, 3 do
  if take[l] > 0 then
    local ids = redis.call('ZRANGE', KEYS[l], 0, take[l] - 1)
    redis.call('ZREMRANGEBYRANK', KEYS[l], 0, take[l] - 1)
    for _, id in ipairs(ids) do
      reply[#reply + 1] = id
      leases[#leases + 1] = token
      leases[#leases + 1] = id
    end
  end
  local head = redis.call('ZRANGE', KEYS[l], 0, 0, 'WITHSCORES')
  if head[2] then
    local due = tonumber(head[2])
    if nextdue < 0 or due < nextdue then nextdue = due end
  end
end
redis.call('ZADD', KEYS[4], unpack(leases))
reply[2] = nextdue
if nextdue >= 0 and nextdue <= now and redis.call('LLEN', KEYS[6]) == 0 then
  redis.call('RPUSH', KEYS[6], '1')
end
return reply
