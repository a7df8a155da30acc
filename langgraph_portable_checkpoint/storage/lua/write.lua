-- Store pending writes of one task for one checkpoint, atomically.
-- ARGV: 1 a msgpack array; then names and bytes of blobs and of large items. In the array: 1 expected generation or '', 2 fresh generation,
--   3 sealed digest key or '', 4 thread id, 5 ns, 6 checkpoint id, 7 ttl ms or '', 8 lease token or '', 9 task id,
--   10 concatenated refs of blobs that this transaction has stored before or '', 11 concatenated refs that must be there,
--   12 time (ms) to register the thread with in KEYS[12] or '', 13 names of media records that were read, each with the
--   SHA-1 in hex of what was there; 14 how many blobs follow the array; then counted pairs for
--   media, other items; then counted triples key, 'set' | 'keep', frame; then '' or a turn log place, turn
--   number, turn record, and the SHA-1 in hex of the record that it replaces.
-- 'keep' leaves a write that is already there under the same key; 'set' replaces it.
-- Reply: {'ok', generation, turn record written '1'/'0'} | {'stale', generation, key} | {'deleted'} | {'leased'}
--   | {'lost'} where items are gone that it builds on
--   | {'told', name, record, '1' | '0', ...}: media records to be read before they are written over. Nothing is stored unless 'ok'.
A = cmsgpack.unpack(ARGV[1])
local place = A[5] .. '\0' .. A[6]
return with_sent(A[10], function()
  local guarded = redis.call('EXISTS', LEASE, GONE) > 0
  if (guarded or A[8] ~= '') and lease_refuses(A[8]) then return {'leased'} end
  local gone = guarded and redis.call('GET', GONE)
  if gone and A[6] <= gone and redis.call('HEXISTS', CKPTS, place) == 0 then return {'deleted'} end
  local meta = read_meta()
  if gone and A[1] ~= '' and not meta.g then return {'deleted'} end
  local differs = differs_from(meta, A[1])
  if differs then return differs end
  local expires = A[7] ~= '' or meta.ttl
  check_media(A[15], A[14], A[10], expires)
  check_registers()
  if A[12] ~= '' then check_rights('ZADD') end -- HSET is the first to write, and may be refused without harm
  if expires then check_rights('HSET', 'PEXPIRE', 'PERSIST') end
  if A[10] ~= '' then check_rights('HSET', 'HDEL') end
  local frames = after_pairs(after_pairs(15))
  for i = 1, A[frames] do
    if A[frames + 3 * i - 1] == 'set' then redis.call('HLEN', TURNS) end -- a later call tells the turn log of it
  end
  local old = redis.call('HGET', WRITES, place) or ''
  if A[1] ~= '' and lacks(A[11]) then return {'lost'} end
  local unread = A[15] > 0 and unread_media(A[13], 15, A[14], A[10]) or {}
  if unread[2] then return unread end
  if not meta.g then begin(A[2], A[3], A[4]) end
  note_holder(A[8])
  register(A[12], A[4], '')
  store_apart(A[14])
  local at = store_pairs(ITEMS, store_pairs(MEDIA, 15)) + 1
  local known = {}
  if old ~= '' and string.find(old, A[9], 1, true) then
    each_frame(old, function(start, stop, key) known[key] = {start, stop} end)
  end
  local replaced, added = {}, {}
  for _ = 1, A[frames] do
    local key, mode, frame = A[at], A[at + 1], A[at + 2]
    at = at + 3
    if not known[key] then
      added[#added + 1] = {key, frame}
    elseif mode == 'set' then
      replaced[key] = frame
    end
  end
  local parts = {old}
  if next(replaced) then
    parts = {}
    each_frame(old, function(start, stop, key) parts[#parts + 1] = replaced[key] or string.sub(old, start, stop) end)
  end
  for _, pair in ipairs(added) do parts[#parts + 1] = pair[2] end
  redis.call('HSET', WRITES, place, table.concat(parts))
  local marked = '0'
  if A[at] ~= '' and (meta.th or '') == A[at]
    and redis.sha1hex(redis.call('HGET', TURNS, A[at + 1]) or '') == A[at + 3] then
    redis.call('HSET', TURNS, A[at + 1], A[at + 2])
    marked = '1'
  end
  if not meta.m or meta.m < A[6] then redis.call('HSET', META, 'm', A[6]) end
  touch(A[7], meta.ttl)
  return {'ok', meta.g or A[2], marked}
end)
