-- Describe a thread without reading its contents; one that is still being loaded is not there yet.
-- Reply: {generation or '', key or '', turn log place or '', turns, own ttl ms or '', ms to live or -1, checkpoints, items,
--   writes, blobs, first turn record or '', last turn record or '', head place or ''}.
local meta = read_meta()
if is_broken(meta) then return {'broken'} end
if not meta.g or redis.call('EXISTS', CKPTS, WRITES) == 0 then return {''} end
local turns = tonumber(meta.tn or '0')
if not turns then return {'broken'} end
local first, last = '', ''
if turns > 0 then
  first = redis.call('HGET', TURNS, '0') or ''
  last = redis.call('HGET', TURNS, tostring(turns - 1)) or ''
end
return {meta.g, meta.k or '', meta.th or '', turns, meta.ttl or '', redis.call('PTTL', META), redis.call('HLEN', CKPTS),
  redis.call('HLEN', ITEMS), redis.call('HLEN', WRITES), redis.call('HLEN', BLOBS), first, last, head_of('') or ''}
