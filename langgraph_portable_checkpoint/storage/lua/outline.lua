-- Name everything that a thread holds, at one moment.
-- ARGV: none. Reply: {generation or '', key or '', ttl ms or '', turn log place or '', number of turns or '', runs as a list,
--   then for items, blobs, media, ckpts, writes and turns a flat list of field, length, SHA-1 in hex or ''}.
--   Items and blobs never change, so they have no SHA-1.
local meta = redis.call('HMGET', META, 'g', 'k', 'ttl', 'th', 'tn')
local function named(key)
  local out = {}
  for _, name in ipairs(redis.call('HKEYS', key)) do
    out[#out + 1] = name
    out[#out + 1] = redis.call('HSTRLEN', key, name)
    out[#out + 1] = ''
  end
  return out
end
local function marked(key)
  local out = {}
  for _, name in ipairs(redis.call('HKEYS', key)) do
    local value = redis.call('HGET', key, name)
    out[#out + 1] = name
    out[#out + 1] = #value
    out[#out + 1] = redis.sha1hex(value)
  end
  return out
end
return {meta[1] or '', meta[2] or '', meta[3] or '', meta[4] or '', meta[5] or '', redis.call('SMEMBERS', RUNS),
  named(ITEMS), named(BLOBS), marked(MEDIA), marked(CKPTS), marked(WRITES), marked(TURNS)}
