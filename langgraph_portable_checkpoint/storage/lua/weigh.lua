-- Weigh fields of one of a thread's hashes without sending their values.
-- ARGV: 1 which of KEYS, 2 '1' to tell kinds as well, 3.. fields.
-- Reply: {{bytes of each value, in order}, {kind of each item, -1 where it is none}}.
local key, sizes, kinds = KEYS[tonumber(ARGV[1])], {}, {}
for i = 3, #ARGV do
  if ARGV[2] == '1' then
    local value = redis.call('HGET', key, ARGV[i]) or ''
    sizes[#sizes + 1] = #value
    kinds[#kinds + 1] = string.byte(value, 2) or -1
  else
    sizes[#sizes + 1] = redis.call('HSTRLEN', key, ARGV[i])
  end
end
return {sizes, kinds}
