-- What else the scripts about the lives of jobs share. They begin their keys with these of the shard, and state it: what is
-- kept of the dead, what is known of jobs apart from their place, ends for the archive, and where callbacks are created.
local DEAD, RECORDS, DEADFLOWS, CRASHES, RENEWALS, CANCELS, INTENTS, ENDS, CALLBACKS, CALLBACKRING, CALLBACKBELL =
  unpack(KEYS, 1, 11)
local function keep(results, seconds, list) -- ids and records, for as long as results are kept
  redis.call('HSET', results, unpack(list))
  redis.call('EXPIRE', results, seconds, 'NX')
  redis.call('EXPIRE', results, seconds, 'GT')
end
local function recordof(results, id) return redis.call('HGET', results, id) or redis.call('HGET', RECORDS, id) end
local function unbury(id) -- a dead job is kept no more
  redis.call('ZREM', DEAD, id)
  redis.call('ZREM', DEADFLOWS, id)
  redis.call('HDEL', RECORDS, id)
end
local function look(id, lane, leases, results, body) -- what exists of a job: a bit for each, and their values
  local found = {redis.call('ZSCORE', lane, id), redis.call('ZSCORE', leases, id), redis.call('ZSCORE', DEAD, id),
    redis.call('GET', body), redis.call('HGET', results, id), redis.call('HGET', RECORDS, id),
    redis.call('HGET', CRASHES, id), redis.call('HGET', RENEWALS, id), redis.call('HGET', CANCELS, id),
    redis.call('HGET', INTENTS, id)}
  local bits = 0
  for bit = 1, 10 do
    if found[bit] then bits = bits + 2 ^ (bit - 1) end
  end
  return bits, unpack(found)
end
-- Callback jobs by the number of the job that they tell of: their bodies are nc keys after some, and in the arguments
-- each has that number, its id, its body and what its flow adds to a due time.
local function children(key, arg, nc)
  local families = {}
  for c = 1, nc do
    local parent, id, body, base = unpack(ARGV, arg + 4 * c - 3, arg + 4 * c)
    local family = families[tonumber(parent)] or {}
    families[tonumber(parent)] = family
    push(family, {key = KEYS[key + c], id = id, body = body, base = base})
  end
  return families
end
local function bear(now, families)
  if #families == 0 then return end
  local jobs, bodies, flows = {}, {}, {}
  for _, family in ipairs(families) do
    for _, child in ipairs(family) do
      push(jobs, now + child.base, child.id)
      push(bodies, child.key, child.body)
      flows[child.base] = true
    end
  end
  redis.call('MSET', unpack(bodies))
  redis.call('ZADD', CALLBACKS, unpack(jobs))
  for base in pairs(flows) do redis.call('ZADD', CALLBACKRING, 'LT', now, flowof(base)) end
  ring(CALLBACKBELL)
end
