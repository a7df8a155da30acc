-- Remove checkpoints with their writes, then every item, blob and media record that nothing names any more. Media are named by
-- values, and by uploads: by the name of the upload's record, or, as earlier versions had it, by uploads in their own record.
-- ARGV: 1 expected generation, 2 fresh generation, 3 lease token or '', 4 concatenated refs of media with uploads in their own records where these
--   are sealed, 5.. places to remove.
-- The generation changes, so no client relies on an item that was swept.
-- Reply: {'ok', checkpoints removed, items removed, checkpoints left} | {'stale', generation, key} | {'leased'}.
local meta = redis.call('HMGET', META, 'g', 'k')
if (meta[1] or '') ~= ARGV[1] then return {'stale', meta[1] or '', meta[2] or ''} end
if lease_refuses(ARGV[3]) then return {'leased'} end
check_types()
check_rights('UNLINK', 'ZREM', 'HDEL', 'HSET', 'HVALS', 'HMGET', 'HKEYS', 'HGET', 'HEXISTS')
local removed = 0
for i = 5, #ARGV do
  removed = removed + redis.call('HDEL', CKPTS, ARGV[i])
  redis.call('HDEL', WRITES, ARGV[i])
  redis.call('ZREM', INDEX, ARGV[i])
end
local left = redis.call('HLEN', CKPTS)
if left == 0 and redis.call('HLEN', WRITES) == 0 then
  local items = redis.call('HLEN', ITEMS)
  redis.call('UNLINK', META, ITEMS, CKPTS, INDEX, WRITES, TURNS, BLOBS, MEDIA, RUNS)
  return {'ok', removed, items, 0}
end
if left == 0 then
  redis.call('HDEL', META, 'th', 'tn')
  redis.call('UNLINK', TURNS)
end
local pending, live = {}, {}
for i = 1, #ARGV[4], 16 do live[string.sub(ARGV[4], i, i + 15)] = true end
for _, record in ipairs(redis.call('HVALS', CKPTS)) do push_refs(record, pending, live) end
for _, frames in ipairs(redis.call('HVALS', WRITES)) do push_frames(frames, pending, live) end
collect(pending, live, {})
for _, name in ipairs(redis.call('HKEYS', MEDIA)) do
  if string.sub(name, 1, 7) == 'upload:' then
    live[string.sub(name, 8)] = true
  elseif #name == 16 and not live[name] and string.find(redis.call('HGET', MEDIA, name), '\167uploads', 1, true) then
    live[name] = true
  end
end
local swept = 0
for _, key in ipairs({ITEMS, BLOBS, MEDIA}) do
  for _, digest in ipairs(redis.call('HKEYS', key)) do
    local spare = #digest == 16 and not live[digest]
    if key == BLOBS and string.sub(digest, 1, 7) == 'upload:' then spare = redis.call('HEXISTS', MEDIA, digest) == 0 end
    if spare then swept = swept + redis.call('HDEL', key, digest) end
  end
end
redis.call('HSET', META, 'g', ARGV[2])
return {'ok', removed, swept, left}
