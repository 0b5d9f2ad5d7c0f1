#!lua flags=no-writes
-- Returns the commands that the caller may not run.
-- KEYS: any key of the queue
-- ARGV: commands with enough arguments, KEY for the key, because Redis looks for the keys of a command without
--       counting its arguments
-- Reply: the refused commands
local reply = {}
for _, command in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(command, '[^ |]+') do push(words, word == 'KEY' and KEYS[1] or word) end
  if not redis.acl_check_cmd(unpack(words)) then push(reply, command) end
end
return reply
