-- Write a whole thread in steps; readers see nothing before the step 'commit'.
-- ARGV: 1 'stage' | 'commit', 2 generation, 3 sealed digest key or '', 4 thread id, 5 ttl ms or '', 6 turn log place or '', 7 number of turns or '';
--   for 'stage' then counted pairs for items, blobs, media, ckpts, writes and turns; for 'commit' the number of fields that all
--   steps have put among the items and among the blobs, and a counted list of run digests.
-- Until the commit, records wait among the items, under 'staged:', a letter, ':' and their field.
-- Staged keys expire within the hour if the commit never comes.
-- Reply: {'ok'} | {'exists'} when the thread already has data of another generation | {'lost'} when what 'claim' or earlier
--   steps wrote is gone: deleted, expired or evicted meanwhile.
local found = redis.call('HGET', META, 'g')
if found ~= ARGV[2] then return {found and 'exists' or 'lost'} end
check_types()
check_rights('ZADD', 'HDEL', 'HSET', 'PEXPIRE', 'PERSIST', 'SADD', 'UNLINK', 'HGET', 'HKEYS')
if ARGV[1] == 'commit' and (redis.call('HLEN', ITEMS) ~= tonumber(ARGV[8]) or redis.call('HLEN', BLOBS) ~= tonumber(ARGV[9])) then
  return {'lost'}
end
redis.call('HSET', META, 'g', ARGV[2], 't', ARGV[4])
if ARGV[3] ~= '' then redis.call('HSET', META, 'k', ARGV[3]) end
local MARK = 'staged:'
local PARTS = {m = MEDIA, c = CKPTS, w = WRITES, t = TURNS}
local function stage_pairs(letter, at)
  local count = tonumber(ARGV[at])
  for i = at + 1, at + 2 * count, 2 do redis.call('HSET', ITEMS, MARK .. letter .. ':' .. ARGV[i], ARGV[i + 1]) end
  return at + 2 * count + 1
end
if ARGV[1] == 'stage' then
  local at = store_pairs(BLOBS, store_pairs(ITEMS, 8))
  for _, letter in ipairs({'m', 'c', 'w', 't'}) do at = stage_pairs(letter, at) end
  for i = 1, 9 do redis.call('PEXPIRE', KEYS[i], 3600000) end
  return {'ok'}
end
local top = ''
for _, field in ipairs(redis.call('HKEYS', ITEMS)) do
  if string.sub(field, 1, #MARK) == MARK then
    local letter, name = string.sub(field, #MARK + 1, #MARK + 1), string.sub(field, #MARK + 3)
    redis.call('HSET', PARTS[letter], name, redis.call('HGET', ITEMS, field))
    redis.call('HDEL', ITEMS, field)
    if letter == 'c' then
      redis.call('ZADD', INDEX, 0, name)
      local id = string.match(name, '%z(.*)$')
      if id > top then top = id end
    end
  end
end
local last = 10 + tonumber(ARGV[10])
for from = 11, last, CHUNK do redis.call('SADD', RUNS, unpack(ARGV, from, math.min(from + CHUNK - 1, last))) end
redis.call('HSET', META, 'm', top)
if ARGV[6] ~= '' then redis.call('HSET', META, 'th', ARGV[6], 'tn', ARGV[7]) end
for i = 1, 9 do redis.call('PERSIST', KEYS[i]) end
redis.call('UNLINK', GONE)
touch(ARGV[5], redis.call('HGET', META, 'ttl'))
return {'ok'}
