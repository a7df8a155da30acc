-- Delete a thread: every key at once, leaving a tombstone that expires.
-- ARGV: 1 tombstone ttl ms. Reply: {keys deleted, checkpoints, items, bytes of items and blobs, run digests, media records}.
check_types()
check_rights('UNLINK', 'SET', 'ZREM', 'EXISTS', 'HGET', 'GET', 'HKEYS', 'HSTRLEN', 'HVALS', 'SMEMBERS')
redis.call('UNLINK', LEASE)
if redis.call('EXISTS', META, ITEMS, CKPTS, INDEX, WRITES, TURNS, BLOBS, MEDIA, RUNS) == 0 then
  return {0, 0, 0, 0, {}, {}}
end
local top, before = redis.call('HGET', META, 'm') or '', redis.call('GET', GONE)
if before and before > top then top = before end
local bytes = 0
for _, key in ipairs({ITEMS, BLOBS}) do
  for _, field in ipairs(redis.call('HKEYS', key)) do bytes = bytes + redis.call('HSTRLEN', key, field) end
end
local checkpoints, items = redis.call('HLEN', CKPTS), redis.call('HLEN', ITEMS)
local runs, media = redis.call('SMEMBERS', RUNS), redis.call('HVALS', MEDIA)
local removed = redis.call('UNLINK', META, ITEMS, CKPTS, INDEX, WRITES, TURNS, BLOBS, MEDIA, RUNS)
redis.call('SET', GONE, top, 'PX', ARGV[1])
return {removed, checkpoints, items, bytes, runs, media}
