-- The lease of exclusive_turn. ARGV: 1 'take' | 'renew' | 'free', 2 token, 3 ttl ms.
-- The token of the last holder stays in meta `f`, so that a holder who lost the lease is refused even when it is free again.
-- Reply: 1 when done, else 0 (someone else holds it).
local holder = redis.call('GET', LEASE)
if ARGV[1] == 'take' then
  if holder and holder ~= ARGV[2] then return 0 end
  check_rights('ZADD', 'HDEL', 'HSET', 'SET', 'UNLINK', 'PEXPIRE')
  local there = redis.call('HLEN', META) > 0
  redis.call('SET', LEASE, ARGV[2], 'PX', ARGV[3])
  if there then redis.call('HSET', META, 'f', ARGV[2]) end
  return 1
end
if holder ~= ARGV[2] then return 0 end
if ARGV[1] == 'renew' then return redis.call('PEXPIRE', LEASE, ARGV[3]) end
return redis.call('UNLINK', LEASE)
