-- Drop names from a registry shard, unless they were registered again lately. KEYS: 1 the shard.
-- ARGV: 1 cutoff (ms): younger registrations stay; 2.. names. Reply: how many were dropped.
local dropped = 0
for i = 2, #ARGV do
  local at = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if at and tonumber(at) < tonumber(ARGV[1]) then dropped = dropped + redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return dropped
