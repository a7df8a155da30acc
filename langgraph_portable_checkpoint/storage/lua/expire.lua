-- Set or drop a thread's own expiry. ARGV: 1 ttl ms, '0' for never, '' to drop the override; 2 the saver's ttl ms or ''.
-- Reply: 1, or 0 when the thread does not exist.
if redis.call('EXISTS', META) == 0 then return 0 end
check_types()
if ARGV[1] == '' then
  check_rights('HDEL', 'PEXPIRE', 'PERSIST', 'HGET')
  redis.call('HDEL', META, 'ttl')
  if ARGV[2] == '' then
    for i = 1, 9 do redis.call('PERSIST', KEYS[i]) end
  end
else
  check_rights('ZADD', 'HDEL', 'HSET', 'PEXPIRE', 'PERSIST', 'HGET')
  redis.call('HSET', META, 'ttl', ARGV[1])
end
touch(ARGV[2], redis.call('HGET', META, 'ttl'))
return 1
