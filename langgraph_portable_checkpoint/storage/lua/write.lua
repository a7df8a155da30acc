-- Store pending writes of one task for one checkpoint, atomically.
-- ARGV: 1 expected generation or '', 2 fresh generation, 3 sealed digest key or '', 4 thread id, 5 ns, 6 checkpoint id,
--   7 ttl ms or '', 8 lease token or '', 9 task id, 10 concatenated refs of blobs that this
--   transaction has stored before or '', 11 time (ms) to register the thread with in KEYS[12] or ''; then counted pairs for other blobs, media, items; then counted triples
--   key, 'set' | 'keep', frame; then '' or a turn log place, turn number,
--   turn record, and the SHA-1 in hex of the record that it replaces.
-- 'keep' leaves a write that is already there under the same key; 'set' replaces it.
-- Reply: {'ok', generation, turn record written '1'/'0'} | {'stale', generation, key} | {'deleted'} | {'leased'}
--   | {'lost'} where items are gone that it builds on. Nothing is stored unless 'ok'.
local place = ARGV[5] .. '\0' .. ARGV[6]
return with_sent(ARGV[10], function()
  if lease_refuses(ARGV[8]) then return {'leased'} end
  local gone = redis.call('GET', GONE)
  if gone and ARGV[6] <= gone and redis.call('HEXISTS', CKPTS, place) == 0 then return {'deleted'} end
  if gone and ARGV[1] ~= '' and redis.call('EXISTS', META) == 0 then return {'deleted'} end
  check_types()
  check_registers()
  check_rights('ZADD', 'HDEL', 'HSET', 'PEXPIRE', 'PERSIST', 'HGET')
  local differs = agree(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
  if differs then return differs end
  local function push_writes(wanted, seen, first)
    for i = 1, tonumber(ARGV[first]) do push_frames(ARGV[first + 3 * i], wanted, seen) end
  end
  if ARGV[1] ~= '' and builds_on_lost(skip_pairs(12), push_writes) then return {'lost'} end
  note_holder(ARGV[8])
  register(ARGV[11], ARGV[4], '')
  local at = store_pairs(BLOBS, 12)
  at = store_pairs(MEDIA, at)
  at = store_pairs(ITEMS, at)
  local count = tonumber(ARGV[at])
  at = at + 1
  local old = redis.call('HGET', WRITES, place) or ''
  local known = {}
  if old ~= '' and string.find(old, ARGV[9], 1, true) then
    each_frame(old, function(start, stop, key) known[key] = {start, stop} end)
  end
  local replaced, added = {}, {}
  for i = 1, count do
    local key, mode, frame = ARGV[at], ARGV[at + 1], ARGV[at + 2]
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
  if ARGV[at] ~= '' and (redis.call('HGET', META, 'th') or '') == ARGV[at]
    and redis.sha1hex(redis.call('HGET', TURNS, ARGV[at + 1]) or '') == ARGV[at + 3] then
    redis.call('HSET', TURNS, ARGV[at + 1], ARGV[at + 2])
    marked = '1'
  end
  local top = redis.call('HGET', META, 'm')
  if not top or top < ARGV[6] then redis.call('HSET', META, 'm', ARGV[6]) end
  touch(ARGV[7])
  return {'ok', redis.call('HGET', META, 'g'), marked}
end)
