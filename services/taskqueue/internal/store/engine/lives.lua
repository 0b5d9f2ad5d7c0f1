-- Code shared by the scripts that create or end jobs. Their first keys are these keys of the shard, called "those of
-- lives" in KEYS comments: the dead letters and their records, the data about running jobs, the archive queue, and the
-- lane of callbacks.
local DEAD, RECORDS, DEADFLOWS, CRASHES, RENEWALS, CANCELS, INTENTS, ENDS, CALLBACKS, CALLBACKRING, CALLBACKBELL =
  unpack(KEYS, 1, 11)
local function keep(results, seconds, list) -- stores result records (a list of ids and records) until they expire
  redis.call('HSET', results, unpack(list))
  redis.call('EXPIRE', results, seconds, 'NX')
  redis.call('EXPIRE', results, seconds, 'GT')
end
local function recordof(results, id) return redis.call('HGET', results, id) or redis.call('HGET', RECORDS, id) end
local function unbury(id) -- removes a dead letter, but not its body
  redis.call('ZREM', DEAD, id)
  redis.call('ZREM', DEADFLOWS, id)
  redis.call('HDEL', RECORDS, id)
end
local function look(id, lane, leases, results, body) -- where a job is stored: a bit for each place, then the values
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
-- Returns the nc callback jobs by the number of the job whose end they report. Their bodies are the keys after key.
-- Each has four arguments after arg: that number, its id, its body, and the base of its flow.
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
