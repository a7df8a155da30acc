-- Read records and writes of many checkpoints, newest first within one namespace, or by name.
-- ARGV: 1 'range' | 'names'; for 'range': 2 upper bound and 3 lower bound in ZREVRANGEBYLEX form, 4 count;
--   for 'names': 2.. places.
-- Reply: {generation or '', key or '', place, record, writes or '', ...}; names that are not stored are left out.
--   A single row 'broken' with an empty generation: keys or records are missing.
local meta = read_meta()
if is_broken(meta) then return {'', '', 'broken', '', ''} end
local out = {meta.g or '', meta.k or ''}
local places
if ARGV[1] == 'range' then
  places = redis.call('ZREVRANGEBYLEX', INDEX, ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
else
  places = {}
  for i = 2, #ARGV do places[#places + 1] = ARGV[i] end
end
for from = 1, #places, CHUNK do
  local upto = math.min(from + CHUNK - 1, #places)
  local records = redis.call('HMGET', CKPTS, unpack(places, from, upto))
  local writes = redis.call('HMGET', WRITES, unpack(places, from, upto))
  for i = from, upto do
    local record = records[i - from + 1]
    local frames = writes[i - from + 1]
    if frames == '' or (not record and redis.call('ZSCORE', INDEX, places[i])) then
      return {'', '', 'broken', '', ''}
    end
    if record then
      out[#out + 1] = places[i]
      out[#out + 1] = record
      out[#out + 1] = frames or ''
    end
  end
end
return out
