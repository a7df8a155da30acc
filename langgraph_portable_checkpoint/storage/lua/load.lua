-- Write a whole thread in steps; readers see nothing before the step 'commit'.
-- ARGV: 1 'stage' | 'commit', 2 generation, 3 sealed digest key or '', 4 thread id, 5 ttl ms or '', 6 turn log place or '', 7 number of turns or '',
--   8 number of items and 9 of blobs that the whole thread has, then counted pairs for items, blobs, media; for 'commit' also counted pairs for ckpts, writes, turns and a counted
--   list of run digests.
-- Staged keys expire within the hour if the commit never comes.
-- Reply: {'ok'} | {'exists'} when the thread already has data of another generation | {'lost'} when what 'claim' or earlier
--   steps wrote is gone: deleted, expired or evicted meanwhile.
local found = redis.call('HGET', META, 'g')
if found ~= ARGV[2] then return {found and 'exists' or 'lost'} end
check_types()
if ARGV[1] == 'commit' and (redis.call('HLEN', ITEMS) ~= tonumber(ARGV[8]) or redis.call('HLEN', BLOBS) ~= tonumber(ARGV[9])) then
  return {'lost'}
end
redis.call('HSET', META, 'g', ARGV[2], 't', ARGV[4])
if ARGV[3] ~= '' then redis.call('HSET', META, 'k', ARGV[3]) end
local at = store_pairs(ITEMS, 10)
at = store_pairs(BLOBS, at)
at = store_pairs(MEDIA, at)
if ARGV[1] == 'stage' then
  for i = 1, 9 do redis.call('PEXPIRE', KEYS[i], 3600000) end
  return {'ok'}
end
local first = at + 1
local top = ''
local after = store_pairs(CKPTS, at)
for i = first, after - 1, 2 do
  redis.call('ZADD', INDEX, 0, ARGV[i])
  local id = string.match(ARGV[i], '%z(.*)$')
  if id > top then top = id end
end
at = store_pairs(WRITES, after)
at = store_pairs(TURNS, at)
local runs = tonumber(ARGV[at])
if runs > 0 then redis.call('SADD', RUNS, unpack(ARGV, at + 1, at + runs)) end
redis.call('HSET', META, 'm', top)
if ARGV[6] ~= '' then redis.call('HSET', META, 'th', ARGV[6], 'tn', ARGV[7]) end
for i = 1, 9 do redis.call('PERSIST', KEYS[i]) end
redis.call('UNLINK', GONE)
touch(ARGV[5])
return {'ok'}
