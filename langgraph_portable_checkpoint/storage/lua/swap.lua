-- Put what was written under staging keys in the place of a thread, at once; until then the thread is as it was.
-- KEYS: 1 to 11 the staging keys, 12 to 22 the thread's own, both in the order of layout.THREAD_PARTS.
-- ARGV: 1 digest of the thread that is to go, as `stand` gave it, 2 lease token or '', 3 how many checkpoints the new one has,
--   4 the new one's own ttl ms, '0' for never or '', 5 the saver's ttl ms or '', 6 tombstone ttl ms.
-- A tombstone stays, as after a delete, so that a run of the old conversation cannot go on in the new one; the lease stays.
-- Reply: {'ok', run digests of the thread that went} | {'leased'} | {'exists'} when that thread has changed meanwhile
--   | {'lost'} when not all of the new one is there. The thread is changed only if the reply is 'ok'; what is staged goes in any case.
local old = {unpack(KEYS, 12, 22)}
local function refused(word)
  redis.pcall('UNLINK', unpack(KEYS, 1, 11)) -- nobody else knows these keys; without the right to, they expire
  return {word}
end
if lease_refuses(ARGV[2], old[1], old[11]) then return refused('leased') end
if stamp_of(old) ~= ARGV[1] then return refused('exists') end
local meta = read_meta()
if not meta.g or is_broken(meta) or redis.call('HLEN', CKPTS) ~= tonumber(ARGV[3]) then return refused('lost') end
check_types()
redis.call('ZSCORE', old[4], '')
check_rights('UNLINK', 'PEXPIRE', 'PERSIST', 'HDEL', 'HSET', 'EXISTS', 'RENAME', 'SET', 'ZREM')
local runs, before = redis.call('SMEMBERS', old[9]), redis.call('HMGET', old[1], 'g', 'm', 'f')
local top, gone = before[2] or '', redis.call('GET', old[10])
if gone and gone > top then top = gone end
local last = redis.call('GET', old[11]) or before[3]
for i = 1, 9 do redis.call('UNLINK', old[i]) end
if before[1] then redis.call('SET', old[10], top, 'PX', ARGV[6]) end
if last then redis.call('HSET', META, 'f', last) end
if ARGV[4] ~= '' then redis.call('HSET', META, 'ttl', ARGV[4]) end
for i = 1, 9 do redis.call('PERSIST', KEYS[i]) end
touch(ARGV[5], ARGV[4] ~= '' and ARGV[4] or meta.ttl)
for i = 1, 9 do
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('RENAME', KEYS[i], old[i]) end
end
redis.call('UNLINK', GONE, LEASE)
return {'ok', runs}
