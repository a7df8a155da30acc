-- Store one checkpoint with its items, blobs and turn records, atomically.
-- ARGV: 1 a msgpack array; then names and bytes of blobs and of large items. In the array: 1 expected generation or '',
--   2 fresh generation, 3 sealed digest key or '', 4 thread id, 5 ns, 6 checkpoint id, 7 parent place or '', 8 record, 9 ttl ms or '', 10 lease
--   token or '', 11 run digest or '', 12 conflict policy ('allow' | 'report' | 'raise'), 13 place of the checkpoint whose turn
--   log the turn records extend or '', 14 concatenated refs of blobs that this transaction has stored before or '',
--   15 SHA-1 in hex of the parent's record or '', 16 concatenated refs that must be there beside those that it names,
--   17 time (ms) to register the thread with in KEYS[12] or ''; KEYS[13], without a time KEYS[12], is where the run is
--   entered, if given; 18 names of media records that were read, each with the SHA-1 in hex of what
--   was there; 19 how many blobs follow the array; then counted pairs for media, other items; then counted pairs
--   for turns, a counted list of turns to drop and the number of turns; or -1 to leave the turn log alone.
-- Reply: {'ok', generation, head before, turn log applied '1'/'0'} | {'stale', generation, key} | {'deleted'}
--   | {'leased'} | {'conflict', head} | {'lost'} where items are gone that it builds on
--   | {'told', name, record, '1' | '0', ...}: media records to be read before they are written over. Nothing is stored unless the reply is 'ok'.
A = cmsgpack.unpack(ARGV[1])
local ns, place, parent = A[5], A[5] .. '\0' .. A[6], A[7]
return with_sent(A[14], function()
  local guarded = redis.call('EXISTS', LEASE, GONE) > 0
  if (guarded or A[10] ~= '') and lease_refuses(A[10]) then return {'leased'} end
  local before = parent ~= '' and redis.call('HGET', CKPTS, parent)
  if guarded and redis.call('GET', GONE) and parent ~= '' and not before then return {'deleted'} end
  local head = head_of(ns) or ''
  if A[12] == 'raise' and head ~= '' and head ~= parent and head ~= place then return {'conflict', head} end
  local meta = read_meta()
  local differs = differs_from(meta, A[1], before and true, head ~= '')
  if differs then return differs end
  local expires, turns = A[9] ~= '' or meta.ttl, after_pairs(after_pairs(20))
  local drops = A[turns] >= 0 and A[after_pairs(turns)] or 0
  check_media(A[20], A[19], A[14], expires)
  check_registers()
  if A[turns] > 0 then redis.call('HLEN', TURNS) end
  if A[11] ~= '' then redis.call('SCARD', RUNS) end
  check_rights('HSET') -- ZADD is the first to write, and may be refused without harm
  if A[11] ~= '' then check_rights('SADD') end
  if expires then check_rights('PEXPIRE', 'PERSIST') end
  if drops > 0 then check_rights('HDEL') end
  if A[14] ~= '' then check_rights('ZADD', 'HDEL') end
  if A[15] ~= '' and not (before and redis.sha1hex(before) == A[15]) then return {'lost'} end
  if A[1] ~= '' and lacks(A[16]) then return {'lost'} end
  local unread = A[20] > 0 and unread_media(A[18], 20, A[19], A[14]) or {}
  if unread[2] then return unread end
  redis.call('ZADD', INDEX, 0, place)
  if A[11] ~= '' then redis.call('SADD', RUNS, A[11]) end
  if not meta.g then begin(A[2], A[3], A[4]) end
  note_holder(A[10])
  register(A[17], A[4], A[11])
  store_apart(A[19])
  local at = store_pairs(ITEMS, store_pairs(MEDIA, 20))
  -- Another record in the place that the turn log is of: unless this put writes the log, it is nobody's from now on.
  local altered = meta.th == place and redis.call('HGET', CKPTS, place) ~= A[8]
  redis.call('HSET', CKPTS, place, A[8])
  local fields = {}
  if not meta.m or meta.m < A[6] then fields = {'m', A[6]} end
  local applied = '0'
  if place >= head and A[at] ~= -1 and (meta.th or '') == A[13] then
    at = store_pairs(TURNS, at)
    drop_range(TURNS, A, at + 1, at + drops)
    for _, value in ipairs({'th', place, 'tn', A[at + drops + 1]}) do fields[#fields + 1] = value end
    applied = '1'
  elseif altered then
    for _, value in ipairs({'th', '\0'}) do fields[#fields + 1] = value end
  end
  if fields[1] then redis.call('HSET', META, unpack(fields)) end
  touch(A[9], meta.ttl)
  return {'ok', meta.g or A[2], head, applied}
end)
