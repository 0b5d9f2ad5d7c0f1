-- What the scripts share; each is loaded with this in front. A lane's score is the flow times SPAN plus the due time since
-- EPOCH. The ring of a lane holds its flows by a time before which none
-- of their jobs is due.
local SPAN, EPOCH = 2 ^ 41, 1577836800000
local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function baseof(flow) return flow * SPAN - EPOCH end -- what a flow adds to a due time
local function flowof(base) return (base + EPOCH) / SPAN end
local function push(list, one, other)
  local n = #list
  list[n + 1], list[n + 2] = one, other
end
local function put(command, key, list) -- all of a list at once
  if #list > 0 then redis.call(command, key, unpack(list)) end
end
local function first(set, low, high) -- the member with the lowest such score, and the score
  local found = redis.call('ZRANGE', set, low, high, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  return found[1], tonumber(found[2])
end
local function ring(bell)
  if redis.call('LLEN', bell) == 0 then redis.call('RPUSH', bell, '1') end
end
local function await(lane, flows, id, due, base) -- a job waits in its lane, and its flow in the lane's ring
  redis.call('ZADD', lane, due + base, id)
  redis.call('ZADD', flows, 'LT', due, flowof(base))
end
