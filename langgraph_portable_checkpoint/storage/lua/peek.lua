-- Say whether a thread is there. Reply: {generation or '', highest checkpoint id or '', 'broken', 'foreign' (meta belongs to
--   something else) or ''}.
local meta = redis.pcall('HMGET', META, 'g', 'm')
if meta.err then return string.find(meta.err, 'WRONGTYPE') and {'', '', 'foreign'} or meta end
return {meta[1] or '', meta[2] or '', is_broken(meta[1]) and 'broken' or ''}
