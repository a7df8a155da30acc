-- Read turn records by number. ARGV: 1 first turn (negative: counted from the end), 2 how many; then further fields to read.
-- Reply: {generation or '', key or '', head place of the root or '', turn log place or '', turns, first turn, record, ...}; a
-- record that is not there is ''.
local meta = read_meta()
if is_broken(meta) then return {'broken'} end
if not meta.g then return {''} end
local turns = tonumber(meta.tn or '0')
if not turns then return {'broken'} end
local first, count = tonumber(ARGV[1]), tonumber(ARGV[2])
if first < 0 then first = math.max(turns + first, 0) end
local out = {meta.g, meta.k or '', head_of('') or '', meta.th or '', turns, first}
for turn = first, math.min(first + count, turns) - 1 do
  out[#out + 1] = redis.call('HGET', TURNS, tostring(turn)) or ''
end
for i = 3, #ARGV do out[#out + 1] = redis.call('HGET', TURNS, ARGV[i]) or '' end
return out
