-- Note how a thread stands that is to be overwritten, and drop what an earlier overwriting staged.
-- KEYS: 1 to 11 the staging keys, 12 to 22 the thread's own, both in the order of layout.THREAD_PARTS.
-- ARGV: 1 lease token or ''. Reply: {'ok', digest of what the thread holds} | {'leased'}.
local own = {unpack(KEYS, 12, 22)}
if lease_refuses(ARGV[1], own[1], own[11]) then return {'leased'} end
local stamp = stamp_of(own)
redis.call('UNLINK', unpack(KEYS, 1, 11))
return {'ok', stamp}
