-- Store one checkpoint with its items, blobs and turn records, atomically.
-- ARGV: 1 expected generation or '', 2 fresh generation, 3 sealed digest key or '', 4 thread id, 5 ns, 6 checkpoint id,
--   7 parent place or '', 8 record, 9 ttl ms or '', 10 lease token or '', 11 run digest or '', 12 conflict policy
--   ('allow' | 'report' | 'raise'), 13 place of the checkpoint whose turn log the turn records extend or '',
--   14 concatenated refs of blobs that this transaction has stored before or '', 15 time (ms) to register the thread with
--   in KEYS[12] or ''; KEYS[13], without a time KEYS[12], is where the run is entered, if given;
--   then counted pairs for other blobs, media, items; then counted pairs for turns, a counted list of turns to drop
--   and the number of turns; or -1 to leave the turn log alone.
-- Reply: {'ok', generation, head before, turn log applied '1'/'0'} | {'stale', generation, key} | {'deleted'}
--   | {'leased'} | {'conflict', head} | {'lost'} where items are gone that it builds on. Nothing is stored unless the reply is 'ok'.
local ns, place, parent = ARGV[5], ARGV[5] .. '\0' .. ARGV[6], ARGV[7]
return with_sent(ARGV[14], function()
  if lease_refuses(ARGV[10]) then return {'leased'} end
  if parent ~= '' and redis.call('EXISTS', GONE) == 1 and redis.call('HEXISTS', CKPTS, parent) == 0 then
    return {'deleted'}
  end
  local head = head_of(ns) or ''
  if ARGV[12] == 'raise' and head ~= '' and head ~= parent and head ~= place then return {'conflict', head} end
  check_types()
  check_registers()
  check_rights('ZADD', 'HDEL', 'HSET', 'PEXPIRE', 'PERSIST', 'HGET')
  if ARGV[11] ~= '' then check_rights('SADD') end
  local differs = agree(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
  if differs then return differs end
  local function push_record(wanted, seen) push_refs(ARGV[8], wanted, seen) end
  if ARGV[1] ~= '' and builds_on_lost(skip_pairs(16), push_record) then return {'lost'} end
  note_holder(ARGV[10])
  register(ARGV[15], ARGV[4], ARGV[11])
  local at = store_pairs(BLOBS, 16)
  at = store_pairs(MEDIA, at)
  at = store_pairs(ITEMS, at)
  redis.call('HSET', CKPTS, place, ARGV[8])
  redis.call('ZADD', INDEX, 0, place)
  local top = redis.call('HGET', META, 'm')
  if not top or top < ARGV[6] then redis.call('HSET', META, 'm', ARGV[6]) end
  if ARGV[11] ~= '' then redis.call('SADD', RUNS, ARGV[11]) end
  local applied = '0'
  if place >= head and ARGV[at] ~= '-1' and (redis.call('HGET', META, 'th') or '') == ARGV[13] then
    at = store_pairs(TURNS, at)
    local drops = tonumber(ARGV[at])
    if drops > 0 then redis.call('HDEL', TURNS, unpack(ARGV, at + 1, at + drops)) end
    redis.call('HSET', META, 'th', place, 'tn', ARGV[at + drops + 1])
    applied = '1'
  end
  touch(ARGV[9])
  return {'ok', redis.call('HGET', META, 'g'), head, applied}
end)
