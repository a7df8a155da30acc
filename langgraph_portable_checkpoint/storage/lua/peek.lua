-- Say whether a thread is there. Reply: {generation or '', highest checkpoint id or '', 'broken' or ''}.
local meta = redis.call('HMGET', META, 'g', 'm')
return {meta[1] or '', meta[2] or '', is_broken(meta[1]) and 'broken' or ''}
