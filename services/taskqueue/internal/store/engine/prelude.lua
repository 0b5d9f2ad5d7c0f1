-- Code shared by all scripts, which is put before each of them. The score of a job in its lane is its flow times SPAN
-- plus the due time since EPOCH; this equals the base of its flow plus the due time in ms. The ring of a lane is its
-- ready index: the flows, each with a time before which none of its jobs is due. A bell is a list on which idle
-- fetchers wait for a wake-up.
local SPAN, EPOCH = 2 ^ 41, 1577836800000
local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function baseof(flow) return flow * SPAN - EPOCH end
local function flowof(base) return (base + EPOCH) / SPAN end
local function push(list, one, other)
  local n = #list
  list[n + 1], list[n + 2] = one, other
end
local function put(command, key, list) -- a whole list in one command
  if #list > 0 then redis.call(command, key, unpack(list)) end
end
local function first(set, low, high) -- the member with the lowest score in the range, and that score
  local found = redis.call('ZRANGE', set, low, high, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  return found[1], tonumber(found[2])
end
local function ring(bell)
  if redis.call('LLEN', bell) == 0 then redis.call('RPUSH', bell, '1') end
end
local function await(lane, flows, id, due, base) -- adds a job to its lane, and its flow to the ring
  redis.call('ZADD', lane, due + base, id)
  redis.call('ZADD', flows, 'LT', due, flowof(base))
end
