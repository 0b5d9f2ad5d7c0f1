#!lua flags=no-writes
-- Tells which commands its caller may not run.
-- KEYS: any key of the queue
-- ARGV: commands with enough arguments, KEY for the key: Redis looks for their keys without counting them
-- Reply: the refused ones
local reply = {}
for _, command in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(command, '[^ |]+') do push(words, word == 'KEY' and KEYS[1] or word) end
  if not redis.acl_check_cmd(unpack(words)) then push(reply, command) end
end
return reply
