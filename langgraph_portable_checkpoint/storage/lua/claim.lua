-- Start to write a whole thread under a generation: drop what a load that never came to its commit has staged.
-- A load that is still going on is told 'exists' at its next step.
-- ARGV: 1 generation, 2 thread id. Reply: {'ok'} | {'exists'} when the thread has data that readers see.
if redis.call('EXISTS', CKPTS, INDEX, WRITES) > 0 then return {'exists'} end
local staged = redis.call('PTTL', META) > 0 and redis.call('HEXISTS', META, 'm') == 0
if not staged and redis.call('EXISTS', META, ITEMS) > 0 then return {'exists'} end
check_types()
check_rights('ZADD', 'HDEL', 'HSET', 'UNLINK', 'PEXPIRE', 'PERSIST', 'SADD', 'HGET', 'HKEYS')
for i = 1, 9 do redis.call('UNLINK', KEYS[i]) end
redis.call('HSET', META, 'g', ARGV[1], 't', ARGV[2])
redis.call('PEXPIRE', META, 3600000)
return {'ok'}
