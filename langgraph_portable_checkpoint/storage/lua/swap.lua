-- Put what was written under staging keys in the place of a thread, at once; until then the thread is as it was.
-- KEYS: 1 to 11 the staging keys, 12 to 22 the thread's own, both in the order of layout.THREAD_PARTS.
-- ARGV: 1 generation of the thread that is to go, or '', 2 how many checkpoints it had, 3 how many the new one has,
--   4 the new one's own ttl ms, '0' for never or '', 5 the saver's ttl ms or ''.
-- Reply: {'ok', run digests of the thread that went} | {'exists'} when that thread has changed meanwhile
--   | {'lost'} when not all of the new one is there. Nothing is changed unless the reply is 'ok'.
local function old(i) return KEYS[11 + i] end
if (redis.call('HGET', old(1), 'g') or '') ~= ARGV[1] or redis.call('HLEN', old(3)) ~= tonumber(ARGV[2]) then
  return {'exists'}
end
local meta = read_meta()
if not meta.g or is_broken(meta) or redis.call('HLEN', CKPTS) ~= tonumber(ARGV[3]) then return {'lost'} end
check_types()
for _, i in ipairs({2, 5, 6, 7, 8}) do redis.call('HLEN', old(i)) end
redis.call('ZSCORE', old(4), '')
for i = 10, 11 do redis.call('GET', old(i)) end
check_rights('UNLINK', 'PEXPIRE', 'PERSIST', 'HDEL', 'HSET', 'HGET', 'EXISTS', 'SMEMBERS', 'RENAME', 'ZREM')
local runs = redis.call('SMEMBERS', old(9))
for i = 1, 11 do redis.call('UNLINK', old(i)) end
if ARGV[4] ~= '' then redis.call('HSET', META, 'ttl', ARGV[4]) end
for i = 1, 9 do redis.call('PERSIST', KEYS[i]) end
touch(ARGV[5], ARGV[4] ~= '' and ARGV[4] or meta.ttl)
for i = 1, 9 do
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('RENAME', KEYS[i], old(i)) end
end
redis.call('UNLINK', GONE, LEASE)
return {'ok', runs}
