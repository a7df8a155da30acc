-- Read one checkpoint: the named one, or the head of its namespace.
-- ARGV: 1 ns, 2 checkpoint id or '', 3 place that the client holds or '', 4 sha1 of the record it holds, 5 '1' to send
--   every reachable item along (else only the record's shape), 6 '1' to send the last turn record along.
-- Reply: {generation or '', key or '', place or '' ('broken': keys or records are missing), record or 1 when the
--   client's copy is current, writes or '',
--   turn log place or '', turns, last turn record or '', item digest, item, ...}.
local meta = read_meta()
if is_broken(meta) then return {'', '', 'broken', '', '', '', 0, ''} end
if not meta.g then return {'', '', '', '', '', '', 0, ''} end
local place
if ARGV[2] == '' then
  place = head_of(ARGV[1])
else
  place = ARGV[1] .. '\0' .. ARGV[2]
end
local record = place and redis.call('HGET', CKPTS, place)
if place and not record and redis.call('ZSCORE', INDEX, place) then
  return {'', '', 'broken', '', '', '', 0, ''}
end
if not record then return {meta.g, meta.k or '', '', '', '', meta.th or '', 0, ''} end
local writes = redis.call('HGET', WRITES, place)
if writes == '' then return {'', '', 'broken', '', '', '', 0, ''} end
writes = writes or ''
local turns, last = 0, ''
if ARGV[6] == '1' then
  turns = tonumber(meta.tn or '0')
  if not turns then return {'', '', 'broken', '', '', '', 0, ''} end
  if turns > 0 then last = redis.call('HGET', TURNS, tostring(turns - 1)) or '' end
end
local out = {meta.g, meta.k or '', place, record, writes, meta.th or '', turns, last}
if place == ARGV[3] and redis.sha1hex(record) == ARGV[4] then out[4] = 1 end
local refs = refs_of(record)
if ARGV[5] ~= '1' and out[4] ~= 1 and refs then
  local shape = string.sub(refs, 1, 16)
  local item = redis.call('HGET', ITEMS, shape)
  if item then
    out[#out + 1] = shape
    out[#out + 1] = item
  end
end
if ARGV[5] == '1' then
  local pending, seen = {}, {}
  push_refs(record, pending, seen)
  push_frames(writes, pending, seen)
  collect(pending, seen, out)
end
return out
