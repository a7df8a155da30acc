-- Read a whole thread at one moment.
-- ARGV: none. Reply: {generation or '', key or '', ttl ms or '', turn log place or '', items, ckpts, writes, turns, blobs,
--   media, runs, number of turns or ''}: the hashes as flat field, value lists, runs as a list.
local meta = redis.call('HMGET', META, 'g', 'k', 'ttl', 'th', 'tn')
local function all(key) return redis.call('HGETALL', key) end
return {meta[1] or '', meta[2] or '', meta[3] or '', meta[4] or '', all(ITEMS), all(CKPTS), all(WRITES), all(TURNS), all(BLOBS),
  all(MEDIA), redis.call('SMEMBERS', RUNS), meta[5] or ''}
