-- Note how a thread stands that another is to take the place of.
-- KEYS: 1 to 11 the thread's own, in the order of layout.THREAD_PARTS.
-- ARGV: 1 lease token or ''. Reply: {'ok', digest of what the thread holds, 1 if it has had a checkpoint else 0} | {'leased'}.
if lease_refuses(ARGV[1], META, LEASE) then return {'leased'} end
return {'ok', stamp_of(KEYS), (redis.call('HEXISTS', META, 'm') == 1 or redis.call('EXISTS', CKPTS) == 1) and 1 or 0}
