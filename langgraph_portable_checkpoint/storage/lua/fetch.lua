-- Fetch items by digest. ARGV: 1 '1' to follow refs, 2.. digests. Reply: {generation or '', digest, item, ...}.
-- Digests that are not stored are left out.
local out = {redis.call('HGET', META, 'g') or ''}
local pending, seen = {}, {}
for i = 2, #ARGV do
  if not seen[ARGV[i]] then
    seen[ARGV[i]] = true
    pending[#pending + 1] = ARGV[i]
  end
end
if ARGV[1] == '1' then
  collect(pending, seen, out)
else
  for from = 1, #pending, CHUNK do
    local upto = math.min(from + CHUNK - 1, #pending)
    local values = redis.call('HMGET', ITEMS, unpack(pending, from, upto))
    for i = from, upto do
      if values[i - from + 1] then
        out[#out + 1] = pending[i]
        out[#out + 1] = values[i - from + 1]
      end
    end
  end
end
return out
